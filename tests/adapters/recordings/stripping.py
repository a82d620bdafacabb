"""Taking out of a request what a table says can't be carried."""

from collections.abc import Iterable
from typing import NamedTuple

from tests.adapters.recordings.exchanges import Format
from tests.adapters.recordings.paths import joined, labelled, matches
from tests.adapters.recordings.values import Value, is_list, is_object


class Row(NamedTuple):
    """A field of a request that isn't carried, or that we add, and why."""

    format: Format
    pattern: str
    reason: str


def stripped(format_: Format, request: Value, rows: Iterable[Row]) -> tuple[Value, set[Row]]:
    """Return the request without the places that a row names, and the rows that were needed."""
    mine = [row for row in rows if row.format == format_]
    used: set[Row] = set()
    return _without(request, "", mine, used), used


def _without(value: Value, path: str, rows: list[Row], used: set[Row]) -> Value:
    if is_object(value):
        return {
            name: _without(entry, place, rows, used)
            for name, entry in value.items()
            if not _hit(place := labelled(entry, joined(path, name)), rows, used)
        }
    if is_list(value):
        return [
            _without(entry, place, rows, used)
            for entry in value
            if not _hit(place := labelled(entry, f"{path}[]"), rows, used)
        ]
    return value


def _hit(path: str, rows: list[Row], used: set[Row]) -> bool:
    hits = [row for row in rows if matches(row.pattern, path)]
    used.update(hits[:1])
    return bool(hits)
