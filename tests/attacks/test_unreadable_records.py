"""What somebody made up in the history of a run keeps nobody from reading the rest of it."""

from collections.abc import Mapping

import pytest
from google.protobuf.json_format import MessageToDict
from temporalio.api.failure.v1 import Failure

from holdfast.client.events import EventType
from holdfast.client.fold import EventFold
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.model import MAX_LATENCY_MS, ModelReply
from holdfast.contracts.usage import CallUsage
from holdfast.tools.context import SpanLog
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.transcript import lines
from tests.attacks.test_forged_failures import MODELS, TOOL
from tests.builders import a_call, a_reply, an_invocation
from tests.holdfast.own_work import Worked, spans
from tests.holdfast.written import read

# One of them can't be written as JSON.
FAILURES: Mapping[str, Failure] = {
    name: one
    for name, one in {**MODELS, **{f"tool: {name}": one for name, one in TOOL.items()}}.items()
    if name != "a delay without end"
}


class Forged(Worked):
    """An execution of a run of which somebody says how its activities failed."""

    def failed(self, failure: Failure) -> None:
        """Have the model fail so."""
        number = self._scheduled("call_model", {})
        said: JsonObject = MessageToDict(failure)
        self._add("ACTIVITY_TASK_FAILED", scheduledEventId=str(number), failure=said)


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_that_nobody_can_read_hides_no_run(failure: Failure) -> None:
    """Whoever may write to the namespace says anything of why an activity failed."""
    run = Forged()
    run.failed(failure)
    run.answered("done")
    trace, watched = read(run), EventFold()
    told = [one.type for event in run.history.events for one in watched.read(event)]

    assert [turn.error is None for turn in trace.turns] == [False, True]
    assert [*lines(trace)]
    assert told.count(EventType.TURN_COMPLETED) == 2


def test_code_in_a_sandbox_hides_no_run_by_times_without_a_zone() -> None:
    """What it reports of its own work is compared with times that have one."""
    kept, run = SpanLog(), Worked()
    times: JsonObject = {"started_at": "2026-01-01T00:00:00", "ended_at": "2026-01-01T00:00:01"}
    assert kept.take({"holdfast.span": {"name": "work", **times}})
    run.asked(a_call("find"))
    call_id = read(run).calls[0].call.call_id
    run.runs("find", ToolSuccess(call_id=call_id, name="find", summary="x", spans=kept.kept))

    (own,) = spans(read(run), "custom")
    assert own.name == "work"
    assert own.started_at.endswith("Z")


def test_no_latency_is_too_long_to_be_written() -> None:
    """Nor is one beyond all that a made-up reply says that it took."""
    odd = {"latency_ms": 10**400, "first_token_ms": -(10**400)}
    said = {**a_reply().model_dump(), **odd, "usage": CallUsage(input_tokens=1)}
    run = Worked()
    run.ran("call_model", an_invocation(), ModelReply.model_validate(said))
    trace = read(run)

    assert [turn.latency_ms for turn in trace.turns] == [MAX_LATENCY_MS]
    assert [*lines(trace)]
    assert [*otlp.render_lines(span_tree(trace))]
