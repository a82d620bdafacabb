"""From failures of OpenAI's SDK, of its streams, and from failed responses, to our errors."""

from pydantic import JsonValue

from holdfast.adapters import failures, openai_sdk
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError, ModelRejected
from holdfast.contracts.usage import CallUsage

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
_EXPIRED_CODES = ("previous_response_not_found", "conversation_not_found")


class ConversationExpired(ModelRejected):
    """What the request refers to is kept no longer; sent whole, it may go well."""


def from_failed_response(error: JsonValue, usage: CallUsage) -> ModelError:
    """Sort the error of a failed response; an unknown one is taken for a fault of the request."""
    problem: JsonValue = error or {"code": "server_error"}
    return failures.from_reply(PROVIDER, problem, usage=usage, otherwise="invalid_request")


def from_error_event(event: JsonObject, usage: CallUsage | None) -> ModelError:
    """
    Sort an error that came in the middle of a stream; *usage* is what had been used until then.

    A reply that had begun isn't asked for once more beside all counts, whatever is gone.
    """
    error = failures.from_reply(PROVIDER, event, usage)
    inner = event.get("error")
    named = inner if isinstance(inner, dict) else event
    gone = usage is None and named.get("code") in _EXPIRED_CODES
    return ConversationExpired(str(error), kind="not_found") if gone else error


def before_reply(error: Exception) -> ModelError:
    """Sort what the SDK raised before a reply began."""
    sorted_out = openai_sdk.before_reply(PROVIDER, error)
    return (
        ConversationExpired(str(sorted_out), kind="not_found") if _is_gone(error) else sorted_out
    )


def _is_gone(error: Exception) -> bool:
    import openai

    # For conversations, 404 is all that is said; a model that is gone has its code.
    nameless = isinstance(error, openai.NotFoundError) and error.code is None
    return nameless or (isinstance(error, openai.APIStatusError) and error.code in _EXPIRED_CODES)
