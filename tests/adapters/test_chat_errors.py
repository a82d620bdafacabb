"""What servers say when they refuse, each in its own way."""

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError, ModelRejected
from tests.adapters import conversations as say
from tests.adapters.provider_server import Break, ProviderServer
from tests.adapters.rules.strict import Event
from tests.adapters.samples.openai_chat import WORDS

MODEL = "gpt-4.1"


def error(**fields: JsonValue) -> JsonObject:
    return {"error": fields}


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        pytest.param(
            404,
            error(code="model_not_found", message="no gpt-9", type="invalid_request_error"),
            "not_found",
            "correct the agent's models or OPENAI_BASE_URL; it says: no gpt-9",
            id="openai, no such model",
        ),
        pytest.param(
            429,
            error(code="insufficient_quota", message="you exceeded", type="insufficient_quota"),
            "quota",
            "see to the account's billing and limits; it says: you exceeded",
            id="openai, no money",
        ),
        pytest.param(
            400,
            error(code="context_length_exceeded", message="maximum context length is 8"),
            "context_overflow",
            "make the request smaller; it says: maximum context length is 8",
            id="openai, too long",
        ),
        pytest.param(
            400,
            error(code="content_filter", message="filtered", innererror={"code": "R"}),
            "content_filtered",
            "rephrase the task, or use another model; it says: filtered",
            id="azure, filtered",
        ),
        pytest.param(
            400,
            error(code="tool_use_failed", message="no tool called", failed_generation="maybe"),
            "unavailable",
            "wait, or use another model; it says: no tool called",
            id="groq, the model's own mistake",
        ),
        pytest.param(
            400,
            error(code="model_decommissioned", message="gone"),
            "not_found",
            "correct the agent's models or OPENAI_BASE_URL; it says: gone",
            id="groq, no longer there",
        ),
        pytest.param(
            429,
            error(
                code=429,
                message="Provider returned error",
                metadata={"provider_name": "Google", "raw": "try later"},
            ),
            "rate_limited",
            "it says: Provider returned error: Google: try later",
            id="openrouter, the server behind",
        ),
        pytest.param(
            402,
            error(code=402, message="add credits"),
            "quota",
            "it says: add credits",
            id="openrouter, no money",
        ),
        pytest.param(
            422,
            {"object": "error", "message": "bad order", "type": "invalid", "code": "3230"},
            "invalid_request",
            "answered HTTP 422 (invalid, 3230): correct the request; it says: bad order",
            id="mistral, bare",
        ),
        pytest.param(
            422,
            {"detail": [{"loc": ["body"], "msg": "missing"}]},
            "invalid_request",
            'it says: [{"loc":["body"],"msg":"missing"}]',
            id="a framework's own",
        ),
        pytest.param(
            500, {"error": "out of memory"}, "unavailable", "it says: out of memory", id="a word"
        ),
        pytest.param(503, "busy", "overloaded", "answered HTTP 503: wait", id="no JSON"),
    ],
)
async def test_refusals_are_sorted_and_told_in_one_line(
    provider: ProviderServer, status: int, body: JsonObject | str, kind: str, says: str
) -> None:
    """Whatever shape an error has, the line says what it means and what the server said."""
    # T-36
    provider.answer(body, status)

    with pytest.raises(ModelError) as failure:
        await OpenAIChatAdapter().respond(say.request(MODEL))

    assert failure.value.kind == kind
    assert says in str(failure.value)
    assert "\n" not in str(failure.value)
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(error(code=429, message="slow down"), "rate_limited", id="the whole"),
        pytest.param(
            {"choices": [{"error": {"code": 502, "message": "gone"}, "message": {}}]},
            "unavailable",
            id="the choice",
        ),
        pytest.param({"object": "error", "message": "no"}, "unavailable", id="bare"),
    ],
)
async def test_error_inside_of_a_good_answer_is_an_error(
    provider: ProviderServer, body: JsonObject, kind: str
) -> None:
    """Some servers answer HTTP 200 before they know."""
    provider.answer(body, headers={"x-unstreamed": "yes"})

    with pytest.raises(ModelError, match="broke off its reply") as failure:
        await OpenAIChatAdapter().respond(say.request(MODEL))

    assert failure.value.kind == kind


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        pytest.param(
            Event({"error": {"code": 502, "message": "Bad gateway"}, "choices": []}),
            "unavailable",
            id="openrouter",
        ),
        pytest.param(
            Event({"error": {"code": 429, "message": "slow"}}), "rate_limited", id="a number"
        ),
        pytest.param(
            Event({"error": {"type": "overloaded_error"}}, name="error"),
            "overloaded",
            id="a named event",
        ),
        pytest.param(Event({"message": "out of memory"}, name="error"), "unavailable", id="bare"),
        pytest.param(Event({"error": "out of memory"}), "unavailable", id="a word"),
        pytest.param(
            Event({"error": {"code": "tool_use_failed", "status_code": 400}}),
            "unavailable",
            id="groq",
        ),
        pytest.param(
            Event({"error": {"code": "context_length_exceeded"}}),
            "context_overflow",
            id="too long",
        ),
        pytest.param(
            Event({"choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
            "unavailable",
            id="a reason",
        ),
        pytest.param(
            Event({"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]}),
            "unavailable",
            id="deepseek",
        ),
    ],
)
async def test_error_inside_of_a_stream_is_sorted(
    provider: ProviderServer, event: Event, kind: str
) -> None:
    """A good status promises nothing: the error counts, not the words before it."""
    provider.answer(WORDS, breaks=Break("end", after=2, last=event))

    with pytest.raises(ModelError, match="openai-chat broke off its reply") as failure:
        await OpenAIChatAdapter().respond(say.request(MODEL))

    assert failure.value.kind == kind


async def test_administrators_key_is_no_key_for_models(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK is content with OPENAI_ADMIN_KEY, but no model can be asked with it."""
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", say.KEY)

    with pytest.raises(ModelRejected, match="set OPENAI_API_KEY"):
        await OpenAIChatAdapter().respond(say.request(MODEL))
