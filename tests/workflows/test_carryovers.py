"""What a run leaves to one that tries it again: its words, and what it did. Pure."""

from holdfast.contracts.control import KnownEffect
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, UserTurn
from holdfast.run import parts, replies
from holdfast.run.parts import UNKNOWN_EFFECT
from holdfast.run.transcript import append_items
from tests.builders import NOW, a_call, a_reply, a_state, allowed, asked_for, ruled_upon


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
