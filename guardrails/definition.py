"""A guardrail: what a run knows of it and the function that looks, always together."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Never, Protocol, TypeAlias, TypedDict, Unpack, cast, get_type_hints, overload

from pydantic import FiniteFloat, JsonValue, TypeAdapter, ValidationError

from holdfast.contracts.bounds import (
    MAX_CONSTRAINT_CHARS,
    MAX_CONSTRAINTS,
    MAX_VERDICT_REASON_CHARS,
)
from holdfast.contracts.calls import CustomSpan
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import (
    GUARDRAIL_NAME_PATTERN,
    GuardrailResult,
    GuardrailSpec,
    Layer,
    Mode,
    OnTrip,
    RunGuardrails,
    Subject,
    WatchTarget,
)
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import clip_chars
from holdfast.tools.context import SpanTimer

_NAME = Pattern(GUARDRAIL_NAME_PATTERN)

MAX_LOCAL_SECONDS = 10.0
"""Seconds. A local guardrail holds up the workflow task, so it must be quick."""

ON_TRIP: dict[Layer, tuple[OnTrip, ...]] = {
    "input": ("block", "ask", "warn"),
    "pre_execution": ("deny", "block", "ask", "warn"),
    "output": ("retry", "block", "ask", "warn"),
    "post_action": ("retry", "block", "ask", "warn"),
    "after_run": ("warn",),
}
"""What a tripwire may do in each layer; the first is what it does unless it says otherwise."""


class ResourceClaims(Protocol):
    """Knows which runs hold a resource, or are about to."""

    async def find_earlier_holders(
        self, run_id: str, tenant: str, resource: str
    ) -> tuple[str, ...] | None:
        """Return the tenant's other runs that took it before; null when nobody can tell."""
        ...


@dataclass(frozen=True)
class GuardrailContext:
    """
    The run on whose behalf a guardrail looks.

    `tokens_left` and `cost_left` (US dollars) are what its budget leaves; null without a limit.
    """

    run_id: str
    agent: str
    tenant: str
    actor: str
    domain: str | None
    task_kind: str | None
    tokens_left: int | None
    cost_left: Decimal | None
    _holders: ResourceClaims
    _keep: Callable[[CustomSpan], None]
    _name: str = ""

    @classmethod
    def of(
        cls, asked: RunGuardrails, holders: ResourceClaims, keep: Callable[[CustomSpan], None]
    ) -> "GuardrailContext":
        """Build the context of one activity."""
        return cls(
            run_id=asked.run_id,
            agent=asked.agent,
            tenant=asked.tenant,
            actor=asked.actor,
            domain=asked.domain,
            task_kind=asked.task_kind,
            tokens_left=asked.tokens_left,
            cost_left=None if asked.cost_left is None else Decimal(repr(asked.cost_left)),
            _holders=holders,
            _keep=keep,
        )

    def with_name(self, name: str) -> "GuardrailContext":
        """Return the context of the guardrail of this name."""
        return replace(self, _name=name)

    def span(self, name: str, **data: JsonValue) -> AbstractContextManager[None]:
        """
        Have the block stand in history and in the trace as a span below that of the guardrail.

        *data* says on what it worked (500 bytes of JSON). Those that look together have 50 spans.
        """

        def keep(span: CustomSpan) -> None:
            self._keep(span.with_guardrail(self._name))

        return SpanTimer(name, data, keep)

    async def holders(self, resource: str) -> tuple[str, ...] | None:
        """Return the other runs that took a resource before this one; null if unknown."""
        return await self._holders.find_earlier_holders(self.run_id, self.tenant, resource)


GuardrailFunction: TypeAlias = Callable[[Subject, GuardrailContext], Awaitable[GuardrailResult]]


@dataclass(frozen=True)
class Guardrail:
    """
    What a run knows of a guardrail, and the function that looks.

    There is no function where a command, another agent or people look. Two are equal when they
    look at the same for the same.
    """

    spec: GuardrailSpec
    function: GuardrailFunction | None = None


class GuardrailOptions(TypedDict, total=False):
    """What a guardrail may say of itself beside its layer; see `guardrail`."""

    mode: Mode
    on_trip: OnTrip | None
    tools: tuple[str, ...]
    watches: tuple[WatchTarget, ...]
    local: bool
    timeout: FiniteFloat


@overload
def guardrail(
    *, layer: Layer, **terms: Unpack[GuardrailOptions]
) -> Callable[[GuardrailFunction], Guardrail]: ...


@overload
def guardrail(function: GuardrailFunction, /) -> Never: ...


def guardrail(
    function: GuardrailFunction | None = None,
    /,
    *,
    layer: Layer | None = None,
    **terms: Unpack[GuardrailOptions],
) -> Callable[[GuardrailFunction], Guardrail]:
    """
    Make an async function a guardrail that has its name.

    Layers are "input", "pre_execution", "output", "post_action" and "after_run", which only warns.
    *mode* "parallel" lets the model begin while an input guardrail looks. *on_trip* is what a
    tripwire does: "block" ends the run (default for input), "ask" asks a person, "deny" refuses
    the call (pre_execution), "retry" sends the model back (output, post_action), "warn" leaves a
    line and stops nothing. *tools* narrows pre_execution to calls of these tools, and has
    post_action look after their calls. *watches* is what an input guardrail looks at: "goal"
    (default), "words", "results". A *local* one runs inside the workflow task.
    *timeout* is in seconds: 30, or 10 for a local one, which may not have more. Raises AppError
    where that can't work.
    """
    if layer is None:
        name = f" {_describe_function(function)!r}" if function else ""
        raise AppError(f"guardrail{name}: say its layer, write @guardrail(layer=...)")

    def decorate(function: GuardrailFunction) -> Guardrail:
        name = _describe_function(function)
        if not inspect.iscoroutinefunction(function):
            raise AppError(f"guardrail {name!r}: make its function async")
        if not _takes_subject_and_context(function):
            raise AppError(f"guardrail {name!r}: its function must take two: (subject, ctx)")
        told = validate_settings(
            name, terms, get_type_hints(GuardrailOptions, include_extras=True)
        )
        return Guardrail(build_spec(name, layer, cast("GuardrailOptions", told)), function)

    return decorate


def _describe_function(function: object) -> str:
    return getattr(function, "__name__", repr(function))


def _takes_subject_and_context(function: GuardrailFunction) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True


def validate_settings(
    name: str, given: Mapping[str, object], known: Mapping[str, type[object]]
) -> dict[str, object]:
    """
    Return what a guardrail is told, as the types of what is known to it have it.

    Raises AppError for what isn't known, and for values that don't fit.
    """
    found: dict[str, object] = {}
    for setting, value in given.items():
        if setting not in known:
            raise AppError(
                f"guardrail {name!r}: there is no setting {setting!r} (known: {', '.join(known)})"
            )
        try:
            found[setting] = TypeAdapter(known[setting]).validate_python(value)
        except ValidationError as error:
            raise AppError(
                f"guardrail {name!r}: {_describe_error(setting, value, error)}"
            ) from None
    return found


def _describe_error(setting: str, value: object, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if isinstance(value, str) and first["type"] in ("tuple_type", "sequence_str"):
        instead = tuple(value.split()) if setting == "command" else (value,)
        return f"{setting} is a list, not one string: {instead!r}"
    # What isn't a number there names the type of a union.
    place = ".".join((setting, *(str(part) for part in first["loc"] if isinstance(part, int))))
    return f"{place}: {first['msg']}"


def build_spec(name: str, layer: Layer, terms: GuardrailOptions) -> GuardrailSpec:
    """Return the spec of a guardrail; raises AppError where it can't work."""
    if flaw := _find_problem(name, layer, terms):
        raise AppError(f"guardrail {name!r}: {flaw}")
    try:
        return GuardrailSpec(
            name=name,
            layer=layer,
            mode=terms.get("mode", "blocking"),
            on_trip=terms.get("on_trip") or ON_TRIP[layer][0],
            tools=tuple(terms.get("tools", ())),
            watches=tuple(terms.get("watches", ("goal",))),
            local=terms.get("local", False),
            timeout=terms.get("timeout", MAX_LOCAL_SECONDS if terms.get("local") else 30.0),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise AppError(f"guardrail {name!r}: {place}: {first['msg']}") from None


def _find_problem(name: str, layer: Layer, terms: GuardrailOptions) -> str | None:
    """Say on one line what doesn't fit together."""
    if not _NAME.fits(name):
        return "its name must be small letters, digits and _, and begin with a letter"
    if layer not in ON_TRIP:
        return f"there is no layer {layer!r} (layers: {', '.join(ON_TRIP)})"
    if terms.get("mode") == "parallel" and layer != "input":
        return "only layer 'input' has mode 'parallel'; the others wait for the verdict"
    on_trip = terms.get("on_trip")
    if on_trip is not None and on_trip not in ON_TRIP[layer]:
        known = ", ".join(ON_TRIP[layer])
        return f"layer {layer!r} has no on_trip {on_trip!r} (it has: {known})"
    if terms.get("tools") and layer not in ("pre_execution", "post_action"):
        return "tools narrows the layers 'pre_execution' and 'post_action' only"
    if "watches" in terms and layer != "input":
        return "watches belongs to layer 'input' only"
    if "watches" in terms and not terms["watches"]:
        return "it watches nothing; name 'goal', 'words' or 'results'"
    if terms.get("local") and terms.get("timeout", MAX_LOCAL_SECONDS) > MAX_LOCAL_SECONDS:
        return f"a local guardrail must have a timeout of at most {MAX_LOCAL_SECONDS:g} s"
    return None


def passed(reason: str = "") -> GuardrailResult:
    """Say that a guardrail found nothing wrong."""
    return GuardrailResult(reason=clip_chars(reason, MAX_VERDICT_REASON_CHARS))


def tripped(reason: str, *constraints: str) -> GuardrailResult:
    """Say what is wrong, and what the model must keep to if it tries again."""
    return GuardrailResult(
        tripwire_triggered=True,
        reason=clip_chars(reason, MAX_VERDICT_REASON_CHARS),
        constraints=tuple(
            clip_chars(each, MAX_CONSTRAINT_CHARS) for each in constraints[:MAX_CONSTRAINTS]
        ),
    )


def not_applicable(reason: str) -> GuardrailResult:
    """Say why a guardrail has nothing to say about what it looked at."""
    return GuardrailResult(applicable=False, reason=clip_chars(reason, MAX_VERDICT_REASON_CHARS))
