"""What a recorded answer says: read here without any code of the adapters."""

import json
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from tests.adapters.recordings.exchanges import Exchange
from tests.adapters.recordings.values import Body, Value, fields, is_object

Call: TypeAlias = tuple[str | None, str, Value]
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
    output: Value
    thoughts: tuple[str, ...] = ()
    verbatim: tuple[Body, ...] = ()
    state: tuple[str, ...] = ()


class Failed(NamedTuple):
    """No reply; the kind of the error is one of these."""

    kinds: frozenset[str]


Outcome: TypeAlias = Said | Failed

UNREADABLE = Failed(frozenset({"unreadable"}))
CUT_OFF = Failed(frozenset({"cut_off"}))
NOTHING = Failed(frozenset({"cut_off", "unreadable"}))

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
    "invalid_request": ("invalid_",),
}
"""Words of a provider that may say more than the status does."""

VAGUE = {400, 403, 422, 429}
"""Statuses that providers use for more than one cause, as they do those from 500 on."""


def received(exchange: Exchange) -> Body | list[Body] | Failed:
    """A whole answer, or the events of one, or neither."""
    if not exchange.good:
        return failure(exchange.status, exchange.body)
    if "json" in exchange.content_type:
        return _object(exchange.raw) or UNREADABLE
    try:
        return list(events(exchange.raw.decode())) or NOTHING
    except ValueError:
        return NOTHING


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
    return value if is_object(value) else text


def count(usage: Body | None, *path: str) -> int:
    """A counter; 0 where the server doesn't count this."""
    value: Value = usage
    for name in path:
        value = fields(value).get(name)
    return value or 0


def _object(text: bytes) -> Body:
    """The object that a text is; an empty one if it is none."""
    try:
        return fields(json.loads(text))
    except ValueError:
        return {}
