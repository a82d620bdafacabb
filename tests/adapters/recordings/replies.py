"""Our reply to a recorded answer: served by a server, read by the provider's own SDK."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.errors import ModelError
from holdfast.contracts.model import ModelReply, ModelRequest, Prefix
from holdfast.contracts.transcript import UserTurn
from tests.adapters.provider_server import point_adapters_at
from tests.adapters.recordings.exchanges import Exchange
from tests.adapters.recordings.replay import Replay, replaying
from tests.adapters.recordings.speakers import own_name, speaker


class Replies:
    """Asks for each exchange once, however many tests look at the reply."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._adapters: dict[str, ProviderAdapter] = {}
        self._known: dict[str, ModelReply | ModelError] = {}

    async def to(self, exchange: Exchange) -> ModelReply:
        """Return the reply. Raises AssertionError where there is none."""
        reply = await self._outcome(exchange)
        assert isinstance(reply, ModelReply), reply
        return reply

    async def failing(self, exchange: Exchange) -> ModelError:
        """Return the error. Raises AssertionError where there is a reply."""
        error = await self._outcome(exchange)
        assert isinstance(error, ModelError), error
        return error

    async def _outcome(self, exchange: Exchange) -> ModelReply | ModelError:
        if exchange.name not in self._known:
            self._replay.say(exchange)
            self._known[exchange.name] = await self._ask(exchange)
            assert self._replay.asked == 1
        return self._known[exchange.name]

    async def _ask(self, exchange: Exchange) -> ModelReply | ModelError:
        if exchange.format not in self._adapters:
            self._adapters[exchange.format] = speaker(exchange.format, self._replay.address)
        try:
            return await self._adapters[exchange.format].respond(_request(exchange))
        except ModelError as error:
            return error


@contextmanager
def replies(home: Path) -> Generator[Replies]:
    """Point the SDKs to a server that replays, while the block lasts."""
    with replaying() as replay, pytest.MonkeyPatch.context() as patch:
        point_adapters_at(replay.address, home, patch)
        yield Replies(replay)


def _request(exchange: Exchange) -> ModelRequest:
    """A plain question to the model of the recording."""
    return ModelRequest(
        run_id="r1",
        turn=1,
        attempt=1,
        model=own_name(exchange, exchange.request.get("model", "unnamed")),
        prefix=Prefix(instructions="Be brief.", tools=()),
        transcript=(UserTurn(text="Go on."),),
        provider_state={},
    )
