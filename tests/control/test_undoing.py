"""An undo is ruled on with its call: nothing is taken back that nobody allowed."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from holdfast import App, Backtracking, Reconciled, ResourceScope, ToolContext, tool
from holdfast.contracts.tools import Risk
from holdfast.testing import ScriptTurn, call, calls, say
from holdfast.trace.course import call_lines
from holdfast.trace.reader import read_trace
from tests.control.guarded import EFFECTS, decided, ended, on_word, over
from tests.histories import names, noted
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines, note, scripted
from tests.workflows.test_permissions import policy

FORBIDDEN = "{id: keep, effect: forbid, match: {tools: [purge]}}"
FREE = "{id: freely, effect: allow, match: {tools: [create]}}"
GUARDED = (
    "{id: guarded, effect: approve, match: {tools: [purge]}, approval: {recovery: the backup}}"
)


@tool(risk=Risk.DESTRUCTIVE)
async def purge(log: str, record: str) -> str:
    """Destroy a record for good."""
    note(log, f"purged {record}")
    return "purged"


@tool(risk=Risk.WRITE_INTERNAL, undo="purge", rollback="purge it")
async def create(log: str, record: str) -> str:
    """Create a record."""
    note(log, f"created {record}")
    return "created"


def creating(log: Path, *rules: str, **agent: object) -> App:
    """An app whose agent creates a record, and then says something bad."""
    return scripted(
        [call("create", log=str(log), record="7"), say("bad")],
        tools=(*TOOLS, create),
        policy=policy(log.parent, *rules) if rules else None,
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        **agent,
    )


async def test_a_forbidden_undo_never_runs(runs: Runs, tmp_path: Path) -> None:
    """The effect is allowed and its undo isn't: history says so at once, the result at last."""
    # PF-01 TC-03 GR-13
    log = tmp_path / "log"
    found = await ended(runs, creating(log, FREE, FORBIDDEN))

    assert lines(log) == ["created 7"]
    assert "purge" not in names(found.story)
    undone = found.result.compensation
    assert undone is not None
    assert undone.undone == ()
    assert "purge: deny by policy:keep" in undone.not_undone[0]
    ruled = [one.summary for one in noted(found.story) if one.summary.startswith("ruled: ")]
    assert ruled == ["ruled: create: allow (write_internal); undo purge: deny (policy:keep)"]
    trace = read_trace([found.history])
    assert [line.text for line in call_lines(trace, trace.calls[0])][1] == (
        "purge: deny (policy:keep)"
    )


@pytest.mark.parametrize(
    ("rules", "verdict", "after"),
    [
        ((GUARDED,), "approval_required", ["created 7", "purged 7"]),
        ((), "deny", ["created 7"]),
    ],
    ids=["with a documented way back", "destructive by default"],
)
async def test_who_approves_a_call_approves_its_undo(
    memory_runs: MemoryRuns, tmp_path: Path, rules: tuple[str, ...], verdict: str, after: list[str]
) -> None:
    """The request shows the undo; what was approved with its call is taken back unasked."""
    # PF-01 RK-10
    log = tmp_path / "log"
    async with memory_runs.working(creating(log, *rules)):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await decided(run, request, "approve")
        await over(run)

    assert request.undo is not None
    assert (request.undo.tool, request.undo.verdict) == ("purge", verdict)
    assert request.undo.recovery == ("the backup" if rules else "")
    assert lines(log) == after


async def test_what_nobody_approved_is_not_taken_back_unasked(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A rule that lets the act go without people says nothing of an undo that takes them."""
    # RK-10
    log = tmp_path / "log"
    found = await ended(memory_runs, creating(log, FREE, GUARDED))

    assert lines(log) == ["created 7"]
    assert found.result.compensation is not None
    (left,) = found.result.compensation.not_undone
    assert "purge: approval_required by policy:guarded" in left


async def test_an_approach_that_is_given_up_keeps_to_it(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Going back takes back by the same rulings."""
    log = tmp_path / "log"

    def planner(turn: ScriptTurn) -> object:
        if turn.transcript[-1].kind == "user" and "Plan one approach" in turn.transcript[-1].text:
            return say("create it")
        if not lines(log):
            return call("create", log=str(log), record="7")
        return say("bad")

    app = scripted(
        planner,  # pyright: ignore[reportArgumentType] -- a script
        tools=(*TOOLS, create),
        policy=policy(tmp_path, FREE, FORBIDDEN),
        acceptance=[on_word("no_bad", "bad", "output")],
        backtracking=Backtracking(max_backtracks=0),
    )
    found = await ended(memory_runs, app)

    assert lines(log) == ["created 7"]
    assert found.result.compensation is not None
    assert "purge: deny by policy:keep" in found.result.compensation.not_undone[0]


THING = ResourceScope(kind="workspace", argument="text")

unmaking = asyncio.Event()


@tool(risk=Risk.WRITE_LOCAL, scope=THING)
async def unmake(log: str, text: str) -> str:
    """Take a thing back, and end by itself whatever one is told meanwhile."""
    unmaking.set()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    note(log, f"unmade {text}")
    return "unmade"


@tool(risk=Risk.WRITE_LOCAL, scope=THING, undo="unmake")
async def make(log: str, text: str) -> str:
    """Make a thing."""
    note(log, f"made {text}")
    return "made"


async def test_a_run_that_is_cancelled_while_it_undoes_ends(runs: Runs, tmp_path: Path) -> None:
    """The undo that is under way may end by itself; nothing begins after it."""
    unmaking.clear()
    log = str(tmp_path / "log")
    app = scripted(
        [calls(*(call("make", log=log, text=n) for n in "ab")), say("bad"), say("good")],
        tools=(*EFFECTS, make),
        guardrails=[on_word("no_bad", "bad", "output")],
    )
    async with runs.working(app):
        run = await runs.start("it")
        await unmaking.wait()
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        ended_as = (await run.handle.describe()).status

    assert ended_as is WorkflowExecutionStatus.CANCELED
    assert lines(log) == ["made a", "made b", "unmade b"]


@tool(risk=Risk.WRITE_INTERNAL)
async def close_tickets(log: str, count: int, ctx: ToolContext) -> str:
    """Close tickets that were opened by mistake."""
    note(log, f"closes {ctx.done}")
    return "closed"


@tool(risk=Risk.WRITE_INTERNAL, undo="close_tickets", max_result_chars=100)
async def open_tickets(log: str, count: int) -> list[str]:
    """Open tickets, and name them all."""
    return [f"T-{number}" for number in range(count)]


@pytest.mark.parametrize(("count", "known"), [(2, "['T-0', 'T-1']"), (90, "None")])
async def test_no_undo_takes_a_part_of_an_answer_for_all_of_it(
    memory_runs: MemoryRuns, tmp_path: Path, count: int, known: str
) -> None:
    """What was longer than a model reads is left out, as what was lost is."""
    # GR-13
    log = tmp_path / "log"
    free = "{id: ok, effect: allow, match: {tools: [open_tickets, close_tickets]}}"
    app = scripted(
        [call("open_tickets", log=str(log), count=count), say("bad")],
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        policy=policy(tmp_path, free),
        tools=(open_tickets, close_tickets),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()

    assert lines(log) == [f"closes {known}"]


@tool(risk=Risk.READ_ONLY)
async def find_tickets(log: str, count: int) -> Reconciled:
    """Find out whether tickets were opened, and which."""
    return Reconciled(happened=True, result=[f"T-{number}" for number in range(count)])


@tool(risk=Risk.WRITE_INTERNAL, undo="close_tickets", reconcile="find_tickets", timeout=0.3)
async def order_tickets(log: str, count: int) -> list[str]:
    """Open tickets, and lose the answer."""
    raise ConnectionError("the line went dead")


@pytest.mark.parametrize(("count", "known"), [(2, "['T-0', 'T-1']"), (9_000, "None")])
async def test_no_undo_takes_a_part_of_what_was_found_for_all_of_it(
    memory_runs: MemoryRuns, tmp_path: Path, count: int, known: str
) -> None:
    """So it is with an answer that was lost, and is longer than what a model reads."""
    # GR-13 BY-75
    log = tmp_path / "log"
    free = "{id: ok, effect: allow, match: {tools: [order_tickets, close_tickets]}}"
    app = scripted(
        [call("order_tickets", log=str(log), count=count), say("bad")],
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        policy=policy(tmp_path, free),
        tools=(order_tickets, close_tickets),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()

    assert lines(log) == [f"closes {known}"]
