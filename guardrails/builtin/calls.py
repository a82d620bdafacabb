"""Guardrails right before a call: what it needs, who else is at it, what it costs."""

import asyncio
import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Unpack

from pydantic import AllowInfNan

from holdfast.contracts.errors import AppError, HoldfastError
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.making import BuiltinOptions, build_guardrail, builtin
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors import resource_claims
from holdfast.guardrails.detectors.personal import redact_pii

CONNECT_TIMEOUT_SECONDS = 3.0
"""Seconds; a host that takes longer to answer isn't there."""

_NO_SEARCH = (
    "nobody can tell who holds it: this server can't search runs by their resources, or couldn't "
    "when this run began; have a person add all search attributes (deploy/README.md), and start "
    "another run"
)
_NO_CALL = "only a call needs anything"
_HTTPS = 443


@builtin
def dependency_check(
    *,
    commands: tuple[str, ...] = (),
    modules: tuple[str, ...] = (),
    hosts: tuple[str, ...] = (),
    tools: tuple[str, ...] = (),
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """
    Trip before a call (of *tools*, or any) when something is missing on this worker, by its name.

    Looked for are programs, Python modules, and hosts that take a connection: "db.internal:5432",
    the port is 443 where none is said.
    """
    if not (commands or modules or hosts):
        raise AppError(
            "guardrail 'dependency_check': it checks nothing; name commands, modules or hosts"
        )
    look = _Dependencies(commands, modules, tuple(map(_parse_address, hosts)))
    return build_guardrail("dependency_check", "pre_execution", look, wishes, tools=tools)


def _parse_address(host: str) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host.strip("[]"), _HTTPS
    if not name or not port.isdecimal():
        raise AppError(f"guardrail 'dependency_check': {host!r} is no host; write 'name:port'")
    return name.strip("[]"), int(port)


@dataclass(frozen=True)
class _Dependencies:
    """What calls need."""

    commands: tuple[str, ...]
    modules: tuple[str, ...]
    hosts: tuple[tuple[str, int], ...]

    async def __call__(self, subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if subject.kind != "call":
            return not_applicable(_NO_CALL)
        reached = await asyncio.gather(*(_can_connect(*host) for host in self.hosts))
        missing = [
            *(f"command {name!r}" for name in self.commands if shutil.which(name) is None),
            *(f"module {name!r}" for name in self.modules if not _has_module(name)),
            *(
                f"host '{name}:{port}'"
                for (name, port), there in zip(self.hosts, reached, strict=True)
                if not there
            ),
        ]
        return tripped(f"missing: {', '.join(missing)}") if missing else passed()


def _has_module(module: str) -> bool:
    """Whether a module is there, by its first name: looking for a part would import the whole."""
    return importlib.util.find_spec(module.partition(".")[0]) is not None


async def _can_connect(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:  # TimeoutError is one
        return False
    writer.close()
    return True


@builtin
def conflict_detection(
    argument: str, *, tools: tuple[str, ...] = (), **wishes: Unpack[BuiltinOptions]
) -> Guardrail:
    """
    Trip before a call (of *tools*, or any) of a resource that another run of the tenant holds.

    The resource is the value of an *argument*; a run holds it from then on until it ends. Where
    the server can't search runs by their resources nobody can tell, and that trips too.
    """
    found = build_guardrail(
        "conflict_detection", "pre_execution", _Conflict(argument), wishes, tools=tools
    )
    return replace(found, spec=found.spec.with_(holds=argument))


@dataclass(frozen=True)
class _Conflict:
    """Which argument names the resource."""

    argument: str

    async def __call__(self, subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
        if subject.kind != "call":
            return not_applicable(_NO_CALL)
        name = resource_claims.name_resource(self.argument, subject.data)
        if name is None:
            return not_applicable(f"the call has no argument {self.argument!r}")
        others = await ctx.holders(name)
        if others is None:
            return tripped(_NO_SEARCH)
        if not others:
            return passed()
        return tripped(f"run {others[0]!r} holds {redact_pii(name)}; wait until it has ended")


@builtin
def cost_estimation(
    estimate: Callable[[Subject], Decimal] | Annotated[Decimal, AllowInfNan()],
    *,
    per_call: Decimal | None = None,
    tools: tuple[str, ...] = (),
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """
    Trip before a call (of *tools*, or any) that would cost more than the budget leaves.

    *estimate* says what a call costs, in US dollars: that is reserved for it, and booked once it
    has run. None may cost more than *per_call*.
    """
    look = _Cost(estimate, per_call)
    return build_guardrail("cost_estimation", "pre_execution", look, wishes, tools=tools)


@dataclass(frozen=True)
class _Cost:
    """What a call costs, and may cost at most."""

    estimate: Callable[[Subject], Decimal] | Decimal
    per_call: Decimal | None

    async def __call__(self, subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
        if subject.kind != "call":
            return not_applicable("only a call has a cost")
        if ctx.cost_left is None and self.per_call is None:
            return not_applicable("nothing limits the cost")
        cost = self.estimate if isinstance(self.estimate, Decimal) else self.estimate(subject)
        if not cost.is_finite() or cost < 0:
            raise HoldfastError(f"the estimate of the cost is {cost}; it must be 0 or more")
        if self.per_call is not None and cost > self.per_call:
            return _refuse(cost, f"one may cost ${self.per_call}")
        if ctx.cost_left is not None and cost > ctx.cost_left:
            return _refuse(cost, f"${ctx.cost_left} of the budget is left")
        return GuardrailResult(cost=cost)


def _refuse(cost: Decimal, why: str) -> GuardrailResult:
    """Trip, and reserve it all the same: people may let the call run."""
    reason = f"the call costs about ${cost}, and {why}"
    return GuardrailResult(tripwire_triggered=True, reason=reason, cost=cost)
