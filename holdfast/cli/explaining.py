"""What a decision about a call rests on, as a person reads it and as a program does."""

from pydantic import JsonValue, TypeAdapter

from holdfast.agent import Agent
from holdfast.cli import render
from holdfast.cli.screen import Screen
from holdfast.contracts.base import JsonObject
from holdfast.contracts.control import Delegation
from holdfast.contracts.decisions import Decision
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.policy.schema import write_duration
from holdfast.policy_testing.rehearsal import DryRun, RuleEvaluation
from holdfast.run.summaries import call_line
from holdfast.run.texts.figures import pluralize, render_value

_TIMES = {"max_auth_age", "valid_for", "expires_after", "escalate_after"}
"""Fields of a decision in seconds."""

_DECISION: TypeAdapter[Decision] = TypeAdapter(Decision)


def as_json(tried_out: DryRun, caller: Agent) -> JsonObject:
    """Return everything about a decision on a call of *caller*, for programs."""
    facts = tried_out.facts
    given = build_sender(caller, tried_out.contract.name)
    return {
        "call": tried_out.call.model_dump(mode="json", exclude={"call_id"}),
        "values": facts.values,
        "risk": tried_out.contract.risk,
        "agent": facts.agent,
        **({"receiver": tried_out.contract.receiver, "sender": given} if given else {}),
        **dict(facts.caller),
        "metadata": dict(facts.metadata),
        "environment": facts.environment,
        "policy": tried_out.policy.digest,
        "decision": _DECISION.dump_python(tried_out.decision, mode="json"),
        "outcome": _DECISION.dump_python(tried_out.outcome, mode="json"),
        "rules": [
            {
                "id": sight.rule.id,
                "effect": sight.rule.effect,
                "fit": sight.fit.kind,
                "detail": sight.fit.detail,
                "governs": sight.governs,
            }
            for sight in tried_out.evaluate_rules()
        ],
    }


def build_sender(agent: Agent, tool: str) -> JsonObject | None:
    """Return how an agent gives work by a tool, and what binds all behind it; or null."""
    delegation = _find_delegation(agent, tool)
    if delegation is None:
        return None
    ceiling = agent.ceiling.model_dump(mode="json")
    budget = agent.ceiling.budget.model_dump(mode="json", exclude_unset=True)
    return {
        "agent": agent.name,
        **delegation.model_dump(mode="json", exclude={"tool"}),
        "ceiling": {**ceiling, "budget": budget},
    }


def describe_sender(agent: Agent, tool: str) -> list[tuple[str, str]]:
    """Return the same in words."""
    delegation = _find_delegation(agent, tool)
    if delegation is None:
        return []
    ceiling = _describe_ceiling(agent.ceiling)
    return [(f"  given by {agent.name}", f"{_describe_delegation(delegation)}; {ceiling}")]


def _find_delegation(agent: Agent, tool: str) -> Delegation | None:
    works = (*agent.subagents, *agent.handoffs)
    return next((one.delegation for one in works if one.tool_name == tool), None)


def _describe_delegation(delegation: Delegation) -> str:
    share = f"{delegation.budget_share:.15g} of the budget each"
    kind = f"a task, {delegation.at_once} at once, {share}"
    if delegation.handoff or delegation.returns:
        kind = "a handoff whose answer comes back" if delegation.returns else "a handoff"
    within, prepare = delegation.timeout_seconds, delegation.prepare
    return ", ".join(
        (
            kind,
            *([f"{within:.15g} s at most"] if within is not None else []),
            *([f"prepared by {prepare}"] if prepare else []),
        )
    )


def _describe_ceiling(ceiling: Ceiling) -> str:
    limits = ceiling.budget.model_dump(mode="json", exclude_unset=True)
    bounds = (
        *((f"no tool {', '.join(ceiling.without_tools)}",) if ceiling.without_tools else ()),
        *((f"nothing {', '.join(ceiling.without_risks)}",) if ceiling.without_risks else ()),
        *(f"{name} {render_value(value)}" for name, value in limits.items()),
    )
    return f"its ceiling: {', '.join(bounds) or 'none'}"


def show(tried_out: DryRun, caller: Agent) -> None:
    """Print a decision, what it takes, and what each rule of the policy has to do with it."""
    out, facts, policy = Screen(), tried_out.facts, tried_out.policy
    first, last = tried_out.decision, tried_out.outcome
    out.line(call_line(tried_out.call), "bold")
    rules = pluralize(len(policy.rules), "rule")
    rows = [
        ("  decision", first.verdict),
        ("  rule", first.rule),
        ("  reason", first.reason),
        *_describe_decision(first),
        *([] if last is first else [("  then", f"{last.verdict} ({last.rule}: {last.reason})")]),
        *([] if last is first else _describe_decision(last)),
        ("  risk", tried_out.contract.risk),
        ("  values", render_value(facts.values)),
        ("  agent", facts.agent),
        *describe_sender(caller, tried_out.contract.name),
        *((f"  {name.replace('_', ' ')}", said) for name, said in facts.caller if said),
        *([("  metadata", render_value(dict(facts.metadata)))] if facts.metadata else []),
        ("  environment", facts.environment or "-"),
        ("  policy", f"{policy.digest}, {rules}" if policy.digest else "none, the defaults"),
    ]
    render.show_fields(out, rows)
    if sights := tried_out.evaluate_rules():
        header = ("rule", "effect", "")
        shown = [
            (sight.rule.id, sight.rule.effect, _describe_evaluation(sight)) for sight in sights
        ]
        render.show_table(out, header, shown)


def _describe_decision(decision: Decision) -> list[tuple[str, str]]:
    """Return the fields of a decision that say anything, besides those that all have."""
    fields: dict[str, JsonValue] = _DECISION.dump_python(
        decision, mode="json", exclude_defaults=True
    )
    known = {"verdict", "rule", "reason", "then"}
    if decision.verdict == "approval_required":
        fields = {"strength": decision.strength, "count": decision.count, **fields}
    return [
        (f"  {name.replace('_', ' ')}", _write_value(name, value))
        for name, value in fields.items()
        if name not in known
    ]


def _write_value(name: str, value: JsonValue) -> str:
    """Write a field of a decision; times as a policy has them, whose fields are in seconds."""
    if name in _TIMES and isinstance(value, int | float):
        return write_duration(float(value))
    return render_value(value)


def _describe_evaluation(sight: RuleEvaluation) -> str:
    match sight.fit.kind:
        case "fits":
            said = f"fits by {sight.fit.detail}" if sight.fit.detail else "fits"
        case "differs" if sight.fit.detail == "authority":
            said = f"its authority {sight.rule.authority} doesn't stand for this call"
        case "differs":
            said = f"is about other {sight.fit.detail}"
        case "unsafe":
            said = f"never holds here: {sight.fit.detail}"
        case "false":
            said = "its condition is false"
        case "doubt":
            said = f"its condition can't be evaluated: {sight.fit.detail}"
    return f"{said}, and governs" if sight.governs else said
