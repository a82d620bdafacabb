"""A run that was recorded, as a script: what its models said, to try it on today's app."""

from pathlib import Path

from holdfast import histories
from holdfast.adapters.scripted import Reply
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.trace.entries import Call, Turn
from holdfast.trace.reader import read_trace


def recorded(path: Path) -> list[Reply]:
    """
    Read what the models of an exported run replied, turn by turn.

    Give it to a scripted model and run the goal again: tools, policy and limits are today's, the
    model says what it said then. Raises HoldfastError when the file holds no history.
    """
    trace = read_trace(histories.read(path))
    return [
        _build_reply(turn) for turn in trace.turns if turn.ended_at is not None and not turn.error
    ]


def _build_reply(turn: Turn) -> Reply:
    return Reply(
        text=turn.text,
        calls=tuple(_build_call(call) for call in turn.calls),
        parts=turn.parts,
        stop=turn.stop,
        usage=turn.usage,
    )


def _build_call(call: Call) -> tuple[str, JsonObject | str]:
    asked = call.call
    if isinstance(asked, ToolCall):
        return asked.name, asked.arguments
    return asked.name, asked.raw_arguments
