"""What providers' failures become, the same for every adapter."""

import socket
import traceback
from datetime import timedelta
from typing import Any

import pytest
from httpx2 import AsyncClient, Request, Response
from pydantic import JsonValue

from holdfast.adapters import failures, http_client
from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import FailureKind, ModelRejected, ModelUnavailable
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect, Samples
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.strict import Page


def problem(message: str = "", **more: str) -> JsonObject:
    return {"type": "error", "error": {"message": message, **more}}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_what_passes_is_unavailable(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect, status: int
) -> None:
    """Rate limits, overload and faults of the provider pass; no request is repeated here."""
    provider.answer(problem("busy"), status, {"retry-after": "7"})

    error = await say.failure(adapter, dialect.samples.MODEL)

    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 7.0
    assert f" answered HTTP {status}: " in str(error)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422, 501])
async def test_what_stays_is_rejected(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect, status: int
) -> None:
    """A request that the provider refuses as such is refused the next time too."""
    provider.answer(problem("no"), status)

    error = await say.failure(adapter, dialect.samples.MODEL)

    assert isinstance(error, ModelRejected)
    assert f" answered HTTP {status}: " in str(error)
    assert len(provider.requests) == 1


async def test_empty_account_is_rejected(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """An account without money may answer 429 as well, but no waiting fills it."""
    provider.answer(samples.NO_MONEY.body, samples.NO_MONEY.status, {"retry-after": "7"})

    raised = await say.failure(adapter, samples.MODEL)

    assert isinstance(raised, ModelRejected)
    assert raised.kind == "quota"
    assert "see to the account's billing and limits; it says: pay" in str(raised)


async def test_a_wait_is_taken_as_the_provider_says_it(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """Each says in its own way how long it wants to be left alone."""
    provider.answer(samples.TOO_FAST.body, samples.TOO_FAST.status, samples.WAIT)

    raised = await say.failure(adapter, samples.MODEL)

    assert isinstance(raised, ModelUnavailable)
    assert (raised.kind, raised.retry_after) == ("rate_limited", 34.0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("WRONG_KEY", "auth"),
        ("TOO_LONG", "context_overflow"),
        ("FORBIDDEN", "content_filtered"),
    ],
)
async def test_what_no_waiting_mends_is_told_by_its_kind(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    samples: Samples,
    name: str,
    kind: FailureKind,
) -> None:
    """Providers have words of their own for causes on which much depends."""
    page: Page = getattr(samples, name)
    provider.answer(page.body, page.status)

    raised = await say.failure(adapter, samples.MODEL)

    assert isinstance(raised, ModelRejected)
    assert raised.kind == kind


async def test_every_client_is_ours(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    samples: Samples,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No adapter asks by another client than the one that bounds what comes, and where it goes."""
    opened: list[AsyncClient] = []
    sent: list[AsyncClient] = []
    open_client, send = http_client.open_client, AsyncClient.send

    def noted(kind: type[AsyncClient], idle: timedelta) -> AsyncClient:
        opened.append(open_client(kind, idle))
        return opened[-1]

    async def counted(client: AsyncClient, request: Request, **how: Any) -> Response:  # noqa: ANN401 -- as the library says it
        sent.append(client)
        return await send(client, request, **how)

    monkeypatch.setattr(http_client, "open_client", noted)
    monkeypatch.setattr(AsyncClient, "send", counted)
    provider.answer(samples.WORDS)

    await adapter.respond(say.request(samples.MODEL))

    assert len(sent) == 1
    assert sent == opened


async def test_message_says_what_to_mend(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect
) -> None:
    """A message is one line: who answered what, what to do, and what the provider says of it."""
    provider.answer(problem("model:\n  some-model", type="not_found_error"), 404)

    variable = dialect.address_variable
    assert str(await say.failure(adapter, dialect.samples.MODEL)) == (
        f"{adapter.provider} answered HTTP 404 (not_found_error): "
        f"correct the agent's models or {variable}; it says: model: some-model"
    )


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_key_is_never_told(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect, status: int
) -> None:
    """Whatever a provider quotes, no key reaches the message or what history keeps behind it."""
    said = f"Incorrect API key provided: {dialect.key} (or sk-proj-abc***xyz)"
    provider.answer(problem(said, code="x"), status, {"x-echo": dialect.key})

    error = await say.failure(adapter, dialect.samples.MODEL)

    assert error.__cause__ is None
    assert error.__suppress_context__
    shown = "".join(traceback.format_exception(error))
    assert say.KEY not in shown
    assert "sk-proj" not in shown


@pytest.mark.parametrize("key", ["", "a-key-and-a-line-break\n", "a-kéy"])
async def test_missing_key_is_named(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    dialect: Dialect,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    """Without a key that can be sent nothing is sent, and the message names the variable."""
    variable = dialect.key_variable
    monkeypatch.setenv(variable, key)

    error = await say.failure(adapter, dialect.samples.MODEL)

    assert isinstance(error, ModelRejected)
    assert str(error).startswith(f"set {variable} for the worker: ")
    assert provider.requests == []


async def test_key_may_be_set_later(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    dialect: Dialect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that could not be made is made by the next call."""
    variable = dialect.key_variable
    monkeypatch.setenv(variable, "")
    await say.failure(adapter, dialect.samples.MODEL)
    monkeypatch.setenv(variable, dialect.key)
    provider.answer(problem("busy"), 529)

    assert isinstance(await say.failure(adapter, dialect.samples.MODEL), ModelUnavailable)


async def test_refused_connection_is_unavailable(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    dialect: Dialect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A provider that can't be reached may be reached later, if the address is right."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        variable, port = dialect.address_variable, unused.getsockname()[1]
        monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")

        error = await say.failure(adapter, dialect.samples.MODEL)

    assert isinstance(error, ModelUnavailable)
    assert str(error) == (
        f"no connection to {adapter.provider} at 127.0.0.1:{port} (ConnectError): "
        f"check the network and {variable}"
    )


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/json"])
@pytest.mark.parametrize("body", ["<html>sign in</html>", "", "[]", "{}", '{"content": 4'])
async def test_garbage_is_unavailable(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect, body: str, kind: str
) -> None:
    """What comes with a good status but is no reply names the address, which may be wrong."""
    provider.answer(body, headers={"content-type": kind})

    error = await say.failure(adapter, dialect.samples.MODEL)

    assert error.kind == "unreadable"
    assert f"check {dialect.address_variable}" in str(error)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param({"code": 502, "message": "upstream is gone"}, id="with a number"),
        pytest.param("upstream is gone", id="alone"),
    ],
)
async def test_error_may_be_a_sentence(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect, error: JsonValue
) -> None:
    """Compatible servers say it in other ways; what they say is told all the same."""
    provider.answer({"error": error}, 502)

    assert str(await say.failure(adapter, dialect.samples.MODEL)).endswith(
        "; it says: upstream is gone"
    )


@pytest.mark.parametrize("body", ["<html>502</html>", "", "[]"])
async def test_error_without_json_is_sorted_by_status(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect, body: str
) -> None:
    """A proxy's page for an error counts by its status alone."""
    provider.answer(body, 502)

    assert str(await say.failure(adapter, dialect.samples.MODEL)) == (
        f"{adapter.provider} answered HTTP 502: wait, or use another model"
    )


def test_key_is_not_cut_in_two(subtests: pytest.Subtests) -> None:
    """A message is shortened, and a part of the key at its end would be a part of the key."""
    provider = failures.Provider("it", "KEY", "URL", codes={})

    for before in range(0, 1000, 5):
        with subtests.test(f"behind {before} letters"):
            with pytest.raises(ModelUnavailable) as raised, failures.redact_key(say.KEY):
                raise failures.from_reply(provider, {"message": "x" * before + say.KEY})

            assert "a-key" not in str(raised.value)
            assert len(str(raised.value)) <= 500
