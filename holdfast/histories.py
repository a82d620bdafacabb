"""Histories of runs: fetched whole, followed while they grow, kept in files."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from google.protobuf.json_format import Error as ProtobufJsonError
from google.protobuf.message import Message
from pydantic import Field, JsonValue, TypeAdapter, ValidationError
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionStartedEventAttributes
from temporalio.client import Client, WorkflowHistory
from temporalio.converter import PayloadCodec
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.statuses import read_events
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import escape_invisible_json
from holdfast.workflows.payloads import MAX_PAYLOADS, take_only

MAX_HELD_BYTES = 50_000_000
"""Of histories that a worker reads at once; a run may have any number of executions and parts."""

_PAYLOAD_BYTES = 100
"""What a payload counts for beside its bytes: to write an empty one, of two, takes 170."""

RECONNECT_SECONDS = 1.0
"""Seconds between attempts to reach a server that went away."""


class Export(Contract):
    """A run in a file: the history of each of its executions, the oldest first."""

    workflow_id: str
    executions: tuple[JsonObject, ...] = Field(min_length=1)


_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
_FAILURE_WORDS = TypeAdapter(dict[str, str])

Found = TypeVar("Found", bound=Message)


class HistoriesTooLarge(HoldfastError):
    """A run and its parts have more than is held at once."""


class Room:
    """How much of histories may still be held."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, history: WorkflowHistory) -> None:
        """Count a history; raises HistoriesTooLarge where there is no room for it."""
        self._left -= sum(map(measure, history.events))
        if self._left < 0:
            raise HistoriesTooLarge(
                f"its histories have more than {self._most:,} bytes, with its parts"
            )


def measure(event: HistoryEvent) -> int:
    """Return the bytes of memory, about, that an event takes of a `Room`."""
    payloads = sum(max(1, len(payload.metadata)) for payload in _find(event, Payload))
    return event.ByteSize() + _PAYLOAD_BYTES * payloads


def is_replayable(history: WorkflowHistory) -> bool:
    """Whether an execution has decided anything; before its first task a replayer never ends."""
    done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    return any(event.event_type == done for event in history.events)


async def fetch(
    client: Client, run_id: str, execution: str | None = None, room: Room | None = None
) -> tuple[WorkflowHistory, ...]:
    """
    Return the histories of all executions of a run up to one, or all, the oldest first.

    What the server no longer keeps is left out. Raises RPCError when there is no such run, and
    HistoriesTooLarge when there is no *room* for all.
    """
    found = [await _fetch(client, run_id, execution, room)]
    while earlier := _execution_before(found[0]):
        try:
            found.insert(0, await _fetch(client, run_id, earlier, room))
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                break
            raise
    return tuple(found)


async def fetch_from(
    client: Client, run_id: str, first: str, room: Room | None = None
) -> tuple[WorkflowHistory, ...]:
    """
    Return the histories of a run from its *first* execution on, and of none that has its id now.

    What the server no longer keeps is left out. Raises RPCError when it doesn't keep the first,
    and HistoriesTooLarge when there is no *room* for all.
    """
    found = [await _fetch(client, run_id, first, room)]
    while later := _execution_after(found[-1]):
        try:
            found.append(await _fetch(client, run_id, later, room))
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                break
            raise
    return tuple(found)


class Recorded(NamedTuple):
    """An event of a history, and the execution in which it happened."""

    execution: str
    event: HistoryEvent


async def follow(
    client: Client, run_id: str, execution: str, *, wait: bool = True
) -> AsyncGenerator[Recorded]:
    """
    Yield the events of one execution, as they come, until it is over.

    A server that goes away is waited for. Without *wait* they end with what there is now.
    """
    handle = client.get_workflow_handle(run_id, run_id=execution)
    read = 0
    while True:
        try:
            async for event in handle.fetch_history_events(wait_new_event=wait):
                if event.event_id > read:
                    read = event.event_id
                    yield Recorded(execution, await _read_event(client, event))
        except RPCError as error:
            if error.status is not RPCStatusCode.UNAVAILABLE:
                raise
            await asyncio.sleep(RECONNECT_SECONDS)
        else:
            return


class Executions(NamedTuple):
    """The executions of a run that the server keeps, the oldest first, and which was the first."""

    first: str
    executions: tuple[str, ...]


async def find_executions(client: Client, run_id: str, execution: str) -> Executions:
    """Return the executions of a run up to one; raises RPCError when that isn't kept."""
    started = await _fetch_start(client, run_id, execution)
    first, found = started.first_execution_run_id, [execution]
    while earlier := started.continued_execution_run_id:
        try:
            started = await _fetch_start(client, run_id, earlier)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                break
            raise
        found.insert(0, earlier)
    return Executions(first, tuple(found))


async def _fetch_start(
    client: Client, run_id: str, execution: str
) -> WorkflowExecutionStartedEventAttributes:
    """Return how an execution started, and nothing else of its history."""
    event = await anext(read_events(client, run_id, execution, first=1))
    return event.workflow_execution_started_event_attributes


async def _fetch(
    client: Client, run_id: str, execution: str | None, room: Room | None = None
) -> WorkflowHistory:
    events = [
        await _read_event(client, event)
        async for event in read_events(client, run_id, execution or "")
    ]
    found = WorkflowHistory(run_id, events)
    if room is not None:
        room.take(found)
    return found


async def _read_event(client: Client, event: HistoryEvent) -> HistoryEvent:
    """
    Return an event as the client's codec, if it has one, reads it, without what is too many.

    It is a copy: what came holds the memory of all that came with it.
    """
    await asyncio.sleep(0)  # a worker that archives has others, and most codecs never wait
    cut_lists(event)
    own = HistoryEvent()
    own.CopyFrom(event)
    if (codec := client.data_converter.payload_codec) is not None:
        await _decode(codec, own)
    return own


def cut_lists(event: HistoryEvent) -> None:
    """Leave out of an event what nothing of ours would write: payloads, and such, by thousands."""
    for found in _find(event, Message):
        for field, value in found.ListFields():
            if not field.is_repeated or (more := len(value) - MAX_PAYLOADS) <= 0:
                continue
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                # What says how a payload is to be read stays.
                for name in sorted(value, key=lambda one: (one != "encoding", one))[MAX_PAYLOADS:]:
                    del value[name]
            else:
                del value[MAX_PAYLOADS:]
            if isinstance(found, Payloads):
                found.payloads.append(_note(more))


def _note(more: int) -> Payload:
    said = json.dumps(f"{more:,} more payloads are left out")
    return Payload(metadata={"encoding": b"json/plain"}, data=said.encode())


async def _decode(codec: PayloadCodec, event: HistoryEvent) -> None:
    for place in _find_places(event):
        if isinstance(place, Payload):
            place.CopyFrom(take_only(await codec.decode([place])))
            continue
        read = [one for payload in place.payloads for one in await codec.decode([payload])]
        del place.payloads[:]
        place.payloads.extend(read[: MAX_PAYLOADS + 1])
    for failure in _find(event, Failure):
        _restore_message(failure)


async def decode_failure(client: Client, failure: Failure) -> None:
    """Have the client's codec, if it has one, make readable what a failure says."""
    if (codec := client.data_converter.payload_codec) is not None:
        await codec.decode_failure(failure)
        _restore_message(failure)


def _restore_message(failure: Failure) -> None:
    """Put what a failure says, where a codec left it aside, back in its place."""
    if not failure.HasField("encoded_attributes"):
        return
    try:
        said = _FAILURE_WORDS.validate_json(failure.encoded_attributes.data)
    except ValidationError:
        return  # another codec made it
    failure.message = said.get("message", failure.message)
    failure.ClearField("encoded_attributes")


def _find(message: Message, kind: type[Found]) -> Iterator[Found]:
    """Find the messages of a kind in another one, and in each other."""
    if isinstance(message, kind):
        yield message
    for one in _list_messages(message):
        yield from _find(one, kind)


def _find_places(message: Message) -> Iterator[Payload | Payloads]:
    """Find where there is room for payloads: for one, or for any number."""
    for one in _list_messages(message):
        if isinstance(one, Payload | Payloads):
            yield one
        else:
            yield from _find_places(one)


def _list_messages(message: Message) -> Iterator[Message]:
    """List the messages that stand in another one."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        options = field.message_type.GetOptions()
        if options.map_entry:
            has_messages = field.message_type.fields_by_name["value"].message_type
            yield from value.values() if has_messages else ()
        else:
            yield from value if field.is_repeated else (value,)


def render_export(histories: Sequence[WorkflowHistory]) -> str:
    """Return the text of a file. The same histories give the same bytes: keys are sorted."""
    executions = ",".join(map(_render_execution, histories))
    return f"{_BEFORE}{executions}{_render_end(histories[0].workflow_id)}"


async def stream_export(client: Client, run_id: str, execution: str) -> AsyncGenerator[bytes]:
    """
    Yield the same text in pieces: no execution is held for longer than it takes to write it.

    Raises RPCError as `fetch` does.
    """
    known = await find_executions(client, run_id, execution)
    yield _BEFORE.encode()
    for place, one in enumerate(known.executions):
        history = await _fetch(client, run_id, one)
        text = await asyncio.to_thread(_render_execution, history)
        yield f"{',' if place else ''}{text}".encode()
    yield _render_end(run_id).encode()


_BEFORE = '{\n  "executions": ['


def _render_execution(history: WorkflowHistory) -> str:
    text = json.dumps(history.to_json_dict(), ensure_ascii=False, indent=2, sort_keys=True)
    # Each break of a line is one of ours: escaped, a text has none.
    return "".join(f"\n    {line}" for line in escape_invisible_json(text).split("\n"))


def _render_end(run_id: str) -> str:
    named = escape_invisible_json(json.dumps(run_id, ensure_ascii=False))
    return f'\n  ],\n  "workflow_id": {named}\n}}\n'


def read(path: Path) -> tuple[WorkflowHistory, ...]:
    """
    Read what `render_export` wrote, or a single history as Temporal's own tools write it.

    Raises HoldfastError, on one line, for any other file.
    """
    try:
        content = _JSON.validate_json(path.read_bytes())
        if isinstance(content, dict) and "events" in content:
            return (WorkflowHistory.from_json(_workflow_id(content, path), content),)
        export = Export.model_validate(content)
        return tuple(
            WorkflowHistory.from_json(export.workflow_id, dict(execution))
            for execution in export.executions
        )
    except OSError as error:
        raise HoldfastError(f"{path}: {error.strerror}") from None
    except (ValidationError, ProtobufJsonError, ValueError, KeyError, TypeError) as error:
        raise HoldfastError(
            f"{path} holds no history; write one with 'holdfast export RUN --output FILE' "
            f"({type(error).__name__})"
        ) from None


def _workflow_id(history: JsonObject, path: Path) -> str:
    match history:
        case {
            "events": [
                {"workflowExecutionStartedEventAttributes": {"workflowId": str() as found}},
                *_,
            ]
        }:
            return found
        case _:
            return path.stem


def _execution_before(history: WorkflowHistory) -> str:
    started = history.events[0].workflow_execution_started_event_attributes
    return started.continued_execution_run_id


def _execution_after(history: WorkflowHistory) -> str:
    ended = history.events[-1].workflow_execution_continued_as_new_event_attributes
    return ended.new_execution_run_id
