"""What a ceiling keeps from an agent, which works for it by way of another call."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Handoff, HandoffData, Risk, tool
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.delegation.ceilings import MAX_TOOLS_WITHOUT
from holdfast.delegation import Ceiling
from holdfast.testing import Reply, call, say
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun
from tests.sample import IMPATIENT, add, draft_post, lines, post

AWAY = call("transfer_to_clerk", goal="letters")


@tool(risk=Risk.SEARCH_ONLY)
async def load_letters(goal: str) -> HandoffData:
    """Load the letters that a clerk needs."""
    return HandoffData(architecture=f"the letters for {goal}")


def bureau(ceiling: Ceiling, *theirs: Reply, apart: bool = False) -> App:
    """Triage hands over to billing, which drafts by a companion, and loads by one."""
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:triage"],
                settings=IMPATIENT,
                handoffs=[Handoff("billing", when="money", return_expected=apart)],
                ceiling=ceiling,
            ),
            Agent(
                name="billing",
                instructions="Answer what is about money.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                tools=[post],
                handoffs=[Handoff("clerk", when="letters", prepare=load_letters)],
            ),
            Agent(
                name="clerk",
                instructions="Write letters.",
                models=["scripted:clerk"],
                settings=IMPATIENT,
                tools=[add, draft_post, load_letters],
            ),
        ],
        scripts={
            "triage": [call("transfer_to_billing", goal="charge order 7"), say("So.")],
            "billing": [say("never said"), *theirs, say("Done.")],
            "clerk": [*[say("never said")] * 2, say("Written.")],
        },
    )


async def denied(run: AnyRun) -> ToolFailure:
    """Wait for the end of the run; return why its last call has no result."""
    await run.result()
    failure = (await run.results())[-1]
    assert isinstance(failure, ToolFailure)
    assert failure.status == "denied"
    return failure


@pytest.mark.parametrize(
    "ceiling",
    [Ceiling(without_tools=("draft_post",)), Ceiling(without_risks=(Risk.DRAFT_ONLY,))],
    ids=["name", "class"],
)
async def test_what_is_kept_back_drafts_no_other_call(
    memory_runs: MemoryRuns, tmp_path: Path, ceiling: Ceiling
) -> None:
    """Its model doesn't see that tool, and a call of another one doesn't run it either."""
    # BY-05
    log = tmp_path / "log"
    app = bureau(ceiling, call("post", log=str(log), text="x"))
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        failure = await denied(run)

    assert "its draft 'draft_post': an agent behind others" in failure.reason
    assert lines(log) == []


@pytest.mark.parametrize(
    "ceiling",
    [Ceiling(without_tools=("load_letters",)), Ceiling(without_risks=(Risk.SEARCH_ONLY,))],
    ids=["name", "class"],
)
async def test_what_is_kept_back_loads_nothing(memory_runs: MemoryRuns, ceiling: Ceiling) -> None:
    """Nobody goes on who would have to know what it brings."""
    # HO-01
    async with memory_runs.working(bureau(ceiling, AWAY)):
        run = await memory_runs.start("triage")
        failure = await denied(run)
        status = await run.status()

    assert "a ceiling keeps it back" in failure.reason
    assert status.agent == "billing"


async def test_what_no_ceiling_names_goes_on(memory_runs: MemoryRuns) -> None:
    """A ceiling about something else keeps nothing of it back."""
    # HO-01
    async with memory_runs.working(bureau(Ceiling(without_tools=("add",)), AWAY)):
        run = await memory_runs.start("triage")
        result = await run.result()

    assert result.answer == "Written."


@pytest.mark.parametrize("apart", [False, True], ids=["handoff", "task"])
@pytest.mark.parametrize("more", [0, 1])
async def test_a_start_that_keeps_back_as_much_as_a_ceiling_may_wedges_nothing(
    memory_runs: MemoryRuns, more: int, apart: bool
) -> None:
    """Where nobody could be told all that is kept from them nobody comes behind the agent."""
    # HO-01
    kept: list[JsonValue] = [f"tool_{number}" for number in range(MAX_TOOLS_WITHOUT - 1 + more)]
    app = bureau(Ceiling(without_tools=("post",)), say("Charged."), apart=apart)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", without_tools=kept)
        result = await run.result()
        (came_of_it,) = await run.results()

    assert result.status == "completed"
    assert (came_of_it.status == "ok") is not bool(more)
    assert isinstance(came_of_it, ToolSuccess) or "201 tools are kept" in came_of_it.reason
