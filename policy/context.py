"""How much of a transcript a model is shown: old tool results give way first."""

from contracts.tools import ToolFailure, ToolResult, ToolSuccess
from contracts.transcript import ToolTurn, TranscriptItem


def size(item: TranscriptItem) -> int:
    """Return the size of an item, in characters of JSON."""
    return len(item.model_dump_json())


def stub(result: ToolResult) -> ToolResult:
    """Return what is shown in place of an old result."""
    match result:
        case ToolSuccess(data=None, artifact=None) | ToolFailure():
            return result
        case ToolSuccess():
            note = f"pruned from the context; it began: {result.summary}"
            return result.model_copy(update={"data": None, "summary": note})


def view(items: tuple[TranscriptItem, ...], pruned_before: int) -> tuple[TranscriptItem, ...]:
    """Return the transcript as the model sees it: results before *pruned_before* as stubs."""
    return tuple(
        ToolTurn(results=tuple(stub(result) for result in item.results))
        if isinstance(item, ToolTurn) and place < pruned_before
        else item
        for place, item in enumerate(items)
    )


def prune_point(items: tuple[TranscriptItem, ...], keep_chars: int) -> int:
    """Return the place behind which the latest items fit into *keep_chars*; the last always do."""
    kept = 0
    for place in range(len(items) - 1, 0, -1):
        kept += size(items[place])
        if kept > keep_chars:
            return min(place + 1, len(items) - 1)
    return 0
