"""What had come to a run, and nobody had heard, when it went on in a new execution."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Self

from holdfast.contracts.base import Contract
from holdfast.contracts.bounds import MAX_PAYLOAD_BYTES, MAX_STATE_BYTES, size

MAX_UNHEARD_MESSAGES = 1_000
"""Half of what an execution hears: the next one has room for as many more."""

MAX_UNHEARD_BYTES = MAX_PAYLOAD_BYTES - MAX_STATE_BYTES - 10_000
"""What goes into one payload with the largest state."""


class UnheardMessage(Contract):
    """A signal as it came. Its `arguments` are in base64: they may be any bytes."""

    signal: str
    arguments: tuple[str, ...]

    @classmethod
    def from_bytes(cls, signal: str, arguments: Iterable[bytes]) -> Self:
        """Keep a signal with these arguments."""
        return cls(signal=signal, arguments=tuple(b64encode(one).decode() for one in arguments))

    @property
    def content(self) -> tuple[bytes, ...]:
        """The arguments as they came."""
        return tuple(map(b64decode, self.arguments))


def measure(signal: str, lengths: Iterable[int]) -> int:
    """
    Return how many bytes a message takes among others, by the lengths of its arguments.

    That is as it is written, with the comma or the bracket behind it; nothing is written for it.
    """
    quoted = [len('"",') + 4 * -(-length // 3) for length in lengths]
    whole = size(UnheardMessage(signal=signal, arguments=())) + len(",")
    return whole + sum(quoted) - bool(quoted)


def fits_beside_state(messages: int, measured: int) -> bool:
    """Whether a new execution can begin with so many, of so many bytes, whatever its state."""
    return messages <= MAX_UNHEARD_MESSAGES and len("[") + measured <= MAX_UNHEARD_BYTES
