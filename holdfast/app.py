"""An app: the agents that a platform engineer defines, checked before anything runs."""

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from adapters.openai_chat.servers import OPENAI_CHAT, ChatServer, checked
from adapters.scripted import Script
from contracts.budget import Budget, Limits
from contracts.errors import AppError
from contracts.model import ModelSettings
from contracts.run import AgentSnapshot
from contracts.tools import HostedTool
from holdfast.policies.files import load_policy
from policy.rules import NO_POLICY, Policy
from tools.registry import ToolRegistry, companions
from tools.schema import objections, output_schema
from tools.tool import Tool

LONGEST_NAME = 100

HOSTED = ("code_execution", "file_search", "web_fetch", "web_search")
"""What providers run themselves; which of them has which is their adapters' business."""

_ALSO_CALLED = {"code_execution": "code_interpreter"}
_HOSTED_TYPE = re.compile(r"(?P<tool>[a-z_]+?)(_preview)?(_\d[\d_]*)?")

_MODEL = re.compile(r"(?P<provider>[^\s:]+):(?P<name>\S+)")
_ADDRESS = re.compile(r"https?://[^\s/]\S*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")

LONGEST_WAIT = timedelta(days=3650)

SMALLEST_CONTEXT = 1000
"""Bytes; a goal and a turn or two."""

LARGEST_PREFIX = 400_000
"""Bytes of instructions and tool schemas; with a transcript they must fit into a 2 MB payload."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """
    An agent: what it is told, which models it asks in order, what it can do, what it may use.

    *models* are named `provider:name`; the first is asked, the next only when it fails.
    *settings* say how they think and how much they may write. *output* is the shape of the answer
    as data, a pydantic model or a dataclass; what doesn't fit goes back to the model. *hosted* are
    tools that run at the provider.
    *escalates* says that somebody answers when the agent fails again and again: then the run waits
    for a `resolution` instead of stopping. Requests expire after *approval_timeout*. Old tool
    results are pruned from the model's view beyond *max_context_bytes* of transcript.
    A run goes on in a new execution after *max_history_events*: 1,000 steps stay one page in the
    UI, and the server's own limit is 51,200.
    """

    name: str
    instructions: str
    models: Sequence[str]
    tools: Sequence[Tool] = ()
    hosted: Sequence[HostedTool] = ()
    settings: ModelSettings = field(default_factory=ModelSettings)
    output: type[object] | None = None
    budget: Budget = field(default_factory=Budget)
    escalates: bool = False
    approval_timeout: timedelta = timedelta(days=7)
    max_context_bytes: int = 500_000
    max_history_events: int = 15_000

    def snapshot(self) -> AgentSnapshot:
        """Return what a run of this agent records of it; tools in order of names."""
        contracts = tuple(
            sorted((tool.contract for tool in self.tools), key=lambda contract: contract.name)
        )
        snapshot = AgentSnapshot(
            name=self.name,
            models=tuple(self.models),
            instructions=self.instructions,
            prefix_digest="",
            tools=contracts,
            budget=Limits.model_validate(self.budget.model_dump()),
            escalates=self.escalates,
            approval_timeout=self.approval_timeout.total_seconds(),
            max_context_bytes=self.max_context_bytes,
            max_history_events=self.max_history_events,
            search_attributes=False,
            hosted=tuple(sorted(self.hosted, key=lambda tool: tool.name)),
            settings=self.settings,
            output_schema=None if self.output is None else output_schema(self.name, self.output),
            companions=tuple(tool.contract for tool in companions(self.tools)),
        )
        return snapshot.model_copy(update={"prefix_digest": snapshot.prefix.digest})


class App:
    """
    Agents and the scripts of their scripted models. Raises AppError for what can't work.

    *scripts* gives the models named `scripted:NAME` their words, *chat_servers* are where models
    named `openai-chat:SERVER/NAME` are asked. *policy* is the path of a policy file
    (docs/policy.md), relative to the working directory; without one the defaults of the risk
    classes decide.
    """

    def __init__(
        self,
        *,
        agents: Sequence[Agent],
        scripts: Mapping[str, Script] | None = None,
        chat_servers: Mapping[str, ChatServer] | None = None,
        policy: str | Path | None = None,
    ) -> None:
        self._policy_name = policy
        self._policy_file = Path(policy or "").absolute()  # the working directory may change
        self.agents = tuple(agents)
        self.scripts = dict(scripts or {})
        self.chat_servers = checked(chat_servers or {})
        for name, server in self.chat_servers.items():
            if flaw := _flaw_of_server(server):
                raise AppError(f"chat server {name!r}: {flaw}")
        self.registry = ToolRegistry(
            tool for agent in self.agents for tool in (*agent.tools, *companions(agent.tools))
        )
        names = [agent.name for agent in self.agents]
        for agent in self.agents:
            if flaws := self._flaws(agent):
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

    def snapshots(self) -> dict[str, AgentSnapshot]:
        """Return what runs record of each agent, by name."""
        return {agent.name: agent.snapshot() for agent in self.agents}

    def _flaws(self, agent: Agent) -> list[str]:
        found: list[str] = []
        if not 0 < len(agent.name.strip()) <= LONGEST_NAME:
            found.append("its name must have 1 to 100 characters")
        if not agent.instructions.strip():
            found.append("it has no instructions")
        if isinstance(agent.models, str):
            found.append(f"its models are a list: write [{agent.models!r}]")
        else:
            found += filter(None, map(self._flaw_of_model, agent.models))
        if not agent.models:
            found.append("it has no models")
        if not isinstance(agent.settings, ModelSettings):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
            found.append("its settings are no ModelSettings: write ModelSettings(...)")
        if found := [*found, *_hosted_that_cant_be(agent)]:
            return found
        return _limits_that_cant_be(agent)

    def _flaw_of_model(self, model: str) -> str | None:
        named = _MODEL.fullmatch(model)
        if named is None:
            return f"model {model!r} is not named provider:name"
        server, slash, rest = named["name"].partition("/")
        if named["provider"] == "scripted" and named["name"] not in self.scripts:
            return f"model {model!r} has no script in scripts={{...}}"
        if named["provider"] == OPENAI_CHAT and slash:
            if server not in self.chat_servers:
                return f"model {model!r} has no server in chat_servers={{...}}"
            if not rest:
                return f"model {model!r} is not named {OPENAI_CHAT}:SERVER/NAME"
        return None


def _flaw_of_server(server: ChatServer) -> str | None:
    """Say why a server can't be asked. Never repeats what may be a key in the wrong place."""
    if not isinstance(server, ChatServer):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
        return "write ChatServer(base_url=...)"
    if not _ADDRESS.fullmatch(server.base_url):
        return "its base_url must begin with https:// or http://"
    if server.key_variable is not None and not _VARIABLE.fullmatch(server.key_variable):
        return (
            "its key_variable must be the name of an environment variable, in capitals, "
            "never the key itself"
        )
    return None


def _hosted_that_cant_be(agent: Agent) -> list[str]:
    """Name what may not be hosted: it has run before anybody can be asked."""
    if isinstance(agent.hosted, HostedTool):
        return ["its hosted tools are a list: write hosted=[...]"]
    found: list[str] = []
    for tool in agent.hosted:
        if not isinstance(tool, HostedTool):  # pyright: ignore[reportUnnecessaryIsInstance] -- untyped user code
            found.append(
                "what is hosted is a HostedTool(name=...); a tool of your own can't be hosted: "
                "put it into tools=[...]"
            )
        elif tool.name not in HOSTED:
            found.append(f"no provider hosts {tool.name!r} (known: {', '.join(HOSTED)})")
        elif not tool.risk.changes_nothing:
            found.append(
                f"hosted tool {tool.name!r} is declared {tool.risk}: "
                "nobody could approve its calls; make it a tool of your own"
            )
        elif _is_another(tool):
            found.append(
                f"hosted tool {tool.name!r}: its options name another tool, of which nobody knows "
                f"what it may do; `type` may be a version of {tool.name}, `name` is never needed"
            )
    return found


def _is_another(tool: HostedTool) -> bool:
    """Whether the options of a harmless tool declare one that isn't, for example a shell."""
    version = _HOSTED_TYPE.fullmatch(str(tool.options.get("type", tool.name)))
    names = {tool.name, _ALSO_CALLED.get(tool.name)}
    return "name" in tool.options or version is None or version["tool"] not in names


def _limits_that_cant_be(agent: Agent) -> list[str]:
    found: list[str] = []
    if agent.approval_timeout <= timedelta(0):
        found.append("its approval_timeout must be longer than nothing")
    if agent.approval_timeout > LONGEST_WAIT:
        found.append(f"its approval_timeout is {LONGEST_WAIT.days} days at most")
    if agent.max_context_bytes < SMALLEST_CONTEXT:
        found.append(f"its max_context_bytes is {SMALLEST_CONTEXT} at least")
    if agent.max_history_events < 1:
        found.append("its max_history_events is 1 at least")
    names = [tool.contract.name for tool in agent.tools]
    all_names = [*names, *(tool.name for tool in agent.hosted)]
    found.extend(
        f"it has tool {name!r} twice"
        for name in sorted(set(all_names))
        if all_names.count(name) > 1
    )
    choice = agent.settings.tool_choice
    if choice not in {"auto", "required", "none", *names}:
        found.append(f"its tool_choice names {choice!r}, which is no tool of it")
    if len(agent.snapshot().prefix.model_dump_json().encode()) > LARGEST_PREFIX:
        found.append(f"instructions and tools exceed {LARGEST_PREFIX} bytes")
    return found


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
        elif kind is not None and isinstance(error, Exception):
            reason = " ".join(f"{kind.__name__}: {error}".split())
        else:
            return
        raise AppError(f"app {self._name!r} can't be imported: {reason}") from error


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
