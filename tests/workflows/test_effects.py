"""What a run did is kept until it is taken back, and then told once."""

from holdfast import Backtracking
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.decisions import RunAsDraftOnly
from holdfast.contracts.effects import Compensation, Effect, UndoRuling
from holdfast.contracts.tools import Risk
from holdfast.contracts.transcript import AssistantTurn, ToolTurn
from holdfast.run import backtracking, tool_results, turns
from holdfast.run.context import apply_view, leave_hidden
from holdfast.run.transcript import append_items, build_continue_as_new_input, prune
from holdfast.workflows.resets import after_reset
from tests.builders import (
    MODEL,
    NOW,
    SEND,
    a_call,
    a_contract,
    a_state,
    a_success,
    allowed,
    asked_for,
    decided,
    ruled_upon,
)
from tests.contracts.controls import UNDO


def test_what_was_taken_back_is_told_once() -> None:
    """Each time adds to what is told; what nobody came to, because of a stop, stands."""
    # GR-13
    left = Effect(summary="pay(1)")
    state = a_state().with_effects(done=(left,), forgotten=3)

    state = tool_results.record_compensation(
        state, Compensation(undone=("a",), not_undone=("b", "3 more"))
    )
    assert (state.effects.done, state.effects.forgotten) == ((left,), 0)

    state = tool_results.record_compensation(state, Compensation(undone=("c",)))
    assert state.effects.compensation == Compensation(
        undone=("a", "c"), not_undone=("b", "3 more")
    )


def test_a_run_knows_what_stood_at_its_checkpoint() -> None:
    """However much of it was taken back or forgotten since."""
    # BT-05
    a, b, c = (Effect(summary=name) for name in "abc")
    marked = backtracking.set_checkpoint(a_state().with_effects(done=(a, b), forgotten=3), "")
    later = marked.with_effects(done=(a, b, c))
    fewer = tool_results.remove_effect(tool_results.remove_effect(later, 2), 0)
    crowded = later.with_effects(done=(c,), forgotten=5)
    left = tool_results.record_compensation(crowded, Compensation(), since=crowded.effects.stood)

    assert (marked.effects.stood, fewer.effects.done, fewer.effects.stood) == (5, (b,), 4)
    assert (left.effects.forgotten, left.effects.stood, left.effects.lost) == (5, 5, False)
    assert tool_results.record_compensation(later, Compensation()).effects.stood == 2


def test_a_read_of_which_nobody_knows_was_a_write() -> None:
    """Another worker knew it as one by the time that it ran: it isn't repeated, and it is told."""
    call = a_call("look", place="attic")
    state = ruled_upon(asked_for(call), (allowed(call),))
    lost = ToolFailure(
        status="outcome_unknown", call_id="c1", name="look", type="conflict", reason="who knows"
    )

    state = turns.after_tools(state, (lost,), NOW)

    assert len(state.effects.unresolved) == 1
    assert [(effect.tool, effect.outcome) for effect in state.effects.done] == [
        ("look", "unknown")
    ]


def test_what_is_under_way_in_a_reset_is_known_as_what_was_decided() -> None:
    """Nobody knows what became of it: it isn't asked for again, and can be taken back."""
    call, undo = a_call("send", text="hi"), UNDO
    ruling = allowed(call).model_copy(update={"undo": undo})
    begun = ruled_upon(asked_for(call), (ruling,))
    lost = ToolFailure(
        status="outcome_unknown", call_id="c1", name="send", type="timeout", reason="who knows"
    )

    reset = turns.restore_rulings(after_reset(begun, "another", NOW), begun.calls, (lost,))
    state = turns.after_tools(reset, (lost,), NOW, begun.calls)

    assert len(state.effects.unresolved) == 1
    assert [(one.outcome, one.digest, one.undo) for one in state.effects.done] == [
        ("unknown", state.effects.unresolved[0], undo)
    ]


def test_what_hasnt_begun_in_a_reset_is_decided_anew() -> None:
    """Of a batch only the calls that ran are taken for what they were decided as."""
    both = a_call("send", text="hi"), a_call("send", "c2", text="hello")
    begun = ruled_upon(asked_for(*both), tuple(map(allowed, both)))

    results = (a_success(both[0]),)
    reset = turns.restore_rulings(after_reset(begun, "another", NOW), begun.calls, results)
    state = turns.after_tools(reset, results, NOW, begun.calls)

    assert [one.ruling is None for one in state.calls] == [False, True]


def test_without_a_reset_nothing_of_what_ran_is_known_otherwise() -> None:
    """So no history has a mark of it that hadn't one before."""
    begun = ruled_upon(asked_for(call := a_call("send", text="hi")), (allowed(call),))

    assert turns.restore_rulings(begun, begun.calls, (a_success(call),)) is begun


def test_a_draft_that_became_a_write_can_be_taken_back() -> None:
    """The run began with one that left nothing behind; by the ruling it leaves something."""
    call = a_call("send", text="hi")
    state = a_state(tools=(SEND,), companions=(a_contract("prepare"),))
    undo = UndoRuling(
        tool="discard", risk=Risk.WRITE_LOCAL, verdict="allow", rule="r", reason="so"
    )
    draft = RunAsDraftOnly(rule="r", reason="", draft="prepare", then="result")
    ruling = decided(call, draft).model_copy(update={"draft_risk": Risk.DRAFT_ONLY, "undo": undo})
    state = ruled_upon(asked_for(call, state=state), (ruling,))

    state = turns.after_tools(state, (a_success(call),), NOW)

    assert [(effect.tool, effect.undo) for effect in state.effects.done] == [("prepare", undo)]


def test_a_checkpoint_knows_its_summary_in_a_new_execution() -> None:
    """Its place there is another: else the next approach would be shown the summary alone."""
    # BT-05
    said = [AssistantTurn(model=MODEL, text=f"turn {number}") for number in range(9)]
    state = append_items(a_state(backtracking=Backtracking()), *said)
    state = state.with_conversation(summary="so far", summarised_before=8)
    carried = build_continue_as_new_input(backtracking.set_checkpoint(state, ""))
    back = backtracking.roll_back(carried, Compensation(), NOW)
    later = append_items(back, AssistantTurn(model=MODEL, text="the next approach"))
    shown = str(apply_view(later.conversation.items, later.conversation.view, 500_000))

    assert "so far" in shown
    assert "the next approach" in shown
    assert "turn 3" not in shown


def test_what_was_pruned_of_an_approach_that_failed_is_left_in_a_new_execution() -> None:
    """Its turns have pushed those before it out of view: the next approach reads none of them."""
    # BT-05
    state = a_state(backtracking=Backtracking(), max_context_bytes=4_000)
    state = append_items(state, *a_turn("before"), *a_turn("before"))
    state = backtracking.set_checkpoint(state, "").with_approaches(current="this way")
    state = append_items(state, *a_turn("failed", 500), *a_turn("failed", 500), *a_turn("failed"))
    pruned = prune(state, len(state.conversation.items) - 2)
    carried = build_continue_as_new_input(pruned).with_approaches(dead_end="it failed")
    back = backtracking.roll_back(carried, Compensation(), NOW)
    said = back.conversation

    assert "failed" in str(carried.conversation.items)
    assert "failed" not in str(leave_hidden(said.items, said.hidden))


def a_turn(text: str, chars: int = 100) -> tuple[AssistantTurn, ToolTurn]:
    """Look, with as many words beside that as make it so long."""
    look = a_call()
    return (
        AssistantTurn(model=MODEL, text=text.ljust(chars), calls=(look,)),
        ToolTurn(results=(a_success(look),)),
    )
