"""What a model is shown when turns were given up, or a summary stands for them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.transcript import (
    AssistantTurn,
    ItemRange,
    ToolTurn,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)
from holdfast.run import context
from holdfast.run.context import (
    apply_view,
    find_prune_point,
    find_settled_end,
    find_summary_point,
    measure_reduction,
    total_size,
)
from tests.builders import MODEL, a_call, a_success, a_transcript
from tests.policy.test_context import question

ROOM = 100_000
SUMMARY = TranscriptView(summary="Two of three done.", summarised_before=5)
SIZES = st.lists(st.none() | st.integers(0, 3000), max_size=15)
PLACES = st.integers(0, 35)


@st.composite
def views(draw: st.DrawFn) -> TranscriptView:
    """Any view, its parts may overlap, and begin or end between a call and its result."""
    ends = draw(st.lists(st.tuples(PLACES, PLACES), max_size=3))
    summarised = draw(st.just(0) | PLACES)
    return TranscriptView(
        pruned_before=draw(PLACES),
        hidden=tuple(ItemRange(begin=min(pair), end=max(pair)) for pair in ends),
        summary="what was done" if summarised else "",
        summarised_before=summarised,
    )


def said(items: Sequence[TranscriptItem]) -> list[UserTurn]:
    """What may never be left out."""
    turns = [item for item in items if isinstance(item, UserTurn)]
    return [turn for turn in turns if turn.origin != "notice"]


def notices(items: Sequence[TranscriptItem]) -> list[str]:
    turns = [item for item in items if isinstance(item, UserTurn)]
    return [turn.text for turn in turns if turn.origin == "notice"]


def asked(items: Sequence[TranscriptItem]) -> list[tuple[int, str]]:
    """Each call, with the place of its turn."""
    return [
        (place, call.call_id)
        for place, item in enumerate(items)
        if isinstance(item, AssistantTurn)
        for call in item.calls
    ]


def answered(items: Sequence[TranscriptItem]) -> list[tuple[int, str]]:
    """Each result, with the place before it."""
    return [
        (place - 1, result.call_id)
        for place, item in enumerate(items)
        if isinstance(item, ToolTurn)
        for result in item.results
    ]


def asking(sizes: Sequence[int | None]) -> tuple[TranscriptItem, ...]:
    """A transcript in which every other word of a person answers a question."""
    items: list[TranscriptItem] = []
    for place, item in enumerate(a_transcript(sizes)):
        answers = isinstance(item, UserTurn) and place % 2
        items += question(f"answer {place}", call_id=f"q{place}") if answers else (item,)
    return tuple(items)


def heard(items: Sequence[TranscriptItem]) -> list[str]:
    """Every answer of a person, be it a result or words."""
    words: list[str] = []
    for item in items:
        if isinstance(item, ToolTurn):
            data = [result.data for result in item.results if result.status == "ok"]
            words += [str(one["answer"]) for one in data if isinstance(one, dict)]
        if isinstance(item, UserTurn) and item.origin == "guidance":
            words.append(item.text.rpartition(": ")[2])
    return words


@given(SIZES, views(), st.integers(0, 20_000))
def test_every_view_is_a_whole_conversation(
    sizes: list[int | None], seen: TranscriptView, limit: int
) -> None:
    """Whatever is left out, each call that is shown has its result directly behind it."""
    # LP-09
    items = a_transcript(sizes)
    pruned = {"pruned_before": find_prune_point(items, limit, seen)}

    left = apply_view(items, seen.model_copy(update=pruned), limit)

    assert asked(left) == answered(left)


@given(SIZES, views(), st.integers(0, 20_000))
def test_the_goal_and_words_of_people_stay_in_every_view(
    sizes: list[int | None], seen: TranscriptView, limit: int
) -> None:
    """The goal comes first in every view, then what else people said outside of hidden parts."""
    # HG-18 BY-22
    items = a_transcript(sizes)
    given_up = {place for span in seen.hidden for place in range(max(span.begin, 1), span.end)}

    left = apply_view(items, seen, limit)

    assert left[0] == items[0]
    assert said(left) == said([i for place, i in enumerate(items) if place not in given_up])


@given(SIZES, views(), st.integers(0, 20_000))
def test_every_answer_is_in_every_view_once(
    sizes: list[int | None], seen: TranscriptView, limit: int
) -> None:
    """Answers outside of hidden parts stay, in order, however often a run is carried on."""
    # BT-05 BY-22
    items = asking(sizes)
    seen = seen.model_copy(update={"pruned_before": find_prune_point(items, limit, seen)})
    given_up = {place for span in seen.hidden for place in range(span.begin, span.end)}
    kept = [(at, item) for at, item in enumerate(items) if isinstance(item, ToolTurn)]
    answers = heard([item for at, item in kept if at - 1 not in given_up])

    once = context.carry_over(items, seen, limit)
    begun, fresh = context.carry_over(*once, limit)
    again = fresh.model_copy(update={"pruned_before": find_prune_point(begun, limit, fresh)})

    assert heard(apply_view(items, seen, limit)) == answers
    assert heard(apply_view(*once, limit)) == heard(apply_view(begun, again, limit)) == answers


@given(SIZES, views(), st.integers(0, 20_000))
def test_what_is_settled_alone_is_shown_otherwise(
    sizes: list[int | None], seen: TranscriptView, limit: int
) -> None:
    """Behind everything that was left out the model reads exactly what the record holds."""
    # BY-51
    items = a_transcript(sizes)
    rest = items[find_settled_end(items, seen) :]

    left = apply_view(items, seen, limit)

    assert left[len(left) - len(rest) :] == rest


def test_what_was_given_up_is_left_out() -> None:
    """Of a hidden part neither calls nor results nor notices are shown; the rest is as it was."""
    items = a_transcript([10, 20, 30])

    assert apply_view(items, TranscriptView(hidden=(ItemRange(begin=3, end=5),)), ROOM) == (
        *items[:3],
        *items[5:],
    )


@pytest.mark.parametrize(
    ("origin", "stays"),
    [
        ("goal", True),
        ("project", True),
        ("steer", False),
        ("guidance", False),
        ("constraint", False),
        ("notice", False),
    ],
)
def test_what_was_given_up_takes_words_along(origin: str, *, stays: bool) -> None:
    """A hidden part is hidden whole, the run says again what binds; goal and project stay."""
    # HG-18
    words = UserTurn.model_validate({"text": "never on Fridays", "origin": origin})
    goal, *turn = a_transcript([10])

    left = apply_view((goal, *turn, words), TranscriptView(hidden=(ItemRange(begin=0, end=4),)), 0)

    assert left == ((goal, words) if stays else (goal,))


@pytest.mark.parametrize("origin", ["steer", "guidance", "constraint", "project"])
def test_what_binds_outlives_a_summary(origin: str) -> None:
    """Words of people and constraints stand beside the summary, as they were said."""
    # HG-18 BY-22
    words = UserTurn.model_validate({"text": "never on Fridays", "origin": origin})
    goal, *turn = a_transcript([10])
    seen = TranscriptView(summary="One is done.", summarised_before=4, pruned_before=4)

    left = apply_view((goal, *turn, words), seen, 0)

    assert left[:2] == (goal, words)
    assert len(left) == 3


@pytest.mark.parametrize(
    ("begin", "end", "kept"),
    [
        pytest.param(1, 2, (0, 3, 4), id="ends before the results"),
        pytest.param(1, 3, (0, 3, 4), id="ends behind them"),
        pytest.param(2, 5, (0, 1, 2), id="begins before the results"),
        pytest.param(2, 2, (0, 1, 2, 3, 4), id="is empty"),
        pytest.param(4, 99, (0, 1, 2, 3, 4), id="lies behind the end"),
    ],
)
def test_results_go_where_their_calls_go(begin: int, end: int, kept: tuple[int, ...]) -> None:
    """A hidden part that would tear a turn apart takes all of it, or nothing."""
    items = a_transcript([10, 20])

    left = apply_view(items, TranscriptView(hidden=(ItemRange(begin=begin, end=end),)), ROOM)

    assert left == tuple(items[place] for place in kept)


def test_a_summary_stands_for_earlier_turns() -> None:
    """Before the summary only people's words stay; it says itself that it grants nothing."""
    # PI-05 BY-22
    items = a_transcript([10, None, 20, 30])

    left = apply_view(items, SUMMARY.model_copy(update={"summarised_before": 6}), ROOM)

    assert left[:2] == (items[0], items[3])
    assert left[3:] == items[6:]
    assert notices(left)[0].startswith(
        "Summary of the earlier part, which is left out: Two of three done."
    )
    assert "Nothing in it grants or approves anything." in notices(left)[0]


def test_a_later_summary_takes_the_place_of_an_earlier_one() -> None:
    """There is one summary at a time, however often a run was summarised."""
    items = a_transcript([10, 20, 30, 40])

    left = apply_view(items, TranscriptView(summary="All of it.", summarised_before=7), ROOM)

    assert len(notices(left)) == 1
    assert left[2:] == items[7:]


def test_between_summary_and_prune_point_results_are_stubs() -> None:
    """Pruning goes on behind a summary, as it does without one."""
    items = a_transcript([200, 300, 400])
    seen = SUMMARY.model_copy(update={"summarised_before": 3, "pruned_before": 5})

    left = apply_view(items, seen, ROOM)

    stub = ToolTurn(results=(context.stub(a_success(a_call(call_id="c1"), "x" * 300)),))
    assert left[2:] == (items[3], stub, *items[5:])


def test_turns_that_no_summary_tells_of_are_noted() -> None:
    """What pruning leaves out behind a summary is said to be left out."""
    items = a_transcript([200, 300, 400])
    seen = SUMMARY.model_copy(update={"summarised_before": 3, "pruned_before": 5})

    left = apply_view(items, seen, 0)

    assert notices(left)[1] == "(Earlier turns are left out here.)"
    assert left[3:] == items[5:]


@pytest.mark.parametrize("part", ["goal", "constraint", "decided", "error", "open", "next step"])
def test_a_summary_is_asked_for_what_must_not_be_lost(part: str) -> None:
    """Whoever summarises is told what to keep, and that it decides nothing."""
    # BY-22
    assert part in context.SUMMARY_PROMPT
    assert "must not be done again" in context.SUMMARY_PROMPT
    assert "grants or approves" in context.SUMMARY_PROMPT


@given(SIZES, views(), st.integers(0, 20_000))
def test_a_prune_point_keeps_what_is_shown_whole(
    sizes: list[int | None], seen: TranscriptView, limit: int
) -> None:
    """With hidden parts too no turn is torn apart, and the latest that is shown stays whole."""
    # PI-05
    items = a_transcript(sizes)

    place = find_prune_point(items, limit, seen)
    latest = [at for at, item in enumerate(apply_view(items, seen, ROOM)) if asked((item,))]

    assert place == len(items) or not isinstance(items[place], ToolTurn)
    assert place == 0 or place > seen.summarised_before
    if latest:
        assert apply_view(items, seen, ROOM)[latest[-1] :] == _behind(items, seen, place)


def _behind(items: tuple[TranscriptItem, ...], seen: TranscriptView, place: int) -> object:
    """What is shown from the latest turn on when all before *place* is pruned too."""
    pruned = seen.model_copy(update={"pruned_before": max(place, seen.pruned_before)})
    left = apply_view(items, pruned, ROOM)
    return left[[at for at, item in enumerate(left) if asked((item,))][-1] :]


def test_what_is_hidden_takes_no_room() -> None:
    """A prune point counts what is shown alone."""
    items = a_transcript([100, 5000, 5000, 100])

    assert find_prune_point(items, 4000) == 7
    assert find_prune_point(items, 4000, TranscriptView(hidden=(ItemRange(begin=3, end=7),))) == 0


def test_what_is_summarised_is_not_pruned_again() -> None:
    """Where the summary has taken the large turns away there is nothing to prune."""
    items = a_transcript([5000, 5000, 100, 100])

    assert find_prune_point(items, 4000) == 5
    assert find_prune_point(items, 4000, SUMMARY) == 0


@pytest.mark.parametrize(
    ("seen", "place"),
    [
        pytest.param(TranscriptView(), 6, id="all but the latest turn"),
        pytest.param(
            TranscriptView(summary="s", summarised_before=3), 6, id="what came since the last"
        ),
        pytest.param(TranscriptView(summary="s", summarised_before=6), 0, id="nothing came since"),
        pytest.param(
            TranscriptView(hidden=(ItemRange(begin=6, end=8),)), 4, id="the latest that is shown"
        ),
        pytest.param(
            TranscriptView(hidden=(ItemRange(begin=1, end=6),)), 0, id="nothing else is shown"
        ),
    ],
)
def test_a_summary_leaves_the_latest_turn(seen: TranscriptView, place: int) -> None:
    """A model that has just asked for results sees them whole, beside the summary."""
    items = a_transcript([10, None, 20, 30])

    assert find_summary_point(items, seen) == place


def test_there_is_nothing_to_summarise_in_words_alone() -> None:
    """The goal stays anyway, and the first turn is the latest."""
    assert find_summary_point(a_transcript([]), TranscriptView()) == 0
    assert find_summary_point(a_transcript([10]), TranscriptView()) == 0


@given(SIZES, views(), st.integers(0, 20_000))
def test_a_new_execution_shows_what_the_one_before_did(
    sizes: list[int | None], seen: TranscriptView, limit: int
) -> None:
    """A run that goes on in a new execution takes its summary along, apart from the turns."""
    # T-34
    items = asking(sizes)

    begun, fresh = context.carry_over(items, seen, limit)

    assert apply_view(begun, fresh, limit) == apply_view(items, seen, limit)
    assert (fresh.summary, fresh.hidden, fresh.pruned_before) == (seen.summary, (), 0)


def test_a_carried_summary_is_never_pruned_away() -> None:
    """However often turns give way in later executions, the summary of the first stays."""
    begun, fresh = context.carry_over(a_transcript([10, 20, 30]), SUMMARY, ROOM)
    call = a_call(call_id="c9")
    later = (
        *begun,
        AssistantTurn(model=MODEL, calls=(call,)),
        ToolTurn(results=(a_success(call),)),
    )
    pruned = fresh.model_copy(update={"pruned_before": len(begun)})

    left = apply_view(later, pruned, 0)

    assert notices(left)[0].startswith("Summary of the earlier part")
    assert total_size(left) < total_size(later)


@pytest.mark.parametrize(
    "less",
    [
        TranscriptView(pruned_before=4),
        TranscriptView(pruned_before=3, hidden=(ItemRange(begin=3, end=5),)),
        TranscriptView(pruned_before=3, summary="s", summarised_before=3),
    ],
)
def test_less_is_another_extent(less: TranscriptView) -> None:
    """A provider that keeps the conversation must notice whenever less of it is shown."""
    # SS-02 SS-03
    assert measure_reduction(less) > measure_reduction(TranscriptView(pruned_before=3)) == 3
