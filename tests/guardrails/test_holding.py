"""How resources are named and since when they are held."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import JsonValue

from holdfast.guardrails.detectors.resource_claims import build_entries, held_since, name_resource

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        pytest.param(1044, "id:1044", id="number"),
        pytest.param("src/a.py", "id:src/a.py", id="path"),
        pytest.param("a" * 60, f"id:{'a' * 60}", id="the longest"),
    ],
)
def test_plain_values_stay_readable(value: JsonValue, name: str) -> None:
    """What may stand in a query stands there as it is."""
    assert name_resource("id", {"id": value}) == name


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x' OR AgentTenant = 'other", id="a query"),
        pytest.param("a" * 121, id="too long"),
        pytest.param({"b": [1], "a": None}, id="an object"),
        pytest.param("", id="empty"),
        pytest.param("ä", id="not ASCII"),
    ],
)
def test_other_values_go_by_their_digest(value: JsonValue) -> None:
    """A model's words never become a part of a query."""
    name = name_resource("id", {"id": value})

    assert name is not None
    assert name.startswith("id:sha256-")
    assert len(name) == len("id:sha256-") + 32


@pytest.mark.parametrize("arguments", [{}, {"id": None}, None, [1]])
def test_a_call_without_the_argument_takes_nothing(arguments: JsonValue) -> None:
    """There is no resource to name."""
    assert name_resource("id", arguments) is None


def test_it_is_said_since_when() -> None:
    """The time is in UTC, so that such texts sort by it; the first counts."""
    berlin = NOON.astimezone(timezone(timedelta(hours=1)))
    said = (
        *build_entries(["id:1", "id:2"], berlin),
        *build_entries(["id:1"], NOON + timedelta(seconds=1)),
    )

    assert said[:2] == ("id:1", "id:1 since 2026-03-01T12:00:00.000000Z")
    assert held_since(said, "id:1", NOON - timedelta(days=1)) == "2026-03-01T12:00:00.000000Z"


def test_who_doesnt_say_has_held_it_from_the_start() -> None:
    """A resource that begins like another isn't that other."""
    said = build_entries(["id:10"], NOON)

    assert held_since(said, "id:1", NOON + timedelta(hours=1)) == "2026-03-01T13:00:00.000000Z"
