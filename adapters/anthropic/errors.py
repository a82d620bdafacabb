"""From failures of Anthropic's SDK to ours."""

from typing import TYPE_CHECKING

from adapters import failures
from contracts.errors import ModelError

if TYPE_CHECKING:
    from anthropic import AnthropicError

PROVIDER = failures.Provider(
    name="anthropic",
    key_variable="ANTHROPIC_API_KEY",
    address_variable="ANTHROPIC_BASE_URL",
    spent=frozenset(
        {
            "billing_error",
            "enforced_spend_limit_reached",
            "contract_spend_limit_reached",
            "linked_organization_spend_limit_reached",
            "linked_organization_billing_unavailable",
            "organization_on_hold",
        }
    ),
)


def as_model_error(error: "AnthropicError", secret: str | None = None) -> ModelError:
    """Sort what the SDK raised; *secret* is the key, which its text may quote."""
    import anthropic

    match error:
        case anthropic.APIStatusError(response=response):
            answer = failures.Answer(response.status_code, response.headers, response.content)
            return failures.answered(PROVIDER, answer, secret)
        case anthropic.APITimeoutError(request=request):
            return failures.too_slow(PROVIDER, request.url.host)
        case anthropic.APIConnectionError(request=request):
            cause = type(error.__cause__ or error).__name__
            return failures.unreachable(PROVIDER, request.url.host, cause)
        case _:
            return failures.unusable(PROVIDER, str(error), secret)
