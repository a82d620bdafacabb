"""Names and conditions of a policy that can't mean anything in the apps that it is for."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.app import App
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.tools import ToolContract
from holdfast.policy.allowlists import lists_interpreter
from holdfast.policy.document import PolicySource
from holdfast.policy.rules import RELEASING_EFFECTS, find_safety_problem
from holdfast.policy.schema import RuleEntry
from holdfast.policy.yaml_lines import Problem, YamlPath

_TEXT = Pattern(r"""[rR]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_ARGUMENT = Pattern(r"\bargs\s*\.\s*([A-Za-z_]\w*)")

Findings: TypeAlias = Iterator[tuple[YamlPath, str]]


class KnownNames(NamedTuple):
    """What the apps have: their tools by name, and the names of their agents."""

    tools: dict[str, ToolContract]
    agents: list[str]

    def find_tools(self, rule: RuleEntry) -> list[ToolContract]:
        """Return the tools that a rule is about, as far as its names say."""
        return [
            tool
            for tool in self.tools.values()
            if (not rule.match.tools or tool.name in rule.match.tools)
            and (not rule.match.risks or tool.risk in rule.match.risks)
            and (not rule.match.receivers or tool.receiver in rule.match.receivers)
        ]


def find_problems(source: PolicySource, apps: Sequence[App]) -> list[Problem]:
    """Say what in a policy nobody in these apps has, and which rules can't hold there."""
    known = KnownNames(
        {tool.name: tool for app in apps for tool in app.registry.contracts()},
        [agent.name for app in apps for agent in app.agents],
    )
    return [
        source.located.build_problem(("rules", number, *place), reason)
        for number, rule in enumerate(source.file.rules)
        for check in CHECKS
        for place, reason in check(known, rule)
    ]


def find_warnings(source: PolicySource) -> list[Problem]:
    """Say which commands a policy lists that do whatever a file says, outside of the sandbox."""
    return [
        source.located.build_problem(
            ("rules", number, "match", "commands", place),
            f"warning: {entry!r} does whatever stands in a file that it is given, and nobody is "
            "asked: name the file too, or let the rule have effect sandbox or approve",
        )
        for number, rule in enumerate(source.file.rules)
        for place, entry in enumerate(rule.match.commands)
        if rule.effect == "allow" and lists_interpreter(entry)
    ]


def _unknown_tools(known: KnownNames, rule: RuleEntry) -> Findings:
    """Tools that are named are in one of the apps."""
    for number, name in enumerate(rule.match.tools):
        if name not in known.tools:
            yield ("match", "tools", number), _describe_missing("tool", name, sorted(known.tools))


def _unknown_agents(known: KnownNames, rule: RuleEntry) -> Findings:
    """Agents that are named are in one of the apps."""
    for number, name in enumerate(rule.match.agents):
        if name not in known.agents:
            yield ("match", "agents", number), _describe_missing("agent", name, known.agents)


def _unknown_receivers(known: KnownNames, rule: RuleEntry) -> Findings:
    """Agents that are named as receivers get work from another one."""
    receivers = sorted({tool.receiver for tool in known.tools.values() if tool.receiver})
    for number, name in enumerate(rule.match.receivers):
        if name not in receivers:
            yield (
                ("match", "receivers", number),
                _describe_missing("agent", name, receivers, "nobody gives work to"),
            )


def _receivers_that_differ(known: KnownNames, rule: RuleEntry) -> Findings:
    """Tools and receivers that are named together go together."""
    match = rule.match
    if not (match.tools and match.receivers) or known.find_tools(rule):
        return
    named = [known.tools[name].receiver for name in match.tools if name in known.tools]
    if named:
        given = ", ".join(sorted({name or "nobody" for name in named}))
        yield ("match", "receivers"), f"these tools give work to {given}"


def _risks_that_differ(known: KnownNames, rule: RuleEntry) -> Findings:
    """Tools and risk classes that are named together go together."""
    if rule.match.tools and rule.match.risks and not known.find_tools(rule):
        classes = {known.tools[name].risk for name in rule.match.tools if name in known.tools}
        if classes:
            yield ("match", "risks"), f"these tools are {', '.join(sorted(classes))}"


def _rules_that_never_hold(known: KnownNames, rule: RuleEntry) -> Findings:
    """Tools are named by rules that can hold for them, and list what they must."""
    for number, name in enumerate(rule.match.tools):
        tool = known.tools.get(name)
        if tool is None or tool.receiver is not None or rule.effect not in RELEASING_EFFECTS:
            continue
        flaw = find_safety_problem(
            tool.risk,
            rule.effect,
            recovery=rule.approval.recovery if rule.approval else "",
            conditional=rule.when is not None,
        )
        lists = {"command": rule.match.commands, "host": rule.match.hosts}
        if flaw is not None:
            yield ("match", "tools", number), f"{name!r} is {tool.risk}: {flaw}"
        elif not lists.get(tool.resource_scope.kind, "it needs none"):
            kind = tool.resource_scope.kind
            yield ("match", "tools", number), f"{name!r} needs {kind}s: list them, or ['*']"


def _unknown_arguments(known: KnownNames, rule: RuleEntry) -> Findings:
    """Arguments in a condition are those of some tool of the rule."""
    tools = known.find_tools(rule)
    has: set[str] = set()
    for tool in tools:
        properties = tool.input_schema.get("properties")
        has.update(properties if isinstance(properties, dict) else ())
    read = _ARGUMENT.matches(_TEXT.sub("''", rule.when or ""))
    named = dict.fromkeys(found.groups[1] for found in read)
    for name in named if tools else ():
        if name not in has:
            yield (
                ("when",),
                _describe_missing("argument", name, sorted(has), "none of its tools has"),
            )


CHECKS: tuple[Callable[[KnownNames, RuleEntry], Findings], ...] = (
    _unknown_tools,
    _unknown_agents,
    _unknown_receivers,
    _receivers_that_differ,
    _risks_that_differ,
    _rules_that_never_hold,
    _unknown_arguments,
)


def _describe_missing(kind: str, name: str, known: Sequence[str], who: str = "nobody has") -> str:
    return f"{who} {kind} {name!r} (known: {', '.join(known) or 'none'})"
