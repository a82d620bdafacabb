"""Answers to customers: drafted first, sent as drafted. What is sent stands in the books."""

import sqlite3
from pathlib import Path

from examples.support.books import Entry, found, keep_draft, opened, writing
from holdfast import ToolError


class Answer(Entry):
    """What a customer is written."""

    to: str
    text: str


def draft(books: Path, draft_id: str, order_id: int, text: str) -> Answer:
    """Keep an answer under the id of its draft. Sends nothing."""
    with writing(books) as db:
        found(db, order_id)
        keep_draft(db, "drafted_answers", "answers", (draft_id, order_id, text))
        return _drafted(db, draft_id)


def send(books: Path, key: str, draft_id: str | None) -> Answer:
    """Send a drafted answer, once for each key."""
    with writing(books) as db:
        answer = _drafted(db, draft_id)
        db.execute(
            "INSERT INTO answers (idempotency_key, draft_id, email, text)"
            " VALUES (?, ?, ?, ?) ON CONFLICT (idempotency_key) DO NOTHING",
            (key, draft_id, answer.to, answer.text),
        )
        return answer


def sent(books: Path) -> tuple[Answer, ...]:
    """Return every answer that was sent."""
    with opened(books) as db:
        rows = db.execute("SELECT email, text FROM answers ORDER BY answer_id").fetchall()
    return tuple(Answer(to=row["email"], text=row["text"]) for row in rows)


def _drafted(db: sqlite3.Connection, draft_id: str | None) -> Answer:
    row = db.execute(
        "SELECT email, text FROM drafted_answers JOIN orders USING (order_id) WHERE draft_id = ?",
        (draft_id,),
    ).fetchone()
    if row is None:
        raise ToolError(
            "approval_required",
            f"there is no drafted answer {draft_id!r}",
            ("ask for it again, so that it is drafted and approved",),
        )
    return Answer(to=row["email"], text=row["text"])
