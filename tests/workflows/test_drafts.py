"""Draft first, then commit: what runs when, and what is never repeated blindly."""

from typing import Literal

import pytest

from holdfast.contracts.calls import ArtifactRef, ToolCall, ToolSuccess
from holdfast.contracts.decisions import Allow, Decided, RunAsDraftOnly, RunInSandbox
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import Risk
from holdfast.run import steps, tool_calls, turns, verdicts
from holdfast.run.limits.loop_detection import fingerprint
from tests.builders import (
    FIRST,
    NOW,
    a_call,
    a_contract,
    a_failure,
    a_record,
    a_state,
    a_success,
    allowed,
    an_approval,
    asked_for,
    decided,
    ruled_upon,
    to_approve,
    unknown_outcome,
    yes,
)

SEND = a_call("send", call_id="c1", text="hi")
WRITE = a_call("write", call_id="c2", text="x")
LOOK = a_call("look", call_id="c3", place="a")


def to_draft(call: ToolCall, then: Literal["result", "approval"] = "approval") -> Decided:
    return decided(
        call,
        RunAsDraftOnly(
            rule="risk:communication", reason="draft first", draft="prepare", then=then
        ),
    )


def to_run(call: ToolCall, risk: Risk = Risk.COMMUNICATION) -> Decided:
    return decided(call, Allow(rule="approved:req-1", reason="approved by alice"), risk)


def batch(state: RunState) -> list[str]:
    step = steps.next_step(state, NOW)
    assert isinstance(step, steps.RunTools), step
    return [call.call.call_id for call in step.batch]


def drafted(then: Literal["result", "approval"] = "approval") -> RunState:
    state = ruled_upon(asked_for(SEND), (to_draft(SEND, then),))
    return turns.after_tools(state, (a_success(SEND, {"subject": "hi"}),), NOW)


def test_a_draft_comes_before_the_question() -> None:
    """The draft variant runs first; its result is what a person is asked to approve."""
    # RK-07 PF-13
    state = drafted()

    (call,) = state.calls
    assert call.result is None
    assert call.draft is not None
    assert (call.draft.draft_id, call.draft.tool) == (f"{FIRST}/c1/draft", "prepare")
    assert isinstance(steps.next_step(state, NOW), steps.Authorize)
    asked = ruled_upon(state, (to_approve(SEND),))
    assert [request.kind for request in asked.oversight.requests] == ["approval"]


def test_the_commit_runs_after_the_approval() -> None:
    """An approved draft is committed: the same call, decided anew."""
    # BY-05
    asked = ruled_upon(drafted(), (to_approve(SEND),))
    approved = verdicts.after_verdict(asked, an_approval(), yes(), NOW)[0]
    assert isinstance(steps.next_step(approved, NOW), steps.Authorize)

    ready = ruled_upon(approved, (to_run(SEND),))

    assert batch(ready) == ["c1"]
    assert ready.calls[0].drafting is None


def test_a_draft_only_call_ends_with_its_draft() -> None:
    """Where policy wants nothing but a draft, the draft is the result, and says so."""
    # PF-13 PF-14
    item = drafted("result").conversation.items[-1]

    assert item.kind == "tool"
    (result,) = item.results
    assert isinstance(result, ToolSuccess)
    assert result.name == "send"
    assert result.data == {
        "draft_id": f"{FIRST}/c1/draft",
        "committed": False,
        "draft": {"subject": "hi"},
    }
    assert result.summary.startswith("only a draft, nothing was committed")


def test_a_draft_that_fails_is_the_result() -> None:
    """What can't be drafted is never committed."""
    state = ruled_upon(asked_for(SEND), (to_draft(SEND),))

    after = turns.after_tools(state, (a_failure(SEND),), NOW)

    assert after.calls == ()
    assert after.conversation.items[-1].kind == "tool"


def test_reads_run_first_then_drafts_then_writes_one_by_one() -> None:
    """People see all drafts of a turn before anything of it is written."""
    # BY-12
    state = ruled_upon(
        asked_for(WRITE, SEND, LOOK),
        (to_run(WRITE, Risk.WRITE_LOCAL), to_draft(SEND), allowed(LOOK)),
    )

    assert batch(state) == ["c3"]
    state = turns.after_tools(state, (a_success(LOOK),), NOW)
    assert batch(state) == ["c1"]
    state = turns.after_tools(state, (a_success(SEND),), NOW)
    assert isinstance(steps.next_step(state, NOW), steps.Authorize)
    state = ruled_upon(state, (to_approve(SEND),))
    assert isinstance(steps.next_step(state, NOW), steps.AwaitPeople)


def test_people_see_all_that_a_turn_wants_at_once() -> None:
    """A plain request waits until the drafts of its turn are there; then both are asked."""
    # PF-15
    other = a_call("send", call_id="c4", text="ho")
    state = ruled_upon(asked_for(other, SEND), (to_approve(other), to_draft(SEND)))

    assert state.oversight.requests == ()
    assert batch(state) == ["c1"]
    state = turns.after_tools(state, (a_success(SEND),), NOW)
    step = steps.next_step(state, NOW)
    assert isinstance(step, steps.Authorize)
    assert [call.call.call_id for call in step.calls] == ["c4", "c1"]
    state = ruled_upon(state, (to_approve(other), to_approve(SEND)))
    assert [request.request_id for request in state.oversight.requests] == ["req-1", "req-2"]


@pytest.mark.parametrize(
    "decision",
    [
        Allow(rule="r", reason=""),
        RunInSandbox(rule="r", reason=""),
        RunAsDraftOnly(rule="r", reason="", draft="prepare", then="approval"),
    ],
)
def test_whatever_may_run_is_decided_anew_after_a_wait(
    decision: Allow | RunInSandbox | RunAsDraftOnly,
) -> None:
    """Policy may have changed while people thought."""
    # T-20
    state = ruled_upon(asked_for(SEND), (decided(SEND, decision),))

    assert tool_calls.invalidate(state, in_turn=False).calls[0].ruling is None


def test_a_write_that_may_have_happened_is_remembered() -> None:
    """Its fingerprint stays in the run, so that the same call isn't made blindly again."""
    # BY-11
    state = ruled_upon(asked_for(SEND), (to_run(SEND),))
    state = state.model_copy(
        update={
            "agent": state.agent.model_copy(
                update={
                    "tools": (a_contract("send", risk=Risk.COMMUNICATION, side_effect="external"),)
                }
            )
        }
    )

    after = turns.after_tools(state, (unknown_outcome(SEND),), NOW)

    assert after.effects.unresolved == (fingerprint(SEND),)


def test_a_local_write_may_be_repeated() -> None:
    """A file in the workspace is written again without harm."""
    state = ruled_upon(asked_for(WRITE), (to_run(WRITE, Risk.WRITE_LOCAL),))
    local = a_contract("write", risk=Risk.WRITE_LOCAL, side_effect="local")
    agent = state.agent.model_copy(update={"tools": (local,)})

    after = turns.after_tools(
        state.model_copy(update={"agent": agent}), (unknown_outcome(WRITE),), NOW
    )

    assert after.effects.unresolved == ()


def test_a_flood_makes_a_waiting_run_go_on_anew() -> None:
    """A run that waits continues as new when messages filled its execution, suspended or not."""
    # T-34
    state = ruled_upon(asked_for(SEND), (to_approve(SEND),))

    assert isinstance(steps.next_step(state, NOW, history_is_long=True), steps.AwaitPeople)
    assert steps.next_step(state, NOW, flooded=True) == steps.ContinueAsNew()
    held = turns.set_suspension(state, on=True)
    assert steps.next_step(held, NOW, flooded=True) == steps.ContinueAsNew()
    assert isinstance(steps.next_step(held, NOW, history_is_long=True), steps.AwaitResume)


def test_what_was_approved_before_a_draft_is_asked_again() -> None:
    """An approval that was given before there was a draft is none of the draft."""
    # BY-05
    approved = asked_for(SEND)
    call = approved.calls[0].model_copy(update={"approvals": (a_record(SEND),)})
    state = ruled_upon(approved.model_copy(update={"calls": (call,)}), (to_draft(SEND),))

    after = turns.after_tools(state, (a_success(SEND),), NOW)

    assert after.calls[0].draft is not None
    assert after.calls[0].approvals == ()


@pytest.mark.parametrize(
    "kept", [ArtifactRef(path="c1.draft.json", characters=90_000, digest="d" * 64), None]
)
def test_a_draft_that_cant_be_shown_whole_is_refused(kept: ArtifactRef | None) -> None:
    """Nobody is asked to approve what they can't read to its end, wherever the rest of it is."""
    state = ruled_upon(asked_for(SEND), (to_draft(SEND),))

    cut = a_success(SEND).model_copy(update={"artifact": kept, "cut": True})
    item = turns.after_tools(state, (cut,), NOW).conversation.items[-1]

    assert item.kind == "tool"
    assert "too large to be shown" in str(item.results[0])


@pytest.mark.parametrize(("most", "ends"), [(1, True), (2, False)])
def test_where_there_is_room_for_the_draft_alone_nothing_is_drafted(
    most: int, *, ends: bool
) -> None:
    """A draft counts as a call, so a call that is drafted first needs room for two."""
    # BY-09
    send = a_contract("send", risk=Risk.COMMUNICATION, draft="prepare")
    state = asked_for(
        SEND, state=a_state(tools=(send,), budget={"max_steps": 9, "max_tool_calls": most})
    )

    assert (state.outcome is not None) is ends
    assert [call.call for call in state.calls] == ([] if ends else [SEND])
