"""What stands in the payloads of a history. What can't be read is null, never an error."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import BaseModel, RootModel, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ActivityError

from holdfast.activities.callers import NOT_HERE
from holdfast.contracts.base import Contract
from holdfast.contracts.calls import ToolResult
from holdfast.workflows.payloads import data_converter

Decoded = TypeVar("Decoded", bound=BaseModel)

_LAST_SECOND = 253_402_300_798
"""Of the year 9999, but for one: no calendar here goes on."""


class LocalActivity(Contract):
    """
    What the SDK's core writes into the marker of a local activity.

    `complete_time` is in the run's own time. With a `backoff` it has not ended: it is tried again.
    """

    activity_type: str
    attempt: int = 1
    complete_time: "Instant | None" = None
    backoff: dict[str, int] | None = None


class Instant(Contract):
    """A point in time as core writes it."""

    seconds: int
    nanos: int = 0

    def as_datetime(self) -> datetime:
        """Return it as a time in UTC, or the nearest that a calendar has."""
        whole = self.seconds + self.nanos // 10**9
        seconds = min(max(whole, 0), _LAST_SECOND)
        return datetime.fromtimestamp(seconds + self.nanos % 10**9 / 1e9, UTC)


class _Text(RootModel[str]):
    """A text alone."""


class _AnyResult(RootModel[ToolResult]):
    """A result of any kind."""


def decode(payloads: Sequence[Payload], type: type[Decoded]) -> Decoded | None:
    """Return the first payload as a value, or null if it is encrypted, foreign or missing."""
    if not payloads:
        return None
    try:
        return type.model_validate_json(payloads[0].data)
    except ValidationError:
        return None


def decode_result(payloads: Sequence[Payload]) -> ToolResult | None:
    """Return what a tool came to, or null in the same way."""
    found = decode(payloads, _AnyResult)
    return found and found.root


def read_summary(event: HistoryEvent) -> str:
    """Return the summary that the Temporal UI shows beside an event."""
    return _decode_text([event.user_metadata.summary])


def _decode_text(payloads: Sequence[Payload]) -> str:
    found = decode(payloads, _Text)
    return found.root if found else ""


def read_time(event: HistoryEvent) -> datetime:
    """Return the time of an event in UTC."""
    return event.event_time.ToDatetime(UTC)


def build_activity_error(failure: Failure) -> ActivityError:
    """Return a failed activity's error as workflow code sees it, whoever made that up."""
    error = ActivityError(
        "activity failed",
        scheduled_event_id=0,
        started_event_id=0,
        identity="",
        activity_type="",
        activity_id="",
        retry_state=None,
    )
    error.__cause__ = data_converter.failure_converter.from_failure(
        failure, data_converter.payload_converter
    )
    return error


def describe_hand_back(failure: Failure) -> str | None:
    """Say why a worker left something to another one, and which; null where none did."""
    said = failure.application_failure_info
    if said.type != NOT_HERE:
        return None
    worker = _decode_text(said.details.payloads)
    return f"{failure.message}{f', says worker {worker}' if worker else ''}"
