"""Nothing begins that is switched off, however late somebody looks."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.activities.authority.late_calls import LateCalls
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.state.late_calls import LateCall, Whole
from holdfast.contracts.switches import SwitchKind
from holdfast.contracts.tools import Risk
from tests.activities.test_secrets import Board, off, saying, told
from tests.asking import rules_on_nothing


@pytest.mark.parametrize(("kind", "name"), [("tool", "look"), ("agent", "it"), ("tenant", "acme")])
async def test_what_is_switched_off_does_not_begin(
    tmp_path: Path, kind: SwitchKind, name: str
) -> None:
    """Right before a tool runs, whatever was decided, the switches are asked once more."""
    # T-20
    place = saying("done")
    result, _ = await told(place, tmp_path, off(kind, name))

    assert isinstance(result, ToolFailure)
    assert (result.status, result.type) == ("denied", "permission_denied")
    assert result.reason == f"{kind} {name!r} is switched off by dana: too many"
    assert result.next_valid_actions
    assert place.calls == []


@pytest.mark.parametrize(("name", "purpose"), [("look", "call"), ("put_back", "undo")])
async def test_what_is_switched_off_while_its_place_is_made_ready_does_not_begin(
    tmp_path: Path, name: str, purpose: str
) -> None:
    """A sandbox takes its time; what is switched off meanwhile isn't sent the call."""
    # T-20
    board, place = Board(), saying("done")

    async def start() -> None:
        board.switches = off("tool", name).switches

    place.starts = start
    result, _ = await told(place, tmp_path, board, name=name, purpose=purpose)

    assert isinstance(result, ToolFailure)
    assert (result.status, place.calls) == ("denied", [])
    assert result.reason == f"tool {name!r} is switched off by dana: too many"


class _Answering:
    """A run that lets its late calls begin; a tool is switched off while it answers once more."""

    def __init__(self, board: Board, name: str) -> None:
        self._board = board
        self._name = name
        self._answered = 0

    async def read_late_call(
        self, about: str | Whole, now: datetime, heard: int | None
    ) -> LateCall:
        self._answered += 1
        if self._answered > 1:
            self._board.switches = off("tool", self._name).switches
        return LateCall()


@pytest.mark.parametrize("purpose", ["call", "undo"])
async def test_what_is_switched_off_while_its_run_is_asked_does_not_begin(
    tmp_path: Path, purpose: str
) -> None:
    """A call that waited asks its run, which may be busy for seconds."""
    # T-20
    board, place, name = Board(), saying("done"), "put_back"
    late_calls = LateCalls(_Answering(board, name), rules_on_nothing)
    queued = timedelta(minutes=1)
    result, _ = await told(
        *(place, tmp_path, board, name), purpose=purpose, late_calls=late_calls, queued=queued
    )

    assert isinstance(result, ToolFailure)
    assert (result.status, place.calls) == ("denied", [])
    assert result.reason == f"tool {name!r} is switched off by dana: too many"


async def test_who_reconciles_may_look(tmp_path: Path) -> None:
    """To find out what happened harms nobody, and is needed then."""
    found: JsonValue = {"happened": False}
    place = saying(found)
    result, _ = await told(
        place, tmp_path, off("tenant", "acme"), name="find_rotation", purpose="reconcile"
    )

    assert (result.status, len(place.calls)) == ("ok", 1)


async def test_who_reconciles_and_closes_a_key_for_it_is_switched_off(tmp_path: Path) -> None:
    """That changes something: what became of the call nobody knows then."""
    # T-20
    place, basis = saying({"happened": False}), Risk.WRITE_INTERNAL
    result, _ = await told(
        place, tmp_path, off("tenant", "acme"), name="put_back", purpose="reconcile", basis=basis
    )

    assert (result.status, place.calls) == ("denied", [])


async def test_what_is_switched_off_can_be_taken_back(tmp_path: Path) -> None:
    """An undo is a tool of its own: the switch of what it undoes doesn't keep it from running."""
    # GR-13
    place = saying("put back")
    result, _ = await told(
        place, tmp_path, off("tool", "rotate"), name="put_back", purpose="undo", done="rotated"
    )

    assert result.status == "ok"
    assert [(call.purpose, call.done) for call in place.calls] == [("undo", "rotated")]


@pytest.mark.parametrize(
    ("kind", "name"), [("tool", "put_back"), ("agent", "it"), ("tenant", "acme")]
)
async def test_an_undo_that_is_switched_off_does_not_begin(
    tmp_path: Path, kind: SwitchKind, name: str
) -> None:
    """Its own switch, its agent's and its tenant's hold for it; then it has not been undone."""
    # T-20 GR-13
    place = saying("put back")
    result, _ = await told(place, tmp_path, off(kind, name), name="put_back", purpose="undo")

    assert (result.status, place.calls) == ("denied", [])


async def test_without_the_switches_nothing_begins(tmp_path: Path) -> None:
    """When nobody can tell what is switched off, the call is denied, and has not begun."""
    place = saying("done")
    result, _ = await told(place, tmp_path, Board(knows=False))

    assert isinstance(result, ToolFailure)
    assert result.status == "denied"
    assert "nobody knows what is switched off" in result.reason
    assert place.calls == []
