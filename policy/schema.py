"""What may stand in a policy file, field by field."""

from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Annotated, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    field_validator,
)

from holdfast.contracts.base import Inbound
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.signals import SignedSignal
from holdfast.contracts.tools import Risk
from holdfast.policy.rules import Effect
from holdfast.policy.trust import Issuer
from holdfast.tools.egress.allowlists import ANY, is_command_entry, is_host_entry

Entry = TypeVar("Entry")

_RULE_ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
RULE_ID = Pattern(_RULE_ID)

_UNITS: Mapping[str, int] = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = Pattern(r"([0-9]{1,9})([smhd])")
_MAX_DURATION_SECONDS = 3_650 * _UNITS["d"]


def _parse_duration(value: object) -> float:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("write a time as 90s, 5m, 4h or 7d")
    _, number, unit = found.groups
    seconds = int(number) * _UNITS[unit]
    if not 0 < seconds <= _MAX_DURATION_SECONDS:
        raise ValueError("a time is longer than nothing, and 3650d at most")
    return float(seconds)


def _parse_time(value: object) -> datetime:
    """Read a time that everybody reads alike: a number would be one since 1970."""
    try:
        return datetime.fromisoformat(value)  # pyright: ignore[reportArgumentType] -- it says so
    except (TypeError, ValueError):
        raise ValueError("write a time as 2026-12-01T00:00:00Z") from None


def write_duration(seconds: float) -> str:
    """Write a time as a policy has it: `90s`, `5m`, `4h`, `7d`."""
    unit, size = max(
        ((unit, size) for unit, size in _UNITS.items() if seconds % size == 0),
        key=itemgetter(1),
        default=("s", 1),
    )
    return f"{seconds / size:.15g}{unit}"


def _check_command(entry: str) -> str:
    if not is_command_entry(entry):
        raise ValueError("write the first words of a command, as in 'git status', or '*' alone")
    return entry


def _check_host(entry: str) -> str:
    if not is_host_entry(entry):
        raise ValueError(
            "write a host without https://, as in api.example.com:8443, *.suffix, *, 192.0.2.1, "
            "[2001:db8::1]; no IPv4 address as IPv6"
        )
    return entry


def _check_exact(name: str) -> str:
    if ANY in name:
        raise ValueError("names are exact, and none has a star: name each, or leave the list out")
    return name


def _require_entries(given: tuple[Entry, ...]) -> tuple[Entry, ...]:
    if not given:
        raise ValueError("an empty list names nothing: name something, or leave it out")
    return given


Seconds: TypeAlias = Annotated[float, BeforeValidator(_parse_duration)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
RuleId: TypeAlias = Annotated[str, Field(pattern=rf"^{_RULE_ID}$")]
Members: TypeAlias = tuple[Name, ...]
Given: TypeAlias = Annotated[tuple[Entry, ...], AfterValidator(_require_entries)]
"""An empty list would mean any, where a template had nothing to name."""

Names: TypeAlias = Given[Name]
ExactNames: TypeAlias = Given[Annotated[Name, AfterValidator(_check_exact)]]
"""A star would fit nothing, so that what forbids by it would forbid nothing."""


class _Entry(Inbound):
    """A part of a policy in which what is given says something."""

    tells_all_flaws = True

    @field_validator("*", mode="before")
    @classmethod
    def _require_value(cls, value: object) -> object:
        if value is None:
            raise ValueError("nothing stands behind it: write a value, or leave it out")
        return value


class MatchEntry(_Entry):
    """What a call must be for a rule to fit."""

    tools: ExactNames = ()
    risks: Given[Risk] = ()
    agents: ExactNames = ()
    receivers: ExactNames = ()
    tenants: ExactNames = ()
    actors: ExactNames = ()
    environments: ExactNames = ()
    commands: Given[Annotated[Name, AfterValidator(_check_command)]] = ()
    hosts: Given[Annotated[Name, AfterValidator(_check_host)]] = ()


class EscalateEntry(_Entry):
    """After which time who may approve too."""

    after: Seconds
    to: Names


class ApprovalEntry(_Entry):
    """What an approval takes; times are written as 90s, 5m, 4h or 7d."""

    groups: Names = ()
    count: Annotated[int, Field(ge=1, le=100, strict=True)] = 1
    strong: StrictBool | None = None
    max_auth_age: Seconds | None = None
    methods: Names = ()
    valid_for: Seconds | None = None
    expires: Seconds | None = None
    escalate: EscalateEntry | None = None
    recovery: Annotated[str, Field(max_length=1_000)] = ""

    @property
    def is_strong(self) -> bool:
        """Whether it takes a signed token: nothing else says how and when somebody signed in."""
        return bool(self.strong or self.methods or self.max_auth_age)


class SignalEntry(_Entry):
    """Who may send a signal, by a signed token."""

    groups: Names = ()
    methods: Names = ()
    max_auth_age: Seconds | None = None


class RuleEntry(_Entry):
    """One rule."""

    id: RuleId
    effect: Effect
    reason: Annotated[str, Field(max_length=500)] = ""
    match: MatchEntry = MatchEntry()
    when: Annotated[str, Field(min_length=1)] | None = None
    approval: ApprovalEntry | None = None
    risky: Names = ()
    authority: RuleId | None = None


class PolicyFile(_Entry):
    """The whole file."""

    version: Literal[1]
    groups: dict[Name, Members] = Field(default_factory=dict)
    issuers: tuple[Issuer, ...] = ()
    signals: dict[SignedSignal, SignalEntry] = Field(
        default_factory=dict[SignedSignal, SignalEntry]
    )
    rules: tuple[RuleEntry, ...] = ()
    authorities: Name | None = None


class AuthorityEntry(_Entry):
    """What rules may rest on, until when, and for whom: all where nobody is named."""

    version: Annotated[int, Field(ge=1, strict=True)]
    expires: Annotated[AwareDatetime, BeforeValidator(_parse_time)]
    agents: Names = ()
    tenants: Names = ()
    actors: Names = ()


class AuthoritiesFile(_Entry):
    """The whole file beside a policy."""

    version: Literal[1]
    authorities: dict[RuleId, AuthorityEntry] = Field(default_factory=dict)


ENTRY_MODELS: Mapping[str, type[BaseModel]] = {
    "": PolicyFile,
    "rules": RuleEntry,
    "match": MatchEntry,
    "approval": ApprovalEntry,
    "escalate": EscalateEntry,
    "issuers": Issuer,
    **dict.fromkeys(get_args(SignedSignal), SignalEntry),
}
"""The models by the name of the field that holds them."""
