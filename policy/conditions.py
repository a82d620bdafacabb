"""
Conditions of a policy's rules, in CEL (the Common Expression Language).

They are compiled and checked when the policy is loaded. What CEL can't hold exactly is never
handed to it: the library ends a text at its first NUL, so that a condition would see another
value than the tool.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from math import prod
from typing import NamedTuple, Self, cast

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs] -- they are in a file beside it

from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import one_line

MAX_EXPRESSION_CHARS = 4_000
"""Characters of an expression."""

MAX_ARGUMENT_DEPTH = 60
"""Lists and objects within each other in an argument."""

MAX_STEPS = 10**9
"""What a condition may do with the arguments of one call; a second's work at most."""

_MAX_LOOP_TURNS = 10_000
"""The library's own bound on the turns of all loops together."""

_LONG = 200_000
"""A text or list that takes as long to search for another as it does to look at twice."""

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
_MAX_REASON_CHARS = 200

_FLAW = Pattern(r"ERROR: <input>:(-?\d+):(-?\d+): (.+)")
_STATUS = Pattern(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_NOISE = Pattern(r" expecting \{.*|Syntax error: | \(in container ''\)")
_LITERAL = Pattern(
    r"(?s)//[^\n]*"
    r'|"{3}(?:[^"\\]|\\.|"{1,2}[^"\\])*"{3}'
    r"|'{3}(?:[^'\\]|\\.|'{1,2}[^'\\])*'{3}"
    r'|[rR]"[^"\n]*"'
    r"|[rR]'[^'\n]*'"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'(?:[^'\\]|\\.)*'"
)
"""A text that is written out, or a comment."""
_ENVIRONMENT = Pattern(r"(?:^|[^\w.\s)\]])\s*\.?\s*environment\b")
"""The variable, and no field of that name."""
_LOOP = Pattern(r"\b(?:all|exists|exists_one|map|filter)\s*\(")
_REPETITION = Pattern(r"\{(\d+)(?:,(\d*))?\}")
_MATCHES = Pattern(r"\bmatches\s*\(")
_LITERAL_MATCHES = Pattern(r"\.\s*matches\s*\(\s*''\s*\)")
_END = "mismatched input '<EOF>'"

TEXT_VARIABLES = (
    *("tool", "risk", "agent", "tenant", "actor", "session", "domain", "task_kind"),
    *("environment", "trust"),
)
"""The variables beside `args` and `metadata`, all of them texts."""


class Undetermined(NamedTuple):
    """A condition can't be evaluated, and why."""

    reason: str


class ConditionError(NamedTuple):
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
    entries: int
    """Of all lists and objects."""
    characters: int

    @property
    def size(self) -> int:
        return self.entries + self.characters


class Condition(NamedTuple):
    """
    A compiled expression.

    `commas` and `loops` are those of its code, `weight` is the work of one look at one character:
    they are counted once, because a policy has many conditions for each call.
    """

    text: str
    expression: cel.Expression
    commas: int
    loops: int
    weight: int

    @classmethod
    def of(cls, text: str, expression: cel.Expression) -> Self:
        """Count what an expression takes."""
        code = _strip_literals(text)
        loops = sum(1 for _ in _LOOP.matches(code))
        return cls(text, expression, code.count(","), loops, len(text) * _count_repetitions(text))

    @property
    def asks_for_environment(self) -> bool:
        """Whether it looks at the environment of the worker."""
        return _ENVIRONMENT.found_in(_strip_literals(self.text))

    def evaluate(self, variables: Variables | Undetermined) -> bool | Undetermined:
        """Say whether the condition is true, or why nobody can say."""
        if isinstance(variables, Undetermined):
            return variables
        if self.estimate_steps(variables) > MAX_STEPS:
            found = f"{variables.entries:,} entries, {variables.characters:,} characters"
            return Undetermined(f"it would take too long with arguments of this size ({found})")
        try:
            result = self.expression.eval(variables.activation)
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            return _build_undetermined_result(str(error))
        answer = cast("object", result.value())
        return answer if isinstance(answer, bool) else _build_undetermined_result(str(answer))

    def estimate_steps(self, variables: Variables) -> int:
        """
        Return how much work this is at most.

        In each turn of its loops an expression does no more than it has characters, each with all
        that there is. Nobody could stop the library once it has begun, nor work beside it.
        """
        entries = max(1, variables.entries + self.commas)
        turns = min(_MAX_LOOP_TURNS, entries**self.loops)
        search = variables.size * (1 + variables.size // _LONG)
        return turns * search * self.weight


def _strip_literals(text: str) -> str:
    """Return an expression without its comments, and nothing in its texts."""
    return _LITERAL.sub(lambda found: "" if found.groups[0].startswith("//") else "''", text)


def _count_repetitions(text: str) -> int:
    """Return how large the patterns of an expression become once what is counted is written."""
    counts = (max(map(int, filter(None, match.groups[1:]))) for match in _REPETITION.matches(text))
    return prod(max(1, count) for count in counts)


def compile_condition(text: str) -> Condition | tuple[ConditionError, ...]:
    """Compile an expression that is true or false, or say everything that is wrong with it."""
    if len(text) > MAX_EXPRESSION_CHARS:
        return (
            ConditionError(
                1, 1, f"it has {len(text):,} characters, and {MAX_EXPRESSION_CHARS:,} is most"
            ),
        )
    try:
        expression = _environment().compile(text)
    except (RuntimeError, TypeError, ValueError) as error:
        return tuple(_parse_errors(str(error)))
    code = _strip_literals(text)
    if sum(1 for _ in _MATCHES.matches(code)) > sum(1 for _ in _LITERAL_MATCHES.matches(code)):
        return (ConditionError(1, 1, "write the pattern out, as in args.to.matches('^a+$')"),)
    if expression.return_type() != cel.Type.BOOL:
        return (
            ConditionError(
                1, 1, "it must be true or false; of an argument alone say args.name == true"
            ),
        )
    return Condition.of(text, expression)


def any_of(conditions: Sequence[Condition]) -> Condition | None:
    """
    Compile the condition that any of some is true; null where they can't be put together.

    It is false only if all of them are: one that is in doubt leaves it in doubt, or true.
    """
    # A line of its own for each, because it may end with a comment.
    text = " || ".join(f"({condition.text}\n)" for condition in conditions)
    try:
        return Condition.of(text, _environment().compile(text))
    except (RuntimeError, TypeError, ValueError):
        return None


def bind(
    args: Mapping[str, object], metadata: Mapping[str, object], **texts: str
) -> Variables | Undetermined:
    """Prepare what conditions look at; *texts* are the variables that TEXTS names."""
    try:
        values = {
            "args": {_to_cel_text(name): _to_cel(value, 1) for name, value in args.items()},
            "metadata": _to_cel(dict(metadata), 0),
            **{name: _to_cel_text(texts[name]) for name in TEXT_VARIABLES},
        }
    except _UnsupportedValue as error:
        return Undetermined(str(error))
    return Variables(_environment().Activation(values), *_measure(values))


class _UnsupportedValue(ValueError):
    """A value that CEL would take for another one."""


@cache
def _environment() -> cel.Env:
    text = cel.Type.STRING
    values = dict.fromkeys(("args", "metadata"), cel.Type.Map(text, cel.Type.DYN))
    return cel.NewEnv(variables={**values, **dict.fromkeys(TEXT_VARIABLES, text)})


def _to_cel(value: object, depth: int) -> object:
    match value:
        case None | bool():
            return value
        case str():
            return _to_cel_text(value)
        case int() | float() | Decimal():
            return _to_cel_number(value)
        case list() | tuple() | dict() if depth > MAX_ARGUMENT_DEPTH:
            raise _UnsupportedValue(f"an argument is nested more than {MAX_ARGUMENT_DEPTH} deep")
        case list() | tuple():
            entries = cast("list[object]", value)
            return [_to_cel(entry, depth + 1) for entry in entries]
        case dict():
            fields = cast("dict[object, object]", value)
            return {
                _to_cel_text(name): _to_cel(entry, depth + 1) for name, entry in fields.items()
            }
        case _:
            raise _UnsupportedValue(f"an argument is no JSON ({type(value).__name__})")


def _measure(values: object) -> tuple[int, int]:
    """Count the entries of lists and objects within each other, and the characters of texts."""
    entries = characters = 0
    left = [values]
    while left:
        value = left.pop()
        match value:
            case str():
                characters += len(value)
            case list():
                inner = cast("list[object]", value)
                entries += len(inner)
                left += inner
            case dict():
                fields = cast("dict[object, object]", value)
                entries += len(fields)
                left += [*fields, *fields.values()]
            case _:
                pass
    return entries, characters


def _to_cel_text(value: object) -> str:
    if not isinstance(value, str):
        raise _UnsupportedValue(f"a name in the arguments is no text ({type(value).__name__})")
    if "\0" in value:
        raise _UnsupportedValue("a text holds a NUL character")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise _UnsupportedValue("a text holds half a character")
    return str(value)


def _to_cel_number(value: float | Decimal) -> int | float:
    if isinstance(value, int):
        if not _MIN_INTEGER <= value <= _MAX_INTEGER:
            raise _UnsupportedValue("an integer has more than 64 bits")
        return int(value)
    finite = value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
    if not finite:
        raise _UnsupportedValue(f"a number is {value}")
    if isinstance(value, Decimal) and Decimal(repr(float(value))) != value:
        raise _UnsupportedValue("a number has more digits than can be compared")
    return float(value)


def _parse_errors(message: str) -> Iterator[ConditionError]:
    found = False
    for flaw in _FLAW.matches(message):
        _, line, column, reason = flaw.groups
        found = True
        said = _NOISE.sub("", _strip_noise(reason)).replace(_END, "it ends too early")
        yield ConditionError(max(1, int(line)), max(1, int(column)), said)
    if not found:
        yield ConditionError(1, 1, _strip_noise(message))


def _build_undetermined_result(message: str) -> Undetermined:
    return Undetermined(_strip_noise(message)[:_MAX_REASON_CHARS])


def _strip_noise(message: str) -> str:
    """Leave out the library's own words around what it says."""
    return _STATUS.sub("", one_line(message))
