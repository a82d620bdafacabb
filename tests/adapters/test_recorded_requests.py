"""
What the real APIs were asked, taken into our items and rendered again: both mean the same.

`recordings/items_*.py` read a request of each format into our items; what has no place there must
be in the tables of `recordings/not_carried.py`. The recorded request and the one that our adapter
renders are both read in this way, and the items must be equal. So what they may differ in is what
the readers take for the same: text and a list with one text in it, the order of keys, arguments
as text and as an object, neighbours of one role and one message, null and nothing, white space
around the instructions and around the words of a turn, a choice among no tools at all, an effort
with and without the word that thinking is adaptive, and a text that a tool returned and our JSON
with this text as its data.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from types import ModuleType

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelRequest, ModelSettings, Prefix, ToolSchema
from holdfast.contracts.transcript import UserTurn
from tests.adapters.recordings import items_anthropic, items_chat, items_responses, readers
from tests.adapters.recordings.exchanges import (
    Exchange,
    Format,
    conversations,
    each,
    recorded,
)
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
from tests.adapters.recordings.replies import Replies, replies
from tests.adapters.recordings.speakers import speaker
from tests.adapters.recordings.stripping import Row, stripped
from tests.adapters.recordings.turns import asking
from tests.adapters.recordings.values import Body

READERS: Mapping[Format, ModuleType] = {
    "anthropic": items_anthropic,
    "openai": items_responses,
    "openai-chat": items_chat,
}
REFUSED = 400
EXCHANGES = list(recorded())
TAKEN = [exchange for exchange in EXCHANGES if exchange.status != REFUSED]
SAID = readers.answered(EXCHANGES)
ALL = (*NOT_CARRIED, *DOCUMENTED)

CLOSED: JsonObject = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}
EVERYTHING = Prefix(
    instructions="Be brief.",
    tools=(ToolSchema(name="find", description="Find it.", input_schema=CLOSED),),
    settings=ModelSettings(reasoning="high"),
    output_schema=CLOSED,
)
MODELS: Mapping[Format, str] = {
    "anthropic": "claude-opus-4-6",
    "openai": "gpt-5.4",
    "openai-chat": "recorded/any",
}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Generator[Replies]:
    with replies(tmp_path_factory.mktemp("home")) as served:
        yield served


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


@each(TAKEN)
def test_a_recorded_request_means_the_same_when_we_send_it(exchange: Exchange) -> None:
    """All that our items can carry goes out again as it was."""
    # AD-05, AD-06, AD-08
    asked = taken(exchange.format, exchange.request, ALL)

    again = sent(exchange.format, asked)

    assert meaning(exchange.format, again) == meaning(exchange.format, asked)


@each([exchange for exchange in EXCHANGES if exchange.status == REFUSED])
def test_a_refused_request_can_be_sent(exchange: Exchange) -> None:
    """What a model refused to do may be asked in another way; the conversation is the same."""
    asked = taken(exchange.format, exchange.request, ALL)

    assert sent(exchange.format, asked).transcript == asked.transcript


@pytest.mark.parametrize("row", NOT_CARRIED, ids=str)
def test_no_row_hides_what_is_carried(row: Row) -> None:
    """Without the row a recording has something that is lost on the way."""
    others = [other for other in NOT_CARRIED if other != row]
    concerned = [e for e in EXCHANGES if row in without(e.format, e.request, NOT_CARRIED)[1]]
    if not concerned:
        pytest.skip("no recording at hand has it")

    assert any(is_lost(exchange, others) for exchange in concerned)


@pytest.mark.parametrize("row", ADDED, ids=str)
def test_every_row_of_what_we_add_is_added(row: Row) -> None:
    """A field that we don't send needs no excuse."""
    asked = asking(MODELS[row.format], EVERYTHING, (UserTurn(text="Where is it?"),))

    body = speaker(row.format).build_request(asked)

    assert row in without(row.format, body, ADDED)[1]


def said(exchange: Exchange) -> list[Piece]:
    """What the model said, piece by piece, read from the recording alone."""
    answer = as_request(exchange.format, readers.said(exchange))
    return list(pieces(taken(exchange.format, answer, ALL).transcript))


async def sent_back(exchange: Exchange, recordings: Replies) -> list[Piece]:
    """What we send back of our reply to the model that gave it."""
    asked = taken(exchange.format, exchange.request, ALL)
    reply = await recordings.to(exchange)
    return list(pieces(sent(exchange.format, after(reply, asked)).transcript))


@each(SAID)
async def test_all_that_a_model_said_goes_back_to_it(
    exchange: Exchange, recordings: Replies
) -> None:
    """Reply and next request together change nothing, and add nothing."""
    ours = await sent_back(exchange, recordings)

    theirs = can_go_back(said(exchange))
    assert missing(theirs, among=ours) == []
    assert missing(ours, among=theirs) == []


@pytest.mark.parametrize("pair", list(conversations(SAID)), ids=lambda pair: pair[0].name)
async def test_we_send_back_what_the_recorded_client_did(
    pair: tuple[Exchange, Exchange], recordings: Replies
) -> None:
    """What a client sent back as it came is in our next request too; many edit what they got."""
    one, following = pair
    heard = said(one)
    before = pieces(taken(one.format, one.request, ALL).transcript)
    now = pieces(taken(following.format, following.request, ALL).transcript)
    unchanged = [piece for piece in missing(now, among=before) if not missing([piece], heard)]

    assert missing(unchanged, among=await sent_back(one, recordings)) == []


def is_lost(exchange: Exchange, rows: Iterable[Row]) -> bool:
    try:
        asked = taken(exchange.format, exchange.request, rows)
        again = sent(exchange.format, asked)
        return meaning(exchange.format, again) != meaning(exchange.format, asked)
    except (Unread, ValueError):
        return True
