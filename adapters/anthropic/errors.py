"""From failures of Anthropic's SDK to ours."""

from pydantic import JsonValue, TypeAdapter

from holdfast.adapters import failures
from holdfast.contracts.errors import ModelError, ModelRejected
from holdfast.contracts.usage import CallUsage
from holdfast.tools.network.pace import UnacceptableResponse

PROVIDER = failures.Provider(
    name="anthropic",
    key_variable="ANTHROPIC_API_KEY",
    address_variable="ANTHROPIC_BASE_URL",
    codes={
        "contract_spend_limit_reached": "quota",
        "enforced_spend_limit_reached": "quota",
        "linked_organization_billing_unavailable": "quota",
        "linked_organization_spend_limit_reached": "quota",
        "organization_on_hold": "quota",
        "user_profile_billing_not_authorized": "quota",
        "user_profile_not_billable": "quota",
    },
    phrases={
        "credit balance is too low": "quota",
        "content filtering policy": "content_filtered",
    },
)

CREDENTIALS = frozenset(
    {
        PROVIDER.key_variable,
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_IDENTITY_TOKEN",
        "ANTHROPIC_IDENTITY_TOKEN_FILE",
        "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    }
)
"""What the SDK reads."""

_BODY: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def from_identity() -> ModelRejected:
    """Say that the worker has no key, but an identity or a profile that the SDK would take."""
    return ModelRejected(
        f"set {PROVIDER.key_variable} for the worker: {PROVIDER.name} isn't asked with a "
        "federated identity or a profile, whose tokens nothing would keep out of history",
        kind="auth",
    )


def as_model_error(error: Exception, usage: CallUsage | None = None) -> ModelError:
    """
    Sort what the SDK raised, or let through, before a reply or inside of one.

    *usage* is what had been used until then.
    """
    import anthropic
    import httpx2

    match error:
        # A stream that began well may still bring an error.
        case anthropic.APIStatusError(response=response, body=body) if response.is_success:
            return failures.from_reply(PROVIDER, _read_body(body), usage)
        case anthropic.APIStatusError(response=response):
            answer = failures.ErrorResponse(
                response.status_code, response.headers, response.content
            )
            return failures.from_http(PROVIDER, answer)
        # Where the SDK can't tell what went wrong, it was the connection.
        case anthropic.APIConnectionError(__cause__=UnacceptableResponse() as flaw):
            return failures.from_unreadable_reply(PROVIDER, usage, flaw)
        case anthropic.APITimeoutError(request=request):
            return failures.from_timeout(PROVIDER, request.url.netloc.decode())
        case anthropic.APIConnectionError(request=request):
            cause = type(error.__cause__ or error).__name__
            return failures.from_connection_error(PROVIDER, request.url.netloc.decode(), cause)
        # The SDK lets through what breaks a stream that it has begun to read.
        case httpx2.TimeoutException():
            return failures.from_stall(PROVIDER, usage)
        case httpx2.HTTPError() | httpx2.StreamError():
            return failures.from_cut_off(PROVIDER, usage)
        case ValueError() | RecursionError():
            return failures.from_unreadable_reply(PROVIDER, usage, error)
        case _:
            return failures.from_sdk_error(PROVIDER, str(error))


def _read_body(body: object) -> JsonValue:
    """Return what an error says; nothing where that is nested deeper than anybody reads."""
    try:
        return _BODY.validate_python(body)
    except ValueError:
        return None
