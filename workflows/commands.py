"""Commands that the run itself wants run: decided, sandboxed and recorded like any call."""

from pydantic import ValidationError
from temporalio import workflow

from activities.policy import PolicyActivities
from contracts.base import Contract
from contracts.decisions import ApprovalRequired, MayRun, decision_of
from contracts.errors import HoldfastError
from contracts.guardrails import GuardrailResult, GuardrailSpec
from contracts.project import ProjectContext
from contracts.state import CallState, RunState
from contracts.tools import ToolCall, ToolFailure, ToolResult, ToolSuccess
from policy.project import argv
from workflows import options, results, rulings, summaries
from workflows.live import LiveRun
from workflows.tool_call import run_tool

RUN_COMMAND = "run_command"
"""The built-in tool that runs a program in the workspace."""

LONGEST_TAIL = 2_000
"""Characters of a failed command's output that are told: the end, where the error stands."""


class Ended(Contract):
    """How a command ended: no exit code when it was ended at its limit."""

    exit_code: int | None
    stdout: str
    stderr: str


def of(state: RunState, spec: GuardrailSpec) -> tuple[tuple[str, ...], ...] | GuardrailResult:
    """Return the commands that a guardrail runs, or what it finds without any."""
    if spec.project_commands is None:
        return (spec.command,)
    found = state.project or ProjectContext()
    named = found.build_commands if spec.project_commands == "build" else found.test_commands
    if not named:
        reason = f"the project names no {spec.project_commands} commands"
        return GuardrailResult(applicable=False, reason=reason)
    try:
        return tuple(map(argv, named))
    except HoldfastError as error:
        return GuardrailResult(tripwire_triggered=True, reason=str(error))


def failed(command: tuple[str, ...], ended: Ended) -> GuardrailResult:
    """Build what a guardrail found whose command failed."""
    line, code = " ".join(command), ended.exit_code
    said = (ended.stdout + ended.stderr).strip()[-LONGEST_TAIL:]
    last = said.rpartition("\n")[2]  # where most programs say what it comes to
    how = "was ended at its time limit" if code is None else f"ended with {code}"
    return GuardrailResult(
        tripwire_triggered=True,
        reason=f"{line!r} {how}: {last}\n{said}",
        constraints=(f"{line!r} must end with exit code 0",),
    )


async def run_command(
    run: LiveRun, purpose: str, command: tuple[str, ...], seconds: float
) -> ToolResult:
    """Have a command run; that it isn't permitted is a result like any other."""
    number = run.state.checks + 1
    run.state = run.state.model_copy(update={"checks": number})
    call = ToolCall(
        call_id=f"{purpose}-{number}",
        name=RUN_COMMAND,
        arguments={"command": list(command), "seconds": seconds},
    )
    asked = rulings.asked(run.state, (CallState(call=call),), (RUN_COMMAND,), workflow.now())
    answer = await workflow.execute_local_activity_method(
        PolicyActivities.authorize, asked, **options.decision(summaries.calls_line(asked.calls))
    )
    ruling = answer.rulings[0]
    decision = decision_of(ruling)
    if isinstance(decision, ApprovalRequired):
        why = f"rule {decision.rule!r} wants a person to approve it, and nobody is asked"
        return results.denied(call, "approval_required", why)
    if not isinstance(decision, MayRun):
        return results.refusal(ruling) or results.denied(
            call, "permission_denied", "the policy doesn't let it run"
        )
    ruled = CallState(call=call, ruling=ruling)
    summary = summaries.command_line(purpose, command)
    return await run_tool(run.state, ruled, run.seconds_left(), summary=summary)


def ended(result: ToolSuccess | ToolFailure) -> Ended | None:
    """Read how a command ended; null where the result tells something else."""
    try:
        return Ended.model_validate(result.data) if isinstance(result, ToolSuccess) else None
    except ValidationError:
        return None
