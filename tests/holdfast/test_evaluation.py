"""A closed run becomes a case: the same words of the model, against today's tools and rules."""

from pathlib import Path

import pytest

from holdfast import histories
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem
from holdfast.testing import call, calls, recorded, say
from tests.running import Runs
from tests.sample import scripted

SCRIPT = [
    calls(call("add", a=2, b=3), call("nope"), text="Let me see."),
    call("look", place="attic"),
    say("5, and nothing else"),
]


def said(items: tuple[TranscriptItem, ...]) -> list[AssistantTurn]:
    return [item for item in items if isinstance(item, AssistantTurn)]


async def test_a_recorded_run_can_be_run_again(runs: Runs, tmp_path: Path) -> None:
    """The models say what they said; what comes of it is decided anew, and can be compared."""
    # SS-08 OB-06
    file = tmp_path / "run.json"
    async with runs.working(scripted(SCRIPT)):
        first = await runs.start("it")
        before = await first.result()
        file.write_text(
            histories.render_export(await histories.fetch(runs.client, first.handle.id))
        )
        told = await first.transcript()
    async with runs.working(scripted(recorded(file))):
        again = await runs.start("it")
        after = await again.result()
        retold = await again.transcript()

    assert after == before
    assert said(retold.items) == said(told.items)
    assert retold.items == told.items


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    """A file that holds no history is named, on one line."""
    file = tmp_path / "run.json"
    file.write_text("{}")

    with pytest.raises(HoldfastError, match=r"run\.json holds no history"):
        recorded(file)
