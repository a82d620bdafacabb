"""
What the real APIs were asked and what they answered: one test for each recorded exchange.

All its checks are made, and each that fails is told by its name. They stand in
`recordings/request_checks.py` and `recordings/reply_checks.py`, with what they mean.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from functools import cache
from typing import TypeAlias

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelSettings, Prefix, ToolSchema
from holdfast.contracts.transcript import UserTurn
from tests.adapters.recordings import reply_checks, request_checks
from tests.adapters.recordings.exchanges import Exchange, Format, names, recorded
from tests.adapters.recordings.expected import Failed
from tests.adapters.recordings.lossless import UNKEPT, Unkept, concerns, lost
from tests.adapters.recordings.not_carried import ADDED, NOT_CARRIED
from tests.adapters.recordings.readers import READERS, answered, outcome, said
from tests.adapters.recordings.replies import Replies, replies
from tests.adapters.recordings.request_checks import following, is_lost, without
from tests.adapters.recordings.speakers import speaker
from tests.adapters.recordings.stripping import Row
from tests.adapters.recordings.turns import asking

Check: TypeAlias = Callable[[Exchange, Replies], Awaitable[None]]

REFUSED = 400
OF_EVERY_REPLY: tuple[Check, ...] = (
    reply_checks.every_word_is_kept_in_its_order,
    reply_checks.every_call_is_kept_with_its_arguments,
    reply_checks.every_stop_is_known,
    reply_checks.every_token_is_counted,
    reply_checks.nothing_is_lost,
    reply_checks.unknown_kinds_are_reported,
    request_checks.all_that_a_model_said_goes_back_to_it,
)

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


@pytest.fixture(scope="session")
def exchanges() -> Mapping[str, Exchange]:
    return recorded()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Generator[Replies]:
    with replies(tmp_path_factory.mktemp("home")) as served:
        yield served


def checks(exchange: Exchange) -> Iterator[Check]:
    """All that must be so of an exchange."""
    if exchange.status == REFUSED:
        yield request_checks.a_refused_request_can_be_sent
    else:
        yield request_checks.a_request_means_the_same_when_we_send_it
    if isinstance(outcome(exchange), Failed):
        yield reply_checks.no_reply_is_an_error_of_its_kind
        return
    yield from OF_EVERY_REPLY
    if exchange.streamed:
        yield reply_checks.a_stream_reads_as_the_whole_answer_would
    if exchange.name in following():
        yield request_checks.we_send_back_what_the_client_did


@pytest.mark.parametrize("name", list(names()))
async def test_an_exchange_with_a_real_api(
    name: str,
    exchanges: Mapping[str, Exchange],
    recordings: Replies,
    subtests: pytest.Subtests,
) -> None:
    """What was asked can be asked again, what was answered is kept whole and can go back."""
    for check in checks(exchanges[name]):
        with subtests.test(check.__name__):
            await check(exchanges[name], recordings)


def test_every_format_was_recorded(exchanges: Mapping[str, Exchange]) -> None:
    """Files without replies prove nothing."""
    assert {exchange.format for exchange in answered(exchanges.values())} == set(READERS)


@cache
def needed() -> Mapping[str, set[Row]]:
    """Which rows each exchange needs."""
    return {
        name: without(exchange.format, exchange.request, NOT_CARRIED)[1]
        for name, exchange in recorded().items()
    }


@pytest.mark.parametrize("row", NOT_CARRIED, ids=str)
def test_no_row_hides_what_is_carried(row: Row, exchanges: Mapping[str, Exchange]) -> None:
    """Without the row a recording has something that is lost on the way."""
    others = [other for other in NOT_CARRIED if other != row]
    concerned = [name for name, rows in needed().items() if row in rows]
    if not concerned:
        pytest.skip("no recording at hand has it")

    assert any(is_lost(exchanges[name], others) for name in concerned)


@pytest.mark.parametrize("row", ADDED, ids=str)
def test_every_row_of_what_we_add_is_added(row: Row) -> None:
    """A field that we don't send needs no excuse."""
    asked = asking(MODELS[row.format], EVERYTHING, (UserTurn(text="Where is it?"),))

    body = speaker(row.format).build_request(asked)

    assert row in without(row.format, body, ADDED)[1]


@pytest.mark.parametrize("row", UNKEPT, ids=str)
async def test_no_field_is_excused_in_vain(
    row: Unkept, exchanges: Mapping[str, Exchange], recordings: Replies
) -> None:
    """What isn't kept is a field that some recording has, and that our reply doesn't hold."""
    others = tuple(other for other in UNKEPT if other != row)
    mine = [e for e in answered(exchanges.values()) if e.format == row.format]
    concerned = [exchange for exchange in mine if concerns(row, said(exchange).output)]
    if not concerned:
        pytest.skip("no recording at hand has it")

    read = [(said(one).output, await recordings.to(one)) for one in concerned]

    assert any(lost(row.format, output, reply, others) for output, reply in read)
