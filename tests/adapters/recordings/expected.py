"""What a recorded answer says: read here without any code of the adapters."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from tests.adapters.recordings.exchanges import Body, Exchange

Call: TypeAlias = tuple[str | None, str, Any]
"""Id (null where the server gave none), name, and arguments: an object, or text that is none."""


class Counts(NamedTuple):
    """Tokens; `input` includes what a cache had to do with."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0


class Said(NamedTuple):
    """
    A reply.

    `pieces` are all its words, `answer` those that count where it has no calls. `verbatim` are
    the blocks that must be kept whole, `state` what a later request needs. `output` is all that
    the model put out.
    """

    pieces: tuple[str, ...]
    answer: str
    calls: tuple[Call, ...]
    stop: str
    counts: Counts
    model: str
    output: Any
    thoughts: tuple[str, ...] = ()
    verbatim: tuple[Body, ...] = ()
    state: tuple[str, ...] = ()


class Failed(NamedTuple):
    """No reply; the kind of the error is one of these."""

    kinds: frozenset[str]


Outcome: TypeAlias = Said | Failed

UNREADABLE = Failed(frozenset({"unreadable"}))
CUT_OFF = Failed(frozenset({"cut_off"}))

STATUSES = {
    400: {"invalid_request"},
    401: {"auth"},
    402: {"quota"},
    403: {"permission"},
    404: {"not_found"},
    408: {"timeout"},
    409: {"unavailable"},
    413: {"context_overflow"},
    429: {"rate_limited"},
    501: {"invalid_request"},
    503: {"overloaded"},
    504: {"timeout"},
    529: {"overloaded"},
}
HINTS = {
    "quota": ("quota", "billing", "credit", "spend", "balance"),
    "context_overflow": ("context", "too long", "too large", "maximum"),
    "content_filtered": ("content_filter", "content management", "moderation", "policy"),
    "overloaded": ("overloaded", "capacity"),
    "rate_limited": ("rate_limit", "rate limit"),
    "not_found": ("not_found", "does not exist"),
    "auth": ("authentication", "api key"),
    "permission": ("permission",),
    "timeout": ("timeout", "timed out"),
    "unavailable": ("api_error", "server_error", "internal", "failed_generation"),
    "unreadable": ("failed_generation",),
    "invalid_request": ("invalid_request",),
}
"""Words of a provider that may say more than the status does."""

VAGUE = {400, 403, 422, 429}
"""Statuses that providers use for more than one cause, as they do those from 500 on."""


def events(text: str) -> Iterator[Body]:
    """The events of a stream; what is no JSON object (`[DONE]`) ends it."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(line.removeprefix("data:").removeprefix(" ") for line in lines)
        if data.strip() == "[DONE]":
            return
        if data:
            yield json.loads(data)


def failure(status: int, body: object) -> Failed:
    """An answer with an error status, or an error inside of a stream (whose status is 500)."""
    plain = STATUSES.get(status, {"unavailable"} if status >= 500 else {"invalid_request"})
    if status < 500 and status not in VAGUE:
        return Failed(frozenset(plain))
    text = json.dumps(body).lower()
    hinted = {kind for kind, words in HINTS.items() if any(word in text for word in words)}
    return Failed(frozenset(plain | hinted))


def arguments(text: str) -> object:
    """Arguments as text: the object that they are, or else the text itself."""

    def refuse(constant: str) -> object:
        raise ValueError(constant)

    try:
        value = json.loads(text, parse_constant=refuse)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def count(usage: Body | None, *path: str) -> int:
    """A counter; 0 where the server doesn't count this."""
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value or 0


def whole_json(exchange: Exchange) -> Body | None:
    """The answer as one JSON object, if it is one."""
    if isinstance(exchange.body, dict):
        return exchange.body
    try:
        value = json.loads(exchange.body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
