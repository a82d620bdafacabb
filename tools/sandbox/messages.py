"""
What the worker and the process in the sandbox say to each other: JSON, one message a line.

Plain dataclasses, because every call makes them anew; only the worker has reason to check them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue
from pydantic_core import to_json

from holdfast.contracts.bounds import MAX_JSON_BYTES, MAX_NEXT_ACTIONS, TOO_DEEP_JSON
from holdfast.contracts.calls import ErrorType, ToolInvocation
from holdfast.contracts.errors import MAX_WORDS_CHARS, ToolError, format_short_stack, safe_str
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest

Words: TypeAlias = Annotated[str, Field(max_length=MAX_WORDS_CHARS)]


@dataclass(frozen=True)
class Job:
    """The first line that the worker says: the tool by its name, and the call."""

    module: str
    qualname: str
    invocation: ToolInvocation


@dataclass(frozen=True)
class Ready:
    """The limits are set, and the call may begin."""

    kind: Literal["ready"] = "ready"


@dataclass(frozen=True)
class Progress:
    """The tool reports progress."""

    value: JsonValue
    kind: Literal["progress"] = "progress"


@dataclass(frozen=True)
class EgressRequest:
    """The tool asks the worker for something from the net, and waits for the answer."""

    request: HttpRequest
    kind: Literal["asks"] = "asks"


@dataclass(frozen=True)
class Done:
    """The tool's result, as JSON."""

    content: str
    kind: Literal["done"] = "done"


@dataclass(frozen=True)
class Refused:
    """The tool, or the worker, says why it can't do what was asked."""

    type: ErrorType
    reason: Words
    next_valid_actions: Annotated[tuple[Words, ...], Field(max_length=MAX_NEXT_ACTIONS)]
    kind: Literal["refused"] = "refused"

    @classmethod
    def of(cls, error: ToolError) -> "Refused":
        """Put a refusal into a message."""
        actions = error.next_valid_actions[:MAX_NEXT_ACTIONS]
        return cls(
            type=error.type,
            reason=error.reason[:MAX_WORDS_CHARS],
            next_valid_actions=tuple(action[:MAX_WORDS_CHARS] for action in actions),
        )

    def error(self) -> ToolError:
        """Take the refusal out of the message."""
        return ToolError(self.type, self.reason, tuple(self.next_valid_actions))


@dataclass(frozen=True)
class Raised:
    """The tool raised something that nobody expects."""

    error: Annotated[str, Field(pattern=r"^\w+$", max_length=100)]
    message: Words
    stack: Words = ""
    kind: Literal["raised"] = "raised"


@dataclass(frozen=True)
class EgressResponse:
    """What the worker says to what was asked: one of these. A `lost` answer says why it is."""

    answer: HttpAnswer | None = None
    refused: Refused | None = None
    lost: Words | None = None


class ErrorReporter:
    """Whatever a tool raises in its process is raised again in the worker."""

    def __init__(self, send: Callable[[Refused | Raised], None]) -> None:
        self._send = send

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> bool:
        if isinstance(error, ToolError):
            self._send(Refused.of(error))
        elif error is not None:
            words = safe_str(error)[:MAX_WORDS_CHARS]
            self._send(Raised(type(error).__name__, words, format_short_stack(error)))
        return True


FromSandbox: TypeAlias = Annotated[
    Ready | Progress | EgressRequest | Done | Refused | Raised, Field(discriminator="kind")
]


def encode_line(message: object) -> bytes:
    """Write a message down."""
    return to_json(message, bytes_mode="base64") + b"\n"


def encode_result(content: bytes) -> bytes:
    """Write down what a tool returned; of what no message may hold, that the call is done."""
    line = b"" if len(content) > MAX_JSON_BYTES else encode_line(Done(content.decode()))
    fits = 0 < len(line) <= MAX_JSON_BYTES
    return line if fits else encode_line(Done(TOO_DEEP_JSON.decode()))
