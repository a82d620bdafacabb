"""
Conditions of a policy's rules, in CEL (the Common Expression Language).

They are compiled and checked when the policy is loaded. What CEL can't hold exactly is never
handed to it: the library ends a text at its first NUL, so that a condition would see another
value than the tool.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple, cast

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs] -- they are in a file beside it

LONGEST = 4_000
"""Characters of an expression."""

DEEPEST = 60
"""Lists and objects within each other in an argument."""

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_LONGEST_REASON = 200

_FLAW = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.+)")
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_NOISE = re.compile(r" expecting \{.*|Syntax error: | \(in container ''\)")
_END = "mismatched input '<EOF>'"

TEXTS = ("tool", "risk", "agent", "tenant", "actor", "environment")
"""The variables beside `args`, all of them texts."""


class Doubt(NamedTuple):
    """A condition can't be evaluated, and why."""

    reason: str


class Misfit(NamedTuple):
    """What is wrong with an expression, and where; both count from 1."""

    line: int
    column: int
    reason: str

    def __str__(self) -> str:
        line = "" if self.line == 1 else f"line {self.line}, "
        return f"{self.reason} ({line}column {self.column})"


class Variables(NamedTuple):
    """What conditions look at, in the form that CEL takes."""

    activation: cel.Activation


class Condition(NamedTuple):
    """A compiled expression."""

    text: str
    expression: cel.Expression

    def holds(self, variables: Variables | Doubt) -> bool | Doubt:
        """Say whether the condition is true, or why nobody can say."""
        if isinstance(variables, Doubt):
            return variables
        try:
            result = self.expression.eval(variables.activation)
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            return _doubt(str(error))
        answer = cast("object", result.value())
        return answer if isinstance(answer, bool) else _doubt(str(answer))


def compiled(text: str) -> Condition | tuple[Misfit, ...]:
    """Compile an expression that is true or false, or say everything that is wrong with it."""
    if len(text) > LONGEST:
        return (Misfit(1, 1, f"it has {len(text):,} characters, and {LONGEST:,} is most"),)
    try:
        expression = _environment().compile(text)
    except (RuntimeError, TypeError, ValueError) as error:
        return tuple(_misfits(str(error)))
    if expression.return_type() != cel.Type.BOOL:
        return (
            Misfit(1, 1, "it must be true or false; of an argument alone say args.name == true"),
        )
    return Condition(text, expression)


def any_of(conditions: Sequence[Condition]) -> Condition | None:
    """
    Compile the condition that any of some is true; null where they can't be put together.

    It is false only if all of them are: one that is in doubt leaves it in doubt, or true.
    """
    # A line of its own for each, because it may end with a comment.
    text = " || ".join(f"({condition.text}\n)" for condition in conditions)
    try:
        return Condition(text, _environment().compile(text))
    except (RuntimeError, TypeError, ValueError):
        return None


def bind(args: Mapping[str, object], **texts: str) -> Variables | Doubt:
    """Prepare what conditions look at; *texts* are the variables that TEXTS names."""
    try:
        values = {
            "args": {_text(name): _carried(value, 1) for name, value in args.items()},
            **{name: _text(texts[name]) for name in TEXTS},
        }
    except _Unfit as error:
        return Doubt(str(error))
    return Variables(_environment().Activation(values))


class _Unfit(ValueError):
    """A value that CEL would take for another one."""


@cache
def _environment() -> cel.Env:
    text = cel.Type.STRING
    return cel.NewEnv(
        variables={"args": cel.Type.Map(text, cel.Type.DYN), **dict.fromkeys(TEXTS, text)}
    )


def _carried(value: object, depth: int) -> object:
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int() | float() | Decimal():
            return _number(value)
        case list() | tuple() | dict() if depth > DEEPEST:
            raise _Unfit(f"an argument is nested more than {DEEPEST} deep")
        case list() | tuple():
            entries = cast("list[object]", value)
            return [_carried(entry, depth + 1) for entry in entries]
        case dict():
            fields = cast("dict[object, object]", value)
            return {_text(name): _carried(entry, depth + 1) for name, entry in fields.items()}
        case _:
            raise _Unfit(f"an argument is no JSON ({type(value).__name__})")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Unfit(f"a name in the arguments is no text ({type(value).__name__})")
    if "\0" in value:
        raise _Unfit("a text holds a NUL character")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise _Unfit("a text holds half a character")
    return str(value)


def _number(value: float | Decimal) -> int | float:
    if isinstance(value, int):
        if not _SMALLEST <= value <= _LARGEST:
            raise _Unfit("an integer has more than 64 bits")
        return int(value)
    finite = value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
    if not finite:
        raise _Unfit(f"a number is {value}")
    if isinstance(value, Decimal) and Decimal(repr(float(value))) != value:
        raise _Unfit("a number has more digits than can be compared")
    return float(value)


def _misfits(message: str) -> Iterator[Misfit]:
    found = False
    for line, column, reason in _FLAW.findall(message):
        found = True
        said = _NOISE.sub("", _plain(reason)).replace(_END, "it ends too early")
        yield Misfit(max(1, int(line)), max(1, int(column)), said)
    if not found:
        yield Misfit(1, 1, _plain(message))


def _doubt(message: str) -> Doubt:
    return Doubt(_plain(message)[:_LONGEST_REASON])


def _plain(message: str) -> str:
    """Leave out the library's own words around what it says."""
    return _STATUS.sub("", " ".join(message.split()))
