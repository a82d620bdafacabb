"""
What must be so of a recorded request, taken into our items and rendered again: both mean the same.

`items_*.py` beside this read a request of each format into our items; what has no place there must
be in the tables of `not_carried.py`. The recorded request and the one that our adapter
renders are both read in this way, and the items must be equal. So what they may differ in is what
the readers take for the same: text and a list with one text in it, the order of keys, arguments
as text and as an object, neighbours of one role and one message, null and nothing, white space
around the instructions and around the words of a turn, a choice among no tools at all, an effort
with and without the word that thinking is adaptive, and a text that a tool returned and our JSON
with this text as its data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType

from holdfast.contracts.model import ModelRequest
from tests.adapters.recordings import items_anthropic, items_chat, items_responses, readers
from tests.adapters.recordings.exchanges import Exchange, Format, conversations, recorded
from tests.adapters.recordings.fields import Unread
from tests.adapters.recordings.going_back import (
    Piece,
    after,
    as_request,
    can_go_back,
    missing,
    pieces,
)
from tests.adapters.recordings.not_carried import ADDED, DOCUMENTED, NOT_CARRIED
from tests.adapters.recordings.replies import Replies
from tests.adapters.recordings.speakers import speaker
from tests.adapters.recordings.stripping import Row, stripped
from tests.adapters.recordings.values import Body

READERS: Mapping[Format, ModuleType] = {
    "anthropic": items_anthropic,
    "openai": items_responses,
    "openai-chat": items_chat,
}
ALL = (*NOT_CARRIED, *DOCUMENTED)


def without(format_: Format, request: Body, rows: Iterable[Row]) -> tuple[Body, set[Row]]:
    return stripped(format_, READERS[format_].arranged(request), rows)


def taken(format_: Format, request: Body, rows: Iterable[Row]) -> ModelRequest:
    rest, _ = without(format_, request, rows)
    asked: ModelRequest = READERS[format_].read(rest)
    return asked


def meaning(format_: Format, asked: ModelRequest) -> ModelRequest:
    """The request; not to think and not to be asked to are the same where that is the default."""
    settings = asked.prefix.settings
    if settings.reasoning != "none" or format_ != "anthropic":
        return asked
    silent = settings.model_copy(update={"reasoning": None})
    return replace(asked, prefix=asked.prefix.model_copy(update={"settings": silent}))


def sent(format_: Format, asked: ModelRequest) -> ModelRequest:
    return taken(format_, speaker(format_).build_request(asked), ADDED)


async def a_request_means_the_same_when_we_send_it(exchange: Exchange, _: Replies) -> None:
    """All that our items can carry goes out again as it was."""
    # AD-05, AD-06, AD-08
    asked = taken(exchange.format, exchange.request, ALL)

    again = sent(exchange.format, asked)

    assert meaning(exchange.format, again) == meaning(exchange.format, asked)


async def a_refused_request_can_be_sent(exchange: Exchange, _: Replies) -> None:
    """What a model refused to do may be asked in another way; the conversation is the same."""
    asked = taken(exchange.format, exchange.request, ALL)

    assert sent(exchange.format, asked).transcript == asked.transcript


def said(exchange: Exchange) -> list[Piece]:
    """What the model said, piece by piece, read from the recording alone."""
    answer = as_request(exchange.format, readers.said(exchange))
    return list(pieces(taken(exchange.format, answer, ALL).transcript))


async def sent_back(exchange: Exchange, recordings: Replies) -> list[Piece]:
    """What we send back of our reply to the model that gave it."""
    asked = taken(exchange.format, exchange.request, ALL)
    reply = await recordings.to(exchange)
    return list(pieces(sent(exchange.format, after(reply, asked)).transcript))


async def all_that_a_model_said_goes_back_to_it(exchange: Exchange, recordings: Replies) -> None:
    """Reply and next request together change nothing, and add nothing."""
    ours = await sent_back(exchange, recordings)

    theirs = can_go_back(said(exchange))
    assert missing(theirs, among=ours) == []
    assert missing(ours, among=theirs) == []


@cache
def following() -> Mapping[str, Exchange]:
    """The next exchange of a conversation, by the name of the one before."""
    said = readers.answered(recorded().values())
    return {one.name: then for one, then in conversations(said)}


async def we_send_back_what_the_client_did(exchange: Exchange, recordings: Replies) -> None:
    """What a client sent back as it came is in our next request too; many edit what they got."""
    then = following()[exchange.name]
    heard = said(exchange)
    before = pieces(taken(exchange.format, exchange.request, ALL).transcript)
    now = pieces(taken(then.format, then.request, ALL).transcript)
    unchanged = [piece for piece in missing(now, among=before) if not missing([piece], heard)]

    assert missing(unchanged, among=await sent_back(exchange, recordings)) == []


def is_lost(exchange: Exchange, rows: Iterable[Row]) -> bool:
    try:
        asked = taken(exchange.format, exchange.request, rows)
        again = sent(exchange.format, asked)
        return meaning(exchange.format, again) != meaning(exchange.format, asked)
    except (Unread, ValueError):
        return True
