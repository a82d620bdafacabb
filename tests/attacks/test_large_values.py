"""Attacks by arguments that take more than linear work: nested, in sets, or with much left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from holdfast import Risk, tool
from holdfast.contracts.base import JsonObject, canonical_json
from holdfast.contracts.errors import ToolError
from holdfast.tools.values.filling import TOO_MUCH_LEFT_OUT
from holdfast.tools.values.members import MemberOrder
from tests.counting import count_calls

MEMBERS = 300


class Node(BaseModel):
    """A tree, of which nothing has to be said."""

    items: list[str] = []
    child: Node | None = None


@dataclass
class Shelf:
    """The same as a dataclass."""

    items: list[str] = field(default_factory=list[str])
    child: Shelf | None = None


class Tag(BaseModel, frozen=True):
    """A member of a set."""

    number: int


class Group(BaseModel, frozen=True):
    """A member of a set that has a set of its own."""

    name: str = ""
    groups: frozenset[Group] = frozenset()


class Entry(BaseModel):
    """What can be left out many times."""

    first: int = 1
    second: int = 2


@tool(risk=Risk.WRITE_INTERNAL)
async def plant(tree: Node) -> str:
    """Plant a tree where it belongs."""
    return str(tree)


@tool(risk=Risk.WRITE_INTERNAL)
async def stack(tree: Shelf) -> str:
    """Stack shelves on each other."""
    return str(tree)


@tool(risk=Risk.WRITE_INTERNAL)
async def mark(tags: frozenset[Tag]) -> str:
    """Mark all that has one of these tags."""
    return str(tags)


@tool(risk=Risk.WRITE_INTERNAL)
async def gather(tree: Group) -> str:
    """Gather the members of all groups."""
    return str(tree)


@tool(risk=Risk.WRITE_INTERNAL)
async def enter(entries: list[Entry]) -> str:
    """Enter several entries into a book."""
    return str(entries)


def nested(depth: int) -> JsonObject:
    items: list[JsonValue] = ["a"] * (10 * MEMBERS)
    tree: JsonValue = {"items": items}
    for _ in range(depth):
        tree = {"child": tree}
    return {"tree": tree}


def grouped(depth: int) -> JsonObject:
    tree: JsonValue = {"groups": [{"name": str(number)} for number in range(MEMBERS)]}
    for number in range(depth):
        tree = {"name": str(number), "groups": [tree]}
    return {"tree": tree}


class Compared(int):
    """A number that counts how often any of its kind is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return int(self) == other

    __hash__ = int.__hash__

    @classmethod
    def count(cls, act: Callable[[], object]) -> int:
        cls.times = 0
        act()
        return cls.times

    @classmethod
    def several(cls, count: int) -> list[Self]:
        return [cls(number) for number in range(count)]


@pytest.mark.parametrize("act", [plant.effect, stack.effect, plant.fill_defaults])
def test_depth_multiplies_nothing(act: Callable[[JsonObject], object]) -> None:
    """What stands inside is looked at once, not once for each level around it."""
    assert count_calls(lambda: act(nested(40))) < 2 * count_calls(lambda: act(nested(10)))


@pytest.mark.parametrize("act", [gather.effect, gather.fill_defaults])
def test_sets_in_sets_are_ordered_once(act: Callable[[JsonObject], object]) -> None:
    """The order of a set takes how its members are written, which their own sets know already."""
    assert count_calls(lambda: act(grouped(20))) < 2 * count_calls(lambda: act(grouped(5)))


def test_members_of_a_set_arent_compared_with_each_other() -> None:
    """Whether one was written as it was read is found by a key, however many there are."""

    def fill(count: int) -> None:
        tags: list[JsonValue] = [{"number": number} for number in Compared.several(count)]
        mark.fill_defaults({"tags": tags})

    assert Compared.count(lambda: fill(2 * MEMBERS)) <= 3 * Compared.count(lambda: fill(MEMBERS))


@pytest.mark.slow
def test_what_may_not_be_left_out_isnt_filled_in() -> None:
    """Few bytes that leave much out are refused before all of it is written."""
    entries: list[JsonValue] = [{} for _ in range(100_000)]

    with pytest.raises(ToolError, match=TOO_MUCH_LEFT_OUT):
        enter.fill_defaults({"entries": entries})


@pytest.mark.slow
def test_a_large_set_that_leaves_nothing_out_is_as_it_was_written() -> None:
    """Members that are read again are no defaults that are filled in."""
    tags: list[JsonValue] = [{"number": number} for number in range(40_000)]

    assert mark.fill_defaults({"tags": tags}) == {"tags": tags}


class Branch(BaseModel):
    """A tree that branches under two names."""

    left: Branch | None = None
    right: Branch | None = None


@tool(risk=Risk.WRITE_INTERNAL)
async def graft(tree: Branch) -> str:
    """Graft branches on each other."""
    return str(tree)


def branched(depth: int) -> JsonValue:
    return {"left": branched(depth - 1), "right": branched(depth - 1)} if depth else None


def test_a_tree_is_followed_once_however_many_paths_are_in_it() -> None:
    """What a node is held against is worked out for each type, not for each place."""
    nodes = 2**10
    tree: JsonObject = {"tree": branched(10)}

    assert count_calls(lambda: graft.objections(tree)) < 60 * nodes


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.lists(st.lists(JSON, max_size=3), max_size=3))
def test_sets_have_the_order_of_their_canonical_form(groups: list[list[JsonValue]]) -> None:
    """However they are nested: what is remembered of them is what would be written."""
    order = MemberOrder()
    members: list[JsonValue] = [{"group": order.sort(group), "name": ""} for group in groups]

    found = order.sort(members)

    assert found == sorted(members, key=canonical_json)
    assert order.write(found) == canonical_json(found)
