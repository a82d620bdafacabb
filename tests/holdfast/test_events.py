"""What a run tells those who watch it (docs/events.md)."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import UTC, datetime
from typing import get_args
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from temporalio.client import WorkflowHistory

from holdfast import HoldfastError, histories
from holdfast.client.cursor import MAX_CURSOR_CHARS, Cursor, shorten_execution
from holdfast.client.event_data import (
    AnswerReleased,
    RunStarted,
    SubagentCompleted,
    SubagentStarted,
    TurnStarted,
)
from holdfast.client.events import DATA_TYPES, EventType, RunEvent
from holdfast.client.fold import Folds
from holdfast.client.run_reader import Sources, Watched
from holdfast.client.stream import EventStream
from holdfast.contracts.calls import Purpose
from holdfast.contracts.model import ModelPurpose
from holdfast.contracts.run import WORKFLOW_TYPE
from tests.histories.golden import workflow_type
from tests.histories.stored import history_file, names, unpack
from tests.shape.tree import ROOT

VOCABULARY = (
    "run.started turn.started text.delta text.reset turn.completed decision tool.started "
    "tool.progress tool.completed guardrail request.opened request.closed handoff "
    "subagent.started subagent.completed plan checkpoint rollback usage note answer "
    "run.suspended run.resumed run.completed session.message session.outcome"
)

ANSWER = {
    "id": "0a1b2c3d4e5f.9.0",
    "type": "answer",
    "run_id": "00000000-0000-4000-8000-0a1b2c3d4e5f",
    "at": "2026-11-26T08:00:00Z",
    "agent": "support",
    "path": ["support"],
    "data": {"text": "It cost 20.", "output": None, "confidence": 1.0, "model": "scripted:a"},
}


def test_the_vocabulary_is_closed() -> None:
    """Every type has its data, and no other type exists."""
    assert [*EventType] == VOCABULARY.split()
    assert set(DATA_TYPES) == set(EventType)
    assert {kind for kind in EventType if kind.is_live} == {
        "text.delta",
        "text.reset",
        "tool.progress",
    }


def test_an_event_is_json_there_and_back() -> None:
    """Its type says what its data are, for whoever reads it too."""
    event = RunEvent.model_validate(ANSWER)

    assert event.type == "answer"
    assert event.at == datetime(2026, 11, 26, 8, tzinfo=UTC)
    match event.data:
        case AnswerReleased(text=text):
            assert text == "It cost 20."
        case other:
            pytest.fail(f"an answer has {other!r}")
    assert event.model_dump(mode="json") == ANSWER


def test_data_of_another_type_are_refused() -> None:
    """Nothing is an event whose data aren't those of its type."""
    with pytest.raises(ValidationError):
        RunEvent.model_validate(
            ANSWER | {"data": TurnStarted(turn=1, purpose="turn", model="scripted:a")}
        )


class Stored:
    """The stored histories of a scenario, as a server would have them of runs that are over."""

    def __init__(self, name: str) -> None:
        self.folds = Folds()
        self.chains = {
            chain[0].workflow_id: [(_execution(one), one) for one in chain]
            for chain in unpack(history_file(name).read_bytes())
            if workflow_type(chain) == WORKFLOW_TYPE
        }

    async def follow(
        self, run_id: str, execution: str, *, wait: bool
    ) -> AsyncGenerator[histories.Recorded]:
        assert wait
        found = self.chains[run_id]
        begin = next(place for place, (one, _) in enumerate(found) if one == execution)
        for one, history in found[begin:]:
            for event in history.events:
                yield histories.Recorded(one, event)

    async def read(self, run_id: str, after: Cursor | None = None) -> list[RunEvent]:
        first, _ = self.chains[run_id][0]
        run = Watched(run_id, first, shorten_execution(first))
        stream = EventStream(Sources(self, self.folds), run, after or Cursor())
        return [event async for event in stream.events()]


def _execution(history: WorkflowHistory) -> str:
    started = history.events[0].workflow_execution_started_event_attributes
    return started.original_execution_run_id


def by_run(events: Sequence[RunEvent]) -> dict[str, list[RunEvent]]:
    """What was told of each run, in its order: how those of several mix is not fixed."""
    told: dict[str, list[RunEvent]] = {}
    for event in events:
        told.setdefault(event.run_id, []).append(event.with_(id=""))
    return told


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
async def test_any_split_of_the_reading_tells_the_same(name: str) -> None:
    """Wherever a reader stops and comes back, it misses nothing and sees nothing twice."""
    # T-32
    stored = Stored(name)
    for run_id in stored.chains:
        whole = await stored.read(run_id)
        for place, last in enumerate(whole, 1):
            rest = await stored.read(run_id, Cursor.parse(last.id, run_id))
            assert by_run([*whole[:place], *rest]) == by_run(whole)
            assert {one.id for one in rest}.isdisjoint(one.id for one in whole[:place])


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
async def test_who_reads_what_others_have_read_is_told_the_same(name: str) -> None:
    """Those who read a run at the same time share what they read, however far each of them is."""
    stored, alone = Stored(name), Stored(name)
    for run_id, chain in stored.chains.items():
        whole = await alone.read(run_id)
        shared = stored.folds.find(chain[0][0])
        first = await stored.read(run_id)
        late = await stored.read(run_id, Cursor.parse(whole[len(whole) // 2].id, run_id))

        assert stored.folds.find(chain[0][0]) is shared
        assert by_run(first) == by_run(whole)
        assert by_run([*whole[: len(whole) // 2 + 1], *late]) == by_run(whole)


@given(st.data())
@settings(max_examples=12)
async def test_any_pieces_tell_what_the_whole_tells(data: st.DataObject) -> None:
    """However often a reader goes and comes back with what the last piece left it."""
    # T-32
    stored = Stored(data.draw(st.sampled_from(names())))
    for run_id in stored.chains:
        whole = await stored.read(run_id)
        told: list[RunEvent] = []
        while len(told) < len(whole):
            cursor = Cursor.parse(told[-1].id, run_id) if told else None
            rest = await stored.read(run_id, cursor)
            assert rest
            told += rest[: data.draw(st.integers(1, len(rest)))]
        assert by_run(told) == by_run(whole)
        assert len({event.id for event in told}) == len(told)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
async def test_what_is_told_of_every_run(name: str) -> None:
    """It begins and ends, each id is one place, and parts stand between their two events."""
    stored = Stored(name)
    for run_id in stored.chains:
        told = await stored.read(run_id)
        root = by_run(told)[told[0].run_id]

        assert (root[0].type, root[-1].type) == ("run.started", "run.completed")
        assert told[-1].type == "run.completed"
        assert len({event.id for event in told}) == len(told)
        assert all(url_safe(event.id) for event in told)
        assert [event.type for event in told if event.type.is_live] == []
        for begin, end, run in parts(told):
            between = [place for place, event in enumerate(told) if event.run_id == run]
            assert between
            assert begin < between[0] <= between[-1] < end


def url_safe(text: str) -> bool:
    return quote(text, safe="") == text


def parts(told: Sequence[RunEvent]) -> Iterator[tuple[int, int, str]]:
    """Where the parts of a run begin and end among its events, and how they are named there."""
    begun: dict[str, tuple[int, str]] = {}
    for place, event in enumerate(told):
        match event.data:
            case SubagentStarted(workflow_id=name):
                begun[name] = place, ""
            case RunStarted(workflow_id=name) if name in begun:
                begun[name] = begun[name][0], event.run_id
            case SubagentCompleted(workflow_id=name):
                begin, run = begun[name]
                yield begin, place, run
            case _:
                pass


async def test_a_call_is_told_in_the_order_in_which_it_happens() -> None:
    """What was decided, what was drafted, who was asked and said what, what ran."""
    told = await Stored("drafts").read("drafts")

    assert [event.type.value for event in told] == [
        *("run.started", "turn.started", "turn.completed", "usage"),
        *("decision", "tool.started", "tool.completed"),
        *("decision", "request.opened", "request.closed"),
        *("decision", "tool.started", "tool.completed"),
        *("turn.started", "turn.completed", "usage"),
        *("answer", "run.completed"),
    ]
    assert {event.path for event in told} == {("clerk",)}
    assert {event.run_id for event in told} == {"00000000-0000-4000-8000-000000000001"}


async def test_parts_have_the_path_of_their_agents() -> None:
    """The agents from the root on; each run has its own id."""
    told = await Stored("tiers").read("tiers")

    assert {event.path for event in told} == {
        ("clerk",),
        ("clerk", "coder"),
        ("clerk", "helper"),
    }
    assert {event.agent for event in told} == {"clerk", "coder", "helper"}
    assert len({event.run_id for event in told}) == 3


async def test_a_run_that_goes_on_in_new_executions_is_one() -> None:
    """Its id is that of the first."""
    stored = Stored("continue_as_new")
    (executions,) = stored.chains.values()
    told = await stored.read("continue_as_new")

    assert len(executions) > 1
    assert {event.run_id for event in told} == {executions[0][0]}
    assert sum(event.type == "run.started" for event in told) == 1


async def test_words_that_guardrails_look_at_are_not_told_before_they_pass() -> None:
    """An answer that is blocked is told by no event; the one that passes by `answer` alone."""
    # SM-05
    told = await Stored("guardrails_output").read("guardrails_output")
    judged = await Stored("judges").read("judges")

    assert [event.type for event in told if '"good"' in event.model_dump_json()] == ["answer"]
    assert '"bad"' not in "".join(event.model_dump_json() for event in told)
    assert [event.type for event in judged if "Please." in event.model_dump_json()] == ["answer"]


NO_CURSORS = (
    *(
        "",
        "x",
        "a.b",
        "a.b.1",
        "a.b.1.x",
        "a.b.1.2_",
        "a.b.-1.2",
        "a.b.1.²",
        "a.b.1.\u0661",
        "~a.b.1.2",
    ),
    *("a.b.1.2_" * 9999, "a" * (MAX_CURSOR_CHARS - 5) + ".b.1.2"),
    *("a.b.1234567890.2", "a.b.1.2~a.b.1.1.1.1234567890"),
)


@pytest.mark.parametrize("text", NO_CURSORS, ids=range(len(NO_CURSORS)))
def test_what_is_no_cursor_is_refused_in_a_line(text: str) -> None:
    """Whoever sends it learns what to do."""
    with pytest.raises(HoldfastError) as refused:
        Cursor.parse(text, "r")

    assert "is of no event of run 'r' that is kept: leave it out" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_copy_of_a_cursor_stays_where_it_was() -> None:
    """Neither moves the other, whether history is told or a reply under way."""
    text = "a.b.1.2_c.d.3.4~a.b.1.1.1.3"
    cursor = Cursor.parse(text, "r")

    copied = cursor.copy()
    copied.forget(["a"])
    assert (str(cursor), str(copied)) == (text, "c.d.3.4")

    still = cursor.copy()
    cursor.forget(["a"])
    assert (str(cursor), str(still)) == ("c.d.3.4", text)


def test_a_cursor_has_nothing_of_runs_that_have_ended() -> None:
    """Neither what was told last of them nor how far a reply was told: it would grow and grow."""
    # T-32
    cursor = Cursor.parse("a.b.1.2_c.d.3.4~a.b.1.1.1.3", "r")

    cursor.forget(["a"])

    assert str(cursor) == "c.d.3.4"


def test_the_page_names_every_type_and_field() -> None:
    """Whoever reads events in another language looks them up there."""
    rows: dict[str, set[str]] = {}
    for line in (ROOT / "docs/events.md").read_text(encoding="utf-8").splitlines():
        cells = [set(part.split("`")[1::2]) for part in line.split("|")[1:-1]]
        for name in cells[0] if cells else ():
            rows.setdefault(name, set()).update(*cells[1:])

    for kind, data in DATA_TYPES.items():
        assert data.model_fields.keys() - rows[kind] == set(), kind
    for kind, purposes in (("turn.started", ModelPurpose), ("tool.started", Purpose)):
        assert {*get_args(purposes)} - rows[kind] == set()
