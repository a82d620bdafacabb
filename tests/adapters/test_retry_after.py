"""How long a provider asks to wait."""

from datetime import UTC, datetime

import pytest

from adapters import retry_after

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
        pytest.param({"retry-after": "-3"}, None, id="before now"),
        pytest.param({"retry-after": "nan"}, None, id="no number"),
        pytest.param({"retry-after": "inf"}, None, id="for ever"),
        pytest.param({"retry-after": "1e12"}, None, id="beyond any timer"),
    ],
)
def test_wait_is_read_from_headers(headers: dict[str, str], seconds: float | None) -> None:
    """A wait that makes no sense counts as none, so that the retry policy decides."""
    assert retry_after.seconds(headers, NOW) == seconds
