"""
What must be so of our reply to a recorded answer, which a server says again to the real SDKs.

What each answer says is read a second time, without the adapters, in `read_*.py` beside this.
"""

import json

from holdfast.contracts.calls import AnyCall, ToolCall
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import ModelReply
from holdfast.contracts.transcript import Part
from tests.adapters.conversations import KEY
from tests.adapters.recordings.exchanges import Exchange
from tests.adapters.recordings.expected import Call, Counts
from tests.adapters.recordings.lossless import lost
from tests.adapters.recordings.readers import failed, said, whole
from tests.adapters.recordings.replies import Replies
from tests.adapters.recordings.speakers import own_name
from tests.adapters.recordings.values import Body

NO_TOOLS = {"compaction", "container_upload", "fallback", "mcp_tool_listing"}
"""Kinds of blocks that the documents know, and that have to do with no tool of ours or theirs."""


def dense(text: str) -> str:
    """The text without the white space that keeps its parts apart."""
    return "".join(text.split())


def shape(call: AnyCall) -> Call:
    given = call.arguments if isinstance(call, ToolCall) else call.raw_arguments
    return call.call_id, call.name, given


def holds(part: Part, block: Body) -> bool:
    """Whether a part has all fields of a block; one may be the text of the part."""
    return all(
        part.native.get(name) == value or (part.text == value and name not in part.native)
        for name, value in block.items()
        if value is not None
    )


def parts(reply: ModelReply, *kinds: str) -> list[Part]:
    return [part for part in reply.parts if part.kind in kinds]


def content(reply: ModelReply) -> ModelReply:
    """The reply without what only a stream can have: its time, and notes about its events."""
    return reply.model_copy(update={"latency_ms": 0, "first_token_ms": 0, "notes": ()})


async def every_word_is_kept_in_its_order(exchange: Exchange, recordings: Replies) -> None:
    """All words are there; the answer is those behind the last tool, or beside the calls."""
    # PS-20, PS-21, PS-22, PS-23
    expected = said(exchange)

    reply = await recordings.to(exchange)

    everything = dense("".join(expected.pieces))
    assert dense(reply.words) == everything
    assert dense(reply.text) == (everything if reply.calls else dense(expected.answer))


async def every_call_is_kept_with_its_arguments(exchange: Exchange, recordings: Replies) -> None:
    """Calls have their ids, names and arguments, in order; what is no object stays as it came."""
    # AD-07, AD-13, AD-16
    expected = said(exchange).calls

    reply = await recordings.to(exchange)

    calls = [shape(call) for call in reply.calls]
    assert [(name, given) for _, name, given in calls] == [(n, given) for _, n, given in expected]
    assert all(
        call_id == own for (call_id, *_), (own, *_) in zip(expected, calls, strict=True) if call_id
    )
    assert len({call_id for call_id, *_ in calls if call_id}) == len(calls)
    assert len(parts(reply, "call")) in {0, len(calls)}


async def every_stop_is_known(exchange: Exchange, recordings: Replies) -> None:
    """Why a model stopped, and which model it was."""
    # T-48
    expected = said(exchange)

    reply = await recordings.to(exchange)

    assert reply.stop == expected.stop
    model = expected.model or exchange.request["model"]
    assert reply.model == f"{exchange.format}:{own_name(exchange, model)}"


async def every_token_is_counted(exchange: Exchange, recordings: Replies) -> None:
    """Tokens in and out, those of caches and of reasoning apart; unknown ones cost unknown."""
    # AD-11, AD-15, AD-19, PP-07, T-26
    expected = said(exchange)

    reply = await recordings.to(exchange)

    used = reply.usage
    assert expected.counts == Counts(
        input=used.input_tokens,
        cached=used.cached_tokens,
        cache_write=used.cache_write_tokens,
        output=used.output_tokens,
        reasoning=used.reasoning_tokens,
    )
    assert any(expected.counts) or not used.estimated_cost


async def nothing_is_lost(exchange: Exchange, recordings: Replies) -> None:
    """Reasoning, hosted tools and unknown kinds are kept whole, all else field by field."""
    # AD-03, AD-23, T-27, T-28
    expected = said(exchange)

    reply = await recordings.to(exchange)

    assert [b for b in expected.verbatim if not any(holds(p, b) for p in reply.parts)] == []
    thoughts = dense(json.dumps([p.model_dump() for p in parts(reply, "reasoning")]))
    assert [t for t in expected.thoughts if dense(json.dumps(t)[1:-1]) not in thoughts] == []
    assert [s for s in expected.state if s not in json.dumps(reply.provider_state)] == []
    assert lost(exchange.format, expected.output, reply) == []


async def unknown_kinds_are_reported(exchange: Exchange, recordings: Replies) -> None:
    """What this release can't read is named in the notes; a hosted tool by its name."""
    # T-27, T-28
    reply = await recordings.to(exchange)

    notes = "\n".join(reply.notes)
    unknown = [part for part in parts(reply, "other") if part.name not in NO_TOOLS]
    assert [part for part in unknown if not part.name or part.name not in notes] == []
    assert [part for part in parts(reply, "hosted_call") if not part.name] == []


async def no_reply_is_an_error_of_its_kind(exchange: Exchange, recordings: Replies) -> None:
    """Error statuses, errors in streams, and good answers that are no reply of a model."""
    expected = failed(exchange)

    error = await recordings.failing(exchange)

    assert error.kind in expected.kinds
    assert len(str(error).splitlines()) == 1
    assert KEY not in str(error)
    if isinstance(error, ModelUnavailable) and (exchange.retry_after or "").isdecimal():
        assert error.retry_after == float(exchange.retry_after or 0)


async def a_stream_reads_as_the_whole_answer_would(
    exchange: Exchange, recordings: Replies
) -> None:
    """The reply to a stream is the one to its events put together by somebody else."""
    # AD-09
    reply = await recordings.to(exchange)

    unstreamed = await recordings.to(exchange.unstreamed(whole(exchange)))
    assert content(reply) == content(unstreamed)
