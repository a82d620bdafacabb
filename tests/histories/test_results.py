"""A trace gives a call the very result that its run told the model, before it reads that."""

from collections.abc import Iterator

from temporalio.api.enums.v1 import EventType

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelCall
from holdfast.contracts.transcript import ResultReference, ToolTurn, ToolTurnReference
from holdfast.trace.reader import TraceReader
from tests.histories import stored
from tests.histories.golden import OURS, workflow_type
from tests.histories.playing import Chain


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
                known = reader.builder.find_call(result.call_id)
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
