"""What stands beside the events of a regulated run: ids, and no word of what is done."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.worker import (
    Interceptor,
    StartActivityInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.decisions import AuthorizeCalls
from holdfast.contracts.journal import AuditEvent, Notice
from holdfast.contracts.model import ModelCall
from holdfast.contracts.texts import shorten
from holdfast.workflows.execution.handlers import RunHandlers


class SummaryInterceptor(Interceptor):
    """
    Has activities of regulated runs named by ids alone, whoever asks for them.

    The type of an activity, which is the name of a tool, isn't hidden: it is the app's word.
    """

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: ARG002 -- as the SDK calls it
    ) -> type[WorkflowInboundInterceptor]:
        return _Inbound


class _Inbound(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_Outbound(outbound))


class _Outbound(WorkflowOutboundInterceptor):
    def start_activity(self, input: StartActivityInput) -> ActivityHandle[object]:
        if _names_ids_only():
            input.summary = name_by_id(input.args)
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> ActivityHandle[object]:
        if _names_ids_only():
            input.summary = name_by_id(input.args)
        return super().start_local_activity(input)


def _names_ids_only() -> bool:
    run = workflow.instance()
    return isinstance(run, RunHandlers) and run.names_ids_only


def name_by_id(arguments: Sequence[object]) -> str | None:
    """Name what an activity is for, by ids of ours; null where it has none."""
    match arguments:
        case (ToolInvocation(call_id=call_id),):
            return call_id
        case (AuthorizeCalls(calls=calls),):
            return shorten(", ".join(call.call_id for call in calls))
        case (ModelCall(turn=turn, model=model, purpose=purpose),):
            return f"turn {turn} · {model} · {purpose}"
        case (AuditEvent(event=event),):
            return event
        case (Notice(request_id=request_id),):
            return request_id
        case _:
            return None
