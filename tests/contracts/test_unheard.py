"""What a run that goes on anew had not heard: kept as it came, and never too large."""

import pytest

from holdfast.contracts import bounds
from holdfast.contracts.state.run import RunState
from holdfast.contracts.state.unheard import (
    MAX_UNHEARD_BYTES,
    MAX_UNHEARD_MESSAGES,
    UnheardMessage,
    fits_beside_state,
    measure,
)
from tests.builders import a_state

ODD: tuple[tuple[bytes, ...], ...] = (
    (),
    (b"",),
    (b'{"text": "\xc3\xbc \\u0000"}',),
    (b"\xff\x00\xfe", b"2"),
)


@pytest.mark.parametrize("arguments", ODD)
def test_a_message_is_carried_as_it_came(arguments: tuple[bytes, ...]) -> None:
    """Whatever bytes a stranger sent: a token is over what was sent, and a refusal says what."""
    # T-16
    state = a_state().with_(unheard=(UnheardMessage.from_bytes("\N{FIRE} steer", arguments),))
    [carried] = RunState.model_validate_json(state.model_dump_json()).unheard

    assert carried.signal == "\N{FIRE} steer"
    assert carried.content == arguments


def test_a_state_says_nothing_of_messages_where_none_are_carried() -> None:
    """A state that an earlier release wrote is as one that carries none."""
    assert "unheard" not in a_state().model_dump(mode="json")


def measured(*messages: UnheardMessage) -> tuple[int, int]:
    """How many messages these are, and how many bytes."""
    sizes = (measure(one.signal, map(len, one.content)) for one in messages)
    return len(messages), sum(sizes)


@pytest.mark.parametrize("signal", ["steer", '"\n\0', "\N{FIRE}"])
@pytest.mark.parametrize("arguments", ODD)
def test_what_a_message_takes_is_known_before_it_is_written(
    signal: str, arguments: tuple[bytes, ...]
) -> None:
    """A thousand wait, and each that comes asks anew whether all of them have room."""
    one = UnheardMessage.from_bytes(signal, arguments)
    others = [UnheardMessage.from_bytes("stop", [b"x" * length]) for length in range(4)]
    _, alone = measured(one)
    _, among_others = measured(*others, one, *others)

    assert len("[") + alone == bounds.size((one,))
    assert len("[") + among_others == bounds.size((*others, one, *others))


def test_no_more_is_carried_than_fits_beside_the_largest_state() -> None:
    """What has no room is heard before the run goes on: it would end there, for its size."""
    # T-33
    short = UnheardMessage.from_bytes("steer", [b"{}"])
    long = UnheardMessage.from_bytes("\N{FIRE}" * 100, [b'"' * (MAX_UNHEARD_BYTES // 2)])
    many = (short,) * MAX_UNHEARD_MESSAGES
    grown = a_state().with_(unheard=many)

    assert fits_beside_state(*measured(*many))
    assert not fits_beside_state(*measured(*many, short))
    assert fits_beside_state(*measured(long))
    assert not fits_beside_state(*measured(long, long))
    beside = bounds.size(grown) - bounds.size(a_state()) - bounds.size(many)
    assert bounds.MAX_STATE_BYTES + MAX_UNHEARD_BYTES + beside < bounds.MAX_PAYLOAD_BYTES
