"""How long a provider asks to wait."""

from datetime import UTC, datetime

import pytest
from httpx2 import Headers

from holdfast.adapters import retry_after
from tests.counting import count_calls

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="nothing said"),
        pytest.param({"retry-after": "7"}, 7.0, id="seconds"),
        pytest.param({"retry-after": "0.5"}, 0.5, id="half a second"),
        pytest.param({"retry-after-ms": "1500", "retry-after": "2"}, 1.5, id="milliseconds first"),
        pytest.param({"retry-after-ms": "soon", "retry-after": "2"}, 2.0, id="or else seconds"),
        pytest.param({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0, id="a date"),
        pytest.param({"retry-after": "Sat, 21 Nov 2026 12:00:30 -0000"}, 30.0, id="without zone"),
        pytest.param({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0, id="a past date"),
        pytest.param({"retry-after": "soon"}, None, id="words"),
        pytest.param({"retry-after": f"Sun, 06 Nov {10**12} 08:49:37 GMT"}, None, id="a far year"),
        pytest.param(
            {"retry-after": f"Sun, 06 Nov 2026 08:49:37 +{10**15}"}, None, id="a far zone"
        ),
        pytest.param(
            {"retry-after": "Fri, 01 Jan 0001 00:00:00 +2359"}, 0.0, id="before all years"
        ),
        pytest.param({"retry-after": "-3"}, None, id="before now"),
        pytest.param({"retry-after": "nan"}, None, id="no number"),
        pytest.param({"retry-after": "inf"}, None, id="for ever"),
        pytest.param({"retry-after": "1e12"}, None, id="beyond any timer"),
    ],
)
def test_wait_is_read_from_headers(headers: dict[str, str], seconds: float | None) -> None:
    """A wait that makes no sense counts as none, so that the retry policy decides."""
    assert retry_after.seconds(headers, NOW) == seconds


SOON = "2026-11-21T12:00:30Z"
LATER = "2026-11-21T13:00:00+00:00"
PAST = "2026-11-21T11:59:00Z"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="no limits"),
        pytest.param({"x-ratelimit-reset-requests": "20ms"}, 0.02, id="milliseconds"),
        pytest.param({"x-ratelimit-reset-requests": "1.5s"}, 1.5, id="seconds"),
        pytest.param({"x-ratelimit-reset-requests": "6m0s"}, 360.0, id="minutes"),
        pytest.param({"x-ratelimit-reset-requests": "1h2m"}, 3720.0, id="hours"),
        pytest.param({"x-ratelimit-reset-requests": "1d0h0m1.5s"}, 86_401.5, id="days"),
        pytest.param({"x-ratelimit-reset": "12"}, 12.0, id="a bare number is seconds"),
        pytest.param({"x-ratelimit-reset": "1795262430"}, None, id="but no date"),
        pytest.param({"x-ratelimit-reset-requests": "soon"}, None, id="words"),
        pytest.param({"x-ratelimit-reset-requests": "0s"}, None, id="nothing to wait for"),
        pytest.param({"anthropic-ratelimit-tokens-reset": SOON}, 30.0, id="a date"),
        pytest.param({"someone-ratelimit-reset-tokens": "9s"}, 9.0, id="anybody's"),
        pytest.param({"anthropic-ratelimit-tokens-reset": PAST}, None, id="a past date"),
        pytest.param(
            {"anthropic-ratelimit-tokens-reset": "2026-11-21T12:00:30"}, 30.0, id="without zone"
        ),
        pytest.param(
            {"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"},
            360.0,
            id="the longest",
        ),
        pytest.param(
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "100",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            1.0,
            id="only what is used up",
        ),
        pytest.param(
            {
                "anthropic-ratelimit-requests-remaining": "9",
                "anthropic-ratelimit-requests-reset": LATER,
                "anthropic-ratelimit-input-tokens-remaining": "2000",
                "anthropic-ratelimit-input-tokens-reset": SOON,
            },
            30.0,
            id="or else too few tokens",
        ),
        pytest.param(
            {
                "x-ratelimit-remaining-requests": "9",
                "x-ratelimit-reset-requests": "1s",
            },
            None,
            id="nothing is used up",
        ),
        pytest.param({"x-ratelimit-limit-requests": "60"}, None, id="a limit alone"),
        pytest.param({"x-ratelimit-reset-requests": "1s" * 60}, None, id="a long one"),
    ],
)
def test_wait_is_reckoned_from_limits(headers: dict[str, str], seconds: float | None) -> None:
    """Of the limits that stand in the way, the one that resets last decides."""
    assert retry_after.until_reset(headers, NOW) == seconds


def test_no_number_of_limits_takes_long() -> None:
    """Each is looked for among all headers, of which an answer may have four thousand."""

    def read(count: int) -> int:
        headers = Headers({f"x-ratelimit-reset-{number}": "1s" for number in range(count)})
        return count_calls(lambda: retry_after.until_reset(headers, NOW), "__getitem__")

    assert read(1_000) == read(100)
