"""A trace gives a call the very result that its run told the model, before it reads that."""

from collections.abc import Iterator
from contextlib import suppress

from pydantic import TypeAdapter, ValidationError
from temporalio.api.enums.v1 import EventType

from holdfast.contracts.calls import ToolInvocation, ToolResult
from holdfast.contracts.model import ModelCall
from holdfast.contracts.transcript import ResultReference, ToolTurn, ToolTurnReference
from holdfast.trace.reader import TraceReader, read_trace
from tests.histories import stored
from tests.histories.golden import OURS, workflow_type
from tests.histories.playing import Chain

RESULT: TypeAdapter[ToolResult] = TypeAdapter(ToolResult)


def told(chain: Chain) -> Iterator[tuple[ToolResult, ToolResult]]:
    """Yield what a trace knew of calls when a model was told of them, and what it was told."""
    reader = TraceReader()
    for event in (event for history in chain for event in history.events):
        asked = event.activity_task_scheduled_event_attributes
        if (
            event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
            and asked.activity_type.name == "call_model"
        ):
            whole = ModelCall.model_validate_json(asked.input.payloads[0].data)
            for result in said(whole):
                known = reader.trace.find_call(result.call_id)
                if known is not None and known.result is not None:
                    yield known.result, result
        reader.read(event)


def said(asked: ModelCall) -> Iterator[ToolResult]:
    """Yield the results that a call of a model tells, and doesn't only name."""
    for item in asked.items:
        if isinstance(item, ToolTurn | ToolTurnReference):
            yield from (one for one in item.results if not isinstance(one, ResultReference))


def test_no_result_is_another_than_the_model_was_told() -> None:
    """Of what people or time decided, of what failed, was drafted, looked for or broken off."""
    compared = [
        (name, *both)
        for name in stored.names()
        for chain in stored.unpack(stored.history_file(name).read_bytes())
        if workflow_type(chain) in OURS
        for both in told(chain)
    ]

    assert [one for one in compared if one[1] != one[2]] == []
    assert {result.status for _, _, result in compared} >= {"denied", "error", "ok"}


def brought(chain: Chain) -> Iterator[tuple[ToolInvocation, ToolResult]]:
    """Yield what tools were asked for as activities, with the payload that each one brought."""
    for history in chain:
        asked: dict[int, ToolInvocation] = {}
        for event in history.events:
            begun = event.activity_task_scheduled_event_attributes
            done = event.activity_task_completed_event_attributes
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                with suppress(ValidationError):
                    (given,) = begun.input.payloads
                    asked[event.event_id] = ToolInvocation.model_validate_json(given.data)
            elif (invocation := asked.get(done.scheduled_event_id)) is not None:
                (result,) = done.result.payloads
                yield invocation, RESULT.validate_json(result.data)


def test_each_call_in_history_has_one_result_with_its_id() -> None:
    """What a tool's activity brings is a result, of the call that it was asked for."""
    # AD-17
    found = [
        (invocation, result)
        for name in stored.names()
        for chain in stored.unpack(stored.history_file(name).read_bytes())
        for invocation, result in brought(chain)
    ]

    assert [result.call_id for _, result in found] == [asked.call_id for asked, _ in found]
    assert {asked.purpose for asked, _ in found} >= {"call", "draft", "undo"}


def test_each_call_of_a_transcript_has_one_result() -> None:
    """Also what never ran; one that its run was ended over has none, and nothing else."""
    # AD-17
    for name in stored.names():
        for chain in stored.unpack(stored.history_file(name).read_bytes()):
            if workflow_type(chain) in OURS:
                trace = read_trace(chain)
                results = {made.call.call_id: made.result for made in trace.calls}
                assert len(results) == len(trace.calls), name
                for call_id, result in results.items():
                    assert result is None or result.call_id == call_id
                    assert result is not None or trace.status == "cancelled", (name, call_id)
