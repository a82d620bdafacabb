"""What a run has done for itself: guardrails, undoing, notices, projects, child runs."""

import shlex
from dataclasses import replace

from pydantic import JsonValue
from pydantic_core import from_json
from temporalio.exceptions import is_cancelled_exception

from holdfast.contracts.budget import Ledger
from holdfast.contracts.calls import ToolCall, ToolInvocation
from holdfast.contracts.guardrails import ACTIVITY_PREFIX, GuardrailVerdicts
from holdfast.contracts.journal import Notice
from holdfast.contracts.project import ProjectContext, WorkspaceSnapshot
from holdfast.contracts.run import RunInput, RunResult
from holdfast.contracts.usage import CallUsage
from holdfast.run.summaries import call_line
from holdfast.run.texts.figures import pluralize
from holdfast.trace.builder import TraceBuilder
from holdfast.trace.entries import BackgroundTask, GuardrailRun
from holdfast.trace.operations import Operation, Outcome, Work, keep_entry
from holdfast.trace.payloads import decode, decode_result

_PROJECT = frozenset({"open_project", "snapshot_workspace", "restore_workspace"})


_DIGEST_PREFIX_CHARS = 16


def begin_own(trace: TraceBuilder, operation: Operation) -> Work | None:
    """Begin to keep what no model asked for; null where one may have."""
    name, key, at = operation.name, operation.key, operation.at
    if operation.kind == "child":
        return keep_entry(trace, _build_child(trace, operation), _conclude_child)
    if name.startswith(ACTIVITY_PREFIX):
        names = tuple(name.removeprefix(ACTIVITY_PREFIX).split("+"))
        looking = GuardrailRun(key=key, names=names, at=at)
        return keep_entry(trace, looking, _conclude_guardrails)
    if name == "notify":
        told = decode(operation.given, Notice)
        about = f"{told.request_id} ({told.kind})" if told else "a request"
        notice = BackgroundTask(key=key, kind="notice", name=name, at=at, about=about)
        return keep_entry(trace, notice, _conclude_task)
    if name in _PROJECT:
        task = BackgroundTask(key=key, kind="project", name=name, at=at)
        return keep_entry(trace, task, _conclude_task)
    tool = _build_tool(trace, operation)
    return tool and keep_entry(trace, tool, _conclude_tool)


def _conclude_guardrails(looked: GuardrailRun, outcome: Outcome) -> GuardrailRun:
    if outcome.error is not None:
        cancelled = is_cancelled_exception(outcome.error)
        return replace(looked, cancelled=cancelled, error="" if cancelled else outcome.failure)
    answer = decode(outcome.payloads, GuardrailVerdicts)
    if answer is None:
        return replace(looked, error="its verdict can't be read")
    return replace(looked, verdicts=answer.verdicts, spans=answer.spans)


def _build_tool(trace: TraceBuilder, operation: Operation) -> BackgroundTask | None:
    """Begin an entry for a tool that undoes something, or runs a command of a guardrail."""
    invocation = decode(operation.given, ToolInvocation)
    if invocation is None:
        return None
    call_id, given = invocation.call_id, invocation.arguments
    work = BackgroundTask(
        key=operation.key,
        kind="undo",
        name=operation.name,
        at=operation.at,
        about=call_line(ToolCall(call_id=call_id, name=operation.name, arguments=given)),
        call_id=call_id,
        task_queue=operation.task_queue,
    )
    if invocation.purpose == "undo":
        return work
    guardrail = trace.find_command_guardrail(call_id)
    if guardrail is None or trace.find_call(call_id) is not None:
        return None
    command = given.get("command")
    about = shlex.join(map(str, command)) if isinstance(command, list) else ""
    return replace(work, kind="command", guardrail=guardrail.name, about=about or work.about)


def _conclude_tool(work: BackgroundTask, outcome: Outcome) -> BackgroundTask:
    if outcome.error is not None:
        return replace(work, came_to=outcome.failure, failed=True)
    result = decode_result(outcome.payloads)
    if result is None:
        return replace(work, came_to="its result can't be read", failed=True)
    if result.status == "ok":
        return replace(work, came_to=result.summary, result=result)
    return replace(work, came_to=result.reason, failed=True, result=result)


def _conclude_task(work: BackgroundTask, outcome: Outcome) -> BackgroundTask:
    if outcome.error is not None:
        return replace(work, came_to=outcome.failure, failed=True)
    context = decode(outcome.payloads, ProjectContext) if work.name == "open_project" else None
    if context is not None:
        read = f"{pluralize(len(context.files), 'file')} read"
        came_to = _describe_files(read, context.workspace)
        return replace(work, came_to=came_to, files=context.files)
    found = decode(outcome.payloads, WorkspaceSnapshot)
    if found is None:
        return work
    sizes = f"{pluralize(found.files, 'file')}, {pluralize(found.bytes, 'byte')}"
    return replace(work, came_to=_describe_files(sizes, found.digest))


def _describe_files(files: str, digest: str) -> str:
    return f"{files}, workspace {digest[:_DIGEST_PREFIX_CHARS]}" if digest else files


def _build_child(trace: TraceBuilder, operation: Operation) -> BackgroundTask:
    given = decode(operation.given, RunInput)
    judge = trace.find_judge(operation.run_id)
    return BackgroundTask(
        key=operation.key,
        kind="child",
        name=given.agent if given else operation.name,
        at=operation.at,
        about=(given.input if given else None) or "",
        guardrail=judge.name if judge else "",
        run_id=operation.run_id,
    )


def _conclude_child(work: BackgroundTask, outcome: Outcome) -> BackgroundTask:
    if outcome.failure:
        return replace(work, came_to=outcome.failure, failed=True)
    result = decode(outcome.payloads, RunResult)
    if result is None:
        return replace(work, came_to="completed")
    said = result.stop.reason if result.stop is not None else result.answer or ""
    # A run that keeps its ledger to itself has what it used in its result.
    used = result.ledger or Ledger(steps=result.steps, usage=CallUsage.of(result.usage))
    failed = result.stop is not None or result.status != "completed"
    came_to = f"{result.status}: {said}"
    output = _read_judgement(result) if work.guardrail else None
    return replace(work, came_to=came_to, failed=failed, output=output, ledger=used)


def _read_judgement(result: RunResult) -> JsonValue:
    """Return what a judge answered, as data; null where it is none."""
    try:
        return from_json(result.answer or "") if result.output is None else result.output
    except ValueError:
        return None
