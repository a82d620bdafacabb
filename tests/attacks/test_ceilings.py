"""What a ceiling keeps from an agent, which works for it by way of another call."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Handoff, HandoffData, Reconciled, Risk, tool
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.delegation.ceilings import MAX_TOOLS_WITHOUT
from holdfast.delegation import Ceiling
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import create_draft, on_word, remove_draft
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun
from tests.sample import IMPATIENT, add, draft_post, lines, note, post, told
from tests.workflows.test_permissions import policy

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


@tool(risk=Risk.READ_ONLY)
async def find_note(log: str, text: str) -> Reconciled:
    """Find out whether a note stands there."""
    return Reconciled(happened=f"noted {text}" in lines(Path(log)), result="noted")


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_note")
async def put_note(log: str, text: str) -> str:
    """Put a note down, and lose the line."""
    note(log, f"noted {text}")
    raise ConnectionError("the line went dead")


NOTES = "{id: notes, effect: allow, match: {tools: [put_note]}}"


def archive(*theirs: Reply | Callable[[ScriptTurn], Reply], apart: bool, rules: Path) -> App:
    """First hands over to the clerk, whose model sees what takes its calls back, or finds out."""
    return App(
        agents=[
            Agent(
                name="first",
                instructions="Find out who can help.",
                models=["scripted:first"],
                settings=IMPATIENT,
                handoffs=[Handoff("clerk", when="letters", return_expected=apart)],
                ceiling=Ceiling(without_tools=("remove_draft", "find_note")),
            ),
            Agent(
                name="clerk",
                instructions="Write letters.",
                models=["scripted:clerk"],
                settings=IMPATIENT,
                tools=[create_draft, remove_draft, put_note, find_note],
                guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
            ),
        ],
        scripts={
            "first": [call("transfer_to_clerk", goal="write"), say("So.")],
            "clerk": [*([] if apart else [say("never said")]), *theirs],
        },
        policy=rules,
    )


WAYS = pytest.mark.parametrize("apart", [True, False], ids=["task", "handoff"])


@WAYS
async def test_no_ceiling_keeps_back_what_takes_an_effect_back(
    memory_runs: MemoryRuns, tmp_path: Path, apart: bool
) -> None:
    """Nor where the model of who is behind it would see that tool: it doesn't."""
    # HO-01 GR-13
    log = tmp_path / "log"
    script = [call("create_draft", log=str(log), title="x"), say("bad")]
    app = archive(*script, apart=apart, rules=policy(tmp_path, NOTES))
    async with memory_runs.working(app):
        run = await memory_runs.start("first")
        result = await run.result()

    assert lines(log) == ["created x", "removed x"]
    assert result.compensation is not None
    assert not result.compensation.not_undone


@WAYS
async def test_no_ceiling_keeps_back_who_finds_out(
    memory_runs: MemoryRuns, tmp_path: Path, apart: bool
) -> None:
    """That is a part of the write, though the model of who writes would see it."""
    # HO-01 PF-07
    log = tmp_path / "log"
    script = [call("put_note", log=str(log), text="x"), told]
    app = archive(*script, apart=apart, rules=policy(tmp_path, NOTES))
    async with memory_runs.working(app):
        run = await memory_runs.start("first")
        result = await run.result()

    assert lines(log) == ["noted x"]
    assert (result.unresolved, [one.tool for one in result.effects]) == ((), ["put_note"])
