"""Commands that the run itself wants run: decided, sandboxed and recorded like any call."""

from collections.abc import Callable

from pydantic import ValidationError
from temporalio import workflow

from holdfast.contracts.base import Contract
from holdfast.contracts.bounds import (
    MAX_CONSTRAINT_CHARS,
    MAX_OUTPUT_TAIL_CHARS,
    MAX_VERDICT_REASON_CHARS,
)
from holdfast.contracts.calls import (
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.decisions import ApprovalRequired, MayRun, decision_of, fill_arguments
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.guardrails import GuardrailResult, GuardrailSpec, Signals
from holdfast.contracts.project import ProjectContext
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import clip_chars
from holdfast.guardrails.detectors.coverage import read_coverage
from holdfast.policy.project import parse_argv
from holdfast.run import authorization, disagreements, summaries, tool_calls, tool_results
from holdfast.run.delegation.part_ids import name_command
from holdfast.run.disagreements import NotBegun
from holdfast.run.limits import budgets
from holdfast.run.transcript import halt
from holdfast.workflows import resets
from holdfast.workflows.authorizing import authorize
from holdfast.workflows.handing_back import Search
from holdfast.workflows.inbound.inbox import hear_before_more
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.tool_call import run_tool

RUN_COMMAND = "run_command"
"""The built-in tool that runs a program in the workspace."""


GATES_IN_TIME = "gates-in-time"
"""The patch by which commands of a check share what is left of the time of their run."""


class CommandResult(Contract):
    """How a command ended: no exit code when it was ended at its limit."""

    exit_code: int | None
    stdout: str
    stderr: str


def find_commands(
    state: RunState, spec: GuardrailSpec
) -> tuple[tuple[str, ...], ...] | GuardrailResult:
    """Return the commands that a guardrail runs, or what it finds without any."""
    if spec.project_commands is None:
        return (spec.command, spec.report) if spec.report else (spec.command,)
    found = state.project or ProjectContext()
    named = found.build_commands if spec.project_commands == "build" else found.test_commands
    if not named:
        reason = f"the project names no {spec.project_commands} commands"
        return GuardrailResult(applicable=False, reason=reason)
    try:
        return tuple(map(parse_argv, named))
    except HoldfastError as error:
        reason = clip_chars(str(error), MAX_VERDICT_REASON_CHARS)
        return GuardrailResult(tripwire_triggered=True, reason=reason)


def find_latest_begin(run: RunContext, seconds: float) -> float | None:
    """
    Return until when commands of a check may begin, in seconds after the run began.

    They share what is left of its time, and what one of them may take: an answer that is there
    passes its gates beyond it. Null where its time has no limit.
    """
    left = run.seconds_left()
    return None if left is None else run.elapsed_seconds() + left + seconds


def end_in_time(run: RunContext, latest: float | None) -> bool:
    """End a run whose check would begin a command later than that; say whether it did."""
    now = run.elapsed_seconds()
    if latest is None or now <= latest:
        return False
    stop = budgets.out_of_time(run.state.agent.budget, run.state.ledger, now)
    if stop is None or not workflow.patched(GATES_IN_TIME):
        return False
    run.state = halt(run.state, stop, workflow.now())
    return True


def build_failure_result(command: tuple[str, ...], ended: CommandResult) -> GuardrailResult:
    """Build what a guardrail found whose command failed."""
    line, code = " ".join(command), ended.exit_code
    said = (ended.stdout + ended.stderr).strip()[-MAX_OUTPUT_TAIL_CHARS:]
    last = said.rpartition("\n")[2]  # where most programs say what it comes to
    how = "was ended at its time limit" if code is None else f"ended with {code}"
    return GuardrailResult(
        tripwire_triggered=True,
        reason=clip_chars(f"{line!r} {how}: {last}\n{said}", MAX_VERDICT_REASON_CHARS),
        constraints=(clip_chars(f"{line!r} must end with exit code 0", MAX_CONSTRAINT_CHARS),),
    )


def build_success_result(spec: GuardrailSpec, ended: CommandResult) -> GuardrailResult | None:
    """Build what a guardrail found whose commands passed; null where they tell no coverage."""
    if spec.report is None:
        return GuardrailResult()
    coverage = read_coverage(f"{ended.stdout}\n{ended.stderr}".strip())
    if coverage is None:
        return None
    return GuardrailResult(signals=Signals(coverage=coverage))


async def run_command(
    run: RunContext,
    spec: GuardrailSpec,
    command: tuple[str, ...],
    is_held: Callable[[], bool],
) -> ToolResult | None:
    """Have a command run, or null where it is held; that it isn't permitted is a result, too."""
    number = run.state.guarding.checks + 1
    run.state = run.state.with_guarding(checks=number)
    call = ToolCall(
        call_id=name_command(spec.name, number),
        name=RUN_COMMAND,
        arguments={"command": list(command), "seconds": spec.timeout},
    )
    summary = summaries.command_line(spec.name, command)
    result = await _authorize_and_run(run, call, summary, is_held)
    for pause in disagreements.RETRY_DELAYS_SECONDS:
        if not isinstance(result, NotBegun):
            return result
        if pause:
            await workflow.sleep(pause, summary=disagreements.RETRY_TIMER_SUMMARY)
        result = await _authorize_and_run(run, call, summary, is_held)
    return disagreements.build_denial(call, result) if isinstance(result, NotBegun) else result


async def _authorize_and_run(
    run: RunContext, call: ToolCall, summary: str, is_held: Callable[[], bool]
) -> ToolResult | NotBegun | None:
    """Run a command if it is permitted now; the plan of a run is about what its model wants."""
    asked = authorization.build_input(
        run.state, (CallState(call=call),), (RUN_COMMAND,), workflow.now()
    ).with_(planning=False, planned=None)
    answer = await authorize(asked, _build_search(run))
    if answer is None:
        return tool_results.build_denial(call, "timeout", "nobody could decide about it in time")
    await resets.handle_reset(run, answer.execution)
    ruling = answer.rulings[0]
    decision = decision_of(ruling)
    if isinstance(decision, ApprovalRequired):
        why = f"rule {decision.rule!r} wants a person to approve it, and nobody is asked"
        return tool_results.build_denial(call, "approval_required", why)
    if not isinstance(decision, MayRun):
        return tool_results.build_refusal(ruling) or tool_results.build_denial(
            call, "permission_denied", "the policy doesn't let it run"
        )
    ruled = CallState(call=fill_arguments(call, ruling), ruling=ruling)
    if await hear_before_more():
        if run.state.is_ending:
            return tool_results.build_abort(call, "the run is over")
        if not tool_calls.select_recent((ruled,), workflow.now()):
            return disagreements.TOO_OLD
    if is_held():
        return None
    return await run_tool(run, ruled, run.seconds_left(), summary=summary, patient=True)


def _build_search(run: RunContext) -> Search:
    return Search(lambda: run.seconds_left() != 0 and not run.state.is_ending, run.seconds_left)


def parse_result(result: ToolSuccess | ToolFailure) -> CommandResult | None:
    """Read how a command ended; null where the result tells something else."""
    try:
        return (
            CommandResult.model_validate(result.data) if isinstance(result, ToolSuccess) else None
        )
    except ValidationError:
        return None
