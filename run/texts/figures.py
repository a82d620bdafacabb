"""How times, amounts, numbers and values are written. Pure."""

import json
from datetime import datetime, timedelta
from decimal import Decimal

from pydantic import JsonValue


def moment(time: datetime) -> str:
    """Write a time."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def duration(time: timedelta) -> str:
    """Write how long something took: `42 ms`, `3.1 s`, `2m 3s`, `3d 4h`."""
    seconds = max(time.total_seconds(), 0.0)
    if time < timedelta(seconds=1):
        return f"{round(seconds * 1000)} ms"
    if time < timedelta(minutes=1):
        return f"{seconds:.1f} s"
    days, hours, minutes, rest = split_seconds(seconds)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"


def split_seconds(seconds: float) -> tuple[int, int, int, int]:
    """Return whole days, hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return days, hours, minutes, rest


def dollars(amount: Decimal | None) -> str:
    """Write an estimated cost."""
    if amount is None:
        return "cost unknown"
    return f"${amount:.4f}" if amount else "$0"


def pluralize(number: int | Decimal, noun: str) -> str:
    """Write how many there are of something: `1 token`, `2 tokens`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def render_value(value: JsonValue) -> str:
    """Return a field of a contract as text: words as they are, the rest as JSON."""
    match value:
        case str():
            return value or "-"
        case None:
            return "-"
        case _:
            return json.dumps(value, ensure_ascii=False)
