"""A draft for another call is a call of its tool: who looks at those looks at it."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Risk, tool
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import Seen, decided, ended, on_word, over
from tests.memory.runs import MemoryRuns
from tests.sample import TOOLS, draft_post, lines, note, scripted


@tool(risk=Risk.DRAFT_ONLY)
async def tear_letter(log: str) -> str:
    """Tear a letter up."""
    note(log, "torn")
    return "torn"


@tool(risk=Risk.DRAFT_ONLY, undo="tear_letter")
async def lose_letter(log: str) -> str:
    """Write a letter, and lose the answer."""
    note(log, "drafted")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_EXTERNAL, draft="lose_letter", rollback="write another one")
async def send_letter(log: str) -> str:
    """Send a letter."""
    note(log, "sent")
    return "sent"


async def test_a_draft_is_a_call_of_its_tool(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Who looks at calls of a draft tool looks at the calls that it drafts for."""
    seen, log = Seen(), tmp_path / "log"
    look = on_word("no_bad", "bad", "pre_execution", seen, tools=("draft_post",))
    script = [call("post", log=str(log), text="bad"), say("done")]

    found = await ended(
        memory_runs, scripted(script, tools=(*TOOLS, draft_post), guardrails=[look])
    )

    assert [one.status for one in found.results] == ["denied"]
    assert [one.tool for one in seen.subjects] == ["post"]
    assert not log.exists()


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_draft_that_was_made_is_a_call_of_its_tool(
    memory_runs: MemoryRuns, tmp_path: Path, decision: str
) -> None:
    """Who looks at what calls of a draft tool did looks at each draft, whatever comes of it."""
    # GR-16 GR-28
    seen, log = Seen(), str(tmp_path / "log")
    look = on_word("no_bad", "BAD", "post_action", seen, tools=("draft_post",), on_trip="block")
    script = [call("post", log=log, text="bad"), say("done")]
    app = scripted(script, tools=(*TOOLS, draft_post), guardrails=[look])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await decided(run, await run.asked_for_approval(), decision)
        found = await over(run)

    assert found.why == "it says BAD"
    [draft] = seen.subjects
    assert (draft.tool, draft.data) == ("draft_post", {"log": log, "text": "bad"})
    assert "BAD" not in found.results[0].model_dump_json()


async def test_a_draft_whose_answer_was_lost_is_looked_at(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It may have done what a look afterwards is there for."""
    # GR-28
    seen, log = Seen(), tmp_path / "log"
    look = on_word(
        "no_bad", "happened", "post_action", seen, tools=("lose_letter",), on_trip="block"
    )
    script = [call("send_letter", log=str(log)), say("done")]
    app = scripted(
        script, tools=(*TOOLS, tear_letter, lose_letter, send_letter), guardrails=[look]
    )

    found = await ended(memory_runs, app)

    assert found.result.status == "blocked"
    assert [one.tool for one in seen.subjects] == ["lose_letter"]
    assert lines(log) == ["drafted", "torn"]


BOOK = "tide " * 800


@tool(risk=Risk.READ_ONLY)
async def read_book() -> str:
    """Read a book, which isn't long."""
    return BOOK


@tool(risk=Risk.DRAFT_ONLY)
async def draft_essay(topic: str) -> str:
    """Write an essay, which is long."""
    return f"{topic} " * 2_000


@tool(risk=Risk.WRITE_EXTERNAL, draft="draft_essay", rollback="take it down by hand")
async def publish_essay(topic: str) -> str:
    """Publish an essay."""
    return f"published {topic}"


async def test_a_draft_takes_no_room_of_what_a_model_reads(memory_runs: MemoryRuns) -> None:
    """No result gives way to what guardrails alone read: the model reads it as before."""
    # LP-02
    seen, read = Seen(), list[JsonValue]()

    def script(turn: ScriptTurn) -> Reply:
        read.append(turn.last("read_book"))
        replies = (call("read_book"), call("publish_essay", topic="tides"), say("done"))
        return replies[turn.number - 1]

    tools = (read_book, draft_essay, publish_essay)
    look = on_word("never", "winds", "post_action", seen, tools=("draft_essay",))
    app = scripted(script, tools=tools, guardrails=[look], max_context_bytes=8_000)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await decided(run, await run.asked_for_approval(), "approve")
        found = await over(run)

    assert found.result.answer == "done"
    assert [len(text) > 8_000 for text in seen.texts] == [True]
    assert read == [None, BOOK, BOOK]
