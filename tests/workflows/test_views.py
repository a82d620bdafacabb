"""What a run says about itself when it is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError
from temporalio.exceptions import ApplicationError

from holdfast.contracts import bounds
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.sessions.state import QueuedMessage
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import ToolTurn, TranscriptItem, UserTurn
from holdfast.run import replies
from holdfast.workflows.sessions.views import OutcomeQuery
from holdfast.workflows.views import (
    PageQuery,
    find_status,
    read_query,
    status,
    transcript_page,
    usage,
)
from tests.builders import (
    NOW,
    a_call,
    a_question,
    a_reply,
    a_request,
    a_session,
    a_state,
    a_transcript,
    asked_for,
)

STOP = Stop(reason="max_steps (3) reached", detail="", next_safe_action="")
COMPLETED, FAILED = Ended(outcome="completed"), Ended(outcome="failed")
STOPPED = Ended(outcome="stopped", stop=STOP)
STATE = a_state()
QUEUED = QueuedMessage(message_id="m-2", text="and?", actor="web", position=2)
SESSION = a_session()
WAITING = STATE.with_oversight(requests=(a_request(),))


def holding(items: tuple[TranscriptItem, ...]) -> RunState:
    return a_state().with_conversation(items=items)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        pytest.param(STATE, "running", id="running"),
        pytest.param(WAITING, "waiting", id="waiting"),
        pytest.param(STATE.with_(suspended=True), "suspended", id="suspended"),
        pytest.param(STATE.with_(suspended=True), "suspending", id="suspending"),
        pytest.param(WAITING.with_(suspended=True), "suspended", id="suspended waiting"),
        pytest.param(STATE.with_(phase=COMPLETED), "completed", id="completed"),
        pytest.param(STATE.with_(phase=STOPPED), "stopped", id="stopped"),
        pytest.param(
            STATE.with_(phase=FAILED, suspended=True),
            "failed",
            id="over, suspended",
        ),
        pytest.param(STATE.with_(session=SESSION), "idle", id="idle"),
        pytest.param(
            STATE.with_(session=SESSION.with_(waiting=(QUEUED,))),
            "running",
            id="between two messages",
        ),
        pytest.param(
            STATE.with_(session=SESSION.with_(waiting=(QUEUED,), closing="closed by dana")),
            "running",
            id="closing, a message waits",
        ),
        pytest.param(
            STATE.with_(session=SESSION.with_(closing="closed by dana")), "completed", id="closed"
        ),
    ],
)
def test_a_run_stands_at_one_word(state: RunState, word: str) -> None:
    """A run that is over says how; before, suspension hides waiting, waiting hides work."""
    # SE-01
    in_flight = ("tool look",) if word == "suspending" else ()
    assert find_status(state, in_flight) == word


def test_status_says_what_a_person_asks_first() -> None:
    """Who runs what for whom, how far it is, and what it waits for."""
    state = asked_for(a_call(), state=a_state(run={"tenant": "acme", "actor": "bob"}))
    report = status(state.with_oversight(requests=(a_question(),)))

    assert (report.run_id, report.agent, report.tenant, report.actor) == (
        "run-1",
        "it",
        "acme",
        "bob",
    )
    assert (report.status, report.step, report.model) == ("waiting", 1, "scripted:it")
    assert report.waits_for == ("req-1 · question: Which one?",)
    assert report.transcript_digest not in {"", state.conversation.head.digest}
    assert report.started_at == NOW
    assert (report.answer, report.stop, report.refused_total) == (None, None, 0)


def test_usage_stands_beside_what_may_be_used() -> None:
    """What was used is reported with the budget."""
    # GF-07
    state = asked_for(a_call(), state=a_state(run={"budget": {"max_steps": 7}}))

    report = usage(state)

    assert (report.steps, report.tool_calls, report.budget.max_steps) == (1, 0, 7)
    assert report.usage == state.ledger.usage
    assert report.waited_seconds == 0


def test_an_answer_is_in_the_status_of_a_completed_run() -> None:
    """Whoever asks after the end gets the answer."""
    report = status(replies.after_model(a_state(), a_reply(), NOW))

    assert (report.status, report.answer) == ("completed", "done")


@pytest.mark.parametrize(
    ("offset", "limit", "length", "following"),
    [
        pytest.param(0, 1000, 7, None, id="all"),
        pytest.param(0, 7, 7, None, id="exactly all"),
        pytest.param(0, 6, 6, 6, id="all but one"),
        pytest.param(3, 2, 2, 5, id="in the middle"),
        pytest.param(6, 10, 1, None, id="the last"),
        pytest.param(7, 10, 0, None, id="behind the end"),
        pytest.param(99, 10, 0, None, id="far behind the end"),
    ],
)
def test_a_page_is_a_part_of_the_transcript(
    offset: int, limit: int, length: int, following: int | None
) -> None:
    """A page has at most so many items, and says where the next one begins."""
    state = holding(a_transcript([1, 2, 3]))

    page = transcript_page(state, PageQuery(offset=offset, limit=limit))

    assert page.items == state.conversation.items[offset : offset + length]
    assert (page.total, page.next_offset) == (7, following)


@given(st.lists(st.integers(0, 400_000), max_size=8), st.integers(1, 20))
def test_pages_put_together_are_the_transcript(sizes: list[int], limit: int) -> None:
    """Following the pages shows every item once; no page is too large to send."""
    items = a_transcript(sizes)

    found: list[TranscriptItem] = []
    offset: int | None = 0
    while offset is not None:
        page = transcript_page(holding(items), PageQuery(offset=offset, limit=limit))
        found += page.items
        assert 0 < len(page.items) <= limit
        assert len(page.model_dump_json().encode()) <= bounds.MAX_PAYLOAD_BYTES
        offset = page.next_offset

    assert tuple(found) == items


def test_an_item_larger_than_a_page_comes_alone() -> None:
    """An item that is larger than a page is still found."""
    large = ToolTurn(
        results=(ToolSuccess(call_id="c1", name="look", summary="", data="x" * 950_000),)
    )
    state = holding((UserTurn(text="go"), large, UserTurn(text="on", origin="steer")))

    pages = [transcript_page(state, PageQuery(offset=offset)) for offset in (0, 1, 2)]

    assert [page.items for page in pages] == [(item,) for item in state.conversation.items]
    assert [page.next_offset for page in pages] == [1, 2, None]


@pytest.mark.parametrize("query", [{"offset": -1}, {"limit": 0}, {"ofset": 1}])
def test_a_page_that_cant_be_is_refused(query: dict[str, int]) -> None:
    """A query is checked like all that comes from outside."""
    with pytest.raises(ValidationError):
        PageQuery.model_validate(query)


FLAWS: list[tuple[list[JsonValue], str]] = [
    ([{"offset": -1}], "'it': offset: Input should be greater than or equal to 0"),
    ([{"ofset": 1}], "'it': ofset: Extra inputs are not permitted"),
    ([{"limit": "9"}], "'it': limit: Input should be a valid integer"),
    (["x"], "'it': the argument: Input should be an object"),
    ([[]], "'it': the argument: Input should be an object"),
    ([{}, {}], "'it' takes one JSON object, not 2 arguments"),
]


@pytest.mark.parametrize(("given", "said"), FLAWS)
def test_what_a_query_can_t_be_asked_is_said_in_words(given: list[JsonValue], said: str) -> None:
    """One line says what is wrong, and nothing of Python or of our classes."""
    with pytest.raises(ApplicationError) as refused:
        read_query("it", PageQuery, given)

    assert str(refused.value) == said


@pytest.mark.parametrize("given", [[], [None], [{}]])
def test_a_query_without_an_argument_has_nothing_in_it(given: list[JsonValue]) -> None:
    """So what has to be there is missing."""
    assert read_query("it", PageQuery, given) == PageQuery()
    with pytest.raises(ApplicationError, match=r"^'outcome': message_id: Field required$"):
        read_query("outcome", OutcomeQuery, given)
