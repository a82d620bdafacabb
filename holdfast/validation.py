"""Whether an agent can work as it is defined."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import UnionType

from temporalio.converter import PayloadCodec

from holdfast.adapters.base import ModelAdapter, ProviderAdapter
from holdfast.adapters.contract import find_missing_methods
from holdfast.adapters.openai_chat.servers import ChatServer
from holdfast.adapters.registry import Setup, build_adapters
from holdfast.agent import Agent
from holdfast.contracts import bounds
from holdfast.contracts.approvals import Requirement
from holdfast.contracts.budget import Budget
from holdfast.contracts.control import Backtracking, Fallback, Route, Tiers, Triggers
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import checks_answers
from holdfast.contracts.patterns import SPACE, BadPattern, Pattern
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.tools import HostedTool
from holdfast.delegation import Handoff, SubAgent, check_handoff, check_subagent
from holdfast.guardrails.definition import Guardrail
from holdfast.run.limits import fallback
from holdfast.run.limits.tool_choice import FIND_TOOLS
from holdfast.tools.tool import Tool

_ADDRESS = Pattern(rf"https?://[^{SPACE}/][^{SPACE}]*")
_PROVIDER = Pattern(r"[a-z][a-z0-9_\-]*")
_VARIABLE = Pattern(r"[A-Z_][A-Z0-9_]*")
_HOSTED_TYPE = Pattern(r"([a-z_]+?)(_preview)?(_\d[\d_]*)?")

FIELD_TYPES: Mapping[str, tuple[type | UnionType | tuple[type, ...], str]] = {
    "name": (str, "a string"),
    "instructions": (str, "a string"),
    "models": ((list, tuple, str), "a list of names such as anthropic:MODEL"),
    "routes": ((list, tuple), "a list"),
    "tools": ((list, tuple), "a list"),
    "guardrails": ((list, tuple), "a list"),
    "acceptance": ((list, tuple), "a list"),
    "budget": (Budget, "a Budget(...)"),
    "escalates": (bool, "True or False"),
    "approval_timeout": (timedelta, "a timedelta"),
    "max_context_bytes": (int, "a number"),
    "max_history_events": (int, "a number"),
    "max_output_retries": (int, "a number"),
    "review": (Requirement, "a Requirement(...)"),
    "fallback": (Fallback, "a Fallback(...)"),
    "triggers": (Triggers, "a Triggers(...)"),
    "backtracking": (Backtracking | None, "a Backtracking(...)"),
    "tiers": (Tiers | None, "a Tiers(...)"),
    "project": (str | Path | None, "a folder"),
    "stream": (bool | str, 'True, False or "before_checks"'),
    "subagents": ((list, tuple), "a list"),
    "handoffs": ((list, tuple), "a list"),
    "ceiling": (Ceiling, "a Ceiling(...)"),
    "regulated": (bool, "True or False"),
    "tools_per_turn": (int | None, "a number"),
}
"""What the fields of an agent must be: they come from user code that nobody has typed."""

MAX_APPROVAL_TIMEOUT = timedelta(days=3650)

MIN_TOOLS_PER_TURN = 2
"""The one that finds others, and one of these."""

MIN_CONTEXT_BYTES = 1000
"""Bytes; a goal and a turn or two."""


def require_adapters(adapters: Sequence[ProviderAdapter]) -> tuple[ProviderAdapter, ...]:
    """Return an app's own adapters; raises AppError with what keeps them from being asked."""
    taken = list(build_adapters(Setup()))
    found: list[str] = []
    for adapter in adapters:
        name = f"adapter {type(adapter).__name__!r}"
        if missing := find_missing_methods(adapter):
            found.append(f"{name}: it lacks {', '.join(missing)} (see holdfast.testing)")
            continue
        provider = adapter.provider
        if not _PROVIDER.fits(provider):
            found.append(f"{name}: its provider {provider!r} is no word of small letters")
        elif provider in taken:
            found.append(f"{name}: there is a provider {provider!r} already")
        if not all(map(_VARIABLE.fits, adapter.credentials)):
            found.append(f"{name}: its credentials are names of variables, never the keys")
        taken.append(provider)
    if found:
        raise AppError("; ".join(found))
    return tuple(adapters)


def require_codec(codec: PayloadCodec | None) -> PayloadCodec | None:
    """Return an app's codec, if it has one; raises AppError for what is none."""
    if codec is None or isinstance(codec, PayloadCodec):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
        return codec
    raise AppError("its codec is no temporalio.converter.PayloadCodec: give an object of one")


def check_chat_server(server: ChatServer) -> str | None:
    """Say why a server can't be asked. Never repeats what may be a key in the wrong place."""
    if not isinstance(server, ChatServer):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
        return "write ChatServer(base_url=...)"
    if not _ADDRESS.fits(server.base_url):
        return "its base_url must begin with https:// or http://"
    if server.key_variable is not None and not _VARIABLE.fits(server.key_variable):
        return (
            "its key_variable must be the name of an environment variable, in capitals, "
            "never the key itself"
        )
    try:
        Pattern(server.call_ids)
    except BadPattern:
        return "its call_ids must be a pattern of RE2, which looks neither ahead nor back"
    return None


def check_hosted_tools(agent: Agent, adapters: Mapping[str, ModelAdapter]) -> list[str]:
    """Name what may not be hosted: it has run before anybody can be asked."""
    if isinstance(agent.hosted, HostedTool):
        return ["its hosted tools are a list: write hosted=[...]"]
    found: list[str] = []
    types = _collect_hosted_types(adapters.values())
    for tool in agent.hosted:
        if not isinstance(tool, HostedTool):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
            own = "a regulated tool" if _needs_codec(tool) else "a tool of your own"
            found.append(
                f"what is hosted is a HostedTool(name=...); {own} can't be hosted: "
                "put it into tools=[...]"
            )
        elif tool.name not in types:
            found.append(f"no provider hosts {tool.name!r} (known: {', '.join(sorted(types))})")
        elif not tool.risk.changes_nothing:
            found.append(
                f"hosted tool {tool.name!r} is declared {tool.risk}: "
                "nobody could approve its calls; make it a tool of your own"
            )
        elif _is_another(tool, types[tool.name]):
            found.append(
                f"hosted tool {tool.name!r}: its options name another tool, of which nobody knows "
                f"what it may do; `type` may be a version of {tool.name}, `name` is never needed"
            )
    return found


def _needs_codec(given: object) -> bool:
    return isinstance(given, Tool) and given.contract.needs_codec


def _collect_hosted_types(adapters: Iterable[ModelAdapter]) -> dict[str, set[str]]:
    """Return what providers run themselves, by our name, with each type that it has on a wire."""
    found: dict[str, set[str]] = {}
    for adapter in adapters:
        for name, kind in adapter.hosted_tools.items():
            found.setdefault(name, set()).add(kind)
    return found


def _is_another(tool: HostedTool, types: set[str]) -> bool:
    """Whether the options of a harmless tool declare one that isn't, for example a shell."""
    if "name" in tool.options:
        return True
    if "type" not in tool.options:
        return False
    version = _HOSTED_TYPE.fullmatch(str(tool.options["type"]))
    return version is None or version.groups[1] not in types


def check_limits(agent: Agent, own: AgentSnapshot) -> list[str]:
    """Say which limits can't be meant, and which names don't fit together."""
    found: list[str] = []
    if agent.approval_timeout <= timedelta(0):
        found.append("its approval_timeout must be longer than nothing")
    if agent.approval_timeout > MAX_APPROVAL_TIMEOUT:
        found.append(f"its approval_timeout is {MAX_APPROVAL_TIMEOUT.days} days at most")
    if agent.max_context_bytes < MIN_CONTEXT_BYTES:
        found.append(f"its max_context_bytes is {MIN_CONTEXT_BYTES} at least")
    if agent.max_history_events < 1:
        found.append("its max_history_events is 1 at least")
    names = [tool.name for tool in own.tools]
    all_names = [*names, *(tool.name for tool in agent.hosted)]
    found.extend(
        f"it has tool {name!r} twice"
        for name in sorted(set(all_names))
        if all_names.count(name) > 1
    )
    for route in agent.routes:
        if route.model not in agent.models:
            found.append(f"its routes name {route.model!r}, which is no model of it")
        found += [
            f"its routes name {name!r}, which is no tool of it"
            for name in route.after_tools
            if name not in names
        ]
    found += _check_tools_per_turn(agent.tools_per_turn, names)
    choice = agent.settings.tool_choice
    if choice not in {"auto", "required", "none", *names}:
        found.append(f"its tool_choice names {choice!r}, which is no tool of it")
    if (written := bounds.size(own)) > bounds.MAX_AGENT_BYTES:
        found.append(
            f"instructions, tools and guardrails have {written:,} bytes, and "
            f"{bounds.MAX_AGENT_BYTES:,} is most"
        )
    return found


def _check_tools_per_turn(most: int | None, names: Sequence[str]) -> Iterator[str]:
    if most is not None and most < MIN_TOOLS_PER_TURN:
        yield f"its tools_per_turn is {MIN_TOOLS_PER_TURN} at least"
    elif most is not None and len(names) > most and FIND_TOOLS not in names:
        yield (
            f"its tools_per_turn leaves some of its {len(names)} tools out of a turn: give it "
            "holdfast.tools.find_tools, by which its models find them"
        )


def check_field_types(agent: Agent) -> list[str]:
    """Say what isn't what it must be: nothing else can be asked before."""
    found = [
        f"its {name} must be {what}, not {type(given).__name__}"
        for name, (kind, what) in FIELD_TYPES.items()
        if not isinstance(given := getattr(agent, name), kind)
    ]
    if found:
        return found
    found += [
        f"{one!r} in its tools is no tool: write @tool(...) above a function"
        for one in _others(Tool, agent.tools)
    ]
    found += [f"{one!r} in its models is no string" for one in _others(str, agent.models)]
    found += [
        f"{one!r} in its routes is no route: write Route(...)"
        for one in _others(Route, agent.routes)
    ]
    found += [
        f"{one!r} in its subagents is no subagent: write SubAgent(...)"
        for one in _others(SubAgent, agent.subagents)
    ]
    found += [
        f"{one!r} in its handoffs is no handoff: write Handoff(...)"
        for one in _others(Handoff, agent.handoffs)
    ]
    if not found:
        found += [flaw for one in agent.subagents for flaw in check_subagent(one)]
        found += [flaw for one in agent.handoffs for flaw in check_handoff(one)]
    if agent.project is not None and not str(agent.project).strip():
        found.append("its project names no folder: leave it out where there is none")
    for word, given in (("guardrails", agent.guardrails), ("acceptance", agent.acceptance)):
        found += [
            f"{one!r} in its {word} is no guardrail: write @guardrail(...) above a function, and "
            "call what makes one, as in secret_detection()"
            for one in _others(Guardrail, given)
        ]
    return found


def _others(kind: type, given: Iterable[object]) -> list[object]:
    """Return what isn't of a kind, whatever its type says: nobody has checked user code."""
    return [one for one in given if not isinstance(one, kind)]


def check_sampling(agent: Agent, adapters: Mapping[str, ModelAdapter]) -> list[str]:
    """Say what of how words are to be drawn one of the agent's models doesn't take."""
    found: list[str] = []
    for model in agent.models if agent.settings.sampling else ():
        provider, _, name = model.partition(":")
        if (adapter := adapters.get(provider)) is None:
            continue  # a worker doesn't start with it
        refused = adapter.find_refused_settings(name, agent.settings) or {}
        found += [
            f"its settings have {setting}, and model {model!r} can't have it: {why}"
            for setting, why in refused.items()
        ]
    return found


def _check_stream(agent: Agent) -> list[str]:
    """Say which words nobody may hear before they were looked at."""
    if agent.stream is True and checks_answers(tuple(one.spec for one in agent.guardrails)):
        found = (
            "its stream is True, and its answers are looked at before anybody reads them: leave "
            'it out, or write stream="before_checks" if its words may be read while they come'
        )
        return [found]
    if agent.stream not in (True, False, "before_checks"):
        return [f'its stream is True, False or "before_checks", not {agent.stream!r}']
    return []


def check_controls(agent: Agent) -> list[str]:
    """Say what of guardrails, checks and fallbacks can't work."""
    found = fallback.find_problems(agent.fallback)
    found += _check_stream(agent)
    if agent.max_output_retries < 0:
        found.append("its max_output_retries is 0 at least")
    every = (*agent.guardrails, *agent.acceptance)
    names = [one.spec.name for one in every]
    twice = sorted({name for name in names if names.count(name) > 1})
    found += [f"it has guardrail {name!r} twice" for name in twice]
    found += [
        f"acceptance check {one.spec.name!r} looks at no answer: its layer is {one.spec.layer}"
        for one in agent.acceptance
        if one.spec.layer not in {"output", "post_action"} or one.spec.tools or one.spec.review
    ]
    if agent.project is None:
        found += [
            f"{one.spec.name!r} runs commands of a project, and the agent has none: give project="
            for one in agent.acceptance
            if one.spec.project_commands
        ]
    tools = {tool.contract.name for tool in agent.tools}
    tools |= {one.tool_name for one in (*agent.subagents, *agent.handoffs)}
    found += [
        f"guardrail {one.spec.name!r} is for {name!r}, which is no tool of it"
        for one in every
        for name in one.spec.tools
        if name not in tools
    ]
    works_itself = (
        agent.tools or agent.subagents or agent.handoffs or agent.backtracking or agent.output
    )
    if agent.tiers is not None and works_itself:
        found.append(
            "it has tiers, so its agents do the work: give tools, subagents, handoffs, "
            "backtracking and output to them"
        )
    if agent.backtracking is not None and not agent.acceptance:
        found.append("it has backtracking, but no acceptance check that an approach could fail")
    return found


def check_guardrail_names(agent: Agent, successors: Iterable[Agent]) -> Iterator[str]:
    """
    Name guardrails that another agent has otherwise which goes on with a run of this one.

    Both look then, and which is which is told by the name alone.
    """
    own = {one.spec.name: one for one in agent.guardrails}
    for other in successors:
        for one in other.guardrails:
            if own.get(one.spec.name, one) != one:
                yield (
                    f"its guardrail {one.spec.name!r} is another one for {other.name!r}, "
                    "which may go on with its runs: rename one"
                )


def collect_reachable(name: str, known: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return a name with all that it leads to."""
    reached, waiting = set[str](), [name]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += known.get(name, ())
    return reached
