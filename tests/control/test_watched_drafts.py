"""A draft for another call is a call of its tool: who looks at those looks at it."""

from pathlib import Path

import pytest

from holdfast import Risk, tool
from holdfast.testing import call, say
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
