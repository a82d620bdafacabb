"""What a policy would have decided about the calls that past runs have recorded."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue, TypeAdapter

from holdfast.app import App
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import Decision, RunAsDraftOnly
from holdfast.policy.rules import Policy
from holdfast.policy_testing.rehearsal import CallerContext, InvalidArguments, dry_run
from holdfast.run.authorization import build_caller
from holdfast.run.summaries import call_line
from holdfast.trace.entries import Call, DecisionTrace
from holdfast.trace.values import Trace

_DECISION: TypeAdapter[Decision] = TypeAdapter(Decision)

_RUNTIME_RULE_PREFIXES = (
    *("switch:", "unresolved-write", "done-already", "lost-part", "no-sandbox"),
    *("planning", "plan"),
)
"""Rules that speak of how things stood then, which no policy decides."""


class DecisionSummary(NamedTuple):
    """A decision, in the words that tell it from another one."""

    verdict: str
    rule: str
    takes: JsonObject

    def __str__(self) -> str:
        return f"{self.verdict} ({self.rule})" if self.rule else self.verdict


class Comparison(NamedTuple):
    """A call of a run, as it was decided about then, and as it would be now."""

    run_id: str
    call: ToolCall
    before: DecisionSummary
    after: DecisionSummary

    @property
    def is_change(self) -> bool:
        """Whether anything but the words differs."""
        return self.before != self.after

    def __str__(self) -> str:
        takes = ""
        if (self.before.verdict, self.before.rule) == (self.after.verdict, self.after.rule):
            takes = f": {', '.join(_differences(self.before.takes, self.after.takes))}"
        what = f"{self.run_id} {call_line(self.call)}"
        return f"{what}: {self.before} → {self.after}{takes}"


class Comparisons(NamedTuple):
    """All calls of some runs; `left_out` are those that no policy decided about."""

    compared: list[Comparison]
    left_out: int


def compare(app: App, policy: Policy, traces: list[Trace], environment: str) -> Comparisons:
    """Decide anew about each call of past runs, as it stood before anybody had approved it."""
    found: list[Comparison] = []
    left_out = 0
    for trace in traces:
        for call in trace.calls:
            comparison = _compare_call(app, policy, trace, call, environment)
            if comparison is None:
                left_out += 1
            else:
                found.append(comparison)
    return Comparisons(found, left_out)


def _compare_call(
    app: App, policy: Policy, trace: Trace, recorded: Call, environment: str
) -> Comparison | None:
    call, brief = recorded.call, trace.brief
    ruled = _find_first_decision(recorded.rulings)
    before = ruled.decision if ruled else None
    if not isinstance(call, ToolCall) or brief is None or ruled is None or before is None:
        return None
    tool = app.registry.get(call.name) or (
        trace.agent.find_tool(call.name) if trace.agent else None
    )
    if tool is None or before.rule.startswith(_RUNTIME_RULE_PREFIXES):
        return None
    who = CallerContext(
        brief.agent,
        ruled.caller or build_caller(brief),
        brief.metadata,
        environment,
        ruled.trust or "untrusted",  # as of what an execution before has left out
    )
    found = dry_run(call, tool, who, app, policy, ruled.at)
    if isinstance(found, InvalidArguments):
        after = DecisionSummary("invalid_arguments", "", {"reason": found.reason})
    else:
        drafted = isinstance(before, RunAsDraftOnly)
        after = _summarize(found.decision if drafted else found.outcome)
    return Comparison(trace.run_id, call, _summarize(before), after)


def _find_first_decision(rulings: tuple[DecisionTrace, ...]) -> DecisionTrace | None:
    """Return the first decision about a call; where a draft came first, the one after it."""
    decided = [ruled for ruled in rulings if ruled.decision is not None]
    after_drafts = (
        ruled
        for ruled in decided
        if not (isinstance(ruled.decision, RunAsDraftOnly) and ruled.decision.then == "approval")
    )
    return next(after_drafts, decided[0] if decided else None)


def _summarize(decision: Decision) -> DecisionSummary:
    fields = _DECISION.dump_python(decision, mode="json")
    takes = {
        name: value
        for name, value in fields.items()
        if name not in {"verdict", "rule", "reason", "question", "next_valid_actions"}
    }
    return DecisionSummary(decision.verdict, decision.rule, takes)


def _differences(before: JsonObject, after: JsonObject) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield f"{name} {_render_value(old)} → {_render_value(new)}"


def _render_value(value: JsonValue) -> str:
    match value:
        case list():
            return " ".join(str(entry) for entry in value) or "none"
        case None | "":
            return "none"
        case _:
            return str(value)
