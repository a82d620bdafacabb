"""What of a large result a model reads at once, and where it reads on. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue
from pydantic_core import to_json

from holdfast.contracts.bounds import MAX_RESULT_BYTES
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import clip_bytes, select_end
from holdfast.contracts.tools import ToolContract

_PLACE = Pattern(r"(?:i[0-9]{1,9})?(?:c[0-9]{1,9})?")


class Place(NamedTuple):
    """Where in a result a page begins: at which of its items, at which character of that."""

    item: int | None = None
    character: int = 0

    def __str__(self) -> str:
        item = "" if self.item is None else f"i{self.item}"
        return f"{item}c{self.character}"

    @classmethod
    def parse(cls, written: str) -> "Place | None":
        """Read a place; null where it is none."""
        if not written or not _PLACE.fits(written):
            return None
        item, _, character = written.partition("c")
        return cls(int(item[1:]) if item else None, int(character or 0))


class Excerpt(NamedTuple):
    """A part of a result, in words what part it is, and where what it lacks begins."""

    shown: JsonValue
    part: str
    items: int | None
    rest: Place


class Page(NamedTuple):
    """What stands at a place of a result, and where the next page begins, if there is one."""

    content: JsonValue
    rest: Place | None


def cut_excerpt(contract: ToolContract, data: JsonValue, text: str) -> Excerpt | None:
    """Return what of *data*, whose JSON is *text*, a model reads; null where that is all of it."""
    limit, longest = contract.max_result_chars, contract.max_snippet_chars
    from_end = contract.shows == "end"
    if isinstance(data, str):
        limit = min(limit, longest or limit)
        whole = len(text) if longest is None else len(data)
        return None if _fits(text, whole, limit) else _cut_text(data, limit, from_end=from_end)
    name, items = _find_items(data)
    most = len(items) if contract.max_items is None else min(contract.max_items, len(items))
    kept = items[len(items) - most :] if from_end else items[:most]
    snippets, cut = _cut_texts(_replace_items(data, name, kept), longest)
    if most == len(items) and not cut and _fits(text, len(text), limit):
        return None
    return _cut_items(contract, snippets, text, len(items)) or _cut_text(
        text, limit, from_end=from_end
    )


def _cut_items(
    contract: ToolContract, snippets: JsonValue, text: str, total: int
) -> Excerpt | None:
    """Show as many items as there is room for; null where there is none for a single one."""
    limit = contract.max_result_chars
    from_end = contract.shows == "end"
    name, items = _find_items(snippets)
    room = limit - len(to_json(_replace_items(snippets, name, [])).decode())
    count = _count_fitting(items[::-1] if from_end else items, room)
    if count == 0:
        whole = to_json(snippets).decode()
        if items or not _fits(whole, len(whole), limit):
            return None
        return Excerpt(snippets, f"its texts, cut, of {len(text)} characters", None, Place())
    shown = items[len(items) - count :] if from_end else items[:count]
    which = "last" if from_end else "first"
    begins_later = not from_end and contract.max_snippet_chars is None
    return Excerpt(
        _replace_items(snippets, name, shown),
        f"the {which} {count} of {total} items",
        total,
        Place(count if begins_later else 0),
    )


def _cut_text(text: str, limit: int, *, from_end: bool) -> Excerpt:
    shown = clip_bytes(text[:limit], MAX_RESULT_BYTES)
    if from_end:
        shown = select_end(text[-limit:], MAX_RESULT_BYTES)
    which = "last" if from_end else "first"
    part = f"the {which} {len(shown)} of {len(text)} characters"
    return Excerpt(shown, part, None, Place(None, 0 if from_end else len(shown)))


def _fits(text: str, characters: int, limit: int) -> bool:
    return characters <= limit and len(text.encode()) <= MAX_RESULT_BYTES


def read_page(data: JsonValue, text: str, place: Place, limit: int) -> Page:
    """Return what stands at a place of a result, whose JSON is *text*, in so many characters."""
    if place.item is None:
        return _read_text(data if isinstance(data, str) else text, place, limit)
    _, items = _find_items(data)
    if place.item >= len(items):
        return Page([], None)
    count = _count_fitting(items[place.item :], limit)
    if count and not place.character:
        end = place.item + count
        return Page(items[place.item : end], Place(end) if end < len(items) else None)
    item = items[place.item]
    written = item if isinstance(item, str) else to_json(item).decode()
    page = _read_text(written, place, limit)
    if page.rest is None and place.item + 1 < len(items):
        return page._replace(rest=Place(place.item + 1))
    return page


def _read_text(text: str, place: Place, limit: int) -> Page:
    shown = text[place.character : place.character + limit]
    while len(to_json(shown).decode()) > limit and len(shown) > 1:
        shown = shown[: len(shown) // 2]
    end = place.character + len(shown)
    return Page(shown, place._replace(character=end) if end < len(text) else None)


def _find_items(data: JsonValue) -> tuple[str | None, list[JsonValue]]:
    """Return what of a result comes in items: it, or the longest list in it, with its name."""
    if isinstance(data, list):
        return None, data
    found: tuple[str | None, list[JsonValue]] = (None, [])
    if isinstance(data, dict):
        for name, value in data.items():
            if isinstance(value, list) and len(value) > len(found[1]):
                found = (name, value)
    return found


def _replace_items(data: JsonValue, name: str | None, items: list[JsonValue]) -> JsonValue:
    if isinstance(data, list):
        return items
    return {**data, name: items} if isinstance(data, dict) and name is not None else data


def _count_fitting(items: Iterable[JsonValue], room: int) -> int:
    """Count how many items fit, one after the other, each with a comma."""
    count, size = 0, 0
    for item in items:
        written = to_json(item)
        room -= len(written.decode()) + 1
        size += len(written) + 1
        if room < 0 or size > MAX_RESULT_BYTES // 2:
            break
        count += 1
    return count


def _cut_texts(data: JsonValue, longest: int | None) -> tuple[JsonValue, bool]:
    """Cut each text in a value that is too long; whether there was one."""
    if longest is None:
        return data, False
    match data:
        case str() if len(data) > longest:
            return f"{data[:longest]}… ({len(data) - longest} more characters)", True
        case list():
            parts = [_cut_texts(one, longest) for one in data]
            return [part for part, _ in parts], any(cut for _, cut in parts)
        case dict():
            pairs = {name: _cut_texts(one, longest) for name, one in data.items()}
            shown: JsonValue = {name: part for name, (part, _) in pairs.items()}
            return shown, any(cut for _, cut in pairs.values())
        case _:
            return data, False
