"""How long a provider asks to wait, as its headers say it."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice

from holdfast.contracts.patterns import Pattern

MAX_WAIT_SECONDS = 366 * 86_400.0
"""Seconds; more is no wait but a mistake, and no timer takes it."""

MAX_LIMITS, _MAX_LIMIT_CHARS = 50, 100
"""Limits of an answer that are read: each is looked for among all of its headers."""

_LIMIT = Pattern(r"[a-z]+-ratelimit-(.+-)?reset(-.+)?")
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = Pattern(r"(\d+(\.\d+)?(ms|[dhms]))+")
_AMOUNT = Pattern(r"(\d+(?:\.\d+)?)(ms|[dhms])")


def seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """
    Return the wait in seconds, or null where the headers name none that makes sense.

    The header `retry-after-ms` is more exact than `retry-after`, which holds seconds or a date.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _plausible(milliseconds / 1000)
    after = headers.get("retry-after", "")
    wait = _number(after)
    return _plausible(_until(after, now, parsedate_to_datetime) if wait is None else wait)


def until_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """
    Return the seconds until the last of the limits resets that are used up.

    Where none is used up, too few tokens were left for the request: then the limits of tokens
    count. A reset in the past says nothing.
    """
    limits = [*islice((name for name in headers if _LIMIT.fits(name)), MAX_LIMITS)]
    spent = [name for name in limits if not _read_remaining(headers, name)]
    blocking = spent or [name for name in limits if "token" in name]
    waits = (_plausible(_until_limit(headers[name], now)) for name in blocking)
    return max(filter(None, waits), default=None)


def _read_remaining(headers: Mapping[str, str], reset: str) -> float:
    return _number(headers.get(reset.replace("reset", "remaining"), "")) or 0.0


def _until_limit(text: str, now: datetime) -> float | None:
    if len(text) > _MAX_LIMIT_CHARS:
        return None
    if _DURATION.fits(text):
        amounts = (amount.groups[1:] for amount in _AMOUNT.matches(text))
        return sum(float(number) * _UNITS[unit] for number, unit in amounts)
    bare = _number(text)
    return _until(text, now, datetime.fromisoformat) if bare is None else bare


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _until(text: str, now: datetime, read: Callable[[str], datetime]) -> float | None:
    try:
        then = read(text)
        # A date without a zone is in UTC, as all dates of HTTP are.
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        return max((then - now).total_seconds(), 0.0)
    except (ValueError, OverflowError):
        return None


def _plausible(wait: float | None) -> float | None:
    if wait is None or math.isnan(wait) or not 0 <= wait <= MAX_WAIT_SECONDS:
        return None
    return wait
