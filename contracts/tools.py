"""What a tool promises, what a model asks of it, and what comes back."""

from enum import StrEnum
from operator import not_
from typing import Literal, Self, TypedDict, Unpack

from pydantic import Field, JsonValue

from holdfast.contracts.base import (
    AuthoredContract,
    Contract,
    Inbound,
    JsonObject,
)
from holdfast.contracts.bounds import Count, Seconds

TOOL_NAME_PATTERN = r"^[a-zA-Z][a-zA-Z0-9_]{0,63}$"


class Risk(StrEnum):
    """
    What a tool can do to the world; each class has a default permission (policy/risk.py).

    They stand in the order of what is at stake: of the classes of several tools the last counts.
    """

    READ_ONLY = "read_only"
    SEARCH_ONLY = "search_only"
    COMPUTE_ONLY = "compute_only"
    DRAFT_ONLY = "draft_only"
    WRITE_LOCAL = "write_local"
    WRITE_INTERNAL = "write_internal"
    COMMUNICATION = "communication"
    WRITE_EXTERNAL = "write_external"
    FINANCIAL = "financial"
    DESTRUCTIVE = "destructive"
    PRIVILEGED_ACCESS = "privileged_access"
    IDENTITY_ACCESS = "identity_access"
    PROCESS_EXECUTION = "process_execution"
    NETWORK_OPEN_WORLD = "network_open_world"
    SECURITY_SENSITIVE = "security_sensitive"
    PRIVILEGED_ADMIN = "privileged_admin"

    @property
    def changes_nothing(self) -> bool:
        """Whether a call may run twice, and beside others, without anybody noticing."""
        return self in {Risk.READ_ONLY, Risk.SEARCH_ONLY, Risk.COMPUTE_ONLY}

    @property
    def may_reach_hosts(self) -> bool:
        """Whether a call may be granted hosts: its class doesn't say that it reaches nobody."""
        return not (self.changes_nothing or self is Risk.DRAFT_ONLY)

    @property
    def needs_sandbox(self) -> bool:
        """Whether a call never runs outside the sandbox."""
        return self in {Risk.PROCESS_EXECUTION, Risk.NETWORK_OPEN_WORLD}

    @property
    def needs_strong_approval(self) -> bool:
        """Whether an approval counts only with proof of who gave it."""
        return self in _STRONG_APPROVAL_RISKS


_STRONG_APPROVAL_RISKS = {
    Risk.FINANCIAL,
    Risk.PRIVILEGED_ACCESS,
    Risk.IDENTITY_ACCESS,
    Risk.SECURITY_SENSITIVE,
    Risk.PRIVILEGED_ADMIN,
}


_MAX_REFERENCES = 20


def takes_words(schema: JsonObject) -> bool:
    """Whether a text may fit a JSON Schema, be it only some texts: then an answer is words."""
    definitions = schema.get("$defs")
    return _takes_words(schema, definitions if isinstance(definitions, dict) else {}, 0)


def _takes_words(schema: JsonValue, definitions: JsonObject, depth: int) -> bool:
    match schema:
        case dict() if depth > _MAX_REFERENCES:
            return False
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return _takes_words(definitions.get(name), definitions, depth + 1)
        case {"const": value}:
            return isinstance(value, str)
        case {"enum": list(values)}:
            return any(isinstance(value, str) for value in values)
        case {"anyOf": list(ways)} | {"oneOf": list(ways)}:
            return any(_takes_words(way, definitions, depth + 1) for way in ways)
        case {"type": list(kinds)}:
            return "string" in kinds
        case {"type": kind}:
            return kind == "string"
        case _:
            return isinstance(schema, dict)


class HostedTool(Inbound):
    """
    A tool that runs at the provider, who is asked for nothing before: only harmless ones may.

    `options` go into the declaration as the provider wants them, for example the domains that a
    search keeps to.
    """

    name: str
    risk: Risk = Risk.SEARCH_ONLY
    options: JsonObject = Field(default_factory=dict)


class ResourceScope(AuthoredContract):
    """
    Which resource a call touches, so that the engine can keep it in bounds.

    `tenant`: the argument named here must equal the run's tenant. `workspace`: it is a path that
    stays inside the run's workspace. `command`: it is a program with its arguments, as a list.
    `host`: it is the address (URL) that is asked.
    """

    kind: Literal["none", "tenant", "workspace", "command", "host"] = "none"
    argument: str | None = None


class RetryRule(Contract):
    """How often a failed call is repeated; the waits are 1, 2, 4 ... times *backoff* seconds."""

    max_retries: int = Field(ge=0, le=100)
    backoff: Seconds


class ToolContractChange(TypedDict, total=False):
    """What may change of it."""

    risk: Risk
    max_result_chars: Count
    local: bool
    side_effect: Literal["none", "local", "internal", "external"]
    retry: RetryRule


class ToolContract(Contract):
    """
    Everything that a tool promises. The model sees name, description and input schema only.

    `timeout` is in seconds. A `local` tool runs inside the workflow task (no round trip, one event
    instead of three); only quick tools that change nothing may. A `pollable` tool may be called
    again and again with the same arguments. `draft` names the tool that prepares what this one
    commits, `reconcile` the one that finds out whether a call happened whose answer was lost,
    `undo` the one that takes back what a call did; all take the same arguments. A `sandboxed` tool
    runs in the sandbox, whatever its risk class. Of a tool that asks people `question` names the
    argument that says what. `receiver` is the agent that a call is given to: nothing else happens
    by the call itself, `risk` is the highest class of what that agent may do, and each call that
    it makes is ruled on as its own. A run ends where a tool fails that `must_succeed`. Of a result
    a model reads `max_result_chars` at once, of a list `max_items`, of each text in it
    `max_snippet_chars`: how it begins, or how it ends. `audit` says what of a call stands beside
    history and its payloads, where people look first: what it is about, or, of data that a law
    protects, `ids` alone.
    """

    name: str = Field(pattern=TOOL_NAME_PATTERN)
    description: str
    input_schema: JsonObject
    output_schema: JsonObject
    risk: Risk
    side_effect: Literal["none", "local", "internal", "external"]
    resource_scope: ResourceScope
    permission: Literal["by_risk", "ask_user", "approval"]
    timeout: Seconds
    max_result_chars: Count
    retry: RetryRule
    audit: Literal["history", "ids"]
    error_format: Literal["tool_failure"]
    local: bool
    pollable: bool
    draft: str | None
    expected_result: str
    rollback: str
    reconcile: str | None = None
    sandboxed: bool = False
    undo: str | None = None
    question: str | None = Field(default=None, exclude_if=lambda name: name is None)
    receiver: str | None = Field(default=None, exclude_if=lambda name: name is None)
    must_succeed: bool = Field(default=False, exclude_if=not_)
    max_items: Count | None = Field(default=None, exclude_if=lambda most: most is None)
    max_snippet_chars: Count | None = Field(default=None, exclude_if=lambda most: most is None)
    shows: Literal["beginning", "end"] = Field(
        default="beginning", exclude_if=lambda which: which == "beginning"
    )

    @property
    def needs_codec(self) -> bool:
        """Whether it is about data that a law protects."""
        return self.audit == "ids"

    @property
    def changes_nothing(self) -> bool:
        """Whether a call changes nothing by itself: by its class, or because another acts."""
        return self.receiver is not None or self.risk.changes_nothing

    def allows_retries(self, purpose: str) -> bool:
        """Whether what failed is tried again: it changes nothing, or finds out what happened."""
        return self.changes_nothing or purpose == "reconcile"

    @property
    def needs_sandbox(self) -> bool:
        """Whether a call never runs outside the sandbox."""
        return self.receiver is None and (self.sandboxed or self.risk.needs_sandbox)

    @property
    def answer_schema(self) -> JsonObject | None:
        """What an answer must fit, where the tool asks people and not any words will do."""
        plain = self.output_schema == {"type": "string"}
        return None if self.permission != "ask_user" or plain else self.output_schema

    def with_(self, **changes: Unpack[ToolContractChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    def with_risk(self, risk: Risk, *, reaches_out: bool = False) -> Self:
        """
        Run what a later deployment calls a write as one, whatever the run began with.

        What *reaches_out* may change more than the workspace, though its class says it doesn't.
        """
        if not risk.changes_nothing and risk is not self.risk:
            # What it touches is known there alone, so what it raises may mean anything.
            return self.with_(risk=risk, local=False, side_effect="external")
        if reaches_out and self.side_effect == "local":
            return self.with_(side_effect="external")
        return self
