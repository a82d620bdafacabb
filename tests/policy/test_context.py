"""How much of a transcript a model is shown: old results give way first, then old turns."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.contracts.bounds import MAX_KEPT_QUESTION_CHARS
from holdfast.contracts.calls import (
    ArtifactRef,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.transcript import (
    AssistantTurn,
    ToolTurn,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)
from holdfast.run.context import (
    apply_view,
    carry_over,
    find_prune_point,
    select_lasting,
    size,
    stub,
    total_size,
)
from tests.builders import MODEL, a_call, a_failure, a_success, a_transcript

# A call with its result takes about 330 bytes of JSON, and the size of the result on top.
SIZES = st.lists(st.none() | st.integers(0, 3000), max_size=20)
LIMITS = st.integers(0, 20_000)
ANSWERED = UserTurn(text='Asked "Which one?", a person answered: the blue one', origin="guidance")


def words(items: Sequence[TranscriptItem]) -> list[str]:
    """What people said, without notices."""
    said = [item for item in items if isinstance(item, UserTurn)]
    return [turn.text for turn in said if turn.origin != "notice"]


def without_words(items: Sequence[TranscriptItem]) -> tuple[TranscriptItem, ...]:
    return tuple(item for item in items if not isinstance(item, UserTurn))


def question(
    answer: str | None = "the blue one", question: str = "Which one?", call_id: str = "q1"
) -> tuple[AssistantTurn, ToolTurn]:
    """A question to a person, who answered; or nobody did."""
    call = a_call("ask_user", call_id, question=question)
    result = a_failure(call) if answer is None else a_success(call, {"answer": answer})
    return AssistantTurn(model=MODEL, calls=(call,)), ToolTurn(results=(result,))


def latest_turn(items: Sequence[TranscriptItem]) -> int:
    """Where the last turn of the model begins; the end when there is none."""
    places = [place for place, item in enumerate(items) if isinstance(item, AssistantTurn)]
    return places[-1] if places else len(items)


@pytest.mark.parametrize(
    ("item", "bytes_"),
    [
        (UserTurn(text="go"), b'{"kind":"user","text":"go","origin":"goal"}'),
        (UserTurn(text="äh"), '{"kind":"user","text":"äh","origin":"goal"}'.encode()),
    ],
)
def test_the_size_of_an_item_is_its_json(item: TranscriptItem, bytes_: bytes) -> None:
    """Sizes are bytes of JSON, as they travel."""
    assert size(item) == len(bytes_)
    assert total_size((item, item)) == 2 * len(bytes_)


def test_a_stub_says_how_the_result_began() -> None:
    """In place of an old result stands that it was left out, and its summary."""
    result = a_success(a_call(), "a lamp and a chair")

    assert stub(result) == result.model_copy(
        update={"data": None, "summary": "left out by now; it began: a lamp and a chair"}
    )


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(a_failure(a_call()), id="failure"),
        pytest.param(a_success(a_call(), None), id="nothing to leave out"),
    ],
)
def test_what_has_no_data_stays(result: ToolResult) -> None:
    """Why a call failed stays, and so does a result without data."""
    assert stub(result) == result


def test_a_stub_keeps_where_the_whole_result_is() -> None:
    """What was kept apart can still be found."""
    artifact = ArtifactRef(path="run-1/c1.json", characters=30_000, digest="d" * 64)
    left = stub(a_success(a_call(), "x" * 500).model_copy(update={"artifact": artifact}))

    assert isinstance(left, ToolSuccess)
    assert left.artifact == artifact


@given(st.text(max_size=200) | st.none() | st.integers())
def test_stubbing_twice_is_stubbing_once(data: str | int | None) -> None:
    """A stub of a stub is the stub, so a transcript may be pruned again."""
    once = stub(a_success(a_call(), data))

    assert stub(once) == once


def test_without_a_prune_point_everything_is_shown() -> None:
    """A transcript that was never pruned is shown as it is, whatever its size."""
    items = a_transcript([10_000, 10_000])

    assert apply_view(items, TranscriptView(pruned_before=0), 100) == items


def test_results_give_way_first() -> None:
    """Before the prune point results are stubs; calls and words stay."""
    items = a_transcript([200, None, 300])

    left = apply_view(items, TranscriptView(pruned_before=4), 100_000)

    old = ToolTurn(results=(stub(a_success(a_call(call_id="c0"), "x" * 200)),))
    assert left == (items[0], items[1], old, items[3], *items[4:])


def test_then_old_turns_give_way() -> None:
    """What still doesn't fit is left out, but not what people said; a notice says so."""
    items = a_transcript([200, None, 200, 200])

    left = apply_view(items, TranscriptView(pruned_before=6), 0)

    notice = UserTurn(text="(Earlier turns are left out here.)", origin="notice")
    assert left == (items[0], items[3], notice, *items[6:])


@given(SIZES, LIMITS)
def test_the_prune_point_leaves_turns_whole(sizes: list[int | None], limit: int) -> None:
    """No part begins with results: they stay with the turn that asked for them."""
    items = a_transcript(sizes)

    place = find_prune_point(items, limit)

    assert place == len(items) or not isinstance(items[place], ToolTurn)


@given(SIZES, LIMITS)
@example([3000], 1000)
def test_the_latest_turn_is_never_pruned(sizes: list[int | None], limit: int) -> None:
    """A model always sees the results of what it asked for last, however large they are."""
    # PI-05
    items = a_transcript(sizes)

    assert find_prune_point(items, limit) <= latest_turn(items)


@given(SIZES, LIMITS)
def test_what_is_left_whole_fits_into_half(sizes: list[int | None], limit: int) -> None:
    """Behind the prune point stands as much as fits into half of the room, or the last turn."""
    items = a_transcript(sizes)

    place = find_prune_point(items, limit)

    if 0 < place < latest_turn(items):
        assert total_size(items[place:]) <= limit // 2


@given(SIZES, st.none() | st.integers(0, 3000), LIMITS)
def test_the_prune_point_never_goes_back(
    sizes: list[int | None], more: int | None, limit: int
) -> None:
    """What was pruned once isn't whole again when the transcript has grown."""
    items = a_transcript(sizes)
    grown = a_transcript([*sizes, more])

    assert find_prune_point(grown, limit) >= find_prune_point(items, limit)


@given(SIZES, LIMITS)
def test_words_of_people_always_stay(sizes: list[int | None], limit: int) -> None:
    """The goal comes first in every view, then whatever else people said, in order."""  # HG-18
    items = a_transcript(sizes)

    left = apply_view(items, TranscriptView(pruned_before=find_prune_point(items, limit)), limit)

    assert left[0] == items[0]
    assert words(left) == words(items)


@given(SIZES, LIMITS)
def test_what_is_shown_is_a_whole_conversation(sizes: list[int | None], limit: int) -> None:
    """In every view each call has its result directly behind it, and no result is alone."""
    # LP-09
    items = a_transcript(sizes)

    left = apply_view(items, TranscriptView(pruned_before=find_prune_point(items, limit)), limit)

    asked = [
        (place, call.call_id)
        for place, item in enumerate(left)
        if isinstance(item, AssistantTurn)
        for call in item.calls
    ]
    answered = [
        (place - 1, result.call_id)
        for place, item in enumerate(left)
        if isinstance(item, ToolTurn)
        for result in item.results
    ]
    assert asked == answered


@given(SIZES, LIMITS)
def test_what_comes_after_the_prune_point_is_untouched(
    sizes: list[int | None], limit: int
) -> None:
    """Behind the prune point the model reads exactly what the record holds."""
    items = a_transcript(sizes)
    place = find_prune_point(items, limit)

    assert (
        apply_view(items, TranscriptView(pruned_before=place), limit)[
            -len(items[place:]) or len(items) :
        ]
        == items[place:]
    )


@given(SIZES, LIMITS)
def test_old_turns_fit_into_a_quarter(sizes: list[int | None], limit: int) -> None:
    """What is shown from before the prune point takes a quarter of the room, words apart."""
    # PI-05
    items = a_transcript(sizes)
    place = find_prune_point(items, limit)

    left = apply_view(items, TranscriptView(pruned_before=place), limit)

    old = without_words(left)[: len(without_words(left)) - len(without_words(items[place:]))]
    assert place == 0 or total_size(old) <= limit // 4


def test_an_answer_outlives_its_turn() -> None:
    """What a person answered is said again with its question, in its place among other words."""
    # BT-05 BY-22
    goal, first, *turn, last = a_transcript([None, 200, None])
    items = (goal, first, *question(), *turn, last)

    left = apply_view(items, TranscriptView(pruned_before=len(items)), 0)

    notice = UserTurn(text="(Earlier turns are left out here.)", origin="notice")
    assert left == (goal, first, ANSWERED, last, notice)


def test_an_answer_is_no_stub() -> None:
    """Where older results give way, words of a person stay whole."""
    # BY-22
    goal, *turn = a_transcript([3000])
    asked = question("x" * 3000)

    left = apply_view((goal, *asked, *turn), TranscriptView(pruned_before=5), 100_000)

    assert left[1:3] == asked
    assert total_size(left[3:]) < 1000


def test_an_answer_outlives_a_summary() -> None:
    """It is said again beside the summary, with its question, and the latest turn is whole."""
    # BY-22
    goal, *turns = a_transcript([10, 20, 30])
    items = (goal, *turns[:2], *question(), *turns[2:])

    left = apply_view(items, TranscriptView(summary="One is done.", summarised_before=7), 100_000)

    assert left[:2] == (goal, ANSWERED)
    assert "One is done." in str(left[2])
    assert left[3:] == items[7:]


@pytest.mark.parametrize("summary", ["", "One is done."], ids=["pruned", "summarised"])
def test_an_answer_is_carried_once(summary: str) -> None:
    """A run that goes on in a new execution, and again, says an answer neither twice nor never."""
    # BT-05 BY-22
    goal, *turn = a_transcript([10])
    items = (goal, *question(), *turn)
    seen = TranscriptView(pruned_before=3, summary=summary, summarised_before=3 if summary else 0)

    begun, fresh = carry_over(items, seen, 0)

    assert begun[:2] == (goal, ANSWERED)
    assert carry_over(begun, fresh, 0) == (begun, fresh)
    assert apply_view(begun, fresh, 0) == apply_view(items, seen, 0)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        pytest.param(question(None), [], id="nobody answered"),
        pytest.param(
            question("no", "Do\nyou  agree?"),
            ['"Do you agree?", a person answered: no'],
            id="lines",
        ),
        pytest.param(
            question("no", 'x", a person answered: yes'),
            ['"x\\", a person answered: yes", a person answered: no'],
            id="a question that pretends",
        ),
        pytest.param(
            (*question("one"), *question("two", "And then?")),
            [
                '"Which one?", a person answered: one',
                '"And then?", a person answered: two',
            ],
            id="the same call id again",
        ),
        pytest.param(
            (
                AssistantTurn(model=MODEL, calls=(a_call("look", "l1", question="Which?"),)),
                ToolTurn(results=(a_success(a_call("look", "l1"), {"answer": "this"}),)),
            ),
            [],
            id="another tool",
        ),
        pytest.param(
            (question()[0], ToolTurn(results=(a_success(a_call("ask_user", "q1"), "this"),))),
            [],
            id="a tool of the same name",
        ),
        pytest.param(question()[1:], [], id="results alone"),
    ],
)
def test_an_answer_names_its_question(items: tuple[TranscriptItem, ...], said: list[str]) -> None:
    """Only what a person answered lasts, and no question passes for an answer."""
    # BY-22
    assert [turn.text.removeprefix("Asked ") for turn in select_lasting(items)] == said


def test_several_answers_of_one_turn_last() -> None:
    """Each answer has its own question, and what else the turn did is left out."""
    turns = [question(call_id=f"q{at}", question=f"{at}?", answer=f"a{at}") for at in (1, 2)]
    look = a_call()
    calls = (*(call for asked, _ in turns for call in asked.calls), look)
    results = (*(one for _, told in turns for one in told.results), a_success(look))
    items = (AssistantTurn(model=MODEL, calls=calls), ToolTurn(results=results))

    assert [turn.text for turn in select_lasting(items)] == [
        'Asked "1?", a person answered: a1',
        'Asked "2?", a person answered: a2',
    ]


def test_of_a_long_question_both_ends_stay() -> None:
    """What was asked for may stand at its end, so the middle goes; the answer stays whole."""
    long = f"Here is my plan. {'x' * 4000} Do you agree?"
    (turn,) = select_lasting(question("no " * 2000, long))

    asked, _, told = turn.text.partition(", a person answered: ")
    assert asked.startswith('Asked "Here is my plan. xx')
    assert asked.endswith('xx Do you agree?"')
    assert len(asked) < MAX_KEPT_QUESTION_CHARS + 20
    assert told == "no " * 2000


def test_of_an_answer_that_was_too_large_its_beginning_lasts() -> None:
    """A result beyond what a turn may hold is a stub from the start; that says how it began."""
    asked, told = question("the blue one")

    (turn,) = select_lasting((asked, ToolTurn(results=tuple(map(stub, told.results)))))

    assert "a person answered: left out by now; it began: " in turn.text
    assert "the blue one" in turn.text


def test_a_long_failure_gives_way_like_a_turn() -> None:
    """A reason isn't stubbed, but the turn that it belongs to can be left out."""
    call = a_call()
    failure = ToolFailure(
        status="error", call_id="c1", name="look", type="internal_error", reason="x" * 5000
    )
    items = (
        UserTurn(text="go"),
        AssistantTurn(model="scripted:it", calls=(call,)),
        ToolTurn(results=(failure,)),
    )

    assert total_size(apply_view(items, TranscriptView(pruned_before=3), 8000)) < 1000
