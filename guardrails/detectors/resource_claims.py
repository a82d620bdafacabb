"""How a run says which resources it holds, so that others can find it by them."""

import hashlib
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from pydantic import JsonValue

from holdfast.contracts.base import canonical_json
from holdfast.contracts.patterns import Pattern

ATTRIBUTE = "AgentResources"
"""The search attribute, a list of keywords: of each resource its name, and since when."""

_SAFE = Pattern(r"[\w./@+-]{1,60}")
_SINCE = " since "


def name_resource(argument: str, arguments: JsonValue) -> str | None:
    """
    Name the resource that a call takes, by one of its arguments; null for a call without it.

    A value that is long, or has anything but letters, digits and `._/@+-`, goes by its digest: it
    comes from a model, and the name stands in queries.
    """
    value = arguments.get(argument) if isinstance(arguments, dict) else None
    if value is None:
        return None
    said = value if isinstance(value, str) else canonical_json(value).decode()
    if not _SAFE.fits(said):
        said = f"sha256-{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    return f"{argument}:{said}"


def build_entries(names: Iterable[str], since: datetime) -> tuple[str, ...]:
    """Return what the attribute says of resources that a run has held since then."""
    return tuple(
        entry for name in names for entry in (name, f"{name}{_SINCE}{_render_time(since)}")
    )


def drop_entries(entries: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Return what the attribute says without these resources."""
    return tuple(entry for entry in entries if entry.partition(_SINCE)[0] not in names)


def held_since(found: Iterable[str], name: str, started: datetime) -> str:
    """
    Return since when a run has held a resource, by its attribute; such texts sort by time.

    A run that doesn't say has held it since it started.
    """
    begins = f"{name}{_SINCE}"
    said = [entry.removeprefix(begins) for entry in found if entry.startswith(begins)]
    return min(said, default=_render_time(started))


def _render_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
