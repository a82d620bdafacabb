"""What providers' failures become, the same for every adapter."""

import socket
import traceback
from datetime import timedelta

import pytest

from adapters.anthropic import AnthropicAdapter
from adapters.openai import OpenAIAdapter
from contracts.base import JsonObject
from contracts.errors import ModelError, ModelRejected, ModelUnavailable
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect, DialectType
from tests.adapters.provider_server import ProviderServer


def problem(message: str = "", **more: str) -> JsonObject:
    return {"type": "error", "error": {"message": message, **more}}


async def failure(adapter: Dialect) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await adapter.respond(say.request("some-model"))
    return raised.value


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_what_passes_is_unavailable(
    provider: ProviderServer, adapter: Dialect, status: int
) -> None:
    """Rate limits, overload and faults of the provider pass; no request is repeated here."""
    provider.answer(problem("busy"), status, {"retry-after": "7"})

    error = await failure(adapter)

    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 7.0
    assert str(error).startswith(f"{adapter.provider} answered HTTP {status}: ")
    assert len(provider.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422, 501])
async def test_what_stays_is_rejected(
    provider: ProviderServer, adapter: Dialect, status: int
) -> None:
    """A request that the provider refuses as such is refused the next time too."""
    provider.answer(problem("no"), status)

    error = await failure(adapter)

    assert isinstance(error, ModelRejected)
    assert str(error).startswith(f"{adapter.provider} answered HTTP {status}: ")
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("adapter", "error"),
    [
        pytest.param(
            AnthropicAdapter(),
            {
                "type": "rate_limit_error",
                "details": {"error_code": "enforced_spend_limit_reached"},
            },
            id="anthropic spend limit",
        ),
        pytest.param(
            OpenAIAdapter(),
            {"type": "insufficient_quota", "code": "insufficient_quota"},
            id="openai quota",
        ),
    ],
)
async def test_empty_account_is_rejected(
    provider: ProviderServer, adapter: Dialect, error: JsonObject
) -> None:
    """An account without money answers 429 as well, but no waiting fills it."""
    provider.answer({"error": {"message": "pay", **error}}, 429, {"retry-after": "7"})

    raised = await failure(adapter)

    assert isinstance(raised, ModelRejected)
    assert "see to the account's billing and limits; it says: pay" in str(raised)


async def test_message_says_what_to_mend(provider: ProviderServer, adapter: Dialect) -> None:
    """A message is one line: who answered what, what to do, and what the provider says of it."""
    provider.answer(problem("model:\n  some-model", type="not_found_error"), 404)

    variable = f"{adapter.provider.upper()}_BASE_URL"
    assert str(await failure(adapter)) == (
        f"{adapter.provider} answered HTTP 404 (not_found_error): "
        f"correct the agent's models or {variable}; it says: model: some-model"
    )


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_key_is_never_told(provider: ProviderServer, adapter: Dialect, status: int) -> None:
    """Whatever a provider quotes, no key reaches the message or what history keeps behind it."""
    said = f"Incorrect API key provided: {say.KEY} (or sk-proj-abc***xyz)"
    provider.answer(problem(said, code="x"), status, {"x-echo": say.KEY})

    error = await failure(adapter)

    assert error.__cause__ is None
    assert error.__suppress_context__
    shown = "".join(traceback.format_exception(error))
    assert say.KEY not in shown
    assert "sk-proj" not in shown


@pytest.mark.parametrize("key", ["", "a-key-and-a-line-break\n", "a-kéy"])
async def test_missing_key_is_named(
    provider: ProviderServer, adapter: Dialect, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """Without a key that can be sent nothing is sent, and the message names the variable."""
    variable = f"{adapter.provider.upper()}_API_KEY"
    monkeypatch.setenv(variable, key)

    error = await failure(adapter)

    assert isinstance(error, ModelRejected)
    assert str(error).startswith(f"set {variable} for the worker: ")
    assert provider.requests == []


async def test_key_may_be_set_later(
    provider: ProviderServer, adapter: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that could not be made is made by the next call."""
    variable = f"{adapter.provider.upper()}_API_KEY"
    monkeypatch.setenv(variable, "")
    await failure(adapter)
    monkeypatch.setenv(variable, say.KEY)
    provider.answer(problem("busy"), 529)

    assert isinstance(await failure(adapter), ModelUnavailable)


async def test_refused_connection_is_unavailable(
    provider: ProviderServer, adapter: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that can't be reached may be reached later, if the address is right."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        variable = f"{adapter.provider.upper()}_BASE_URL"
        monkeypatch.setenv(variable, f"http://127.0.0.1:{unused.getsockname()[1]}")

        error = await failure(adapter)

    assert isinstance(error, ModelUnavailable)
    assert str(error) == (
        f"no connection to {adapter.provider} at 127.0.0.1 (ConnectError): "
        f"check the network and {variable}"
    )


async def test_late_answer_is_unavailable(
    provider: ProviderServer, adapter_type: DialectType
) -> None:
    """A provider that takes too long is left, after one request."""
    provider.answer(problem(), delay=0.5)

    error = await failure(adapter_type(timeout=timedelta(seconds=0.1)))

    assert isinstance(error, ModelUnavailable)
    assert "did not answer in time" in str(error)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("body", ["<html>sign in</html>", "", "[]", "{}", '{"content": 4'])
async def test_garbage_is_unavailable(
    provider: ProviderServer, adapter: Dialect, body: str
) -> None:
    """What comes with a good status but is no reply names the address, which may be wrong."""
    provider.answer(body)

    error = await failure(adapter)

    assert isinstance(error, ModelUnavailable)
    assert f"check {adapter.provider.upper()}_BASE_URL" in str(error)


async def test_code_may_be_a_number(provider: ProviderServer, adapter: Dialect) -> None:
    """Compatible servers repeat the status as a code; what they say is told all the same."""
    provider.answer({"error": {"code": 502, "message": "upstream is gone"}}, 502)

    assert str(await failure(adapter)).endswith("; it says: upstream is gone")


@pytest.mark.parametrize("body", ["<html>502</html>", "", "[]", '{"error": "x"}'])
async def test_error_without_json_is_sorted_by_status(
    provider: ProviderServer, adapter: Dialect, body: str
) -> None:
    """A proxy's page for an error counts by its status alone."""
    provider.answer(body, 502)

    assert str(await failure(adapter)) == (
        f"{adapter.provider} answered HTTP 502: wait, or use another model"
    )
