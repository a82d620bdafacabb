"""How long a provider asks to wait, as its headers say it."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 366 * 86_400.0
"""Seconds; more is no wait but a mistake, and no timer takes it."""


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
    return _plausible(_until(after, now) if wait is None else wait)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _until(text: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    # A date without a zone is in UTC, as all dates of HTTP are.
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max((then - now).total_seconds(), 0.0)


def _plausible(wait: float | None) -> float | None:
    if wait is None or math.isnan(wait) or not 0 <= wait <= LONGEST:
        return None
    return wait
