"""What a run leaves to one that tries it again: its words, and what it did. Pure."""

from holdfast import Risk
from holdfast.contracts.calls import RecordedResult
from holdfast.contracts.control import Delegation
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.effects import Effect, KnownEffect
from holdfast.contracts.run import RunInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, UserTurn
from holdfast.run import parts, replies, turns
from holdfast.run.earlier import retries
from holdfast.run.parts import UNKNOWN_EFFECT
from holdfast.run.transcript import append_items
from tests.builders import (
    IDS,
    NOW,
    a_call,
    a_reply,
    a_state,
    a_success,
    allowed,
    an_agent,
    asked_for,
    ruled_upon,
)


def test_a_turn_that_a_model_was_not_done_with_becomes_words() -> None:
    """Its pieces only go on where the provider left off; to a retry they are what was said."""
    reply = a_reply(
        text="so far",
        stop="pause",
        parts=(Part(kind="text", text="so far"), Part(kind="hosted_call", native={"id": 1})),
    )
    state = replies.after_model(a_state(), reply, NOW)
    silent = replies.after_model(
        a_state(), reply.model_copy(update={"text": "", "parts": ()}), NOW
    )

    last = parts.build_carryover(state, (), {}, NOW).items[-1]

    assert isinstance(last, AssistantTurn)
    assert (state.chain.paused, last.text, last.parts) == (True, "so far", ())
    assert len(parts.build_carryover(silent, (), {}, NOW).items) == 1


def test_what_a_new_run_says_anew_is_left() -> None:
    """A project is read again and an approach planned again; words that nobody read are kept."""
    state = append_items(
        a_state(),
        UserTurn(text="files", origin="project"),
        UserTurn(text="knit it", origin="plan"),
    ).with_conversation(steers=(UserTurn(text="in red", origin="steer"),))

    items = parts.build_carryover(state, (), {}, NOW).items

    assert [(item.origin, item.text) for item in items if isinstance(item, UserTurn)] == [
        ("goal", "reach the goal"),
        ("notice", "knit it"),
        ("steer", "in red"),
    ]


def test_what_was_lost_before_stays_lost() -> None:
    """Whoever tries it again knows what any of those before it did, or might have done."""
    # NR-06
    known = KnownEffect(tool="send", digest="a" * 64, outcome="done")
    state = a_state(run={"known": [known.model_dump()]}).with_effects(unresolved=("b" * 64,))

    left = parts.build_carryover(state, (), {"1-full": "hand"}, NOW)

    assert left.known == (
        UNKNOWN_EFFECT,
        known,
        KnownEffect(tool="", digest="b" * 64, outcome="unknown"),
    )
    assert "whatever hand did" in left.told


def test_a_call_that_had_not_begun_did_not_happen() -> None:
    """Of the calls of an open turn only those that were sent may have done something."""
    # NR-06
    send, write = a_call("send", "c1"), a_call("write", "c2")
    state = ruled_upon(asked_for(send, write), (allowed(send), allowed(write)))

    begun, fresh = (
        parts.build_carryover(state, calls, {}, NOW) for calls in (state.calls[:1], ())
    )

    assert [one.tool for one in begun.known] == ["send"]
    assert fresh.known == ()
    assert isinstance(turn := fresh.items[-1], ToolTurn)
    assert [one.status for one in turn.results] == ["aborted", "aborted"]


def test_a_task_or_a_look_that_was_under_way_had_begun() -> None:
    """Whoever tries it again isn't told that it never did: a part may have done anything."""
    # NR-06
    ask, look, late = (a_call(name, name) for name in ("ask", "look", "later"))
    state = ruled_upon(asked_for(ask, look, late), tuple(map(allowed, (ask, look, late))))
    given = Delegation(tool="ask", at_once=4, budget_share=0.5)
    state = state.with_(agent=state.agent.copy_with({"delegations": (given,)}))

    left = parts.build_carryover(state, state.calls[1:2], {"1-hand": "hand"}, NOW)

    assert isinstance(turn := left.items[-1], ToolTurn)
    assert ["before it began" in str(one) for one in turn.results] == [False, False, True]


def again(left: Carryover, **asked: object) -> RunState:
    """A run that tries again the one that left this."""
    given = RunInput.model_validate({"agent": "it", "retry_of": {"run_id": "run-1"}, **asked})
    run = retries.take_over_limits(given, left)
    return retries.go_on_behind(turns.start_run(run, an_agent(), NOW, **IDS), left)


def test_who_tries_a_run_again_whose_words_are_withheld_reads_no_calls() -> None:
    """What it did is known by its tools: a call may quote what nobody else is told."""
    # GR-01 BY-64
    paid = Effect(tool="pay", digest="d" * 64, summary="pay(to='VIRUS')", outcome="done")
    left = parts.build_carryover(a_state().with_effects(done=(paid,)), (), {}, NOW)
    told, withheld = again(left), again(left.copy_with({"withheld": True}))

    assert "VIRUS" in str(told.conversation.items[-1])
    assert "VIRUS" not in str(withheld.conversation.items)
    assert "- pay (done)" in str(withheld.conversation.items[-1])


BEFORE: dict[str, object] = {
    "actor": "bea",
    "earlier_actors": ["ann"],
    "regulated": True,
    "mode": "plan",
    "stream": True,
    "ceiling": {"max_steps": 3},
    "without_risks": ["destructive"],
}


def test_whoever_tries_a_run_again_is_bound_as_it_was() -> None:
    """By the law, a plan that nobody released, its ceiling, and all for whom it ever worked."""
    # BY-16 HT-04
    left = parts.build_carryover(a_state(run=BEFORE), (), {}, NOW)
    state = again(left, actor="cal")
    free = again(parts.build_carryover(a_state(), (), {}, NOW))

    assert (state.brief.regulated, state.planning, state.brief.stream) == (True, True, True)
    assert (state.brief.actor, state.brief.earlier_actors) == ("cal", ("ann", "bea"))
    assert state.ceiling == left.ceiling
    assert retries.take_over_limits(RunInput(agent="it", input="again"), left).regulated
    assert state.brief.without_risks == (Risk.DESTRUCTIVE,)
    assert (free.brief.regulated, free.planning) == (False, False)
    assert not again(left, stream=False).brief.stream


def test_a_run_that_is_tried_again_has_said_what_it_said() -> None:
    """In its summary too; where that was withheld, and this run's isn't, nothing is told of it."""
    # SM-05
    reply = a_reply(a_call(), text="it is under the mat")
    before = replies.after_model(a_state(), reply, NOW).with_conversation(
        summary="all of it", summarised_before=1
    )
    left = parts.build_carryover(before, (), {}, NOW)
    state, hidden = again(left), again(left.copy_with({"withheld": True}))

    assert state.call_marks == before.call_marks != ()
    assert (state.conversation.summary, state.conversation.summarised_before) == ("all of it", 1)
    assert (hidden.conversation.summary, hidden.conversation.summarised_before) == ("", 0)
    assert "mat" in str(state.conversation.items)
    assert "mat" not in str(hidden.conversation.items)


def test_a_dry_fork_is_answered_with_nothing_withheld() -> None:
    """What an agent answered that did a part may be an answer that was withheld later."""
    # SM-05
    call = a_call()
    result = a_success(call, "under the mat").model_copy(update={"by_agent": True})
    recorded = (RecordedResult(digests=("d",), result=result),)
    left = parts.build_carryover(a_state(), (), {}, NOW).copy_with({"recorded": recorded})
    state, hidden = again(left), again(left.copy_with({"withheld": True}))

    assert "mat" in str(state.effects.recorded)
    assert "mat" not in str(hidden.effects.recorded)
    assert [one.digests for one in hidden.effects.recorded] == [("d",)]
