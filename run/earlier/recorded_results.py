"""A dry fork: its calls are answered with what the run recorded, and none is run. Pure."""

from collections.abc import Iterable, Iterator

from holdfast.contracts.bounds import size
from holdfast.contracts.calls import (
    AnyCall,
    RecordedResult,
    ToolCall,
    ToolFailure,
    ToolResult,
    fingerprint_effect,
)
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem

MAX_RECORDED_BYTES = 300_000
"""Of results that a dry fork begins with; of more the latest are left."""


def collect(items: Iterable[TranscriptItem]) -> tuple[RecordedResult, ...]:
    """Return what came of calls; each is found as the model wrote it, and as it ran."""
    found, room = list[RecordedResult](), MAX_RECORDED_BYTES
    for one in reversed([*_pair(items)]):
        room -= size(one)
        if room < 0:
            break
        found.append(one)
    return tuple(reversed(found))


def _pair(items: Iterable[TranscriptItem]) -> Iterator[RecordedResult]:
    asked: dict[str, AnyCall] = {}
    for item in items:
        match item:
            case AssistantTurn(calls=calls):
                asked = {call.call_id: call for call in calls}
            case ToolTurn(results=results):
                for result in results:
                    call = asked.get(result.call_id)
                    if call is None:
                        continue
                    both = (_digest(call), _digest(item.restore_arguments(call)))
                    if digests := tuple(dict.fromkeys(filter(None, both))):
                        yield RecordedResult(digests=digests, result=result)
            case _:
                pass


def answer_calls(
    calls: tuple[CallState, ...], recorded: tuple[RecordedResult, ...], run_id: str
) -> tuple[tuple[CallState, ...], tuple[RecordedResult, ...]]:
    """
    Give each call what came of the same one in the run of that id; return what is left of it, too.

    What came of a call the first time comes first, and the last stays. One without a record is
    refused.
    """
    answered: list[CallState] = []
    for call in calls:
        wanted = _digest(call.call)  # of long arguments it takes a while
        found = [one for one in recorded if wanted in one.digests]
        if len(found) > 1:
            recorded = tuple(one for one in recorded if one is not found[0])
        result = _reuse(found[0].result, call.call) if found else _refuse(call.call, run_id)
        answered.append(call.with_(result=result))
    return tuple(answered), recorded


def require_dry(agent: AgentSnapshot) -> None:
    """Refuse an agent whose work isn't calls of tools alone: raises InvalidInput."""
    runs = [
        *(f"hosted tool {tool.name!r}" for tool in agent.hosted),
        *(["tiers"] if agent.tiers is not None else []),
        *(
            f"guardrail {spec.name!r}"
            for spec in (*agent.guardrails, *agent.acceptance)
            if spec.command or spec.project_commands or spec.agent
        ),
    ]
    if runs:
        raise InvalidInput(
            f"no dry fork of agent {agent.name!r}: nothing is recorded of what would run beside "
            f"its tools: {', '.join(runs)}"
        )


def _digest(call: AnyCall) -> str:
    return fingerprint_effect(call.name, call.arguments) if isinstance(call, ToolCall) else ""


def _reuse(result: ToolResult, call: AnyCall) -> ToolResult:
    return result.with_(call_id=call.call_id, name=call.name)


def _refuse(call: AnyCall, run_id: str) -> ToolFailure:
    return ToolFailure.of(
        call,
        "denied",
        "not_found",
        f"this run is dry: no tool runs, and run {run_id} recorded no call with these arguments",
        "ask for what that run asked for",
        "go on without it",
    )
