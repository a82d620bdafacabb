"""An app: the agents that a platform engineer defines, checked before anything runs."""

import importlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType

from pydantic import TypeAdapter, ValidationError
from temporalio.converter import PayloadCodec

from holdfast.activities.notifications import Webhook
from holdfast.adapters.base import ModelAdapter, ProviderAdapter
from holdfast.adapters.openai_chat.servers import OPENAI_CHAT, ChatServer, validate
from holdfast.adapters.registry import Setup, build_adapters
from holdfast.adapters.scripted import Script
from holdfast.agent import Agent, find_companions
from holdfast.agent_tools import DelegatingTools
from holdfast.contracts.base import digest
from holdfast.contracts.bounds import MAX_ANCESTORS
from holdfast.contracts.errors import AppError
from holdfast.contracts.model import ModelSettings
from holdfast.contracts.patterns import SPACE, Pattern
from holdfast.contracts.run import TASK_QUEUE, AgentSnapshot
from holdfast.contracts.texts import one_line
from holdfast.guardrails.definition import Guardrail
from holdfast.policy.rules import NO_POLICY, Policy
from holdfast.policy_files import load_policy
from holdfast.run.limits.regulation import find_objections
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.schema import objections, output_schema
from holdfast.tools.tool import Tool
from holdfast.validation import (
    check_chat_server,
    check_controls,
    check_field_types,
    check_guardrail_names,
    check_hosted_tools,
    check_limits,
    check_sampling,
    collect_reachable,
    require_adapters,
    require_codec,
)

MAX_NAME_CHARS = 100

_MODEL = Pattern(rf"([^{SPACE}:]+):([^{SPACE}]+)")
_NAME = Pattern(rf"[A-Za-z0-9._\-]{{1,{MAX_NAME_CHARS}}}")
_ARCHIVE = Pattern(r"file:[^\x00]+")


class App:
    """
    Agents and the scripts of their scripted models. Raises AppError for what can't work.

    *name* tells it from other apps on the same task queue: a run stays with the app that it began
    with. *queue* is where its runs are, unless HOLDFAST_TASK_QUEUE says where; apps that have
    nothing to do with each other belong on different ones. *scripts* gives the models named
    `scripted:NAME` their words, *chat_servers* are where models named `openai-chat:SERVER/NAME`
    are asked, *adapters* speak to providers that Holdfast doesn't know (docs/adapters.md).
    *policy* is the path of a policy file (docs/policy.md), relative to the working
    directory; without one the defaults of the risk classes decide. *archive* is where closed
    sessions are kept, and what was recorded of all that is over (docs/sessions.md), as in
    "file:archive". *notify* is who is told when a run waits for a person. With a *codec* the
    server gets no payload but what that makes of it; an app with anything regulated needs one.
    """

    def __init__(  # noqa: PLR0913 -- each is a part of an app, and has a name
        self,
        *,
        agents: Sequence[Agent],
        name: str = "",
        queue: str = TASK_QUEUE,
        scripts: Mapping[str, Script] | None = None,
        chat_servers: Mapping[str, ChatServer] | None = None,
        adapters: Sequence[ProviderAdapter] = (),
        policy: str | Path | None = None,
        notify: Webhook | None = None,
        archive: str | None = None,
        codec: PayloadCodec | None = None,
    ) -> None:
        if not all(map(_NAME.fits, (name or queue, queue))):
            raise AppError(
                "an app's name and its queue are made of letters, digits and . _ - alone, of at "
                f"most {MAX_NAME_CHARS} of them"
            )
        self.name, self.queue = name, queue
        self._policy_name = policy
        self._policy_file = Path(policy or "").absolute()  # the working directory may change
        if archive is not None and not _ARCHIVE.fits(archive):
            raise AppError("its archive is a directory: write file:PATH")
        self.archive, self.agents = archive, tuple(agents)
        self.notify, self.codec = notify, require_codec(codec)
        self.scripts = dict(scripts or {})
        self.chat_servers = validate(chat_servers or {})
        for called, server in self.chat_servers.items():
            if flaw := check_chat_server(server):
                raise AppError(f"chat server {called!r}: {flaw}")
        self.adapters = require_adapters(adapters)
        for agent in self.agents:
            if flaws := check_field_types(agent):
                raise AppError(f"agent {agent.name!r}: {'; '.join(flaws)}")
        self._delegating, self._made = DelegatingTools(self.agents), dict[str, AgentSnapshot]()
        self.registry = ToolRegistry(
            tool for agent in self.agents for tool in (*self.find_tools(agent), *agent.companions)
        )
        names = [agent.name for agent in self.agents]
        for agent in self.agents:
            if flaws := self._check_agent(agent):
                raise AppError(f"agent {agent.name!r}: {'; '.join(flaws)}")
            if names.count(agent.name) > 1:
                raise AppError(f"agent {agent.name!r}: two agents have this name; rename one")

    @cached_property
    def policy(self) -> Policy:
        """
        The policy, read when it is first asked for. Raises AppError with the line of a flaw.

        A process that imports the app only to run one of its tools asks for no policy, and may
        not even see the file.
        """
        if self._policy_name is None:
            return NO_POLICY
        return load_policy(self._policy_file, str(self._policy_name))

    def synchronous_modules(self) -> list[str]:
        """Return the modules that the app's synchronous tools are defined in."""
        tools = (tool for agent in self.agents for tool in agent.tools)
        return sorted({tool.module for tool in tools if not tool.is_async})

    def find_tools(self, agent: Agent) -> tuple[Tool, ...]:
        """Return the tools of an agent, with those by which it gives tasks to others."""
        return (*agent.tools, *self._delegating.of(agent.name))

    def snapshots(self) -> dict[str, AgentSnapshot]:
        """Return what runs record of each agent, by name."""
        return {one.name: self._snapshot(one) for one in self.agents}

    def _snapshot(self, agent: Agent) -> AgentSnapshot:
        """Return what runs record of an agent, with what undoes the work of its parts."""
        snapshot = self._made[agent.name]
        others = self._find_reachable(agent)
        parts = [one.snapshot() for one in self.agents if one.name in others]
        return snapshot.with_(
            app=self.name,
            notifies=self.notify is not None,
            regulated=agent.name in self.regulated_agents,
            companions=find_companions(snapshot, parts),
        )

    def guardrails(self) -> tuple[Guardrail, ...]:
        """Return everything that looks, of all agents."""
        return tuple(
            guardrail
            for agent in self.agents
            for guardrail in (*agent.guardrails, *agent.acceptance)
        )

    def build_output_adapters(self) -> dict[str, TypeAdapter[object]]:
        """
        Return the models of the agents' answers, by the digests of their schemas.

        Raises AppError for two models that no schema tells apart.
        """
        found: dict[str, type[object]] = {}
        for agent, output in self._collect_outputs():
            if found.setdefault(digest(output_schema(agent.name, output)), output) is not output:
                raise AppError(
                    f"agent {agent.name!r}: another agent's output {output.__name__!r} has the "
                    "same schema and is another class; rename one, or use one for both"
                )
        return {name: TypeAdapter(output) for name, output in found.items()}

    def _collect_outputs(self) -> Iterator[tuple[Agent, type[object]]]:
        """Return the models of answers: those of agents, and those that others ask them for."""
        for agent in self.agents:
            if agent.output is not None:
                yield agent, agent.output
            yield from ((agent, one.output) for one in agent.subagents)

    def _check_agent(self, agent: Agent) -> list[str]:
        found: list[str] = []
        if not 0 < len(agent.name.strip()) <= MAX_NAME_CHARS:
            found.append("its name must have 1 to 100 characters")
        if not agent.instructions.strip():
            found.append("it has no instructions")
        if isinstance(agent.models, str):
            found.append(f"its models are a list: write [{agent.models!r}]")
        else:
            found += filter(None, map(self._check_model_name, agent.models))
        if not agent.models and agent.tiers is None:
            found.append("it has no models")
        if not isinstance(agent.settings, ModelSettings):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
            found.append("its settings are no ModelSettings: write ModelSettings(...)")
        if found := [
            *found,
            *check_hosted_tools(agent, self._unconnected_adapters),
            *check_controls(agent),
            *self._check_delegates(agent),
            *self._check_subagents(agent),
            *self._check_handoffs(agent),
            *self._check_ceiling(agent),
        ]:
            return found
        # It takes a millisecond, and an agent doesn't change.
        own = self._made[agent.name] = agent.snapshot(self._delegating.of(agent.name))
        return [
            *self._check_protection(agent),
            *check_limits(agent, own),
            *check_sampling(agent, self._unconnected_adapters),
        ]

    @cached_property
    def _unconnected_adapters(self) -> Mapping[str, ModelAdapter]:
        """Adapters that know no key: they are only asked what their models take."""
        return build_adapters(Setup(chat_servers=self.chat_servers, plugged=self.adapters))

    def _check_delegates(self, agent: Agent) -> list[str]:
        """Name agents that others are to ask, and that can't be asked."""
        names = {one.name for one in self.agents}
        found = [
            f"it has {name!r} do something, and no agent has that name"
            for name in agent.delegates
            if name not in names
        ]
        found += [
            f"it hands over to {one.agent!r}, and no other agent has that name"
            for one in agent.handoffs
            if one.agent not in names or one.agent == agent.name
        ]
        if any(agent.name in self._find_behind(name) for name in agent.delegates):
            found.append("it would have itself do something, without end")
        elif self._is_too_deep(agent):
            found.append(f"below it agents work for agents more than {MAX_ANCESTORS} deep")
        return found

    def _check_subagents(self, agent: Agent) -> Iterator[str]:
        """Name agents that can't bring what is asked of them."""
        divided = {one.name for one in self.agents if one.tiers is not None}
        for one in agent.subagents:
            if one.agent in divided:
                yield (
                    f"its subagent {one.agent!r} has tiers, whose agents answer in no shape of "
                    "its own: name one of those"
                )

    def _check_handoffs(self, agent: Agent) -> Iterator[str]:
        """Name agents that can't go on with a run that has begun."""
        known = {one.name: one for one in self.agents}
        for one in agent.handoffs:
            receiver = known.get(one.agent)
            if one.works_apart:
                continue
            if receiver is not None and receiver.tiers is not None:
                yield f"its handoff {one.agent!r} has tiers, which begin with a goal of their own"
            if receiver is not None and receiver.project not in {None, agent.project}:
                yield f"its handoff {one.agent!r} works on another project than it does itself"
        behind = collect_reachable(agent.name, self._successors)
        yield from check_guardrail_names(agent, [known[one] for one in known if one in behind])

    def _check_ceiling(self, agent: Agent) -> Iterator[str]:
        """Name tools that nobody behind an agent has: a typo would keep nothing back."""
        behind = self._find_behind(agent.name) if agent.ceiling.without_tools else ()
        names = set[str]()
        for one in (one for one in self.agents if one.name in behind):
            names |= {tool.contract.name for tool in self.find_tools(one)}
            names |= {tool.name for tool in one.hosted}
        for name in sorted({*agent.ceiling.without_tools} - names):
            yield f"its ceiling is without tool {name!r}, and nobody behind it has that"

    @cached_property
    def regulated_agents(self) -> frozenset[str]:
        """The agents whose runs are regulated: by what they have, or somebody behind them has."""
        own = {one.name for one in self.agents if one.needs_codec}
        names = (one.name for one in self.agents)
        return frozenset(name for name in names if not own.isdisjoint(self._find_behind(name)))

    def _check_protection(self, agent: Agent) -> Sequence[str]:
        """Name what no agent may have that regulated runs may give work to."""
        if not any(agent.name in self._find_behind(name) for name in self.regulated_agents):
            return ()
        return find_objections(agent.snapshot())

    def _find_behind(self, name: str) -> set[str]:
        """Return an agent and all that work for it or go on in its place."""
        known = {
            one.name: (*one.delegates, *(handoff.agent for handoff in one.handoffs))
            for one in self.agents
        }
        return collect_reachable(name, known)

    @cached_property
    def _successors(self) -> Mapping[str, tuple[str, ...]]:
        """Who may go on with the runs of an agent."""
        return {
            one.name: tuple(to.agent for to in one.handoffs if not to.works_apart)
            for one in self.agents
        }

    def _is_too_deep(self, agent: Agent) -> bool:
        """Whether the runs below one of this agent would be deeper than runs may be."""
        known = {one.name: one.delegates for one in self.agents}
        instead = self._successors
        level = collect_reachable(agent.name, instead)
        for _ in range(MAX_ANCESTORS + 1):
            below = {other for name in level for other in known.get(name, ())}
            level = {one for name in below for one in collect_reachable(name, instead)}
        return bool(level)

    def _find_reachable(self, agent: Agent) -> set[str]:
        return self._find_behind(agent.name) - {agent.name}

    def _check_model_name(self, model: str) -> str | None:
        named = _MODEL.fullmatch(model)
        if named is None:
            return f"model {model!r} is not named provider:name"
        _, provider, name = named.groups
        server, slash, rest = name.partition("/")
        if provider == "scripted" and name not in self.scripts:
            return f"model {model!r} has no script in scripts={{...}}"
        if provider == OPENAI_CHAT and slash:
            if server not in self.chat_servers:
                return f"model {model!r} has no server in chat_servers={{...}}"
            if not rest:
                return f"model {model!r} is not named {OPENAI_CHAT}:SERVER/NAME"
        return None


class _Importing:
    """Whatever the import of an app raises becomes one line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if isinstance(error, ValidationError):
            # Without the values: one of them may be a key in the wrong place.
            reason = f"{error.title}: {objections(error)}"
        elif isinstance(error, AppError):
            raise AppError(f"app {self._name!r}: {error}{_find_place(error)}") from error
        elif isinstance(error, SystemExit):  # a worker or a test that never began isn't done
            reason = f"it ends the program ({error}): guard that by if __name__ == '__main__'"
        elif kind is not None and isinstance(error, Exception):
            reason = one_line(f"{kind.__name__}: {error}")
        else:
            return
        raise AppError(
            f"app {self._name!r} can't be imported: {reason}{_find_place(error)}"
        ) from error


def _find_place(error: BaseException) -> str:
    """Name the line of somebody else's code that an error came from, if it has one."""
    ours = tuple(str(Path(code).parent) for code in (__file__, importlib.__file__))
    frames = (
        frame
        for frame in reversed(traceback.extract_tb(error.__traceback__))
        if not frame.filename.startswith(("<", *ours))
    )
    frame = next(frames, None)
    return "" if frame is None else f" ({Path(frame.filename).name}, line {frame.lineno})"


def load_app(name: str) -> App:
    """
    Import the app named `module:attribute`, with the working directory on the path.

    Raises AppError, on one line, when there is none or when it can't be imported.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise AppError(
            f"{name!r} names no app; write module:attribute, as in examples.reconcile.app:app"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    with _Importing(name):
        found = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(found, App):
        raise AppError(f"app {name!r}: {attribute!r} in {module!r} is no holdfast.App")
    _ = found.policy  # a flaw in it is found now, not with the first call
    return found
