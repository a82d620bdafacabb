"""What somebody else says is the history of a run: it is read, or refused on one line."""

import json
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from holdfast import HoldfastError, histories
from holdfast.client.spans import parse_trace
from holdfast.trace.reader import read_trace
from tests.histories.stored import history_file, unpack

LATER = EventType.ValueType(9_999)


def test_an_export_of_nothing(tmp_path: Path) -> None:
    """A run has been executed, or there is none."""
    file = tmp_path / "run.json"
    file.write_text('{"workflow_id": "run", "executions": []}', encoding="utf-8")

    with pytest.raises(HoldfastError, match=r"run\.json holds no history"):
        histories.read(file)


@pytest.mark.parametrize(
    "time",
    [
        {"seconds": 10**30},
        {"seconds": 10**14},
        {"seconds": 253_402_300_799, "nanos": 999_999_999},
        {"seconds": -(10**14)},
        {"seconds": 0, "nanos": 10**30},
    ],
)
def test_a_time_that_no_calendar_has(time: dict[str, int]) -> None:
    """The nearest one stands for it, and nothing else is spoiled."""
    ((history,),) = unpack(history_file("approvals").read_bytes())
    known = read_trace([history])

    _set_times(history, time)
    read = read_trace([history])

    assert (read.result, read.requests.keys()) == (known.result, known.requests.keys())


@pytest.mark.parametrize(
    "kind",
    [
        EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
        EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED,
    ],
)
def test_an_event_of_a_type_alone(kind: EventType.ValueType) -> None:
    """No server sends one; it is refused in words."""
    ((history,),) = unpack(history_file("approvals").read_bytes())
    odd = HistoryEvent(event_id=len(history.events) + 1, event_type=kind)
    foreign = WorkflowHistory(history.workflow_id, [*history.events, odd])

    with pytest.raises(HoldfastError, match=rf"run: event {odd.event_id} has a type alone"):
        parse_trace("run", [foreign])


def test_an_event_of_a_later_server() -> None:
    """What it says is unknown here, and nothing about the run: the rest is read."""
    ((history,),) = unpack(history_file("approvals").read_bytes())
    later = HistoryEvent(event_id=len(history.events) + 1, event_type=LATER)
    newer = WorkflowHistory(history.workflow_id, [*history.events, later])

    assert read_trace([newer]).result == read_trace([history]).result


def _set_times(history: WorkflowHistory, time: dict[str, int]) -> None:
    for event in history.events:
        details = event.marker_recorded_event_attributes.details
        if "data" in details:
            said = json.loads(details["data"].payloads[0].data) | {"complete_time": time}
            details["data"].payloads[0].data = json.dumps(said).encode()
