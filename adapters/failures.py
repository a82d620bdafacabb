"""What a provider's failure means to us, and one line for a person about it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from adapters import retry_after
from contracts.base import Contract
from contracts.errors import ModelError, ModelRejected, ModelUnavailable

_LONGEST_LINE = 500
_LIKE_A_KEY = re.compile(r"\bsk-[\w.*-]+")
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}


class Provider(NamedTuple):
    """
    A provider in words: its name, and the environment variables that a person can mend.

    `spent` are its error codes for an account that has no money or quota left.
    """

    name: str
    key_variable: str
    address_variable: str
    spent: frozenset[str]


class Answer(NamedTuple):
    """An answer with an error status, as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Problem(Contract):
    """What providers say of an error; each leaves some of it out, or gives a code as a number."""

    type: JsonValue = None
    code: JsonValue = None
    message: str | None = None
    details: JsonValue = None

    @property
    def codes(self) -> tuple[str, ...]:
        """All words for the cause, each once."""
        named = self.details.get("error_code") if isinstance(self.details, dict) else None
        words = (self.type, self.code, named)
        return tuple(dict.fromkeys(word for word in words if isinstance(word, str)))


class _Body(Contract):
    error: _Problem = _Problem()


def answered(provider: Provider, answer: Answer, secret: str | None) -> ModelError:
    """Sort an answer with an error status; *secret* is the key, which it may quote."""
    problem = _problem(answer.body)
    spent = not provider.spent.isdisjoint(problem.codes)
    status = HTTPStatus.PAYMENT_REQUIRED if spent else answer.status
    codes = f" ({', '.join(problem.codes)})" if problem.codes else ""
    text = f"{provider.name} answered HTTP {answer.status}{codes}: {_advice(provider, status)}"
    # What a provider says of a wrong key quotes it, in part or whole.
    if problem.message and answer.status != HTTPStatus.UNAUTHORIZED:
        text = f"{text}; it says: {problem.message}"
    if not _passes(status):
        return ModelRejected(one_line(text, secret))
    wait = retry_after.seconds(answer.headers, datetime.now(UTC))
    return ModelUnavailable(one_line(text, secret), wait)


def is_key(text: str | None) -> bool:
    """Whether a header can carry it: a key that was pasted with its line break breaks requests."""
    return bool(text) and text.isascii() and text.isprintable()


def no_key(provider: Provider) -> ModelRejected:
    """Say that there is no key, or none that can be sent."""
    return ModelRejected(
        f"set {provider.key_variable} for the worker: "
        f"{provider.name} wants a key, without line breaks or special characters"
    )


def unusable(provider: Provider, text: str, secret: str | None = None) -> ModelRejected:
    """Say why nothing could be asked at all."""
    return ModelRejected(one_line(f"{provider.name} can't be asked: {text}", secret))


def unreachable(provider: Provider, host: str, cause: str) -> ModelUnavailable:
    """Say that no connection came about, or that it broke."""
    return ModelUnavailable(
        f"no connection to {provider.name} at {host} ({cause}): "
        f"check the network and {provider.address_variable}"
    )


def too_slow(provider: Provider, host: str) -> ModelUnavailable:
    """Say that no answer came in time; the call may have been billed."""
    return ModelUnavailable(
        f"{provider.name} at {host} did not answer in time: wait, or use another model"
    )


def unreadable(provider: Provider) -> ModelUnavailable:
    """Say that what came with a good status is no reply of a model."""
    return ModelUnavailable(
        f"{provider.name} answered HTTP 200 with something that is no reply of a model: "
        f"wait, or check {provider.address_variable}"
    )


def one_line(text: str, secret: str | None = None) -> str:
    """Make text of strangers fit for history: one line, not long, without keys."""
    if secret:
        text = text.replace(secret, "[key]")
    return " ".join(_LIKE_A_KEY.sub("[key]", text).split())[:_LONGEST_LINE]


def _problem(body: bytes) -> _Problem:
    try:
        return _Body.model_validate_json(body).error
    except ValidationError:
        return _Problem()


def _passes(status: int) -> bool:
    if status == HTTPStatus.NOT_IMPLEMENTED:
        return False
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _advice(provider: Provider, status: int) -> str:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return f"set {provider.key_variable} to a valid key"
        case HTTPStatus.PAYMENT_REQUIRED:
            return "see to the account's billing and limits"
        case HTTPStatus.FORBIDDEN:
            return "give the account of this key access to what it asks for"
        case HTTPStatus.NOT_FOUND:
            return f"correct the agent's models or {provider.address_variable}"
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return "make the request smaller"
        case HTTPStatus.TOO_MANY_REQUESTS:
            return "wait, or raise the account's rate limit"
        case _:
            return "wait, or use another model" if _passes(status) else "correct the request"
