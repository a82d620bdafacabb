"""How a response of OpenAI Responses may end, and what it cost."""

from decimal import Decimal

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import FailureKind, ModelError, ModelUnavailable
from holdfast.contracts.model import ModelReply, StopCause
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai_items import ask, call, message, response, said

SEARCH: JsonObject = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def read(*output: JsonObject, **more: JsonValue) -> ModelReply:
    return OpenAIAdapter().parse_response(response(*output, **more))


@pytest.mark.parametrize(
    ("status", "reason", "stop", "detail"),
    [
        ("completed", None, "end_turn", ""),
        ("complete", None, "end_turn", ""),
        ("incomplete", "max_output_tokens", "max_tokens", "max_output_tokens"),
        ("incomplete", "content_filter", "content_filter", "content_filter"),
        ("incomplete", "max_messages", "other", "max_messages"),
        ("incomplete", "steered", "other", "steered"),
        ("incomplete", None, "other", "incomplete"),
        ("cancelled", None, "other", "cancelled"),
        ("queued", None, "other", "queued"),
        ("in_progress", None, "other", "in_progress"),
    ],
)
def test_every_stop_has_its_cause(
    status: str, reason: str | None, stop: StopCause, detail: str
) -> None:
    """A reply that ended for any reason but its own end is never taken for a normal answer."""
    # BY-49, T-48, LP-08
    details: JsonObject | None = {"reason": reason} if reason else None

    reply = read(message("so far"), status=status, incomplete_details=details)

    assert (reply.stop, reply.stop_detail, reply.text) == (stop, detail, "so far")


@pytest.mark.parametrize("status", ["incomplete", "in_progress", None])
def test_call_that_was_cut_short_is_dropped(status: str | None) -> None:
    """Of a response that hit its limit only those calls count that say they are complete."""
    # SM-02, PP-06
    reply = read(
        call(1, "{}"),
        call(2, '{"order_id":1') | {"status": status},
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )

    assert [asked.call_id for asked in reply.calls] == ["call_1"]
    assert len([part for part in reply.parts if part.kind == "call"]) == 1
    assert reply.stop == "max_tokens"


def test_call_that_says_it_is_cut_is_dropped_from_any_response() -> None:
    """A call's own word counts, whatever the response says of itself."""
    # SM-02
    assert read(call(1, "{}", "incomplete")).calls == ()


def test_filtered_reply_calls_nothing() -> None:
    """Of a reply that a filter ended no call counts, complete or not."""
    # BY-49
    reply = read(
        call(1, "{}"), status="incomplete", incomplete_details={"reason": "content_filter"}
    )

    assert (reply.stop, reply.calls) == ("content_filter", ())
    assert [part for part in reply.parts if part.kind == "call"] == []


def test_refusal_says_why_and_calls_nothing() -> None:
    """A refused reply has the refusal as its text, and no calls."""
    # BY-49
    reply = read(said({"type": "refusal", "refusal": "not this"}), call(1, "{}"))

    assert (reply.calls, reply.text, reply.stop) == ((), "not this", "refusal")
    assert reply.stop_detail == "not this"
    assert [part.kind for part in reply.parts] == ["text"]


def test_commentary_alone_is_a_pause() -> None:
    """A model that only says what it is about to do isn't done: it is asked again."""
    # BY-49
    reply = read(message("I'll look it up.", phase="commentary"), SEARCH)

    assert (reply.stop, reply.stop_detail, reply.text) == ("pause", "commentary", "")
    assert reply.words == "I'll look it up."


def test_commentary_beside_calls_is_no_pause() -> None:
    """Its calls are to be answered first."""
    reply = read(message("I'll look it up.", phase="commentary"), call(1, "{}"))

    assert (reply.stop, reply.text) == ("tool_use", "I'll look it up.")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", "unavailable"),
        ("rate_limit_exceeded", "rate_limited"),
        ("vector_store_timeout", "timeout"),
        ("invalid_prompt", "invalid_request"),
        ("data_residency_mismatch", "permission"),
        ("bio_policy", "content_filtered"),
        ("misalignment_policy_violation", "content_filtered"),
        ("image_content_policy_violation", "content_filtered"),
        *(
            (code, "invalid_request")
            for code in (
                "invalid_image",
                "invalid_image_format",
                "invalid_base64_image",
                "invalid_image_url",
                "image_too_large",
                "image_too_small",
                "image_parse_error",
                "invalid_image_mode",
                "image_file_too_large",
                "unsupported_image_media_type",
                "empty_image_file",
                "failed_to_download_image",
                "image_file_not_found",
                "a_code_of_tomorrow",
            )
        ),
    ],
)
async def test_failed_response_raises_by_its_code(
    provider: ProviderServer, code: str, kind: FailureKind
) -> None:
    """A response may fail although its HTTP status is 200; what it used is counted."""
    # BY-49
    provider.answer(response(status="failed", error={"code": code, "message": "so it is"}))

    with pytest.raises(ModelError, match=rf"\({code}\): .*so it is") as raised:
        await OpenAIAdapter().respond(ask())

    assert raised.value.kind == kind
    assert raised.value.usage is not None
    assert raised.value.usage.input_tokens == 1000


def test_failure_without_a_code_passes() -> None:
    """A response that failed for no stated reason may go well the next time."""
    with pytest.raises(ModelUnavailable) as raised:
        read(status="failed", error=None)

    assert raised.value.kind == "unavailable"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({}, id="empty"),
        pytest.param(response(output=None), id="no output"),
        pytest.param(response({"type": "function_call", "name": "x"}), id="call without an id"),
        pytest.param(response({"type": "message", "content": 5}), id="message without content"),
    ],
)
def test_what_is_no_response(raw: JsonObject) -> None:
    """Something else with a good status may be a proxy's page; another attempt may help."""
    with pytest.raises(ModelUnavailable) as raised:
        OpenAIAdapter().parse_response(raw)

    assert raised.value.kind == "unreadable"


def test_usage_in_detail() -> None:
    """Cached, written and reasoning tokens are parts of the whole, with the provider's names."""
    # AD-15, AD-19, PP-07, PS-14, T-26
    usage = OpenAIAdapter().extract_usage(
        response(
            usage={
                "input_tokens": 1000,
                "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 50},
                "output_tokens": 100,
                "output_tokens_details": {"reasoning_tokens": 40},
            },
            tool_usage={"web_search": {"num_requests": 2}},
        )
    )

    assert (usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (200, 50, 40)
    assert usage.native == {
        "openai": {
            "cached_tokens": 200,
            "cache_write_tokens": 50,
            "reasoning_tokens": 40,
            "web_search_requests": 2,
        }
    }


def test_cached_tokens_cost_less() -> None:
    """They are part of the input."""
    # AD-15
    usage: JsonObject = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 200},
        "output_tokens": 100,
    }

    # 800 at 1.75 $, 200 at 0.175 $ and 100 at 14 $ for a million
    assert read(usage=usage).usage.estimated_cost == Decimal("0.002835")


def test_usage_may_be_missing() -> None:
    """Without usage nothing is counted, and the price is unknown instead of 0."""
    # AD-15
    usage = OpenAIAdapter().extract_usage(response(usage=None))

    assert (usage.total_tokens, usage.estimated_cost) == (0, None)


def test_reasoning_that_the_server_took_out_is_reported() -> None:
    """The provider says what of the input it didn't show the model."""
    gone: JsonObject = {
        "id": "rs_1",
        "type": "reasoning",
        "action": "removed",
        "reason": "model_mismatch",
    }

    reply = read(message("ok"), input_transformations=[gone])

    assert reply.notes == ("openai left out reasoning that it was sent again (model_mismatch)",)
