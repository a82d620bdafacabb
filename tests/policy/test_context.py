"""How much of a transcript a model is shown: old results give way first, then old turns."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contracts.tools import ArtifactRef, ToolFailure, ToolResult, ToolSuccess
from contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn, View
from policy.context import prune_point, shown, size, stub, total
from tests.builders import a_call, a_failure, a_success, a_transcript

# A call with its result takes about 330 bytes of JSON, and the size of the result on top.
SIZES = st.lists(st.none() | st.integers(0, 3000), max_size=20)
LIMITS = st.integers(0, 20_000)


def words(items: Sequence[TranscriptItem]) -> list[str]:
    """What people said, without notices."""
    said = [item for item in items if isinstance(item, UserTurn)]
    return [turn.text for turn in said if turn.origin != "notice"]


def without_words(items: Sequence[TranscriptItem]) -> tuple[TranscriptItem, ...]:
    return tuple(item for item in items if not isinstance(item, UserTurn))


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
    assert total((item, item)) == 2 * len(bytes_)


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

    assert shown(items, View(pruned_before=0), 100) == items


def test_results_give_way_first() -> None:
    """Before the prune point results are stubs; calls and words stay."""
    items = a_transcript([200, None, 300])

    left = shown(items, View(pruned_before=4), 100_000)

    old = ToolTurn(results=(stub(a_success(a_call(call_id="c0"), "x" * 200)),))
    assert left == (items[0], items[1], old, items[3], *items[4:])


def test_then_old_turns_give_way() -> None:
    """What still doesn't fit is left out, but not what people said; a notice says so."""
    items = a_transcript([200, None, 200, 200])

    left = shown(items, View(pruned_before=6), 0)

    notice = UserTurn(text="(Earlier turns are left out here.)", origin="notice")
    assert left == (items[0], items[3], notice, *items[6:])


@given(SIZES, LIMITS)
def test_the_prune_point_leaves_turns_whole(sizes: list[int | None], limit: int) -> None:
    """No part begins with results: they stay with the turn that asked for them."""
    items = a_transcript(sizes)

    place = prune_point(items, limit)

    assert place == len(items) or not isinstance(items[place], ToolTurn)


@given(SIZES, LIMITS)
@example([3000], 1000)
def test_the_latest_turn_is_never_pruned(sizes: list[int | None], limit: int) -> None:
    """A model always sees the results of what it asked for last, however large they are."""
    # PI-05
    items = a_transcript(sizes)

    assert prune_point(items, limit) <= latest_turn(items)


@given(SIZES, LIMITS)
def test_what_is_left_whole_fits_into_half(sizes: list[int | None], limit: int) -> None:
    """Behind the prune point stands as much as fits into half of the room, or the last turn."""
    items = a_transcript(sizes)

    place = prune_point(items, limit)

    if 0 < place < latest_turn(items):
        assert total(items[place:]) <= limit // 2


@given(SIZES, st.none() | st.integers(0, 3000), LIMITS)
def test_the_prune_point_never_goes_back(
    sizes: list[int | None], more: int | None, limit: int
) -> None:
    """What was pruned once isn't whole again when the transcript has grown."""
    items = a_transcript(sizes)
    grown = a_transcript([*sizes, more])

    assert prune_point(grown, limit) >= prune_point(items, limit)


@given(SIZES, LIMITS)
def test_words_of_people_always_stay(sizes: list[int | None], limit: int) -> None:
    """The goal comes first in every view, then whatever else people said, in order."""  # HG-18
    items = a_transcript(sizes)

    left = shown(items, View(pruned_before=prune_point(items, limit)), limit)

    assert left[0] == items[0]
    assert words(left) == words(items)


@given(SIZES, LIMITS)
def test_what_is_shown_is_a_whole_conversation(sizes: list[int | None], limit: int) -> None:
    """In every view each call has its result directly behind it, and no result is alone."""
    # LP-09
    items = a_transcript(sizes)

    left = shown(items, View(pruned_before=prune_point(items, limit)), limit)

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
    place = prune_point(items, limit)

    assert (
        shown(items, View(pruned_before=place), limit)[-len(items[place:]) or len(items) :]
        == items[place:]
    )


@given(SIZES, LIMITS)
def test_old_turns_fit_into_a_quarter(sizes: list[int | None], limit: int) -> None:
    """What is shown from before the prune point takes a quarter of the room, words apart."""
    # PI-05
    items = a_transcript(sizes)
    place = prune_point(items, limit)

    left = shown(items, View(pruned_before=place), limit)

    old = without_words(left)[: len(without_words(left)) - len(without_words(items[place:]))]
    assert place == 0 or total(old) <= limit // 4


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

    assert total(shown(items, View(pruned_before=3), 8000)) < 1000
