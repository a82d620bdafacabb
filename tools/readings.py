"""
How often a value is read when it is held against a schema, counted before anybody does it.

Where a value may be one of several types, all of them are tried, and tried again inside of each:
a union in itself doubles the work with each level. What would take long is objected to instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

import jsonschema_rs
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import size

MAX_READINGS = 200_000
"""Of an ambiguous value, each times its depth; a second's work at most."""

MAX_READINGS_PER_PART = 3
"""How often each part of a larger value is read, on average."""

MAX_EXPLAINED_READINGS = 5_000
"""Readings of a value whose flaws are spelled out: each flaw costs ten times a reading."""

MAX_COPIED_BYTES = 50_000_000
"""Bytes of what is described, which each reading beyond the first copies."""

AMBIGUOUS = (
    "it can be read in too many ways: nest less deeply what may be one of several types, "
    "or write fewer of them at once"
)
UNEXPLAINED = "it doesn't fit its schema, and is too large or nested too deeply to say where"

_MAX_CHAIN = 20
"""References and unions that lead to each other, without a level of the value between them."""

_OTHER = "\0"
_ONE = ("not", "if", "then", "else")
_SEVERAL = ("anyOf", "oneOf", "allOf")
_DEPENDENT = ("dependentSchemas", "dependencies")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")

_REPEATING = {
    *_ONE,
    *_SEVERAL,
    *_DEPENDENT,
    *_ELSEWHERE,
    "$ref",
    "patternProperties",
    "contains",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
}
"""What has a value, or a part of it, held against more than one schema."""

_Counts: TypeAlias = dict[int, tuple[JsonObject, int]]
"""Schemas, by identity, and how often a value is held against each."""


class _SchemaSet(NamedTuple):
    """The schemas that a value is held against, each so many times."""

    schemas: tuple[tuple[JsonObject, int], ...]
    times: int
    names: frozenset[str]
    """Of the fields that any of them names; all others are alike."""
    places: int
    """Of a list that any of them tells apart; all behind these are alike."""


class Readings(NamedTuple):
    """How often the parts of a value are read; each reading counts as much as it is deep."""

    once: int
    """If each part was read once."""
    all: int

    @property
    def too_many(self) -> bool:
        return self.all > max(MAX_READINGS, MAX_READINGS_PER_PART * self.once)


_ENDLESS = Readings(1, 10**12)


class Problem(NamedTuple):
    """What is wrong with a value: in words that quote it, and in those of the schema alone."""

    said: str
    rule: str


def flaws(
    validator: jsonschema_rs.Validator, schema: JsonObject, value: JsonValue
) -> Iterator[Problem]:
    """
    Say what is wrong with a value, one line each; nothing when it is valid.

    Whether it is valid takes the library linear time. What it says of flaws doesn't: it
    describes all of them, with those of every type that was tried.
    """
    if validator.is_valid(value):
        return
    counted = readings(schema, value, tagged=False)
    copied = (counted.all - counted.once) * size(value)
    if counted.all > MAX_EXPLAINED_READINGS or copied > MAX_COPIED_BYTES:
        yield Problem(UNEXPLAINED, UNEXPLAINED)
        return
    for error in validator.iter_errors(value):
        place = ".".join(map(str, error.instance_path))
        yield Problem(f"{place}: {error.message}" if place else error.message, _rule(error))


def _rule(error: jsonschema_rs.ValidationError) -> str:
    kind, place = error.kind, "/".join(map(str, error.schema_path))
    missing = kind.property if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required) else ""
    return f"{place} {missing}".strip()


def readings(schema: JsonObject, value: JsonValue, *, tagged: bool) -> Readings:
    """Count the readings of a value; a *tagged* union is read as what its tag says alone."""
    count = _Count(schema, tagged=tagged)
    once = total = depth = 1
    level = [(value, _build_schema_set({id(schema): (schema, 1)}))]
    try:
        while level:
            depth += 1
            parts = [each for one, held in level for each in count.below(one, held)]
            once += depth * sum(len(some) for some, _ in parts)
            total += depth * sum(len(some) * max(1, held.times) for some, held in parts)
            level = [(one, held) for some, held in parts for one in some if _has_parts(one)]
    except LookupError:
        return _ENDLESS
    return Readings(once, total)


def is_plain(schema: JsonObject) -> bool:
    """Whether no part of any value is read twice, since no word of the schema would have it so."""
    return _REPEATING.isdisjoint(_words(schema))


class _Count:
    """Follows a value through a schema; what is alike is followed once."""

    def __init__(self, root: JsonObject, *, tagged: bool) -> None:
        self._root = root
        self._tags = sorted(set(_tags(root))) if tagged else []
        self._kept: list[_SchemaSet] = []
        self._here: dict[tuple[object, ...], _SchemaSet] = {}
        self._inside: dict[tuple[int, str | int], _SchemaSet] = {}
        self._sets: dict[frozenset[tuple[int, int]], _SchemaSet] = {}

    def below(
        self, value: JsonValue, held: _SchemaSet
    ) -> Iterator[tuple[Sequence[JsonValue], _SchemaSet]]:
        """Return the parts of a value, those together that are held against the same."""
        match value:
            case dict():
                here = self._follow(held, value)
                others: list[JsonValue] = []
                for name, part in value.items():
                    if name in here.names:
                        yield [part], self._part(here, name)
                    else:
                        others.append(part)
                if others:
                    yield others, self._part(here, _OTHER)
            case list():
                here = self._follow(held, {})
                for place, part in enumerate(value[: here.places]):
                    yield [part], self._part(here, place)
                yield value[here.places :], self._part(here, here.places)
            case _:
                pass

    def _follow(self, held: _SchemaSet, value: JsonObject) -> _SchemaSet:
        """Return all that references and unions come to for the same value."""
        said = {tag: _as_tag(value.get(tag)) for tag in self._tags}
        key = (id(held), *said.values())
        if key not in self._here:
            self._kept.append(held)  # while it is here, nothing else has its identity
            self._here[key] = self._expand(held, said)
        return self._here[key]

    def _expand(self, held: _SchemaSet, said: Mapping[str, str]) -> _SchemaSet:
        found: _Counts = {}
        schemas = held.schemas
        for _ in range(_MAX_CHAIN):
            following: _Counts = {}
            for schema, count in schemas:
                _add(found, schema, count)
                for one in self._find_subschemas(schema, said):
                    _add(following, one, count)
            schemas = tuple(following.values())
        return _build_schema_set(found)

    def _find_subschemas(
        self, schema: JsonObject, said: Mapping[str, str]
    ) -> Iterator[JsonObject]:
        """Return what else the same value is held against; LookupError where nobody knows."""
        tag = _object(schema.get("discriminator"))
        if self._tags and isinstance(mapping := tag.get("mapping"), dict):
            chosen = mapping.get(said.get(str(tag.get("propertyName")), ""))
            if isinstance(chosen, str):
                yield _resolve_reference(self._root, chosen)
                return
        if isinstance(reference := schema.get("$ref"), str):
            yield _resolve_reference(self._root, reference)
        if any(word in schema for word in _ELSEWHERE):
            raise LookupError
        for word in _SEVERAL:
            yield from _objects(schema.get(word))
        yield from _objects([schema.get(word) for word in _ONE])
        for word in _DEPENDENT:
            yield from _objects(list(_object(schema.get(word)).values()))

    def _part(self, here: _SchemaSet, key: str | int) -> _SchemaSet:
        if (id(here), key) not in self._inside:
            found: _Counts = {}
            for schema, count in here.schemas:
                inner = _of_field(schema, key) if isinstance(key, str) else _of_entry(schema, key)
                for one in _objects(inner):
                    _add(found, one, count)
            self._inside[id(here), key] = self._find_set(found)
        return self._inside[id(here), key]

    def _find_set(self, counts: _Counts) -> _SchemaSet:
        """Return the one set of these schemas: a tree isn't followed for each path in it."""
        key = frozenset((one, count) for one, (_, count) in counts.items())
        if key not in self._sets:
            self._sets[key] = _build_schema_set(counts)
        return self._sets[key]


def _as_tag(value: JsonValue) -> str:
    return str(value) if isinstance(value, str | int) else ""


def _tags(schema: JsonValue) -> Iterator[str]:
    match schema:
        case {"discriminator": {"propertyName": str(name), "mapping": dict()}}:
            yield name
        case _:
            pass
    for part in _parts(schema):
        yield from _tags(part)


def _words(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
    for part in _parts(schema):
        yield from _words(part)


def _has_parts(value: JsonValue) -> bool:
    return bool(value) and isinstance(value, (dict, list))


def _parts(value: JsonValue) -> Iterable[JsonValue]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()


def _resolve_reference(root: JsonObject, reference: str) -> JsonObject:
    """Return what a reference leads to; LookupError where it says no place in the schema."""
    found: JsonValue = root
    beginning, *parts = reference.split("/")
    for part in parts:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        found = _object(found).get(name)
    if isinstance(found, bool):
        return {}
    if beginning != "#" or not isinstance(found, dict):
        raise LookupError
    return found


def _of_field(schema: JsonObject, name: str) -> list[JsonValue]:
    properties = _object(schema.get("properties"))
    named = [properties[name]] if name in properties else [schema.get("additionalProperties")]
    others = _object(schema.get("patternProperties")).values()
    return [*named, *others, schema.get("unevaluatedProperties")]


def _of_entry(schema: JsonObject, place: int) -> list[JsonValue]:
    places = _places(schema)
    rest = [schema.get("items"), schema.get("additionalItems"), schema.get("unevaluatedItems")]
    return [schema.get("contains"), *(places[place : place + 1] or rest)]


def _places(schema: JsonObject) -> list[JsonValue]:
    """Return what the first entries are held against; draft 4 calls that `items`, too."""
    found = schema.get("prefixItems", schema.get("items"))
    return found if isinstance(found, list) else []


def _add(counts: _Counts, schema: JsonObject, count: int) -> None:
    _, before = counts.get(id(schema), (schema, 0))
    counts[id(schema)] = (schema, before + count)


def _build_schema_set(counts: _Counts) -> _SchemaSet:
    schemas = tuple(counts.values())
    names = frozenset(name for schema, _ in schemas for name in _object(schema.get("properties")))
    places = max((len(_places(schema)) for schema, _ in schemas), default=0)
    return _SchemaSet(schemas, sum(count for _, count in schemas), names, places)


def _objects(values: JsonValue) -> list[JsonObject]:
    """Return the schemas among some values that say more than yes or no."""
    found = values if isinstance(values, list) else []
    return [value for value in found if isinstance(value, dict) and value]


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
