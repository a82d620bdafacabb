"""
YAML that remembers on which line everything stands, and means the same to every reader.

Only what JSON has too: no anchors, aliases, tags or second documents, no key twice. Words are
words: `no`, `on` and `12:30` are text, as in YAML 1.2.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple, TypeAlias

import yaml
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import clip_chars

MAX_DOCUMENT_CHARS = 1_000_000
"""Characters; a policy of 5,000 rules."""

MAX_DEPTH = 40
"""Lists and mappings within each other."""

MAX_QUOTE_CHARS = 60

YamlPath: TypeAlias = tuple[str | int, ...]

_INTEGER = Pattern(r"[-+]?[0-9]{1,100}")
_DECIMAL = Pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: Mapping[str, JsonValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Problem(NamedTuple):
    """What is wrong in a document, and on which line; *path* names the field, if any."""

    line: int
    path: str
    reason: str

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        return f"{self.line}: {path}{self.reason}"


class LocatedYaml(NamedTuple):
    """
    The values of a document, the line on which each place of it stands, and how its texts begin.

    `blocks` are the lines on which the words of block texts (`|`) begin.
    """

    value: JsonValue
    lines: Mapping[YamlPath, int]
    blocks: Mapping[YamlPath, int]

    def build_problem(self, place: YamlPath, reason: str) -> Problem:
        """Say what is wrong at a place, or at the nearest one around it that stands there."""
        known = place
        while known and known not in self.lines:
            known = known[:-1]
        return Problem(self.lines.get(known, 1), render_path(place), reason)


def parse_yaml(text: str) -> LocatedYaml | Problem:
    """Read one document, or say why it can't be."""
    if len(text) > MAX_DOCUMENT_CHARS:
        return Problem(
            1, "", f"it has {len(text):,} characters, and {MAX_DOCUMENT_CHARS:,} is most"
        )
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Reader(yaml.parse(text.removeprefix("\ufeff"), Loader=loader)).document()
    except _UnsupportedYaml as refused:
        return refused.flaw
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        return Problem(line, "", error.problem or error.context or "it is no YAML")
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        return Problem(_line_of(error, text), "", "it holds a character that no YAML may hold")


def describe_validation_errors(
    located: LocatedYaml, error: ValidationError, shapes: Mapping[str, type[BaseModel]]
) -> Iterator[Problem]:
    """
    Say what pydantic objects to, with the lines. *shapes* are the models by the name of a field.

    The model of the whole document has no name.
    """
    for entry in error.errors(include_url=False):
        place = _locate(located, entry["loc"])
        yield located.build_problem(place, _describe_error(entry, place, shapes))


def render_path(place: YamlPath) -> str:
    """Spell a place as people write it: rules[2].when."""
    said = ""
    for part in place:
        said += f"[{part}]" if isinstance(part, int) else f".{part}"
    return said.removeprefix(".")


class _UnsupportedYaml(Exception):
    """What stands there is YAML, but not plain."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.flaw = Problem(line, "", reason)


class _Reader:
    """Builds values from the events of a parser."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._lines: dict[YamlPath, int] = {}
        self._blocks: dict[YamlPath, int] = {}

    def document(self) -> LocatedYaml:
        value: JsonValue = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _UnsupportedYaml(
                        _line_number(event), "a second document begins here; one is enough"
                    )
                value = self._value(next(self._events), ())
        return LocatedYaml(value, self._lines, self._blocks)

    def _value(self, event: yaml.Event, place: YamlPath) -> JsonValue:
        self._lines.setdefault(place, _line_number(event))
        if len(place) > MAX_DEPTH:
            raise _UnsupportedYaml(_line_number(event), f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            raise _UnsupportedYaml(
                _line_number(event), "aliases (*) are not read here; write it out"
            )
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise _UnsupportedYaml(
                _line_number(event), "anchors (&) are not read here; write it out"
            )
        if getattr(event, "tag", None) is not None:
            raise _UnsupportedYaml(
                _line_number(event), "tags (!) are not read here; leave them out"
            )
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(place)
        if not isinstance(event, yaml.ScalarEvent):
            raise _UnsupportedYaml(_line_number(event), "a value is missing here")
        if event.style == "|":
            self._blocks[place] = _line_number(event) + 1
        return _parse_scalar(event.value) if event.implicit[0] else event.value

    def _sequence(self, place: YamlPath) -> JsonValue:
        found: list[JsonValue] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            found.append(self._value(event, (*place, len(found))))
        return found

    def _mapping(self, place: YamlPath) -> JsonValue:
        found: dict[str, JsonValue] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _UnsupportedYaml(_line_number(event), "a name must be a word")
            self._value(event, (*place, event.value))
            if event.value in found:
                raise _UnsupportedYaml(_line_number(event), f"{event.value!r} is there twice")
            found[event.value] = self._value(next(self._events), (*place, event.value))
        return found


def _parse_scalar(text: str) -> JsonValue:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fits(text):
        return int(text)
    if _DECIMAL.fits(text) and isfinite(number := float(text)):
        return number
    return text


def _line_number(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _line_of(error: yaml.YAMLError | UnicodeEncodeError, text: str) -> int:
    if isinstance(error, UnicodeEncodeError):
        return text.count("\n", 0, error.start) + 1
    place = getattr(error, "position", 0)  # in bytes
    return text.encode()[:place].count(b"\n") + 1


def _locate(located: LocatedYaml, loc: tuple[int | str, ...]) -> YamlPath:
    """Return the place that pydantic means; it adds words of its own for some."""
    place: YamlPath = ()
    for number, part in enumerate(loc):
        if (*place, part) in located.lines:
            place = (*place, part)
        elif number == len(loc) - 1 and part != "[key]":
            return (*place, part)
    return place


_MESSAGES: Mapping[str, str] = {
    "missing": "it is missing",
    "model_type": "it must be a mapping, as in 'name: value'",
    "dict_type": "it must be a mapping, as in 'name: value'",
    "tuple_type": "it must be a list, as in [a, b]",
    "list_type": "it must be a list, as in [a, b]",
}


def _describe_error(
    entry: ErrorDetails, place: YamlPath, shapes: Mapping[str, type[BaseModel]]
) -> str:
    kind = entry["type"]
    if kind in _MESSAGES:
        return _MESSAGES[kind]
    if kind == "extra_forbidden":
        around = next((part for part in reversed(place[:-1]) if isinstance(part, str)), "")
        known = f" (known: {', '.join(_field_names(shapes[around]))})" if around in shapes else ""
        return f"there is no such field{known}"
    if kind == "value_error":
        return entry["msg"].removeprefix("Value error, ")
    said = clip_chars(repr(entry["input"]), MAX_QUOTE_CHARS)
    if kind == "string_type":
        scalar = isinstance(entry["input"], bool | int | float)
        return f"it must be text: put {said} in quotes" if scalar else "it must be text"
    return f"{entry['msg']}, not {said}"


def _field_names(shape: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in shape.model_fields.items()]
