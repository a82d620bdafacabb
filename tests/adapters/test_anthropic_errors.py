"""What Anthropic's refusals mean to us."""

import pytest

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import FailureKind, ModelError, ModelRejected, ModelUnavailable
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.anthropic import MODEL

FILTERED = "Output blocked by content filtering policy"
POOR = "Your credit balance is too low to access the Anthropic API."
TOO_LONG = "prompt is too long: 216654 tokens > 200000 maximum"


def problem(kind: str, message: str = "no", code: str | None = None) -> JsonObject:
    error: JsonObject = {"type": kind, "message": message}
    if code:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": "req_1"}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        pytest.param(400, problem("invalid_request_error"), "invalid_request", id="bad"),
        pytest.param(
            400, problem("invalid_request_error", TOO_LONG), "context_overflow", id="long"
        ),
        pytest.param(
            400, problem("invalid_request_error", FILTERED), "content_filtered", id="filtered"
        ),
        pytest.param(400, problem("invalid_request_error", POOR), "quota", id="no credit"),
        pytest.param(401, problem("authentication_error"), "auth", id="key"),
        pytest.param(402, problem("billing_error"), "quota", id="billing"),
        pytest.param(403, problem("permission_error"), "permission", id="permission"),
        pytest.param(404, problem("not_found_error"), "not_found", id="model"),
        pytest.param(409, problem("conflict_error"), "unavailable", id="conflict"),
        pytest.param(413, problem("request_too_large"), "context_overflow", id="large"),
        pytest.param(422, problem("invalid_request_error"), "invalid_request", id="unprocessable"),
        pytest.param(429, problem("rate_limit_error"), "rate_limited", id="rate"),
        pytest.param(
            429, problem("rate_limit_error", code="ramp_limit_exceeded"), "rate_limited", id="ramp"
        ),
        *(
            pytest.param(429, problem("rate_limit_error", code=code), "quota", id=code)
            for code in (
                "enforced_spend_limit_reached",
                "contract_spend_limit_reached",
                "linked_organization_spend_limit_reached",
                "linked_organization_billing_unavailable",
                "organization_on_hold",
            )
        ),
        pytest.param(500, problem("api_error"), "unavailable", id="fault"),
        pytest.param(504, problem("timeout_error"), "timeout", id="too slow"),
        pytest.param(529, problem("overloaded_error"), "overloaded", id="overloaded"),
    ],
)
async def test_refusals_are_sorted(
    provider: ProviderServer, status: int, body: JsonObject, kind: FailureKind
) -> None:
    """Every refusal has its kind, whose retries are Temporal's: the request is made once."""
    # issue 3 item 8
    passing = {"rate_limited", "overloaded", "unavailable", "timeout"}
    provider.answer(body, status)

    with pytest.raises(ModelError) as raised:
        await AnthropicAdapter().respond(say.request(MODEL))

    assert raised.value.kind == kind
    assert isinstance(raised.value, ModelUnavailable) is (kind in passing)
    assert len(provider.requests) == 1


async def test_profile_that_cannot_be_read_is_named(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK also takes credentials from a profile; what is wrong with one is told."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "no-such")

    with pytest.raises(ModelRejected, match=r"anthropic can't be asked: .*no-such"):
        await AnthropicAdapter().respond(say.request(MODEL))
