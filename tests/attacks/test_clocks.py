"""A worker whose clock is set while it decides, and a server's between two executions of a run."""

import dataclasses
from datetime import timedelta

import pytest
from temporalio.bridge.proto.workflow_commands import ContinueAsNewWorkflowExecution
from temporalio.client import WorkflowExecutionStatus

from holdfast import Budget
from holdfast.activities.sessions.earlier import Opening, knows_more, order_opening
from holdfast.contracts.approvals import Requirement
from holdfast.contracts.budget import Ledger, Limits
from holdfast.contracts.decisions import Decided
from holdfast.contracts.state.calls import CallState
from holdfast.policy.signed_signals import MAX_USED_TOKENS
from holdfast.policy.standing import counts
from holdfast.policy.trust import LOCAL_ISSUER
from holdfast.run import tool_calls
from holdfast.run.limits import budgets
from holdfast.run.verdicts import KEEP_LAST_TOKENS, keep_token
from holdfast.testing import call, say
from tests.asking import in_run
from tests.attacks.test_old_approvals import about, deciding
from tests.builders import NOW, a_call, a_proof, a_record, a_state, allowed
from tests.contracts.talks import ARCHIVED
from tests.memory.execution import Execution
from tests.memory.runs import MemoryRuns
from tests.policy.hearings import TRUST
from tests.policy.test_signed_signals import ANY, hears, said, token, trusting
from tests.running import Runs
from tests.sample import scripted, told
from tests.sessions.talking import Talks


async def test_a_clock_that_is_set_while_a_decision_waits_makes_it_good_for_no_longer() -> None:
    """The worker's clock is set ahead by an hour between asking and beginning."""
    asking, environment = a_call("book", log="/dev/null"), in_run("run-1")
    environment.info = dataclasses.replace(
        environment.info,
        is_local=True,
        scheduled_time=NOW,
        started_time=NOW + timedelta(hours=1),
    )

    (ruling,) = (await environment.run(deciding().authorize, about(asking))).rulings

    assert isinstance(ruling, Decided)
    late = NOW + timedelta(minutes=50)
    assert tool_calls.select_recent((CallState(call=asking, ruling=ruling),), late) == ()


def test_a_ruling_that_is_dated_ahead_is_not_recent() -> None:
    """Somebody's clock was set: by another one it would be good for as long as that is ahead."""
    asking = a_call("book")
    ahead = allowed(asking).model_copy(update={"at": NOW + timedelta(minutes=1)})

    assert tool_calls.select_recent((CallState(call=asking, ruling=ahead),), NOW) == ()


HOUR = timedelta(hours=1)
YEARS = timedelta(days=20 * 365)


def test_a_used_signature_counts_no_more_when_the_clock_is_set_back() -> None:
    """The hour passes, other signed words come, the clock goes back: it is good again by that."""
    # T-20
    state, used = a_state(), a_proof(issuer=LOCAL_ISSUER, token_id="token-1")
    state = keep_token(state, used, NOW)
    for number in range(KEEP_LAST_TOKENS - 1):
        later = a_proof(issuer=LOCAL_ISSUER, token_id=f"later-{number}", verified_at=NOW + HOUR)
        state = keep_token(state, later, NOW + HOUR)

    (again,) = hears(
        said(token=token()), trust=trusting(steer=ANY), used=state.oversight.used_tokens
    )

    assert (again.accepted, again.code) == (False, "invalid_token")


def test_what_is_kept_of_used_signatures_is_bounded() -> None:
    """Those that nobody can use, by any clock that isn't set back far, leave no less room."""
    state = a_state()
    for number in range(MAX_USED_TOKENS):
        at = NOW - HOUR + number * timedelta(seconds=5)
        state = keep_token(state, a_proof(token_id=f"t{number}", verified_at=at), at)
    (verdict,) = hears(
        said(token=token()), trust=trusting(steer=ANY), used=state.oversight.used_tokens
    )

    assert len(state.oversight.used_tokens) < 2 * KEEP_LAST_TOKENS
    assert verdict.accepted


@pytest.mark.parametrize(("ahead", "good"), [(timedelta(seconds=30), True), (HOUR, False)])
def test_an_approval_that_is_still_to_come_does_not_count(ahead: timedelta, *, good: bool) -> None:
    """The clock was set back since it was given, and nobody knows how long ago that was."""
    # PF-09
    record = a_record(a_call("send"), at=NOW + ahead)
    wanted = Requirement(valid_for=600.0)

    assert counts(record, wanted, TRUST, NOW) is good
    assert counts(record, Requirement(), TRUST, NOW)


@pytest.mark.parametrize("shift", [-HOUR, -YEARS])
def test_no_clock_gives_a_part_more_time_than_its_whole_may_have(shift: timedelta) -> None:
    """Nor more than any limit may be, which nobody could write down."""
    elapsed = shift.total_seconds()

    left = budgets.remaining(Limits(max_wall_time=60.0), Ledger(), elapsed)

    assert isinstance(left, Budget)
    assert left.max_wall_time == 60.0


@pytest.mark.parametrize(
    ("shift", "status"),
    [(-HOUR, "completed"), (-YEARS, "completed"), (HOUR, "stopped"), (YEARS, "stopped")],
)
async def test_a_clock_that_is_set_between_two_executions_wedges_no_run(
    memory_runs: MemoryRuns, monkeypatch: pytest.MonkeyPatch, shift: timedelta, status: str
) -> None:
    """It ends, at its answer or at its time, and each of its executions replays."""
    go_on = memory_runs.server.continue_as_new

    def set_clock(before: Execution, asked: ContinueAsNewWorkflowExecution) -> Execution:
        memory_runs.thread.loop.set_clock(shift)
        return go_on(before, asked)

    monkeypatch.setattr(memory_runs.server, "continue_as_new", set_clock)
    script = [call("add", a=1, b=1), call("add", a=2, b=2), call("add", a=3, b=3), say("done")]
    app = scripted(script, budget=Budget(max_wall_time=600), max_history_events=1)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        stories = await memory_runs.stories(run)

    assert result.status == status
    assert len(stories) > 1


CLOSED = WorkflowExecutionStatus.COMPLETED
AHEAD = Opening("ahead", NOW + HOUR, CLOSED, 1)
SET_BACK = Opening("set back", NOW, CLOSED, 2)


def test_a_session_was_left_by_who_opened_it_last_whatever_the_clock_said() -> None:
    """An earlier one that seems to be later would bring back what was said and done before it."""
    # SE-04
    goes_on = Opening("goes on", NOW - HOUR, WorkflowExecutionStatus.RUNNING)
    never_began = Opening("never began", NOW + YEARS, WorkflowExecutionStatus.TERMINATED)

    found = sorted((never_began, AHEAD, goes_on, SET_BACK), key=order_opening, reverse=True)

    assert [one.run_id for one in found] == ["goes on", "set back", "ahead", "never began"]


@pytest.mark.parametrize(
    ("one", "knows"),
    [
        pytest.param(AHEAD, False, id="opened before"),
        pytest.param(Opening("next", NOW - HOUR, CLOSED, 3), True, id="opened since"),
        pytest.param(Opening("never", NOW + HOUR, CLOSED), False, id="it never began"),
    ],
)
def test_what_was_archived_gives_way_to_no_earlier_opening(one: Opening, *, knows: bool) -> None:
    """Nor does a later one by a clock that was set back give way to it."""
    # SE-04
    state = ARCHIVED.state
    assert state.session is not None
    again = state.session.copy_with({"opened": 2})
    kept = ARCHIVED.model_copy(
        update={"state": state.with_(session=again), "execution": "set back", "closed_at": NOW}
    )

    assert knows_more(one, kept) is knows


async def test_the_server_lists_by_which_opening_a_session_was_left(runs: Runs) -> None:
    """Each execution says so itself, whatever its starter does."""
    # SE-04
    talks = Talks(runs)
    async with talks.working(scripted(told, max_history_events=1)):
        talk = talks.talk()
        for number in range(3):
            await talk.exchange(f"m-{number}", "hi")
            await talk.exchange(f"n-{number}", "hi")
            await talk.close()
    query = f"WorkflowId = '{talk.id}'"
    listed = [one async for one in runs.client.list_workflows(query)]

    memos = {(await one.memo()).get("opened") for one in listed}
    assert memos == {1, 2, 3}
