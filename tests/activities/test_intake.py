"""What of a reply may enter history: what can't be written or read there is never sent."""

import re

import pytest

from holdfast.activities import reply_limits
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError, ModelRejected, ModelUnavailable
from holdfast.contracts.model import ModelReply
from holdfast.contracts.tools import TOOL_NAME_PATTERN
from holdfast.contracts.transcript import AssistantTurn, Part, TranscriptDigest
from holdfast.contracts.usage import CallUsage
from tests.builders import a_call, a_reply

SPENT = CallUsage(input_tokens=7)


def nested(levels: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def refused(reply: ModelReply) -> ModelError:
    with pytest.raises(ModelError) as raised:
        reply_limits.enforce(reply_limits.repair_unicode(reply))
    return raised.value


def test_halves_of_characters_are_mended() -> None:
    """What a stream tore apart is whole again, and half a character is marked as one."""
    torn = a_reply(
        text="hi \ud83d\ude00 \ud83d",
        notes=("\ude00",),
        parts=(Part(kind="other", name="x", native={"y": ["\ud83d\ude00"]}),),
    )

    reply = reply_limits.repair_unicode(torn)

    assert (reply.text, reply.notes) == ("hi 😀 \ufffd", ("\ufffd",))
    assert reply.parts[0].native == {"y": ["😀"]}
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


@pytest.mark.parametrize("levels", [1, 100, 150])
def test_a_reply_that_can_be_read_again_fits(levels: int) -> None:
    """The workflow reads it, keeps it deep in its state, and reads that again."""
    reply = a_reply(a_call(place=nested(levels)))

    assert reply_limits.enforce(reply_limits.repair_unicode(reply)) == reply
    turn = AssistantTurn(model="m", calls=reply.calls)
    assert TranscriptDigest().extend((turn,)).length == 1


@pytest.mark.parametrize("levels", [170, 197, 220])
def test_a_reply_that_is_nested_too_deeply_is_none(levels: int) -> None:
    """No workflow could ever read it; the next attempt may be flatter."""
    error = refused(a_reply(a_call(place=nested(levels)), usage=SPENT))

    assert isinstance(error, ModelUnavailable)
    assert (error.kind, error.usage) == ("unreadable", SPENT)


def test_a_reply_that_is_too_large_ends_at_once() -> None:
    """It would come back as large, and be billed again; the message says what to lower."""
    error = refused(a_reply(text="x" * 700_000, usage=SPENT))

    assert isinstance(error, ModelRejected)
    assert "history holds 600,000: lower max_output_tokens" in str(error)
    assert error.usage == SPENT


def test_a_reply_may_not_ask_for_thousands_of_calls() -> None:
    """All of them might run at once, and their results go back in one payload."""
    calls = [a_call(call_id=f"c{number}") for number in range(201)]

    assert refused(a_reply(*calls)).kind == "unreadable"
    assert reply_limits.enforce(a_reply(*calls[1:])).calls == tuple(calls[1:])


def test_long_names_are_cut() -> None:
    """A name of any length becomes short, still differs from others, and is no tool's."""
    calls = [a_call("a" * 700_000, call_id="c" * 700_000), a_call("a" * 700_001, call_id="c2")]

    first, second = reply_limits.shorten_names(a_reply(*calls)).calls

    assert (len(first.name), len(first.call_id), second.call_id) == (200, 200, "c2")
    assert first.name != second.name
    assert re.match(TOOL_NAME_PATTERN, first.name) is None


def test_usual_names_stay() -> None:
    """A reply whose names are short is the same one."""
    reply = a_reply(a_call("n" * 200, call_id="i" * 200))

    assert reply_limits.shorten_names(reply) is reply
