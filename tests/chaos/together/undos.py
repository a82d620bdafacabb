"""What is taken back: with its run, or by a model, which may call the undo by itself."""

from collections import Counter
from collections.abc import Generator

from tests.chaos.together.book import UNDO, UNDONE_BY, Entry
from tests.chaos.together.scene import Seen


def take_back(undo: Entry, done: Counter[str], unknown: Counter[str]) -> None:
    """Count what is taken back; where that was lost nobody knows of it, nor of what it undoes."""
    for known in (done, unknown):
        for key in (f"{what}({undo.thing})" for what in UNDONE_BY if UNDONE_BY[what] == undo.tool):
            if known[key]:
                known[key] -= 1
                if undo.ended is None:
                    unknown.update((key, f"{undo.tool}({undo.thing})"))
                return


def undoes(own: list[Entry], entry: Entry) -> bool:
    """Whether it takes another call back, of a part too; a model may make it itself."""
    return "/" in entry.call_id or _find_undone(own, entry) is not None


def _find_undone(own: list[Entry], undo: Entry) -> Entry | None:
    """Return the call of the same run that is taken back; null where it is one of a part."""
    return next(
        (
            one
            for one in own
            if (one.run_id, one.call_id) == (undo.run_id, undo.call_id) and one.tool != undo.tool
        ),
        None,
    )


def nothing_is_taken_back_twice(seen: Seen) -> Generator[str]:
    """What a model took back by a call of its own isn't taken back again with its run."""
    entries = seen.book.entries
    for undo in entries:
        made = _find_undone(entries, undo) if undo.tool in UNDO else None
        if made is None:
            continue
        for one in entries[entries.index(made) : entries.index(undo)]:
            same = (one.run_id, one.tool, one.thing) == (undo.run_id, undo.tool, undo.thing)
            if same and not undoes(entries, one) and not was_refused(one):
                yield f"{undo.tool}({undo.thing}) of {undo.run_id} was made by a model before"


def was_refused(undo: Entry) -> bool:
    return undo.tool == "unwrite" and undo.ended is None
