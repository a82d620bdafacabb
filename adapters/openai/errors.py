"""From failures of OpenAI's SDK, and from failed responses, to our errors."""

from typing import TYPE_CHECKING

from adapters import failures
from contracts.base import Contract
from contracts.errors import ModelError, ModelRejected, ModelUnavailable

if TYPE_CHECKING:
    from openai import OpenAIError

PROVIDER = failures.Provider(
    name="openai",
    key_variable="OPENAI_API_KEY",
    address_variable="OPENAI_BASE_URL",
    spent=frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}),
)
_PASSING = {"server_error", "rate_limit_exceeded", "vector_store_timeout"}


class ResponseError(Contract):
    """Why a response failed although its HTTP status is good."""

    code: str = "server_error"
    message: str = ""


def failed(error: ResponseError) -> ModelError:
    """Sort a failed response."""
    text = failures.one_line(f"openai failed the response ({error.code}): {error.message}")
    return ModelUnavailable(text) if error.code in _PASSING else ModelRejected(text)


def as_model_error(error: "OpenAIError", secret: str | None = None) -> ModelError:
    """Sort what the SDK raised; *secret* is the key, which its text may quote."""
    import openai

    match error:
        case openai.APIStatusError(response=response):
            answer = failures.Answer(response.status_code, response.headers, response.content)
            return failures.answered(PROVIDER, answer, secret)
        case openai.APITimeoutError(request=request):
            return failures.too_slow(PROVIDER, request.url.host)
        case openai.APIConnectionError(request=request):
            cause = type(error.__cause__ or error).__name__
            return failures.unreachable(PROVIDER, request.url.host, cause)
        case _:
            return failures.unusable(PROVIDER, str(error), secret)
