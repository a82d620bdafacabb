"""A draft of another release, or of a rule that has ended: none is made twice, none forgotten."""

from pathlib import Path

import pytest

from holdfast import App, Risk, Tool, tool
from holdfast.contracts.calls import ToolSuccess
from holdfast.testing import call, say
from tests.control.guarded import asked_next, decided, on_word, replayed
from tests.control.test_compensation import sketch
from tests.running import Runs
from tests.sample import TOOLS, lines, note, scripted
from tests.workflows.test_permissions import policy


@tool(risk=Risk.DRAFT_ONLY)
async def outline(log: str, text: str) -> str:
    """Say what the text is about."""
    note(log, f"outlined {text}")
    return "made"


def release(log: Path, draft: str, answer: str, rules: Path | None = None) -> App:
    """An app whose tool is prepared by this draft."""

    async def publish(log: str, text: str) -> str:
        """Publish a text where everybody can read it."""
        note(log, f"published {text}")
        return "published"

    prepared: Tool = tool(risk=Risk.COMMUNICATION, draft=draft)(publish)
    watch = on_word("no_bad", "bad", "output", on_trip="block")
    script = [call("publish", log=str(log), text="x"), say(answer)]
    tools = [*TOOLS, prepared, sketch, outline]
    return scripted(script, tools=tools, guardrails=[watch], policy=rules)


@pytest.mark.parametrize(
    ("answer", "told", "undone"), [("fine", ["publish", "sketch"], 0), ("bad", ["publish"], 1)]
)
async def test_what_another_release_drafted_stands_beside_the_commit(
    runs: Runs,
    tmp_path: Path,
    answer: str,
    told: list[str],
    undone: int,
) -> None:
    """It is told, and taken back where the run is blocked."""
    # GR-13
    log = tmp_path / "log"
    async with runs.working(release(log, "sketch", answer)):
        run = await runs.start("it")
        (first,) = await run.asked()
    async with runs.working(release(log, "outline", answer)):
        await decided(run, first, "approve")
        await decided(run, await asked_next(run, first), "approve")
        result = await run.result()

    assert sorted(one.tool for one in result.effects) == told
    assert lines(log)[:3] == ["sketched x", "outlined x", "published x"]
    assert lines(log)[3:] == ["unsketched x"] * undone


async def test_a_draft_that_is_there_is_all_there_will_be(runs: Runs, tmp_path: Path) -> None:
    """By the time that somebody approves it a draft is enough: it isn't made again."""
    # RK-07
    log, later = tmp_path / "log", tmp_path / "later"
    later.mkdir()
    asks = policy(tmp_path, "{id: ask, effect: approve, match: {tools: [publish]}}")
    drafts = policy(later, "{id: enough, effect: draft, match: {tools: [publish]}}")
    async with runs.working(release(log, "sketch", "fine", asks)):
        run = await runs.start("it")
        (first,) = await run.asked()
    async with runs.working(release(log, "sketch", "fine", drafts)):
        await decided(run, first, "approve")
        result = await run.result()
        (made,) = await run.results()
        await replayed(run)

    assert isinstance(made, ToolSuccess)
    assert made.summary.startswith("only a draft, nothing was committed: ")
    assert [one.tool for one in result.effects] == ["sketch"]
    assert lines(log) == ["sketched x"]
