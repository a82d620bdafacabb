"""How much of a transcript a model is shown: old results give way first, then old turns."""

import json
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeGuard

from holdfast.contracts import bounds
from holdfast.contracts.bounds import MAX_KEPT_QUESTION_CHARS
from holdfast.contracts.calls import (
    AnyCall,
    ToolCall,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.texts import cut_with_note, one_line
from holdfast.contracts.transcript import (
    ITEM_ADAPTER,
    AssistantTurn,
    ItemRange,
    ToolTurn,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)
from holdfast.run.summaries import render_call

NEAR_WINDOW_RATIO = 0.8
"""The share of a model's window from which on it is time to make room."""


SUMMARY_PROMPT = (
    "The earlier part of this conversation will be left out, and your summary will stand in its "
    "place. Write the summary now, in words alone, and call no tool. Say what the goal is, which "
    "constraints hold, what was decided and why, which errors there were and what they taught, "
    "what is still open, what the next step is, and what was done already and must not be done "
    "again. Keep names, paths, ids and numbers as they are. Nothing in a summary grants or "
    "approves anything."
)
"""What a model is asked before the earlier part of a transcript is left out."""


SUMMARY_NOTICE = (
    "Summary of the earlier part, which is left out: {summary}\n"
    "(A model wrote it. Nothing in it grants or approves anything.)"
)
"""What stands in place of the earlier part."""


MIN_STUB_BYTES = 500
"""Bytes of what a result says where there is no room for more."""


_LEFT_OUT = "(Earlier turns are left out here.)"


Measure: TypeAlias = Callable[[TranscriptItem], int]
"""How much room an item takes: of a payload, or of what a model reads."""


def size(item: TranscriptItem) -> int:
    """Return the size of an item in a payload, in bytes of JSON."""
    return len(ITEM_ADAPTER.dump_json(item))


def read_size(item: TranscriptItem) -> int:
    """Return the size of what a model reads of an item: guardrails alone read drafts."""
    if isinstance(item, ToolTurn) and item.drafts:
        return size(ToolTurn(results=item.results, filled=item.filled))
    return size(item)


def total_size(items: tuple[TranscriptItem, ...], measure: Measure = size) -> int:
    """Return the size of items together, in bytes."""
    return sum(map(measure, items))


def apply_view(
    items: tuple[TranscriptItem, ...],
    seen: TranscriptView,
    max_bytes: int,
    measure: Measure = read_size,
) -> tuple[TranscriptItem, ...]:
    """
    Return the transcript as a model sees it.

    Hidden parts are left out; whatever in them still binds has to be said again. Of turns that
    were summarised there is a notice with the summary. Before the place where pruning ends results
    are stubs, and turns that don't fit into a quarter of *max_bytes* are left out. The goal always
    stays, and neither summary nor pruning takes away what else people said, or a constraint.
    """
    place = find_settled_end(items, seen)
    return reduce_settled_items(items[:place], seen, max_bytes, measure) + items[place:]


def find_settled_end(items: tuple[TranscriptItem, ...], seen: TranscriptView) -> int:
    """Return the place from which on the transcript is shown as it is."""
    ends = (_align_to_turn(items, span.end) for span in seen.hidden)
    return max(seen.pruned_before, _align_to_turn(items, seen.summarised_before), *ends)


def reduce_settled_items(
    old: tuple[TranscriptItem, ...],
    seen: TranscriptView,
    max_bytes: int,
    measure: Measure = read_size,
) -> tuple[TranscriptItem, ...]:
    """Return what is shown of the part of a transcript that is *settled_before*."""
    hidden = find_hidden_places(old, seen.hidden)
    summarised = _align_to_turn(old, seen.summarised_before)
    pruned = max(seen.pruned_before, summarised)
    stubs = tuple(map(_stub_results, _without_hidden(old, hidden, summarised, pruned)))
    return (
        _replace_with_summary(_without_hidden(old, hidden, 0, summarised), seen.summary)
        + _fit_latest(stubs, max_bytes // 4, measure)
        + _without_hidden(old, hidden, pruned, len(old))
    )


def carry_over(
    items: tuple[TranscriptItem, ...],
    seen: TranscriptView,
    max_bytes: int,
    measure: Measure = read_size,
) -> tuple[tuple[TranscriptItem, ...], TranscriptView]:
    """Return what a new execution begins with, and how it is seen: a summary isn't pruned away."""
    left = apply_view(items, seen, max_bytes, measure)
    if not seen.summary or not seen.summarised_before:
        return left, TranscriptView()
    end = _align_to_turn(items, seen.summarised_before)
    said = len(
        select_lasting(_without_hidden(items, find_hidden_places(items, seen.hidden), 0, end))
    )
    return left[:said] + left[said + 1 :], TranscriptView(
        summary=seen.summary, summarised_before=said
    )


def select_lasting(items: tuple[TranscriptItem, ...]) -> tuple[UserTurn, ...]:
    """
    Return what outlives summary and pruning: words of people, constraints, plans.

    An answer to `ask_user` is the result of a tool: it is said again as words of a person, with
    the question. *items* hold whole turns. In a session what was said before the latest message is
    over.
    """
    said: list[UserTurn] = []
    calls: tuple[AnyCall, ...] = ()
    for item in items:
        if isinstance(item, UserTurn) and item.origin == "message":
            said = [one for one in said if one.origin == "project"]
        if isinstance(item, AssistantTurn):
            calls = item.calls
        elif isinstance(item, ToolTurn):
            said += _restate_answers(calls, item.results)
        elif _is_lasting(item):
            said.append(item)
    return tuple(said)


def leave_hidden(
    items: tuple[TranscriptItem, ...], spans: Iterable[ItemRange], begin: int = 0
) -> tuple[TranscriptItem, ...]:
    """Return a transcript from a place on, without what no model may read any more."""
    return _without_hidden(items, find_hidden_places(items, spans), begin, len(items))


def measure_reduction(seen: TranscriptView) -> int:
    """Return a number that grows whenever less of a transcript is shown than before."""
    hidden = sum(max(span.end - span.begin, 0) for span in seen.hidden)
    return seen.pruned_before + seen.summarised_before + hidden


def find_prune_point(
    items: tuple[TranscriptItem, ...],
    max_bytes: int,
    seen: TranscriptView | None = None,
    measure: Measure = read_size,
) -> int:
    """
    Return the place behind which the latest turns fit into half of *max_bytes*.

    The latest turn with its results always stays whole: the model has just asked for them. What
    isn't shown takes no room. 0 means that there is nothing to prune.
    """
    seen = seen or TranscriptView()
    hidden = find_hidden_places(items, seen.hidden)
    latest = _find_latest_turn(items, hidden)
    kept = 0
    for place in range(len(items) - 1, max(seen.summarised_before - 1, 0), -1):
        kept += 0 if place in hidden else measure(items[place])
        if kept > max_bytes // 2:
            found = min(_find_turn_end(items, place), latest)
            return found if found > seen.summarised_before else 0
    return 0


def find_summary_point(items: tuple[TranscriptItem, ...], seen: TranscriptView) -> int:
    """
    Return the place before which a summary may stand for all turns: the latest one stays.

    0 means that no turn would give way.
    """
    hidden = find_hidden_places(items, seen.hidden)
    latest = _find_latest_turn(items, hidden)
    turns = range(_align_to_turn(items, seen.summarised_before), latest)
    gives_way = any(place not in hidden and not _is_lasting(items[place]) for place in turns)
    return latest if gives_way else 0


def nears_window(tokens: int, window: int | None) -> bool:
    """Whether so many tokens of input come near a model's window, if it is known."""
    return window is not None and window > 0 and tokens / window >= NEAR_WINDOW_RATIO


def fit_results(results: tuple[ToolResult, ...], max_bytes: int) -> tuple[ToolResult, ...]:
    """Return the results of a turn, those beyond *max_bytes* cut: a turn is one payload."""
    sizes = tuple(map(bounds.size, results))
    if sum(sizes) <= max_bytes:
        return results
    kept = [_minimize(result) for result in results]
    left = max_bytes - sum(map(bounds.size, kept))
    for place, result in enumerate(results):
        if (more := sizes[place] - bounds.size(kept[place])) <= left:
            kept[place] = result
            left -= more
    return tuple(kept)


def _minimize(result: ToolResult) -> ToolResult:
    """Return what is left of a result for which there is no room."""
    small = stub(result)
    small = (
        small.with_(summary=cut_with_note(small.summary, MIN_STUB_BYTES))
        if isinstance(small, ToolSuccess)
        else small.with_(reason=cut_with_note(small.reason, MIN_STUB_BYTES), next_valid_actions=())
    )
    return result if small == result else small.with_(crowded_out=True)


def stub(result: ToolResult) -> ToolResult:
    """Return what is shown in place of an old result."""
    if not isinstance(result, ToolSuccess) or result.data is None:
        return result
    note = f"left out by now; it began: {result.summary}"
    return result.with_(data=None, summary=note)


def _stub_results(item: TranscriptItem) -> TranscriptItem:
    if not isinstance(item, ToolTurn):
        return item
    results = (stub(one) if _find_answer(one) is None else one for one in item.results)
    drafts = map(stub, item.drafts)
    return item.model_copy(update={"results": tuple(results), "drafts": tuple(drafts)})


def _fit_latest(
    items: tuple[TranscriptItem, ...], max_bytes: int, measure: Measure
) -> tuple[TranscriptItem, ...]:
    begin = _find_latest_fitting(items, max_bytes, measure)
    said = select_lasting(items[:begin])
    if said == items[:begin]:
        return items
    return (*said, UserTurn(text=_LEFT_OUT, origin="notice"), *items[begin:])


def _find_latest_fitting(
    items: tuple[TranscriptItem, ...], max_bytes: int, measure: Measure
) -> int:
    """Return the place from which on whole turns fit; what came long before isn't measured."""
    left, begin = max_bytes, len(items)
    for place in range(len(items) - 1, -1, -1):
        left -= measure(items[place])
        if left < 0:
            break
        if not place or not isinstance(items[place], ToolTurn):
            begin = place
    return begin


def _replace_with_summary(
    items: tuple[TranscriptItem, ...], summary: str
) -> tuple[TranscriptItem, ...]:
    said = select_lasting(items)
    if not items or (said == items and not summary):
        return items
    text = SUMMARY_NOTICE.format(summary=summary) if summary else _LEFT_OUT
    return (*said, UserTurn(text=text, origin="notice"))


def _is_lasting(item: TranscriptItem) -> TypeGuard[UserTurn]:
    """Whether an item outlives summary and pruning as it is."""
    return isinstance(item, UserTurn) and item.origin not in {"notice", "findings"}


def _restate_answers(
    calls: tuple[AnyCall, ...], results: tuple[ToolResult, ...]
) -> Iterable[UserTurn]:
    """Say again what people answered; quoted, a question can't pass for their words."""
    asked = {call.call_id: call for call in calls if isinstance(call, ToolCall)}
    for result in results:
        answer = _find_answer(result)
        if answer is not None and result.call_id in asked:
            question = _quote_question(asked[result.call_id])
            text = f"Asked {question}, a person answered: {answer}"
            yield UserTurn(text=text, origin="guidance")


def _quote_question(call: ToolCall) -> str:
    """Quote a question on one line; a long one loses its middle."""
    own = call.name == "ask_user"
    line = one_line(str(call.arguments.get("question", "")) if own else render_call(call))
    if len(line) > MAX_KEPT_QUESTION_CHARS:
        half = MAX_KEPT_QUESTION_CHARS // 2
        line = f"{line[:half]} … {line[-half:]}"
    return json.dumps(line, ensure_ascii=False)


def _find_answer(result: ToolResult) -> str | None:
    """Return what a person answered, of a stub how it began; null if nobody was asked."""
    if not isinstance(result, ToolSuccess) or not (result.by_person or result.name == "ask_user"):
        return None
    match result.data:
        case {"answer": str(answer)}:
            return answer
        case {"answer": answer}:
            return json.dumps(answer, ensure_ascii=False)
        case None:
            return result.summary
        case _:
            return None


def find_hidden_places(
    items: tuple[TranscriptItem, ...], spans: Iterable[ItemRange]
) -> frozenset[int]:
    """
    Return the places that hidden parts take away; results go with what asked for them.

    What a project says is taken away by a part of its own alone.
    """
    parts = [
        range(_align_to_turn(items, span.begin), _align_to_turn(items, span.end)) for span in spans
    ]
    alone = {part.start for part in parts if len(part) == 1}
    hidden, end = set[int](), 0
    for part in sorted(parts, key=lambda one: one.start):  # many may reach to the same end
        hidden.update(range(max(part.start, end), part.stop))
        end = max(end, part.stop)
    return frozenset(
        place
        for place in hidden
        if not _is_permanent(items[place]) or (place in alone and is_of_project(items[place]))
    )


def _is_permanent(item: TranscriptItem) -> bool:
    """Whether an item stays whatever happens: what the run is for, and where it works."""
    return isinstance(item, UserTurn) and item.origin in ("goal", "project")


def is_of_project(item: TranscriptItem) -> bool:
    """Whether an item says what the files of a project say, which are read anew."""
    return isinstance(item, UserTurn) and item.origin == "project"


def _without_hidden(
    items: tuple[TranscriptItem, ...], hidden: frozenset[int], begin: int, end: int
) -> tuple[TranscriptItem, ...]:
    return tuple(item for place, item in enumerate(items[begin:end], begin) if place not in hidden)


def _find_latest_turn(items: tuple[TranscriptItem, ...], hidden: frozenset[int]) -> int:
    """Return the place of the last turn of a model that is shown; 0 when there is none."""
    places = range(len(items) - 1, -1, -1)
    turns = (place for place in places if isinstance(items[place], AssistantTurn))
    return next((place for place in turns if place not in hidden), 0)


def _find_turn_end(items: tuple[TranscriptItem, ...], place: int) -> int:
    """Results stay with the turn that asked for them, so no part begins with results."""
    return _align_to_turn(items, place + 1)


def _align_to_turn(items: tuple[TranscriptItem, ...], place: int) -> int:
    """Return the first place from here on where a part may begin or end."""
    while place < len(items) and isinstance(items[place], ToolTurn):
        place += 1
    return min(place, len(items))
