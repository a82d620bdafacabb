"""What is taken of a message, and what its work has left: pure, so every way is tried."""

from datetime import timedelta

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from holdfast.contracts.bounds import size
from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.sessions import bounds
from holdfast.contracts.sessions.messages import MessageSignal
from holdfast.contracts.state.run import RunState
from holdfast.contracts.usage import CallUsage
from holdfast.run.sessions import messages
from holdfast.workflows.inbound.inbox import InboundMessage
from holdfast.workflows.sessions import views
from tests.builders import NOW, a_session, a_state
from tests.counting import count_calls

LATER = NOW + timedelta(seconds=7)


def talk(**session: object) -> RunState:
    """A session of `it` in which nothing was said yet."""
    return a_state().with_(session=a_session().copy_with(session))


def a_message(message_id: str = "m-1", **more: object) -> MessageSignal:
    return MessageSignal.model_validate({"message_id": message_id, "text": "hello", **more})


def test_a_message_is_kept_with_who_said_it_and_when() -> None:
    """Role, content, metadata and time, of the agent that is talked to; and that it waits."""
    # SE-01 SE-03 SE-05
    said = a_message(metadata={"page": 3}, actor="ann")
    after, receipt = messages.accept_message(talk(), said, LATER)
    session = messages.require_session(after)
    (turn,) = session.conversation
    (waiting,) = session.waiting

    assert (turn.role, turn.content, turn.metadata) == ("user", "hello", {"page": 3})
    assert (turn.timestamp, turn.message_id, turn.agent) == (LATER, "m-1", "it")
    assert (waiting.actor, waiting.position, waiting.text) == ("ann", 1, "hello")
    assert (session.last_updated, session.messages) == (LATER, 1)
    assert (receipt.position, receipt.state) == (1, "queued")
    assert after.brief.earlier_actors == ("ann",)  # who may approve nothing that comes of it


def test_a_message_of_nobody_is_that_of_who_opened_the_session() -> None:
    """And the second has the second place."""
    # SE-05
    first, _ = messages.accept_message(talk(), a_message(), NOW)
    second, receipt = messages.accept_message(first, a_message("m-2"), LATER)

    assert [one.actor for one in messages.require_session(second).waiting] == ["web", "web"]
    assert receipt.position == 2
    assert second.brief.earlier_actors == ()


def test_a_session_that_closes_goes_on_with_what_comes() -> None:
    """Whoever says something to it meant it to be open."""
    # SE-04
    closing = messages.close(talk(), "it was idle")
    after, receipt = messages.accept_message(closing, a_message(), NOW)

    assert messages.require_session(closing).closing == "it was idle"
    assert messages.require_session(after).closing is None
    assert receipt.state == "queued"


@pytest.mark.parametrize("state", [talk(), messages.close(talk(), "it was idle")])
def test_what_was_taken_before_changes_nothing(state: RunState) -> None:
    """Whoever sends it again is told its place, and opens nothing that is closing."""
    # SE-05
    once, _ = messages.accept_message(state, a_message(), NOW)
    closing = messages.close(once, "again")
    again, receipt = messages.accept_message(closing, a_message(text="other"), LATER)

    assert again == closing
    assert (receipt.position, receipt.state) == (1, "queued")


def test_what_is_refused_leaves_the_session_as_it_is() -> None:
    """Another tenant's, or another agent's: only that it was refused is kept."""
    # SE-02
    for more in ({"tenant": "evil"}, {"agent": "other"}):
        before = messages.close(talk(), "it was idle")
        after, receipt = messages.accept_message(before, a_message(**more), NOW)

        assert receipt.state == "refused"
        assert after.session == before.session


@pytest.mark.parametrize(
    ("waited", "left"), [(0.0, 40.0), (500.0, 40.0)], ids=["no wait", "long waits"]
)
def test_a_message_has_what_the_session_has_left(waited: float, left: float) -> None:
    """Steps and work of those before count; what people took for their answers is no work."""
    # T-49 SE-06
    used = Ledger(steps=3, waited=waited, usage=CallUsage(input_tokens=10))
    state = talk(
        budget=Budget(max_steps=5, max_wall_time=100, max_tokens=100), totals=used, worked=60.0
    )
    asked, _ = messages.accept_message(state, a_message(), NOW)
    working = messages.take_message(asked.with_(ledger=Ledger(steps=4)), LATER)

    assert working.agent.budget.max_steps == 2
    assert working.agent.budget.max_wall_time == left
    assert working.agent.budget.max_tokens == 90
    assert (working.ledger, working.started_at) == (Ledger(), LATER)


def test_a_session_without_anything_left_ends_its_messages_at_once() -> None:
    """And says that it is the whole that is used up."""
    # T-49
    state = talk(budget=Budget(max_steps=3), totals=Ledger(steps=3))
    asked, _ = messages.accept_message(state, a_message(), NOW)
    over = messages.take_message(asked, LATER)

    assert over.stop is not None
    assert over.stop.reason == "max_steps (3) reached"
    assert over.stop.detail.startswith("of the whole session: ")


def test_how_much_waits_is_what_each_takes_alone() -> None:
    """However many do: by that it was decided in histories of before."""
    # SE-05
    state = talk()
    for number in range(bounds.MAX_WAITING_MESSAGES):
        state, _ = messages.accept_message(state, a_message(f"m-{number}"), NOW)
    _, refused = messages.accept_message(state, a_message("one more"), NOW)
    held = sum(map(size, messages.require_session(state).waiting))
    assert refused.reason.startswith(f"200 messages with {held:,} bytes waiting")


def test_of_a_flood_no_more_is_read_than_may_wait() -> None:
    """Where ten thousand came before a session was ended, nobody could open it again."""
    # SE-05

    def unheard(count: int) -> list[InboundMessage]:
        texts = (a_message(f"m-{n}").model_dump_json(exclude_unset=True) for n in range(count))
        sent = [Payload(metadata={"encoding": b"json/plain"}, data=one.encode()) for one in texts]
        return [InboundMessage("message", [RawValue(one)]) for one in sent]

    few, many = unheard(250), unheard(1_000)
    assert len(messages.require_session(views.take_unheard(talk(), few, NOW)).waiting) == 200
    work = count_calls(lambda: views.take_unheard(talk(), few, NOW))
    assert count_calls(lambda: views.take_unheard(talk(), many, NOW)) == work


def test_what_has_come_and_nobody_has_read_is_queued() -> None:
    """Who took it for lost would say it again under another id, and twice; others are unknown."""
    # BY-42
    come = [
        InboundMessage(name, [RawValue(Payload(data=a_message("m-1").model_dump_json().encode()))])
        for name in ("message", "steer")
    ]
    state, asked = talk(), [views.OutcomeQuery(message_id=name) for name in ("m-1", "m-2")]

    assert [
        views.outcome(state, one, unheard, opening=opening).state
        for unheard, opening in ((come[:1], False), (come[1:], False), ([], True))
        for one in asked
    ] == ["queued", "unknown", "unknown", "unknown", "queued", "queued"]
