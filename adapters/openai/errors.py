"""From failures of OpenAI's SDK, of its streams, and from failed responses, to our errors."""

from typing import TYPE_CHECKING

from pydantic import JsonValue

from adapters import failures
from contracts.base import JsonObject
from contracts.errors import ModelError, ModelRejected
from contracts.usage import CallUsage

if TYPE_CHECKING:
    from openai import OpenAIError

PROVIDER = failures.Provider(
    name="openai",
    key_variable="OPENAI_API_KEY",
    address_variable="OPENAI_BASE_URL",
    codes={
        "billing_hard_limit_reached": "quota",
        "billing_not_active": "quota",
        "usage_limit_reached": "quota",
        "server_is_overloaded": "overloaded",
        "slow_down": "overloaded",
        "conversation_locked": "unavailable",
        "vector_store_timeout": "timeout",
        "previous_response_not_found": "not_found",
        "conversation_not_found": "not_found",
        "data_residency_mismatch": "permission",
        "bio_policy": "content_filtered",
        "cyber_policy": "content_filtered",
        "misalignment_policy_violation": "content_filtered",
        "content_policy_violation": "content_filtered",
        "image_content_policy_violation": "content_filtered",
    },
)
_GONE = ("previous_response_not_found", "conversation_not_found")


class Gone(ModelRejected):
    """What the request refers to is kept no longer; sent whole, it may go well."""


def failed(error: JsonValue, usage: CallUsage) -> ModelError:
    """Sort the error of a failed response; a cause that nobody knows is the request's."""
    problem: JsonValue = error or {"code": "server_error"}
    return failures.reported(PROVIDER, problem, usage=usage, otherwise="invalid_request")


def broken_off(event: JsonObject) -> ModelError:
    """Sort an error that came in the middle of a stream."""
    error = failures.reported(PROVIDER, event)
    inner = event.get("error")
    named = inner if isinstance(inner, dict) else event
    return Gone(str(error), kind="not_found") if named.get("code") in _GONE else error


def as_model_error(error: "OpenAIError", secret: str | None = None) -> ModelError:
    """Sort what the SDK raised before a reply began; *secret* is the key, which it may quote."""
    import openai

    match error:
        case openai.APIStatusError(response=response, code=code):
            answer = failures.Answer(response.status_code, response.headers, response.content)
            sorted_out = failures.answered(PROVIDER, answer, secret)
            # For conversations, 404 is all that is said; a model that is gone has its code.
            nameless = isinstance(error, openai.NotFoundError) and code is None
            gone = nameless or code in _GONE
            return Gone(str(sorted_out), kind="not_found") if gone else sorted_out
        case openai.APITimeoutError(request=request):
            return failures.too_slow(PROVIDER, request.url.host)
        case openai.APIConnectionError(request=request):
            cause = type(error.__cause__ or error).__name__
            return failures.unreachable(PROVIDER, request.url.host, cause)
        case _:
            return failures.unusable(PROVIDER, str(error), secret)
