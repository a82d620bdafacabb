"""What parts of a run leave to the whole, as plain values."""

from itertools import pairwise
from math import inf, nan

import pytest

from holdfast.contracts import bounds
from holdfast.contracts.effects import Compensation, Effect, KnownEffect, UndoRuling
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.state import QueuedMessage
from holdfast.contracts.state.run import RunState
from holdfast.run import parts, tiers, tool_results
from holdfast.run.sessions.messages import end_message
from holdfast.run.tiers import TierStop
from tests.builders import MODEL, NOW, a_call, a_session, a_state, an_attempt
from tests.contracts.controls import UNDO

SENT = Effect(summary="send(1)", tool="send", digest="1" * 64)
MAYBE = Effect(summary="pay(2), if it happened", tool="pay", digest="2" * 64, outcome="unknown")
FILE = Effect(summary="write_file(a)", tool="write_file", digest="3" * 64, local=True)
DRAFT = Effect(summary="draft(x)", tool="draft")
DURING = (0.0, 1.0)


def a_result(**more: object) -> RunResult:
    fields: dict[str, object] = {
        "status": "completed",
        "answer": "done",
        "stop": None,
        "steps": 2,
        "usage": {},
        "provider_state": None,
        "confidence": None,
        "model": MODEL,
    }
    return RunResult.model_validate({**fields, **more})


def left(*found: Effect, **more: object) -> RunState:
    """A run after a part that did this."""
    return parts.after_result(a_state(), "1-full", a_result(effects=found, **more), DURING)


def test_a_successor_knows_what_was_done_outside() -> None:
    """What stays in a part's own workspace, and a draft that reaches nobody, it does again."""
    # NR-06
    before = KnownEffect(tool="ask", digest="4" * 64, outcome="done")
    state = left(SENT, FILE, DRAFT, unresolved=(MAYBE,)).with_effects(known=(before,))

    assert parts.build_known_effects(state) == (
        before,
        KnownEffect(tool="send", digest="1" * 64, outcome="done"),
        KnownEffect(tool="pay", digest="2" * 64, outcome="unknown"),
    )
    assert parts.describe_effects(state) == (
        "Done already for this goal; the same call is refused:\n- 1-full: send(1)\n\n"
        "Nobody knows whether this happened; the same call is refused:\n"
        "- 1-full: pay(2), if it happened"
    )


def test_what_a_part_lost_reaches_the_whole_though_it_took_back_the_rest() -> None:
    """It told what it couldn't take back; that there was more than it kept isn't told by that."""
    # NR-06
    full = a_state().with_effects(forgotten=3)
    blocked = tool_results.record_compensation(
        full, Compensation(not_undone=("3 earlier changes",))
    )

    done, maybe = tool_results.split_by_outcome(blocked, whole=True)
    whole = parts.after_result(
        a_state(), "1-full", a_result(effects=done, unresolved=maybe), DURING
    )

    assert parts.UNKNOWN_EFFECT in parts.build_own_known_effects(whole)


def test_who_comes_after_a_lost_part_knows_that_anything_may_have_happened() -> None:
    """What its run never told, and what was too much to be kept, nobody takes for not done."""
    # NR-06 BY-11
    lost = parts.after_loss(left(SENT), "1-full", "coder")
    whole = parts.after_result(
        a_state(), "2-plan", a_result(unresolved=lost.effects.done[1:]), DURING
    )
    forgetful = left(SENT).with_effects(forgotten=1)
    many = tuple(
        KnownEffect(tool="send", digest=f"{number:064x}", outcome="done") for number in range(600)
    )
    full = a_state().with_effects(known=many)

    assert parts.build_known_effects(lost) == (
        parts.UNKNOWN_EFFECT,
        *parts.build_known_effects(left(SENT)),
    )
    assert parts.build_known_effects(whole) == (parts.UNKNOWN_EFFECT,)
    assert parts.build_known_effects(forgetful) == (
        parts.UNKNOWN_EFFECT,
        *parts.build_known_effects(left(SENT)),
    )
    assert parts.build_known_effects(full) == (
        parts.UNKNOWN_EFFECT,
        *many[-bounds.MAX_KNOWN_EFFECTS + 1 :],
    )
    assert parts.describe_effects(lost).endswith(
        "Nobody knows what was done; a person is asked before any change:\n"
        "- 1-full: whatever coder did, whose run ended without a result"
    )


def test_what_nobody_knows_is_forgotten_last() -> None:
    """However much a session has done since: later messages don't do it again unasked."""
    # BY-11
    lost = tuple(
        KnownEffect(tool="send", digest=f"{number:064x}", outcome="unknown") for number in (1, 2)
    )
    many = tuple(
        KnownEffect(tool="send", digest=f"{number:064x}", outcome="done")
        for number in range(10, 10 + bounds.MAX_KNOWN_EFFECTS)
    )
    crowded = parts.build_session_effects(a_state().with_effects(known=(*lost, *many)))
    unknown = tuple(one.model_copy(update={"outcome": "unknown"}) for one in many)

    assert crowded == (*lost, *many[3:])
    assert parts.build_session_effects(a_state().with_effects(known=unknown)) == (
        parts.UNKNOWN_EFFECT,
        *unknown[1:],
    )


def test_what_nobody_knows_is_known_to_parts_of_later_messages() -> None:
    """Be it of a call behind which so much was done that its effect isn't kept."""
    # BY-11
    many = (_large(number, UNDO) for number in range(2_000))
    current = QueuedMessage(message_id="m1", text="do it", actor="web", position=1)
    state = a_state().with_(session=a_session().with_(current=current))
    state = tool_results.keep_effects(state, (MAYBE, *many))
    later = end_message(state.with_effects(unresolved=(MAYBE.digest,)), NOW)

    known = parts.build_known_effects(later)

    assert state.effects.forgotten > 0
    assert [one.digest for one in known if one.outcome == "unknown"] == [MAYBE.digest]


def test_a_run_repeats_what_it_did_but_not_what_its_parts_did() -> None:
    """Two equal lines are its own affair; what a part did is done."""
    # NR-06
    own = SENT.model_copy(update={"digest": "5" * 64})
    state = tool_results.keep_effects(left(SENT, FILE), (*left(SENT, FILE).effects.done, own))
    crowded = tool_results.keep_effects(
        state, (*state.effects.done, *(_large(n, UNDO) for n in range(2_000)))
    )

    assert parts.build_own_known_effects(state) == (
        KnownEffect(tool="send", digest="1" * 64, outcome="done"),
    )
    assert (
        parts.build_own_known_effects(parts.after_loss(state, "2-plan", "coder"))[0]
        == parts.UNKNOWN_EFFECT
    )
    assert parts.build_own_known_effects(crowded) == (parts.UNKNOWN_EFFECT,)
    assert (
        parts.build_own_known_effects(tool_results.record_compensation(crowded, Compensation()))[0]
        == parts.UNKNOWN_EFFECT
    )


def test_parts_of_parts_are_told_apart() -> None:
    """Each run on the way to the whole adds its name."""
    (found,) = left(SENT.model_copy(update={"part": "2-plan"})).effects.done

    assert (found.part, found.summary) == ("1-full.2-plan", "1-full: send(1)")


def test_the_whole_tells_what_its_parts_took_back() -> None:
    """What a part took back, and which models failed it, is told once more by the whole."""
    # FB-14
    told = Compensation(undone=("a",), not_undone=("b",))
    state = left(compensation=told, failures=(an_attempt(),))

    assert state.effects.compensation == told
    assert state.chain.attempts == (an_attempt(),)


def test_what_could_not_be_taken_back_stands() -> None:
    """It is told once, and known to whoever comes next, as is what nobody came to."""
    state = left(SENT, MAYBE)
    reported = SENT.model_copy(update={"reported": True})
    state = state.with_effects(done=(reported, MAYBE))

    state = tool_results.record_compensation(state, Compensation(not_undone=("send",)))

    assert state.effects.done == (reported, MAYBE)
    assert [one.tool for one in parts.build_known_effects(state)] == ["send", "pay"]


@pytest.mark.slow
def test_what_is_kept_of_effects_has_a_bound() -> None:
    """The latest keep what undoes them, earlier ones what they were; more are counted."""
    undo = UNDO.model_copy(update={"verdict": "allow", "reason": "x" * 400})
    state = a_state()
    for first, end in pairwise([*range(0, 1_900, 50), *range(1_900, 2_001)]):
        new = (_large(number, undo) for number in range(first, end))
        state = tool_results.keep_effects(state, (*state.effects.done, *new))

    assert sum(map(bounds.size, state.effects.done)) <= bounds.MAX_EFFECTS_BYTES
    assert len(state.effects.done) + state.effects.forgotten == 2_000
    assert len(state.effects.done) > 200
    assert state.effects.done[-1] == _large(1_999, undo)
    first = state.effects.done[0]
    assert (first.call, first.arguments, len(first.digest)) == (None, None, 64)


def _large(number: int, undo: UndoRuling) -> Effect:
    return Effect(
        summary=f"send({number}, {'y' * 100})",
        tool="send",
        arguments={"text": "z" * 1_000},
        digest=f"{number:064x}",
        undo=undo,
        call=a_call("send", text="z" * 1_000),
        result="z" * 1_000,
    )


def test_a_part_that_took_back_has_the_whole_taken_back() -> None:
    """A block of what was done is one of the whole; a block of an input takes nothing back."""
    # GR-13
    stop = {"reason": "it is bad", "detail": "", "next_safe_action": ""}
    fields = {"status": "blocked", "answer": None, "stop": stop}

    found = [
        tiers.classify_result(a_result(**fields, compensation=told))
        for told in (Compensation(), None)
    ]

    assert [isinstance(end, TierStop) and end.taken_back for end in found] == [True, False]


def began_and_ended(state: RunState) -> list[tuple[str, float, float]]:
    """What was done, in its order, and when that was."""
    return [(one.tool, *one.during) for one in state.effects.done if one.during]


def test_what_parts_did_beside_each_other_is_in_the_order_of_that() -> None:
    """Those before a part began stay where they are; who ends later may have been done earlier."""
    # GR-13
    own = a_state().with_effects(done=(FILE,))
    first = a_result(effects=(SENT.with_(during=(5, 6)),))
    second = a_result(effects=(DRAFT.with_(during=(3, 4)), FILE.with_(during=(7, 8))))

    state = parts.after_result(own, "1-a", first, (2, 10))
    both = parts.after_result(state, "2-b", second, (2, 12))
    earlier = parts.after_result(state, "2-b", second, (2, 12), beside=False)

    assert began_and_ended(both) == [("draft", 3, 4), ("send", 5, 6), ("write_file", 7, 8)]
    assert both.effects.done[0] == FILE
    assert [name for name, *_ in began_and_ended(earlier)] == ["send", "draft", "write_file"]


@pytest.mark.parametrize(
    ("during", "known"),
    [
        pytest.param(None, (2, 12), id="a part of an earlier release doesn't say it"),
        pytest.param((1, 13), (2, 12), id="a clock that differs"),
        pytest.param((inf, inf), (12, 12), id="no time"),
        pytest.param((nan, nan), (2, 12), id="no number"),
    ],
)
def test_a_part_did_what_it_did_while_it_worked(
    during: tuple[float, float] | None, known: tuple[float, float]
) -> None:
    """Whatever it says of that; what it did stays in its order, though a clock was set back."""
    # GR-13
    result = a_result(effects=(SENT.with_(during=during), DRAFT.with_(during=(4, 5))))

    state = parts.after_result(a_state(), "1-a", result, (2, 12))

    assert began_and_ended(state) == [("send", *known), ("draft", 4, known[1])]
