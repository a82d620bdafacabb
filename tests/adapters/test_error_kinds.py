"""How an answer that is an error, or an error inside of a good answer, is sorted."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from holdfast.adapters import failures
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import FailureKind, ModelError, ModelRejected, ModelUnavailable
from holdfast.contracts.usage import CallUsage

PASSING = {"rate_limited", "overloaded", "unavailable", "timeout"}
PROVIDER = failures.Provider(
    name="someone",
    key_variable="SOMEONE_API_KEY",
    address_variable="SOMEONE_BASE_URL",
    codes={"spend_limit_reached": "quota", "slow_down": "overloaded"},
)


def answered(
    status: int, error: JsonValue = None, headers: Mapping[str, str] | None = None
) -> ModelError:
    body = json.dumps({"error": error} if error else {})
    answer = failures.ErrorResponse(status, headers or {}, body.encode())
    return told(failures.from_http(PROVIDER, answer))


def told(error: ModelError) -> ModelError:
    """Return an error as it leaves an adapter."""
    with pytest.raises(ModelError), failures.redact_key("the-key"):
        raise error
    return error


def passes(error: ModelError) -> bool:
    """Whether it is one of the two classes, and which."""
    assert isinstance(error, ModelUnavailable) is not isinstance(error, ModelRejected)
    return isinstance(error, ModelUnavailable)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, "not_found"),
        (400, "invalid_request"),
        (401, "auth"),
        (402, "quota"),
        (403, "permission"),
        (404, "not_found"),
        (405, "invalid_request"),
        (408, "timeout"),
        (409, "unavailable"),
        (412, "invalid_request"),
        (413, "context_overflow"),
        (422, "invalid_request"),
        (429, "rate_limited"),
        (431, "invalid_request"),
        (499, "invalid_request"),
        (500, "unavailable"),
        (501, "invalid_request"),
        (502, "unavailable"),
        (503, "overloaded"),
        (504, "timeout"),
        (524, "unavailable"),
        (529, "overloaded"),
    ],
)
def test_status_tells_the_kind(status: int, kind: FailureKind) -> None:
    """Each status has one kind, and the kind tells whether waiting may help."""
    error = answered(status)

    assert error.kind == kind
    assert passes(error) is (kind in PASSING)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        pytest.param(429, {"code": "spend_limit_reached"}, "quota", id="the provider's own"),
        pytest.param(
            429,
            {"type": "rate_limit_error", "details": {"error_code": "spend_limit_reached"}},
            "quota",
            id="the exact one before the class",
        ),
        pytest.param(
            429, {"type": "tokens", "code": "rate_limit_exceeded"}, "rate_limited", id="a rate"
        ),
        pytest.param(
            429,
            {"type": "rate_limit_error", "code": "insufficient_quota"},
            "quota",
            id="quota is no rate limit",
        ),
        pytest.param(
            400,
            {"type": "invalid_request_error", "code": "context_length_exceeded"},
            "context_overflow",
            id="too long",
        ),
        pytest.param(
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 1 > 0"},
            "context_overflow",
            id="too long in words only",
        ),
        pytest.param(
            429, {"message": "of this context window"}, "rate_limited", id="words count last"
        ),
        pytest.param(404, {"type": "invalid_request_error"}, "not_found", id="a faint word"),
        pytest.param(500, {"type": "invalid_request_error"}, "unavailable", id="a fault"),
        pytest.param(500, {"type": "overloaded_error"}, "overloaded", id="overload"),
        pytest.param(400, {"code": "content_filter"}, "content_filtered", id="a filter"),
        pytest.param(502, {"code": 429}, "unavailable", id="a number that repeats nothing"),
        pytest.param(400, {"code": 7, "message": ["x"]}, "invalid_request", id="odd types"),
        pytest.param(400, ["x"], "invalid_request", id="no object"),
    ],
)
def test_words_are_more_exact_than_a_status(
    status: int, error: JsonValue, kind: FailureKind
) -> None:
    """What the provider calls the cause goes before its status, the exact word before others."""
    assert answered(status, error).kind == kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error"}, "overloaded"),
        ({"type": "api_error"}, "unavailable"),
        ({"code": "server_error"}, "unavailable"),
        ({"type": "rate_limit_error"}, "rate_limited"),
        ({"code": "rate_limit_exceeded"}, "rate_limited"),
        ({"type": "invalid_request_error"}, "invalid_request"),
        ({"type": "authentication_error"}, "auth"),
        ({"type": "permission_error"}, "permission"),
        ({"type": "not_found_error"}, "not_found"),
        ({"type": "timeout_error"}, "timeout"),
        ({"type": "request_too_large"}, "context_overflow"),
        ({"type": "error", "code": "slow_down"}, "overloaded"),
        ({"type": "error", "error": {"type": "overloaded_error"}}, "overloaded"),
        ({"code": 429, "message": "busy"}, "rate_limited"),
        ({"code": "502"}, "unavailable"),
        ({"code": 12}, "unavailable"),
        ({"message": "the maximum context length is 9"}, "context_overflow"),
        ({"code": "never_heard_of"}, "unavailable"),
        ("gone", "unavailable"),
        (None, "unavailable"),
    ],
)
def test_error_inside_of_a_good_answer_is_sorted_by_its_words(
    error: JsonValue, kind: FailureKind
) -> None:
    """There is no status to go by: a word decides, or a number that would have been one."""
    sorted_error = failures.from_reply(PROVIDER, error)

    assert sorted_error.kind == kind
    assert passes(sorted_error) is (kind in PASSING)


def test_reported_error_says_what_it_cost() -> None:
    """A reply that broke off names its cause, and what the provider counted until then."""
    usage = CallUsage(input_tokens=9)
    error: JsonObject = {"type": "error", "code": "slow_down", "message": "too many\nof the-key"}

    raised = told(failures.from_reply(PROVIDER, error, usage))

    assert raised.usage == usage
    assert str(raised) == (
        "someone broke off its reply (slow_down): wait, or use another model; "
        "it says: too many of [key]"
    )


def test_unknown_cause_may_mean_something_else() -> None:
    """Where a provider has many words for what it doesn't take, the rest of them is no fault."""
    raised = failures.from_reply(
        PROVIDER, {"code": "image_too_small"}, otherwise="invalid_request"
    )

    assert (raised.kind, passes(raised)) == ("invalid_request", False)


@pytest.mark.parametrize(
    ("status", "error", "asked", "means"),
    [
        pytest.param(400, {}, "true", ("invalid_request", True), id="try again"),
        pytest.param(500, {}, "false", ("unavailable", False), id="don't"),
        pytest.param(429, {}, "false", ("rate_limited", False), id="don't even wait"),
        pytest.param(500, {}, "perhaps", ("unavailable", True), id="no answer to that"),
        pytest.param(
            429, {"code": "insufficient_quota"}, "true", ("quota", False), id="an empty account"
        ),
    ],
)
def test_provider_says_whether_to_ask_again(
    status: int, error: JsonObject, asked: str, means: tuple[FailureKind, bool]
) -> None:
    """`x-should-retry` decides instead of the kind, but no waiting fills an account."""
    raised = answered(status, error, {"x-should-retry": asked})

    assert (raised.kind, passes(raised)) == means


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        pytest.param(503, {"retry-after": "7"}, 7, id="seconds"),
        pytest.param(429, {"retry-after-ms": "1500"}, 1.5, id="milliseconds"),
        pytest.param(429, {"x-ratelimit-reset-requests": "6m0s"}, 360, id="openai"),
        pytest.param(
            429,
            {"retry-after": "2", "x-ratelimit-reset-requests": "6m0s"},
            2,
            id="what it asks before what can be reckoned",
        ),
    ],
)
def test_wait_goes_with_the_error(status: int, headers: Mapping[str, str], wait: float) -> None:
    """What the provider says of waiting becomes the delay of the next attempt."""
    error = answered(status, headers=headers)

    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == wait


def test_a_time_at_which_to_ask_again_is_waited_for() -> None:
    """Anthropic says when, and not how long."""
    reset = datetime.now(UTC) + timedelta(minutes=30)

    error = answered(429, headers={"anthropic-ratelimit-tokens-reset": reset.isoformat()})

    assert isinstance(error, ModelUnavailable)
    assert error.retry_after is not None
    assert 1200 <= error.retry_after <= 1800


def test_limits_delay_nothing_but_rate_limited_requests() -> None:
    """A fault of the provider has nothing to do with limits that its headers happen to name."""
    error = answered(500, headers={"x-ratelimit-reset-requests": "6m0s"})

    assert isinstance(error, ModelUnavailable)
    assert error.retry_after is None


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "set SOMEONE_API_KEY to a valid key"),
        (402, "see to the account's billing and limits"),
        (403, "give the account of this key access to what it asks for"),
        (404, "correct the agent's models or SOMEONE_BASE_URL"),
        (413, "make the request smaller"),
        (422, "correct the request"),
        (429, "wait, or raise the account's rate limit"),
        (500, "wait, or use another model"),
    ],
)
def test_message_says_what_to_do(status: int, advice: str) -> None:
    """One line for a person: who answered what, and what mends it."""
    assert str(answered(status)) == f"someone answered HTTP {status}: {advice}"


@pytest.mark.parametrize("said", ["the-key", "sk-proj-abc***xyz", "sk-ant-api03-x_y.z"])
def test_no_key_is_repeated(said: str) -> None:
    """Neither the key in use nor anything that looks like one is told, whoever quotes it."""
    # PP-04
    message = f"wrong key {said}!"

    answer = answered(400, {"message": message})
    event = told(failures.from_reply(PROVIDER, {"message": message}))

    assert str(answer).endswith("it says: wrong key [key]!")
    assert str(event).endswith("it says: wrong key [key]!")
