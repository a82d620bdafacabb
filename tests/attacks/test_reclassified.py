"""What is of another class in a newer release runs, and is told of, by that class."""

import asyncio
from pathlib import Path

import pytest

from holdfast import App, HandoffData, ResourceScope, Tool, tool
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.tools import Risk
from holdfast.testing import call, say
from tests.attacks.test_old_approvals import approve
from tests.attacks.test_releases import release
from tests.attacks.test_tokens import ALICE, trusting
from tests.control.controlled import replayed
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines, note
from tests.workflows.test_handoffs import bureau

SIGNED = "{id: r, effect: approve, match: {tools: [settle]}, approval: {strong: true}}"
WAITING = "{id: wait, effect: approve, match: {tools: [send]}}"
KNOWN = "{id: known, effect: allow, match: {tools: [book]}}"
FREE = "{id: free, effect: allow, match: {tools: [begin, shut]}}"
DRAFTED = "{id: draft, effect: draft, match: {tools: [tell]}}"
YES = {"decision": "approve", "approver": "alice"}
READS = [Risk.READ_ONLY, Risk.COMPUTE_ONLY]


def undone_by(risk: Risk) -> tuple[Tool, Tool]:
    """A tool that opens an account, and one of this class that undoes it and can't say so."""

    async def begin(log: str) -> str:
        """Open an account for somebody."""
        note(log, "begun")
        return "begun"

    async def shut(log: str) -> str:
        """Shut the account again for good."""
        note(log, "shut")
        raise ConnectionError("the line went dead")

    undo = tool(risk=risk, retry_backoff=0.05)
    return tool(risk=Risk.WRITE_INTERNAL, undo="shut")(begin), undo(shut)


def drafted_by(risk: Risk) -> tuple[Tool, ...]:
    """A tool that tells people, and one of this class that drafts that and can't say so."""

    async def tell(log: str) -> str:
        """Tell everybody what is in the log."""
        note(log, "told")
        return "told"

    async def prepare(log: str) -> str:
        """Prepare what everybody is to be told."""
        note(log, "prepared")
        raise ConnectionError("the line went dead")

    draft = tool(risk=risk, retry_backoff=0.05)
    return tool(risk=Risk.WRITE_EXTERNAL, draft="prepare")(tell), draft(prepare)


def settled_by(risk: Risk) -> Tool:
    """A tool of this class that settles what is owed."""

    async def settle(log: str) -> str:
        """Settle what somebody owes."""
        note(log, f"settled as {risk}")
        return "settled"

    return tool(risk=risk)(settle)


def booked_by(risk: Risk, how: str) -> Tool:
    """A tool of this class that does its work, and of whose answer nobody hears."""

    async def book(log: str, path: str) -> str:
        """Bring a ledger of the workspace up to date."""
        note(log, "booked")
        if how == "raises":
            raise ConnectionError("the line went dead")
        await asyncio.sleep(60)
        return "booked"

    scope = ResourceScope(kind="workspace", argument="path")
    return tool(risk=risk, timeout=0.2, scope=scope)(book)


def blocked(folder: Path, name: str, script: list[object], *rules: str, **agent: object) -> App:
    """A release whose run takes back what it did."""
    bad = on_word("no_bad", "bad", "output", on_trip="block")
    return release(folder, name, [*script, say("bad")], *rules, guardrails=[bad], **agent)


@pytest.mark.parametrize("before", READS)
async def test_an_undo_that_became_a_write_is_shown_anew(
    memory_runs: MemoryRuns, tmp_path: Path, before: Risk
) -> None:
    """Who approved a call whose undo changes nothing hasn't approved one whose undo does."""
    # PF-01 RK-10
    log = tmp_path / "log"
    script: list[object] = [call("begin", log=str(log))]
    old = blocked(tmp_path, "old", script, tools=undone_by(before))
    new = blocked(tmp_path, "new", script, tools=undone_by(Risk.WRITE_INTERNAL))
    async with memory_runs.working(old):
        run = await memory_runs.start("it")
        first = await run.asked_for_approval()
    async with memory_runs.working(new):
        await run.decide({**YES, "request_id": first.request_id})
        (second,) = await run.pending()
        unseen = lines(log)
        await run.approve(second.request_id)
        result = await run.result()
        await memory_runs.stories(run)

    assert unseen == []
    assert isinstance(second, ApprovalRequest)
    assert [one.undo and (one.undo.risk, one.undo.verdict) for one in (first, second)] == [
        (before, "allow"),
        (Risk.WRITE_INTERNAL, "approval_required"),
    ]
    assert lines(log) == ["begun", "shut"]
    assert result.compensation is not None
    assert "it may have happened all the same" in result.compensation.not_undone[0]


async def test_a_call_that_became_a_payment_is_shown_anew(runs: Runs, tmp_path: Path) -> None:
    """Who signed an internal write has signed no payment, though that takes no more of them."""
    # BY-15 RK-09
    log, script = tmp_path / "log", [call("settle", log=str(tmp_path / "log")), say("done")]
    trusting(runs, tmp_path, ALICE)
    old, new = (
        release(tmp_path, risk, script, SIGNED, tools=[settled_by(risk)])
        for risk in (Risk.WRITE_INTERNAL, Risk.FINANCIAL)
    )
    async with runs.working(old):
        run = await runs.start("it")
        first = await run.asked_for_approval()
    async with runs.working(new):
        await approve(run, ALICE)
        second = await run.asked_for_approval()
        unseen = lines(log)
        await approve(run, ALICE)
        await run.result()
        await replayed(runs, run)

    assert (unseen, lines(log)) == ([], ["settled as financial"])
    assert [one.risk for one in (first, second)] == [Risk.WRITE_INTERNAL, Risk.FINANCIAL]


async def test_an_approval_outlives_a_release_that_shows_the_same(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Another policy that says the same of the undo is no reason to ask again."""
    log = tmp_path / "log"
    script: list[object] = [call("begin", log=str(log))]
    tools = undone_by(Risk.WRITE_INTERNAL)
    async with memory_runs.working(blocked(tmp_path, "old", script, tools=tools)):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    async with memory_runs.working(blocked(tmp_path, "new", script, DRAFTED, tools=tools)):
        await run.approve(request.request_id)
        await run.result()

    assert lines(log) == ["begun", "shut"]


@pytest.mark.parametrize("before", READS)
async def test_an_undo_that_became_a_write_runs_once(
    memory_runs: MemoryRuns, tmp_path: Path, before: Risk
) -> None:
    """The run began with a read; what the ruling calls a write isn't tried again."""
    # RK-06
    log = tmp_path / "log"
    script: list[object] = [call("send", log=str(log), text="hi"), call("begin", log=str(log))]
    old, new = (
        blocked(tmp_path, risk, script, FREE, WAITING, tools=[*TOOLS, *undone_by(risk)])
        for risk in (before, Risk.WRITE_INTERNAL)
    )
    async with memory_runs.working(old):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    async with memory_runs.working(new):
        await run.approve(request.request_id)
        await run.result()

    assert lines(log)[1:] == ["begun", "shut"]


@pytest.mark.parametrize("before", READS)
async def test_a_draft_that_became_a_write_runs_once(
    memory_runs: MemoryRuns, tmp_path: Path, before: Risk
) -> None:
    """A draft that leaves something behind isn't made again, whatever the run began with."""
    # RK-06
    log = tmp_path / "log"
    script: list[object] = [call("send", log=str(log), text="hi"), call("tell", log=str(log))]
    old, new = (
        release(
            tmp_path,
            risk,
            [*script, say("told")],
            DRAFTED,
            WAITING,
            tools=[*TOOLS, *drafted_by(risk)],
        )
        for risk in (before, Risk.DRAFT_ONLY)
    )
    async with memory_runs.working(old):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    async with memory_runs.working(new):
        await run.approve(request.request_id)
        await run.result()

    assert lines(log)[1:] == ["prepared"]


@pytest.mark.parametrize("how", ["raises", "hangs"])
async def test_a_write_that_left_the_workspace_is_done_once(
    memory_runs: MemoryRuns, tmp_path: Path, how: str
) -> None:
    """The run began with one that could be repeated; by its ruling nobody knows what it did."""
    # RK-06
    log = tmp_path / "log"
    booking = call("book", log=str(log), path="ledger")
    script = [call("send", log=str(log), text="hi"), booking, booking, say("booked")]
    old, new = (
        release(tmp_path, risk, script, KNOWN, WAITING, tools=[*TOOLS, booked_by(risk, how)])
        for risk in (Risk.WRITE_LOCAL, Risk.WRITE_INTERNAL)
    )
    async with memory_runs.working(old):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    async with memory_runs.working(new):
        await run.approve(request.request_id)
        result = await run.result()
        results = await run.results()

    assert lines(log)[1:] == ["booked"]
    assert [one.status for one in results[1:]] == ["outcome_unknown", "denied"]
    assert [one.tool for one in result.unresolved] == ["book"]


def shutting(*, wipes: bool) -> tuple[Tool, Tool]:
    """A tool that opens an account, and its undo, in a release where both may wipe it, or not."""

    async def begin(log: str) -> str:
        """Open an account for somebody."""
        note(log, "begun")
        return "begun"

    async def begin_clean(log: str, *, wipe: bool = True) -> str:
        """Open an account for somebody."""
        note(log, f"begun, wipe={wipe}")
        return "begun"

    async def shut(log: str) -> None:
        """Shut the account again for good."""
        note(log, "shut")

    async def shut_clean(log: str, *, wipe: bool = True) -> None:
        """Shut the account again for good."""
        note(log, f"shut, wipe={wipe}")

    begin_clean.__name__, shut_clean.__name__ = "begin", "shut"
    write, undo = tool(risk=Risk.WRITE_INTERNAL, undo="shut"), tool(risk=Risk.WRITE_INTERNAL)
    return (write(begin_clean), undo(shut_clean)) if wipes else (write(begin), undo(shut))


async def test_an_undo_takes_nothing_that_was_never_ruled_on(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A default of a newer release is no argument of a call that an older one decided about."""
    # RK-10
    log = tmp_path / "log"
    script: list[object] = [call("begin", log=str(log)), call("send", log=str(log), text="hi")]
    old, new = (
        blocked(
            tmp_path, str(wipes), script, FREE, WAITING, tools=[*TOOLS, *shutting(wipes=wipes)]
        )
        for wipes in (False, True)
    )
    async with memory_runs.working(old):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    async with memory_runs.working(new):
        await run.approve(request.request_id)
        result = await run.result()
        control = await memory_runs.start("it")
        await control.approve((await control.asked_for_approval()).request_id)
        await control.result()

    assert result.compensation is not None
    assert result.compensation.undone == ()
    assert any("more here than what was ruled on" in one for one in result.compensation.not_undone)
    opened = [line for line in lines(log) if not line.endswith(" hi")]
    assert opened == ["begun", "begun, wipe=True", "shut, wipe=True"]


def loaded_by(risk: Risk) -> Tool:
    """A tool of this class that is asked for what a receiver needs."""

    async def load(goal: str) -> HandoffData:
        """Load what billing needs to know."""
        Path(goal).write_text("loaded", encoding="utf-8")
        return HandoffData(architecture="one ledger")

    return tool(risk=risk)(load)


async def test_nothing_is_loaded_by_what_became_a_write(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Nobody rules on what loads for a receiver as on a call of its own: it changes nothing."""
    log, reads, writes = tmp_path / "log", loaded_by(READS[0]), loaded_by(Risk.WRITE_INTERNAL)
    script = [
        call("send", log=str(tmp_path / "sent"), text="hi"),
        call("transfer_to_billing", goal=str(log)),
        say("No."),
    ]
    async with memory_runs.working(bureau(script, [], prepare=reads)):
        run = await memory_runs.start("triage")
        asked = await run.asked_for_approval()
    async with memory_runs.working(bureau(script, [], tools=[*TOOLS, writes])):
        await run.approve(asked.request_id)
        result = await run.result()
        refused = (await run.results())[1]

    assert not log.exists()
    assert (result.answer, refused.status) == ("No.", "denied")
