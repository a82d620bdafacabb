"""What a run is for, which checks say that it is done, and how far it is. Pure."""

from collections.abc import Iterable

from holdfast.contracts.calls import ToolCall, ToolResult, ToolSuccess
from holdfast.contracts.control import CheckReport, GoalReport
from holdfast.contracts.guardrails import GuardrailSpec, GuardrailVerdict
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import answers

_PROGRESS_TOOL = "report_progress"


def note_progress(
    state: RunState, calls: Iterable[CallState], results: Iterable[ToolResult]
) -> RunState:
    """Keep what a model said last of how far it is, by the tool for that."""
    noted = {one.call_id for one in results if isinstance(one, ToolSuccess)}
    said = [
        one.call.arguments
        for one in calls
        if isinstance(one.call, ToolCall)
        if one.call.name == _PROGRESS_TOOL and one.call.call_id in noted
    ]
    if not said:
        return state
    match said[-1]:
        case {"done": str(done), "next": str(following)}:
            return state.with_(progress=f"done: {done}; next: {following}")
        case _:  # of an app's own tool of that name
            return state


def build_report(state: RunState) -> GoalReport:
    """Say what the run is for, and how far it is, as far as that may be told yet."""
    found = {verdict.guardrail: verdict for verdict in state.answering.checked}
    return GoalReport(
        objective=answers.redact_goal(state),
        done_when=tuple(
            _report(state, spec, found.get(spec.name)) for spec in state.agent.acceptance
        ),
        progress=answers.redact(state, state.progress),
    )


def _report(state: RunState, spec: GuardrailSpec, verdict: GuardrailVerdict | None) -> CheckReport:
    if verdict is None:
        return CheckReport(name=spec.name, state="open")
    failed = verdict.tripwire_triggered
    why = answers.redact_reason(state, verdict)
    return CheckReport(name=spec.name, state="failed" if failed else "passed", found=why)
