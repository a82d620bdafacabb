"""What a run does next, and what each step leaves behind."""

from datetime import timedelta

import pytest

from holdfast.contracts.calls import AnyCall, ToolFailure, ToolResult
from holdfast.contracts.run import RunInput
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.transcript import ToolTurn, TranscriptDigest, UserTurn
from holdfast.run import escalations, replies, requests, steps, turns, verdicts
from tests.builders import (
    IDS,
    LATER,
    MODEL,
    NOW,
    SEND,
    WRITE,
    a_call,
    a_contract,
    a_reply,
    a_state,
    a_success,
    allowed,
    an_agent,
    an_approval,
    asked_for,
    ruled_upon,
    to_answer,
    to_approve,
    yes,
)

STOP = Stop(reason="x", detail="", next_safe_action="")
LOOK_1, LOOK_2 = a_call("look", call_id="c1", place="a"), a_call("look", call_id="c2", place="b")
SEND_1 = a_call("send", call_id="c3", text="hi")
WRITE_1, WRITE_2 = a_call("write", call_id="c4", n=1), a_call("write", call_id="c5", n=2)
SPENT = {"max_steps": 1}


def step(state: RunState, *, history_is_long: bool = False) -> steps.Step:
    return steps.next_step(state, NOW, history_is_long=history_is_long)


def ruled(*calls: AnyCall, state: RunState | None = None) -> RunState:
    """A run whose calls were all allowed."""
    asked = asked_for(*calls, state=state)
    return ruled_upon(asked, tuple(allowed(call) for call in calls), NOW)


def waiting(state: RunState | None = None) -> RunState:
    """A run with one call that was allowed and one that waits for approval."""
    asked = asked_for(LOOK_1, SEND_1, state=state)
    return ruled_upon(asked, (allowed(LOOK_1), to_approve(SEND_1)), NOW)


def approved() -> RunState:
    return verdicts.after_verdict(waiting(), an_approval(), yes(), NOW)[0]


def with_(state: RunState, **changes: object) -> RunState:
    return state.model_copy(update=changes)


def batch(step: steps.Step) -> list[str]:
    assert isinstance(step, steps.RunTools)
    return [call.call.call_id for call in step.batch]


def test_a_run_begins_by_asking_the_model() -> None:
    """The first step is a question to the first model."""
    assert step(a_state()) == steps.CallModel("scripted:it")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(
            waiting().with_(phase=Ended(outcome="stopped"), suspended=True),
            "Finish",
            id="over before all",
        ),
        pytest.param(
            with_(asked_for(LOOK_1), suspended=True), "AwaitResume", id="suspended before calls"
        ),
        pytest.param(
            with_(waiting(), suspended=True), "AwaitResume", id="suspended before people"
        ),
        pytest.param(with_(a_state(), suspended=True), "AwaitResume", id="before the model"),
        pytest.param(approved(), "Authorize", id="approved: decided again"),  # T-20
        pytest.param(waiting(), "AwaitPeople", id="people before tools"),  # PF-15
        pytest.param(waiting(a_state(budget=SPENT)), "AwaitPeople", id="people before the budget"),
        pytest.param(
            ruled(LOOK_1, state=a_state(budget=SPENT)), "RunTools", id="calls before the budget"
        ),
        pytest.param(
            escalations.escalate(a_state(), STOP, NOW, escalations.FAILURES),
            "AwaitPeople",
            id="escalated run waits",
        ),
    ],
)
def test_what_comes_first(state: RunState, expected: str) -> None:
    """Over, suspended, undecided, waiting, running: the first that holds decides the step."""
    assert type(step(state, history_is_long=True)).__name__ == expected


@pytest.mark.parametrize(
    ("budget", "long", "context", "expected"),
    [
        pytest.param({"max_steps": 1}, True, 1, "Halt", id="budget first"),  # HG-01
        pytest.param({"max_steps": 2}, True, 1, "ContinueAsNew", id="then a new execution"),
        pytest.param({"max_steps": 2}, False, 1, "Prune", id="then pruning"),
        pytest.param({"max_steps": 2}, False, 500_000, "CallModel", id="then the model"),
    ],
)
def test_between_two_turns(
    budget: dict[str, int], *, long: bool, context: int, expected: str
) -> None:
    """With no calls open: budget, history, context, and then the model."""
    state = ruled(LOOK_1, state=a_state(budget=budget, max_context_bytes=context))
    state = turns.after_tools(state, (a_success(LOOK_1, "x" * 9000),), NOW)

    assert type(step(state, history_is_long=long)).__name__ == expected


def test_only_what_is_undecided_is_authorized() -> None:
    """All undecided calls of a turn are ruled upon at once; decided ones not again."""
    # PF-01
    fresh = step(asked_for(LOOK_1, SEND_1))
    again = step(approved())

    assert isinstance(fresh, steps.Authorize)
    assert isinstance(again, steps.Authorize)
    assert [call.call for call in fresh.calls] == [LOOK_1, SEND_1]
    assert [call.call for call in again.calls] == [SEND_1]
    assert len(again.calls[0].approvals) == 1


def test_a_run_waits_until_the_first_request_expires() -> None:
    """Of several requests the earliest decides how long the run waits."""
    first = ruled_upon(asked_for(SEND_1, LOOK_1), (to_approve(SEND_1),), NOW)
    later = ruled_upon(first, (to_answer(LOOK_1),), NOW + timedelta(minutes=5))

    assert step(later) == steps.AwaitPeople(LATER)


@pytest.mark.parametrize(
    ("calls", "batches"),
    [
        pytest.param((LOOK_1, LOOK_2), [["c1", "c2"]], id="reads beside each other"),
        pytest.param((WRITE_1, WRITE_2), [["c4"], ["c5"]], id="writes one by one"),
        pytest.param(
            (WRITE_1, LOOK_1, WRITE_2, LOOK_2), [["c1", "c2"], ["c4"], ["c5"]], id="reads first"
        ),
        pytest.param((a_call("gone", call_id="c9"), LOOK_1), [["c1"], ["c9"]], id="unknown alone"),
    ],
)
def test_reads_run_together_and_writes_alone(
    calls: tuple[AnyCall, ...], batches: list[list[str]]
) -> None:
    """What changes nothing runs at once; everything else runs one after the other, in order."""
    state = ruled(*calls)
    ran: list[list[str]] = []
    while isinstance(now := step(state), steps.RunTools):
        ran.append(batch(now))
        results = tuple(a_success(call.call) for call in now.batch)
        state = turns.after_tools(state, results, NOW)

    assert ran == batches


def test_a_run_begins_with_its_goal() -> None:
    """The goal is the first item; limits given for the run replace the agent's."""
    # LP-07
    given = RunInput.model_validate(
        {"agent": "it", "input": "go", "budget": {"max_steps": 3}, "tenant": "acme"}
    )

    agent = an_agent(budget={"max_steps": 9, "max_tokens": 5})
    state = turns.start_run(given, agent, NOW, **IDS)

    assert state.conversation.items == (UserTurn(text="go"),)
    assert state.conversation.head == TranscriptDigest().extend(state.conversation.items)
    assert (state.agent.budget.max_steps, state.agent.budget.max_tokens) == (3, 5)
    assert (state.brief.tenant, state.started_at) == ("acme", NOW)


def test_a_fresh_state_is_json() -> None:
    """A state can be handed to a new execution from the beginning."""
    assert RunState.model_validate_json(a_state().model_dump_json()) == a_state()


def test_words_stand_behind_the_transcript() -> None:
    """What people said meanwhile is the last that the next turn of the model reads."""
    state = requests.queue_steering(a_state(), UserTurn(text="be brief", origin="steer"), NOW)

    told = turns.append_steering(state)

    assert told.conversation.items == (
        *state.conversation.items,
        UserTurn(text="be brief", origin="steer"),
    )
    assert told.conversation.steers == ()
    assert turns.append_steering(told) == told


def test_a_model_call_brings_only_what_is_new() -> None:
    """Behind what the model saw last come only new items, and the digest proves the whole."""
    state = turns.after_tools(ruled(LOOK_1), (a_success(LOOK_1),), NOW)

    first = turns.build_model_call(a_state(), MODEL)
    second = turns.build_model_call(state, MODEL)

    assert (first.turn, first.base, first.items) == (
        1,
        TranscriptDigest(),
        a_state().conversation.items,
    )
    assert (second.turn, second.base, second.items) == (
        2,
        first.head,
        state.conversation.items[1:],
    )
    assert (
        second.base.extend(state.conversation.items[1:]) == second.head == state.conversation.head
    )


def test_a_reply_is_billed() -> None:
    """Each reply is a step, and its tokens are counted."""
    reply = a_reply(LOOK_1, usage={"input_tokens": 5, "output_tokens": 2})

    state = replies.after_model(replies.after_model(a_state(), reply, NOW), reply, NOW)

    assert (state.ledger.steps, state.ledger.usage.total_tokens) == (2, 14)


def test_waiting_for_people_is_counted_apart() -> None:
    """Time that people took is kept, so that no limit on work includes it."""
    # T-19
    state = turns.add_waiting_time(
        turns.add_waiting_time(a_state(), timedelta(days=3)), timedelta(seconds=2)
    )

    assert state.ledger.waited == 3 * 86400 + 2


@pytest.mark.parametrize("tool", [SEND, WRITE, a_contract("delete", risk="destructive")])
def test_a_failed_call_is_an_ordinary_result(tool: ToolContract) -> None:
    """An error is told to the model, and the run goes on."""
    # HG-12 PF-19
    call = a_call(tool.name)
    failed: ToolResult = ToolFailure(
        status="outcome_unknown", call_id="c1", name=tool.name, type="timeout", reason="late"
    )

    state = turns.after_tools(ruled(call), (failed,), NOW)

    assert state.conversation.items[-1] == ToolTurn(results=(failed,))
    assert step(state) == steps.CallModel("scripted:it")
