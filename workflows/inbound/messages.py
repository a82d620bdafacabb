"""Messages from outside, read without trust: whatever arrives becomes a value, never an error."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from pydantic import JsonValue, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from holdfast.contracts.base import digest
from holdfast.contracts.bounds import MAX_MESSAGE_BYTES, MAX_VALIDATION_ERROR_CHARS
from holdfast.contracts.delegation.relayed import (
    ForwardedSignal,
    RequestsSignal,
    VerdictSignal,
)
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.run import WORKFLOW_TYPE, RunInput
from holdfast.contracts.sessions.messages import (
    SESSION_WORKFLOW_TYPE,
    MessageSignal,
    SessionInput,
)
from holdfast.contracts.signals import (
    RUN_SIGNALS,
    CloseSignal,
    ResolutionSignal,
    RunSignal,
    SuspensionSignal,
)
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import shorten
from holdfast.run.summaries import describe_validation_error

AnySignal: TypeAlias = (
    RunSignal | RequestsSignal | ForwardedSignal | VerdictSignal | MessageSignal | CloseSignal
)

InputT = TypeVar("InputT", RunInput, SessionInput)

SIGNALS: Mapping[str, type[AnySignal]] = {
    **RUN_SIGNALS,
    "requests": RequestsSignal,
    "forwarded": ForwardedSignal,
    "verdict": VerdictSignal,
}

SESSION_SIGNALS: Mapping[str, type[AnySignal]] = {
    **SIGNALS,
    "message": MessageSignal,
    "close": CloseSignal,
}

UPDATES = {"decide": "approval", "send": "message"}
"""What an update is called as a signal."""

FOR_NO_OTHER = "this run works for no other"
"""Why a run that nobody else has takes nothing that is forwarded."""

_MAY_BE_EMPTY = (SuspensionSignal, CloseSignal)


class UnreadableMessage(NamedTuple):
    """A message that can't be read, and why."""

    reason: str


def read(
    name: str,
    payloads: Sequence[RawValue],
    signals: Mapping[str, type[AnySignal]] = SIGNALS,
) -> AnySignal | UnreadableMessage:
    """Read a signal by its name; one that takes nothing may also come without an argument."""
    model = signals.get(name)
    if model is None:
        known = ", ".join(signals)
        return UnreadableMessage(
            shorten(f"no signal {name!r} (known: {known})", MAX_VALIDATION_ERROR_CHARS)
        )
    if len(payloads) > 1 or (not payloads and model not in _MAY_BE_EMPTY):
        return UnreadableMessage(f"{name!r} takes one JSON object, not {len(payloads)} arguments")
    content = (payloads[0].payload.data if payloads else b"") or b"{}"
    if len(content) > MAX_MESSAGE_BYTES:
        return UnreadableMessage(
            f"{name!r} has {len(content):,} bytes, and {MAX_MESSAGE_BYTES:,} is most"
        )
    try:
        message = model.model_validate_json(content)
        json.loads(content, object_pairs_hook=_require_distinct)
    except ValidationError as error:
        return UnreadableMessage(f"{name!r}: {describe_validation_error(error)}")
    except InvalidInput as error:
        return UnreadableMessage(f"{name!r}: {error}")
    return message


def _require_distinct(fields: Sequence[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return an object; raises InvalidInput for a field twice: each reader takes another one."""
    if len(found := dict(fields)) == len(fields):
        return found
    ((twice, _),) = Counter(name for name, _ in fields).most_common(1)
    raise InvalidInput(f"{shorten(twice)!r} stands in it more than once")


def has_guidance(message: ResolutionSignal) -> bool:
    """Whether a model is to read what somebody says who lets a run go on."""
    return message.guidance is not None and message.action != "abort"


def refer_to_whole(run_id: str) -> str:
    """Say whom words for a model are for that came to a part of a run, which takes none."""
    return f"this is a part of run {run_id}: say it to that one"


def unwrap(message: ForwardedSignal) -> tuple[str, Payload]:
    """Return a message that was forwarded as its sender sent it, but for the request's id."""
    content = json.dumps(message.message).encode()
    return message.signal, Payload(metadata={"encoding": b"json/plain"}, data=content)


def digest_sent(payloads: Sequence[RawValue]) -> str:
    """Return the digest of what was sent but its token, which is what the token has to name."""
    content = json.loads((payloads[0].payload.data if payloads else b"") or b"{}")
    return digest({name: value for name, value in content.items() if name != "token"})


def read_run_state(arguments: Sequence[JsonValue], kind: str) -> RunState:
    """Read the state that the execution before this one handed over."""
    try:
        return RunState.model_validate(arguments[0] if arguments else None)
    except ValidationError as error:
        raise InvalidInput(
            f"{kind} can't go on from this state: {describe_validation_error(error)}"
        ) from None


def read_session_input(arguments: Sequence[JsonValue]) -> SessionInput:
    """Read the argument that a session was started with."""
    return _read_input(arguments, SESSION_WORKFLOW_TYPE, SessionInput)


def read_run_input(arguments: Sequence[JsonValue], *, has_parent: bool = False) -> RunInput:
    """Read the argument that a run was started with, by another one if it *has_parent*."""
    given = _read_input(arguments, WORKFLOW_TYPE, RunInput)
    if given.output_schema is not None and not has_parent:
        raise InvalidInput(
            "output_schema comes from the run that starts this one: give the agent an output"
        )
    if given.review is not None and not has_parent:
        raise InvalidInput("review comes from the run that starts this one: give it to the agent")
    return given


def _read_input(arguments: Sequence[JsonValue], kind: str, model: type[InputT]) -> InputT:
    if len(arguments) != 1:
        raise InvalidInput(f"{kind} takes one JSON object, not {len(arguments)} arguments")
    try:
        return model.model_validate(arguments[0])
    except ValidationError as error:
        raise InvalidInput(
            f"{kind} can't use this input: {describe_validation_error(error)}"
        ) from None
