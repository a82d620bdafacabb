"""What is switched off after which messages."""

from datetime import datetime, timedelta

import pytest
from pydantic import JsonValue, ValidationError

from holdfast.contracts import bounds
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_MESSAGE_BYTES
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.switches import Switch, SwitchKind, SwitchSignal, SwitchState
from holdfast.policy.switches import Switchboard, find_switch, parse_state
from tests.builders import LATER, NOW
from tests.counting import count_calls

SEND = SwitchSignal(kind="tool", name="send", by="dana", reason="too many")


def a_switch(kind: SwitchKind = "tool", name: str = "send", by: str = "dana") -> Switch:
    return Switch(kind=kind, name=name, by=by, reason="too many", at=NOW)


def after_signal(state: SwitchState, name: str, content: bytes, at: datetime) -> SwitchState:
    board = Switchboard(state)
    board.take(name, content, at)
    return board.state


def after(state: SwitchState, name: str, signal: SwitchSignal) -> SwitchState:
    return after_signal(state, name, signal.model_dump_json().encode(), LATER)


def an_off(name: str) -> bytes:
    return SwitchSignal(kind="tool", name=name, by="x").model_dump_json().encode()


def test_off_says_who_when_and_why() -> None:
    """A switch keeps who switched it off, when, and why."""
    state = after(SwitchState(), "off", SEND)

    assert state.switches == (
        Switch(kind="tool", name="send", by="dana", reason="too many", at=LATER),
    )


def test_the_same_thing_is_off_once() -> None:
    """A second person who switches the same off takes the place of the first."""
    state = after(
        SwitchState(switches=(a_switch(),)), "off", SEND.model_copy(update={"by": "eve"})
    )

    assert [(switch.by, switch.at) for switch in state.switches] == [("eve", LATER)]


def test_anybody_lifts_what_another_switched_off() -> None:
    """An `on` lifts exactly what it names, whoever switched it off."""
    state = SwitchState(switches=(a_switch(), a_switch("agent"), a_switch(name="refund")))

    lifted = after(state, "on", SwitchSignal(kind="tool", name="send", by="eve"))

    assert lifted.switches == (a_switch("agent"), a_switch(name="refund"))


def test_on_without_off_changes_nothing() -> None:
    """What isn't off can be switched on, and nothing happens."""
    assert after(SwitchState(), "on", SEND) == SwitchState()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("off", b"", id="no argument"),
        pytest.param("off", b"{", id="no JSON"),
        pytest.param("off", b"null", id="null"),
        pytest.param("off", b'["tool", "send"]', id="a list"),
        pytest.param("off", b'{"kind": "tool", "name": "send"}', id="by nobody"),
        pytest.param("off", b'{"kind": "tool", "name": "", "by": "dana"}', id="no name"),
        pytest.param("off", b'{"kind": "all", "name": "x", "by": "dana"}', id="unknown kind"),
        pytest.param("off", b'{"kind": "tool", "name": "x", "by": "d", "x": 1}', id="a typo"),
        pytest.param("off", b'{"kind": "everything", "name": "x", "by": "d"}', id="a part of all"),
        pytest.param("off", b'{"kind": "tool", "name": "*", "by": "d"}', id="all tools"),
        pytest.param("off", b"\xff\xfe\x00", id="no text"),
        pytest.param("off", an_off("x") + b" " * MAX_MESSAGE_BYTES, id="larger than any message"),
        pytest.param("stop", b'{"kind": "tool", "name": "x", "by": "dana"}', id="unknown signal"),
        pytest.param("", b"{}", id="no name at all"),
    ],
)
def test_garbage_is_counted_and_changes_nothing(name: str, content: bytes) -> None:
    """A signal that can't be read leaves everything as it is, and a count."""
    state = SwitchState(switches=(a_switch(),), ignored=2)

    assert after_signal(state, name, content, NOW) == SwitchState(
        switches=(a_switch(),), ignored=3
    )


def test_a_flood_cant_keep_a_switch_from_working() -> None:
    """Nor make the state too large to be kept: where there is no room, everything is off."""
    state, reason = SwitchState(), "\N{FIRE}" * 2000
    for number in range(140):
        fresh = SwitchSignal(kind="tenant", name=f"t{number}", by="x", reason=reason)
        state = after(state, "off", fresh)

    state = after(state, "off", SEND.model_copy(update={"reason": reason}))

    found = find_switch(state.switches, "send", ("it",), "acme")
    assert found == Switch(
        kind="everything",
        name="*",
        by="dana",
        reason="no room to switch tool 'send' off alone: " + "\N{FIRE}" * 500,
        at=LATER,
    )
    assert bounds.size(state) < bounds.MAX_PAYLOAD_BYTES // 2

    lifted = after(state, "on", SwitchSignal(kind="everything", name="*", by="eve"))

    assert find_switch(lifted.switches, "send", ("it",), "acme") is None
    assert find_switch(lifted.switches, "send", ("it",), "t0") is not None


def test_an_off_that_finds_no_room_takes_nothing_from_the_one_before_it() -> None:
    """Who lifts that everything is off doesn't switch on what was off before the flood."""
    state, reason = after(SwitchState(), "off", SEND), "\N{FIRE}" * 2000
    for number in range(140):
        fresh = SwitchSignal(kind="tenant", name=f"t{number}", by="x", reason=reason)
        state = after(state, "off", fresh)
    full = after(state, "off", SEND.model_copy(update={"reason": reason}))
    lifted = after(full, "on", SwitchSignal(kind="everything", name="*", by="eve"))

    found = find_switch(lifted.switches, "send", ("it",), "acme")
    assert found is not None
    assert (found.kind, found.reason) == ("tool", SEND.reason)
    assert bounds.size(full) < bounds.MAX_PAYLOAD_BYTES // 2


def test_what_was_off_stays_off_in_the_next_execution() -> None:
    """The state goes through JSON and comes back as it was."""
    state = SwitchState(switches=(a_switch(), a_switch("tenant", "acme")), ignored=1)

    assert parse_state(state.model_dump(mode="json")) == state


def test_a_state_of_any_size_is_read_and_bounded() -> None:
    """Somebody began with more than ours ever is: everything is off, until a person lifts that."""
    many = tuple(
        Switch(kind="tool", name=f"t{number}", by="x" * 5_000, reason="\N{FIRE}", at=NOW)
        for number in range(190)
    )
    state = parse_state(SwitchState(switches=many).model_dump(mode="json"))
    lifted = after(state, "on", SwitchSignal(kind="everything", name="*", by="eve"))
    whole = a_switch("everything", "*").model_copy(update={"reason": "x" * 900_000})
    short = parse_state(SwitchState(switches=(whole, a_switch())).model_dump(mode="json"))

    assert bounds.size(short) < bounds.MAX_PAYLOAD_BYTES // 2
    assert bounds.size(state) < bounds.MAX_PAYLOAD_BYTES // 2
    assert find_switch(state.switches, "send", ("it",), "acme") is not None
    assert parse_state(lifted.model_dump(mode="json")) == lifted
    assert find_switch(lifted.switches, "send", ("it",), "acme") is None
    assert find_switch(lifted.switches, "t189", ("it",), "acme") is not None


def test_nothing_is_off_in_the_beginning() -> None:
    """Started by hand without an argument, nothing is off."""
    assert parse_state(None) == SwitchState()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("off", id="no object"),
        pytest.param({"switches": [{"kind": "region", "name": "eu"}]}, id="of another release"),
    ],
)
def test_a_state_that_cant_be_read_is_not_an_empty_one(value: str | JsonObject) -> None:
    """Who can't read what is off must not go on as if nothing were."""
    with pytest.raises(InvalidInput, match=r"docs/operations\.md"):
        parse_state(value)


@pytest.mark.parametrize(
    ("switch", "off"),
    [
        pytest.param(a_switch("tool", "send"), True, id="tool"),
        pytest.param(a_switch("agent", "it"), True, id="agent"),
        pytest.param(a_switch("agent", "root"), True, id="an agent that it works for"),
        pytest.param(a_switch("tenant", "acme"), True, id="tenant"),
        pytest.param(a_switch("everything", "*"), True, id="everything"),
        pytest.param(a_switch("tool", "it"), False, id="a tool called like the agent"),
        pytest.param(a_switch("tenant", "send"), False, id="a tenant called like the tool"),
        pytest.param(a_switch("tool", "sen"), False, id="a part of the name"),
        pytest.param(a_switch("tool", "Send"), False, id="other letters"),
    ],
)
def test_a_switch_is_for_exactly_what_it_names(switch: Switch, *, off: bool) -> None:
    """A call is off when its tool, agent or tenant is, by the exact name."""
    found = find_switch((switch,), "send", ("it", "root"), "acme")

    assert found == (switch if off else None)


def test_the_time_is_that_of_the_message() -> None:
    """Each switch has the time of its own message, not of the latest."""
    state = after_signal(SwitchState(), "off", SEND.model_dump_json().encode(), NOW)
    state = after(state, "off", SwitchSignal(kind="agent", name="it", by="eve"))

    assert state.switches[1].at - state.switches[0].at == timedelta(hours=1)


def test_a_signal_takes_no_longer_however_much_is_off() -> None:
    """Of 2,000 at once none was ever heard, and each worker that read them stood still."""

    def take_one(off: int) -> int:
        board = Switchboard(SwitchState())
        for number in range(off):
            board.take("off", an_off(f"tool-{number}"), NOW)
        assert len(board.state.switches) == off
        both = [an_off("tool-0"), an_off("one more")]
        return count_calls(lambda: [board.take("off", one, LATER) for one in both])

    assert take_one(1_000) == take_one(10)


def test_there_is_room_for_as_much_as_a_state_may_have() -> None:
    """What is off is measured as it is written, whatever was lifted and switched off again."""
    board = Switchboard(SwitchState())
    for number in range(2_000):
        board.take("off", an_off(f"tool-{number % 700}-{'x' * 150}"), NOW)
        board.take("on", an_off(f"tool-{number % 7}-{'x' * 150}"), NOW)
    while not any(one.kind == "everything" for one in board.state.switches):
        board.take("off", an_off(f"more-{len(board.state.switches)}"), NOW)
    named = board.state.switches[:-1]
    one_more = bounds.size(named[-1]) + 1
    assert bounds.MAX_SWITCHES_BYTES - one_more < bounds.size(named) <= bounds.MAX_SWITCHES_BYTES


def test_a_state_of_nothing_but_flaws_is_refused_at_once() -> None:
    """Whoever may start the workflow gives it a megabyte, which each worker reads."""
    flaws: list[JsonValue] = [{} for _ in range(1_000)]
    with pytest.raises(ValidationError) as error:
        SwitchState.model_validate({"switches": flaws})
    assert error.value.error_count() < 10
