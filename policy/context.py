"""How much of a transcript a model is shown: old results give way first, then old turns."""

from contracts.tools import ToolResult, ToolSuccess
from contracts.transcript import ITEM, AssistantTurn, ToolTurn, TranscriptItem, UserTurn


def size(item: TranscriptItem) -> int:
    """Return the size of an item, in bytes of JSON."""
    return len(ITEM.dump_json(item))


def total(items: tuple[TranscriptItem, ...]) -> int:
    """Return the size of items together, in bytes."""
    return sum(size(item) for item in items)


def view(
    items: tuple[TranscriptItem, ...], pruned_before: int, max_bytes: int
) -> tuple[TranscriptItem, ...]:
    """
    Return the transcript as a model sees it.

    Before *pruned_before*, results are stubs, and turns that don't fit into a quarter of
    *max_bytes* are left out. The goal and whatever else people said always stay.
    """
    return remains(items[:pruned_before], max_bytes) + items[pruned_before:]


def remains(old: tuple[TranscriptItem, ...], max_bytes: int) -> tuple[TranscriptItem, ...]:
    """Return what is shown of the part of a transcript that was pruned."""
    return _latest(tuple(_stubbed(item) for item in old), max_bytes // 4)


def prune_point(items: tuple[TranscriptItem, ...], max_bytes: int) -> int:
    """
    Return the place behind which the latest turns fit into half of *max_bytes*.

    The latest turn with its results always stays whole: the model has just asked for them.
    """
    kept = 0
    latest = max(
        (place for place, item in enumerate(items) if isinstance(item, AssistantTurn)), default=0
    )
    for place in range(len(items) - 1, 0, -1):
        kept += size(items[place])
        if kept > max_bytes // 2:
            return min(_turn_after(items, place), latest)
    return 0


def bounded(results: tuple[ToolResult, ...], max_bytes: int) -> tuple[ToolResult, ...]:
    """Return the results of a turn, those beyond *max_bytes* as stubs: a turn is one payload."""
    kept: list[ToolResult] = []
    taken = 0
    for result in results:
        taken += len(result.model_dump_json().encode())
        kept.append(result if taken <= max_bytes else stub(result))
    return tuple(kept)


def stub(result: ToolResult) -> ToolResult:
    """Return what is shown in place of an old result."""
    if not isinstance(result, ToolSuccess) or result.data is None:
        return result
    note = f"left out by now; it began: {result.summary}"
    return result.model_copy(update={"data": None, "summary": note})


def _stubbed(item: TranscriptItem) -> TranscriptItem:
    if not isinstance(item, ToolTurn):
        return item
    return ToolTurn(results=tuple(stub(result) for result in item.results))


def _latest(items: tuple[TranscriptItem, ...], max_bytes: int) -> tuple[TranscriptItem, ...]:
    left, begin = total(items), 0
    while left > max_bytes and begin < len(items):
        following = _turn_after(items, begin)
        left -= total(items[begin:following])
        begin = following
    said = tuple(
        item for item in items[:begin] if isinstance(item, UserTurn) and item.origin != "notice"
    )
    if len(said) == begin:
        return items
    notice = UserTurn(text="(Earlier turns are left out here.)", origin="notice")
    return (*said, notice, *items[begin:])


def _turn_after(items: tuple[TranscriptItem, ...], place: int) -> int:
    """Results stay with the turn that asked for them, so no part begins with results."""
    place += 1
    while place < len(items) and isinstance(items[place], ToolTurn):
        place += 1
    return place
