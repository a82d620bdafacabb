"""One call that is to be decided, with everything that the decision depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, Self, cast

from pydantic import JsonValue

from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Draft, ToolCall, fingerprint_effect
from holdfast.contracts.decisions import Caller
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.switches import Switch
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.transcript import Trust
from holdfast.policy.conditions import Undetermined, Variables, bind
from holdfast.policy.rules import Authority
from holdfast.policy.trust import TrustedIssuer
from holdfast.tools.egress.allowlists import Origin, parse_origin


class DraftVariant(NamedTuple):
    """
    The tool that drafts a call: what it takes of the arguments, and the effect of that.

    `flaw` says why it takes none of it.
    """

    contract: ToolContract
    values: JsonObject
    effect: str
    flaw: str = ""


class DecisionFacts(NamedTuple):
    """
    What a decision depends on beside the call: on whose behalf it is, and what happened before.

    `metadata` is what the run's starter attached.
    `approvals` are those of the whole turn, of which only those that are bound to the call count,
    `draft` is the call's own, `variant` what would make it. `unresolved` are the fingerprints of
    writes of which nobody knows whether they happened, `done` those of what other parts of the
    same work did; `lost` says that nobody knows all of that. A run that is `planning` changes
    nothing, one whose plan is approved only by the tools that are `planned`. `sandbox` says
    whether the worker has one. `values` are the arguments as the tool will see them, with defaults
    filled in; without them, as the model wrote them. `effect` is what makes two calls do the same,
    as `unresolved` and `done` name it. `path` are the agents that this one works for, `ceiling`
    what any before it keeps from it. `trust` is the least of what the model had read that
    asked. `issuers` are those whose signatures count now,
    `authorities` what stands of that on which rules rest.
    """

    caller: Caller
    agent: str
    now: datetime
    environment: str = ""
    trust: Trust = "trusted"
    metadata: Mapping[str, JsonValue] = {}
    approvals: tuple[ApprovalRecord, ...] = ()
    draft: Draft | None = None
    variant: DraftVariant | None = None
    unresolved: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    lost: bool = False
    planning: bool = False
    planned: tuple[str, ...] | None = None
    switches: tuple[Switch, ...] = ()
    sandbox: bool = False
    values: JsonObject | None = None
    effect: str = ""
    path: tuple[str, ...] = ()
    issuers: tuple[TrustedIssuer, ...] = ()
    ceiling: Ceiling = Ceiling()
    authorities: tuple[Authority, ...] = ()


@dataclass(frozen=True)
class CallContext:
    """A call with its contract and the facts; what is read out of the arguments is read once."""

    call: ToolCall
    contract: ToolContract
    facts: DecisionFacts

    def as_draft(self) -> Self | None:
        """Return the call of the tool that drafts this one; null where nobody knows that."""
        variant = self.facts.variant
        if variant is None:
            return None
        facts = self.facts._replace(
            values=variant.values, effect=variant.effect, approvals=(), draft=None, variant=None
        )
        call = self.call.with_(name=variant.contract.name)
        return replace(self, call=call, contract=variant.contract, facts=facts)

    @property
    def values(self) -> JsonObject:
        """The arguments as the tool will see them."""
        return self.call.arguments if self.facts.values is None else self.facts.values

    @cached_property
    def effect(self) -> str:
        """What makes two calls do the same."""
        return self.facts.effect or fingerprint_effect(self.call.name, self.values)

    @property
    def scope_value(self) -> object:
        """The value of the argument that the contract's resource scope names."""
        argument = self.contract.resource_scope.argument
        return None if argument is None else self.values.get(argument)

    @property
    def names_command(self) -> bool:
        """Whether the call has a command of its own, readable or not."""
        return self.contract.resource_scope.kind == "command"

    @property
    def names_host(self) -> bool:
        """Whether the call has a host of its own, readable or not."""
        return self.contract.resource_scope.kind == "host"

    @cached_property
    def command(self) -> tuple[str, ...] | None:
        """The command that the call would run; null where it names none that can be read."""
        named = self.scope_value
        if not self.names_command or not isinstance(named, list):
            return None
        words = cast("list[object]", named)
        texts = tuple(word for word in words if isinstance(word, str) and "\0" not in word)
        return texts if texts and len(texts) == len(words) and texts[0] else None

    @cached_property
    def origin(self) -> Origin | None:
        """Where the call would send a request; null where it names nothing that can be read."""
        if not self.names_host or not isinstance(self.scope_value, str):
            return None
        return parse_origin(self.scope_value)

    @cached_property
    def variables(self) -> Variables | Undetermined:
        """What conditions may look at."""
        return bind(
            self.values,
            self.facts.metadata,
            tool=self.contract.name,
            risk=self.contract.risk,
            agent=self.facts.agent,
            environment=self.facts.environment,
            trust=self.facts.trust,
            **dict(self.facts.caller),
        )

    @property
    def runs_in_sandbox(self) -> bool:
        """Whether the tool never runs outside the sandbox."""
        return self.contract.needs_sandbox
