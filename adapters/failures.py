"""What a provider's failure means to us, and one line for a person about it."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.adapters import retry_after
from holdfast.adapters.meter import check_whole
from holdfast.contracts.base import Contract, JsonObject, repair_surrogates
from holdfast.contracts.bounds import MAX_CALLS_PER_REPLY
from holdfast.contracts.errors import FailureKind, ModelError, ModelRejected, ModelUnavailable
from holdfast.contracts.patterns import WORD, Pattern
from holdfast.contracts.texts import clip_chars, one_line
from holdfast.contracts.usage import CallUsage
from holdfast.tools.network.pace import UnacceptableResponse

PARSE_ERRORS = (ValueError, RecursionError)
"""What an answer may raise, beside errors of its SDK, that is no JSON, too deep or too large."""

_MAX_LINE_CHARS = 500
_MAX_READ_CHARS = 2_000
"""What looks like a key is looked for in so much: an event of a stream may say four megabytes."""

_MIN_KEY_CHARS = 7
"""Characters; what is shorter stands in for a key where none is needed, and in other words too."""
_TOO_LONG = Pattern(
    "prompt is too long|maximum context length|context (window|length|size)", any_case=True
)
_BAD_STATUS = Pattern(r"[45]\d\d")
_LIKE_A_KEY = Pattern(rf"\bsk-[{WORD}.*\-]+")
_TRANSIENT_KINDS: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "unavailable", "timeout", "stalled", "cut_off", "unreadable"}
)
_OVERLOADED = 529
_STATUSES: Mapping[int, FailureKind] = {
    HTTPStatus.UNAUTHORIZED: "auth",
    HTTPStatus.PAYMENT_REQUIRED: "quota",
    HTTPStatus.FORBIDDEN: "permission",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.REQUEST_TIMEOUT: "timeout",
    HTTPStatus.CONFLICT: "unavailable",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "context_overflow",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limited",
    HTTPStatus.NOT_IMPLEMENTED: "invalid_request",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout",
    _OVERLOADED: "overloaded",
}
_CODES: Mapping[str, FailureKind] = {
    "authentication_error": "auth",
    "billing_error": "quota",
    "content_filter": "content_filtered",
    "context_length_exceeded": "context_overflow",
    "insufficient_quota": "quota",
    "invalid_api_key": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "permission",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "request_too_large": "context_overflow",
    "timeout_error": "timeout",
}
"""Words for a cause that providers share."""

_GENERIC_CODES: Mapping[str, FailureKind] = {
    "api_error": "unavailable",
    "invalid_request_error": "invalid_request",
    "server_error": "unavailable",
}
"""Words that stand beside many a cause: they count only where no HTTP status tells it."""


class Provider(NamedTuple):
    """
    A provider as our messages name it, and how its errors are to be read.

    The variables are those of the environment that a person can mend. `codes` are the provider's
    own words for causes: they count more than the HTTP status. `phrases` are pieces of its
    messages, in small letters, for causes that it gives no code.
    """

    name: str
    key_variable: str
    address_variable: str
    codes: Mapping[str, FailureKind]
    phrases: Mapping[str, FailureKind] = MappingProxyType({})


class ErrorResponse(NamedTuple):
    """An answer with an error status, as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Problem(Contract):
    """What providers say of an error; each leaves some of it out, or gives a code as a number."""

    type: JsonValue = None
    code: JsonValue = None
    message: JsonValue = None
    details: JsonValue = None

    @property
    def codes(self) -> tuple[str, ...]:
        """All words for the cause, each once, the most exact one last."""
        named = self.details.get("error_code") if isinstance(self.details, dict) else None
        words = (self.type, self.code, named)
        return tuple(dict.fromkeys(w for w in words if isinstance(w, str) and w != "error"))

    @property
    def status(self) -> int:
        """The HTTP status that the code names, or else a good one."""
        named = str(self.code)
        return int(named) if _BAD_STATUS.fits(named) else HTTPStatus.OK

    @property
    def words(self) -> str:
        """What a person may read of it."""
        return self.message if isinstance(self.message, str) else ""


def from_http(provider: Provider, answer: ErrorResponse) -> ModelError:
    """Sort an answer with an error status."""
    problem = _from_body(answer.body)
    kind = _kind(provider, answer.status, problem)
    away = HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST
    deed = f"answered HTTP {answer.status}" + (", and no redirect is followed" if away else "")
    text = _describe(provider, deed, kind, problem)
    now = datetime.now(UTC)
    wait = retry_after.seconds(answer.headers, now)
    if wait is None and kind == "rate_limited":
        wait = retry_after.until_reset(answer.headers, now)
    return _build_error(kind, text, wait, passes=_read_should_retry(kind, answer.headers))


def from_reply(
    provider: Provider,
    error: JsonValue,
    usage: CallUsage | None = None,
    otherwise: FailureKind = "unavailable",
) -> ModelError:
    """
    Sort an error that came inside of a good answer: in its stream, or in a failed response.

    *error* is the provider's object, bare or as the field `error` of another; *otherwise* is what
    an unknown one means.
    """
    inner = error.get("error", error) if isinstance(error, dict) else error
    problem = _problem(inner)
    kind = _kind(provider, problem.status, problem, otherwise)
    text = _describe(provider, "broke off its reply", kind, problem)
    return _build_error(kind, text, usage=usage)


def _build_error(
    kind: FailureKind,
    text: str,
    wait: float | None = None,
    usage: CallUsage | None = None,
    *,
    passes: bool | None = None,
) -> ModelError:
    """Make the error; whether it passes is told by its kind, unless *passes* says so."""
    if kind in _TRANSIENT_KINDS if passes is None else passes:
        return ModelUnavailable(text, wait, kind=kind, usage=usage)
    return ModelRejected(text, kind=kind, usage=usage)


@contextmanager
def redact_key(secret: str | None) -> Generator[None]:
    """
    Make the message of every ModelError that the block raises one line, not long, without keys.

    *secret* is the key in use, which a server or its SDK may quote.
    """
    try:
        yield
    except ModelError as error:
        error.args = (_redact_line(str(error), secret),)
        raise


def is_key(text: str | None) -> bool:
    """Whether a header can carry this key; one that was pasted with its line break can't go."""
    return bool(text) and text.isascii() and text.isprintable()


def from_missing_key(provider: Provider) -> ModelRejected:
    """Say that there is no key, or none that can be sent."""
    return ModelRejected(
        f"set {provider.key_variable} for the worker: "
        f"{provider.name} wants a key, without line breaks or special characters",
        kind="auth",
    )


def from_sdk_error(provider: Provider, text: str) -> ModelRejected:
    """Say why nothing could be asked at all."""
    return ModelRejected(f"{provider.name} can't be asked: {text}")


def from_connection_error(provider: Provider, host: str, cause: str) -> ModelUnavailable:
    """Say that no connection came about, or that it broke."""
    return ModelUnavailable(
        f"no connection to {provider.name} at {host} ({cause}): "
        f"check the network and {provider.address_variable}"
    )


def from_timeout(provider: Provider, host: str) -> ModelUnavailable:
    """Say that no answer came in time; the call may have been billed."""
    return ModelUnavailable(
        f"{provider.name} at {host} did not answer in time: wait, or use another model",
        kind="timeout",
    )


def from_stall(provider: Provider, usage: CallUsage | None) -> ModelUnavailable:
    """Say that a stream fell silent before its end."""
    return ModelUnavailable(
        f"{provider.name} stopped in the middle of its reply and said nothing more: "
        "wait, or use another model",
        kind="stalled",
        usage=usage,
    )


def from_cut_off(provider: Provider, usage: CallUsage | None) -> ModelUnavailable:
    """Say that a stream ended before its reply did."""
    return ModelUnavailable(
        f"the connection to {provider.name} broke in the middle of its reply: "
        "wait, or use another model",
        kind="cut_off",
        usage=usage,
    )


def from_unreadable_reply(
    provider: Provider, usage: CallUsage | None = None, error: Exception | None = None
) -> ModelUnavailable:
    """Say that what came is no reply of a model; *error* broke the attempt to read it."""
    flaw = f" ({error})" if isinstance(error, UnacceptableResponse) else ""
    return ModelUnavailable(
        f"{provider.name} answered with something that is no reply of a model{flaw}: "
        f"wait, or check {provider.address_variable}",
        kind="unreadable",
        usage=usage,
    )


def check_call_count(provider: Provider, count: int, usage: CallUsage) -> None:
    """Raise ModelUnavailable for a reply that asks for more calls than anybody makes."""
    if count > MAX_CALLS_PER_REPLY:
        flaw = UnacceptableResponse(f"more than {MAX_CALLS_PER_REPLY} calls at once")
        raise from_unreadable_reply(provider, usage, flaw)


def check_size(provider: Provider, raw: JsonObject, extract: Callable[[], CallUsage]) -> None:
    """Raise ModelUnavailable for a response beyond all; what it used is what *extract* finds."""
    try:
        check_whole(raw)
    except UnacceptableResponse as error:
        raise from_unreadable_reply(provider, extract(), error) from None


def _redact_line(text: str, secret: str | None) -> str:
    if secret and len(secret) >= _MIN_KEY_CHARS:
        text = text.replace(secret, "[key]")
    read = repair_surrogates(text[:_MAX_READ_CHARS])
    return clip_chars(one_line(_LIKE_A_KEY.sub("[key]", read)), _MAX_LINE_CHARS)


def _from_body(body: bytes) -> _Problem:
    try:
        said: JsonValue = from_json(body)
    except ValueError:
        return _Problem()
    return _problem(said.get("error")) if isinstance(said, dict) else _Problem()


def _problem(error: JsonValue) -> _Problem:
    return _Problem.model_validate(error if isinstance(error, dict) else {"message": error})


def _kind(
    provider: Provider, status: int, problem: _Problem, otherwise: FailureKind = "unavailable"
) -> FailureKind:
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return "not_found"
    exact = (
        _match_codes(problem, provider.codes)
        or _match_codes(problem, _CODES)
        or _STATUSES.get(status)
    )
    if exact:
        return exact
    for phrase, kind in provider.phrases.items():
        if phrase in problem.words.lower():
            return kind
    if _TOO_LONG.found_in(problem.words):
        return "context_overflow"
    if status == HTTPStatus.OK:
        return _match_codes(problem, _GENERIC_CODES) or otherwise
    return "unavailable" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request"


def _match_codes(problem: _Problem, known: Mapping[str, FailureKind]) -> FailureKind | None:
    for code in reversed(problem.codes):
        if code in known:
            return known[code]
    return None


def _read_should_retry(kind: FailureKind, headers: Mapping[str, str]) -> bool | None:
    """Read what the provider says of trying again; but no wait fills an empty account."""
    asked = headers.get("x-should-retry")
    if asked == "true":
        return kind != "quota"
    return False if asked == "false" else None


def _describe(provider: Provider, deed: str, kind: FailureKind, problem: _Problem) -> str:
    codes = f" ({', '.join(problem.codes)})" if problem.codes else ""
    text = f"{provider.name} {deed}{codes}: {_advice(provider, kind)}"
    # What a provider says of a wrong key quotes it, in part or whole.
    return f"{text}; it says: {problem.words}" if problem.words and kind != "auth" else text


def _advice(provider: Provider, kind: FailureKind) -> str:
    match kind:
        case "auth":
            return f"set {provider.key_variable} to a valid key"
        case "quota":
            return "see to the account's billing and limits"
        case "permission":
            return "give the account of this key access to what it asks for"
        case "not_found":
            return f"correct the agent's models or {provider.address_variable}"
        case "context_overflow":
            return "make the request smaller"
        case "content_filtered":
            return "rephrase the task, or use another model"
        case "rate_limited":
            return "wait, or raise the account's rate limit"
        case "invalid_request":
            return "correct the request"
        case "overloaded" | "unavailable" | "timeout" | "stalled" | "cut_off" | "unreadable":
            return "wait, or use another model"
