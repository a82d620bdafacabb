"""What credentials look like, whoever they belong to. Pure, and linear in the length of a text."""

import base64
from collections.abc import Callable, Iterator
from typing import NamedTuple

from holdfast.contracts.patterns import Pattern


class SecretMatch(NamedTuple):
    """A secret in a text, from `start` up to `end`; one that is known has no name."""

    start: int
    end: int
    name: str


class CredentialKind(NamedTuple):
    """A kind of credential; without one of its words, in small letters, a text has none of it."""

    words: tuple[str, ...]
    find: Callable[[str], Iterator[SecretMatch]]


_BEFORE = "(?:^|[^A-Za-z0-9])"


def _form(
    name: str,
    words: tuple[str, ...],
    form: str,
    is_one: Callable[[str], bool] = bool,
    *,
    any_case: bool = False,
) -> CredentialKind:
    """Describe a kind of credential by a pattern: its group `it`, or else all of it, is secret."""
    pattern = Pattern(form, any_case=any_case)

    def find(text: str) -> Iterator[SecretMatch]:
        for start, end in pattern.spans_in(text):
            if is_one(text[start:end]):
                yield SecretMatch(start, end, name)

    return CredentialKind(words, find)


def _token(
    name: str, words: tuple[str, ...], form: str, is_one: Callable[[str], bool] = bool
) -> CredentialKind:
    """Describe a kind that never begins inside of a word."""
    return _form(name, words, f"{_BEFORE}(?P<it>{form})", is_one)


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def _is_user_and_password(text: str) -> bool:
    try:
        said = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


def _is_aws_key(text: str) -> bool:
    return len(text) == len("AKIA") + 16 and text.isupper()


def _is_password(text: str) -> bool:
    return len(text) <= _MAX_PASSWORD_CHARS


_MAX_PASSWORD_CHARS = 400
_BEGIN = Pattern("-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END "
_WHOLE_END = Pattern("-----END [A-Z0-9 ]{0,40}-----")
_MAX_END_CHARS = 60
_LETTERS = Pattern(r"(?:[A-Za-z0-9+/=]|\s|\\[nr])*")
_MAX_KEY_CHARS = 20_000


def _private_keys(text: str) -> Iterator[SecretMatch]:
    place, end = 0, 0
    for begin in _BEGIN.spans_in(text):
        if begin.start < place:
            continue
        if 0 <= end < begin.end:
            end = text.find(_END, begin.end)
        closing = _WHOLE_END.beginning(text[end : end + _MAX_END_CHARS]) if end >= 0 else 0
        if closing and end - begin.end <= _MAX_KEY_CHARS:
            place = end + closing
        else:  # cut off before its end: what may be of it, is
            place = begin.end + _LETTERS.beginning(text[begin.end : begin.end + _MAX_KEY_CHARS])
        yield SecretMatch(begin.start, place, "private key")


_AFTER_NAME = r"[\"'\\]{0,4}\s{0,8}[:=>]{1,2}\s{0,8}[\"'\\]{0,4}"

CREDENTIAL_KINDS: tuple[CredentialKind, ...] = (
    CredentialKind(("-----begin",), _private_keys),
    _token("api key", ("sk-",), r"sk-[\w-]{20,}", _has_digit),
    _token("aws key", ("akia", "asia"), "(?:AKIA|ASIA)[A-Za-z0-9]{16,}", _is_aws_key),
    _form(
        "aws key",
        ("secretaccesskey", "secret_access_key", "session_token", "sessiontoken"),
        r"(?:secret_?access_?key|aws_?session_?token)"
        rf"{_AFTER_NAME}(?P<it>[A-Za-z0-9/+=]{{40,}})",
        any_case=True,
    ),
    _form("azure key", ("accountkey=",), r"AccountKey=(?P<it>[A-Za-z0-9+/]{40,}={0,2})"),
    _token(
        "github token",
        ("gh", "github_pat_"),
        r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}",
    ),
    _form("gitlab token", ("glpat-",), r"glpat-[\w-]{20,}"),
    _token("google key", ("aiza",), r"AIza[\w-]{35}"),
    _token("google key", ("ya29.", "gocspx-"), r"(?:ya29\.|GOCSPX-)[\w-]{20,}"),
    _token("hugging face token", ("hf_",), "hf_[A-Za-z0-9]{30,}"),
    _token("npm token", ("npm_",), "npm_[A-Za-z0-9]{36,}"),
    _token("sendgrid key", ("sg.",), r"SG\.[\w-]{16,32}\.[\w-]{32,64}"),
    _token("slack token", ("xox", "xapp-"), "(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}", _has_digit),
    _form(
        "slack webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?P<it>(?:services|workflows|triggers)/[\w/+-]{20,})",
    ),
    _token(
        "stripe key",
        ("k_live_", "k_test_", "whsec_"),
        "(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}",
    ),
    _form("jwt", ("eyj",), r"(?:^|[^\w-])(?P<it>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){1,3})"),
    _form(
        "authorization",
        ("authorization",),
        rf"authorization{_AFTER_NAME}"
        r"(?P<it>(?:(?:basic|bearer|digest|token|apikey)\s{1,8})?[^\s\"'\\,;\[\]]{8,})",
        any_case=True,
    ),
    _form(
        "bearer token",
        ("bearer",),
        rf"{_BEFORE}bearer\s{{1,8}}(?P<it>[\w.~+/=-]{{16,}})",
        _has_digit,
        any_case=True,
    ),
    _form(
        "password",
        ("basic",),
        rf"{_BEFORE}basic\s{{1,8}}(?P<it>[a-z0-9+/]{{8,}}={{0,2}})",
        _is_user_and_password,
        any_case=True,
    ),
    _form(
        "password",
        ("://",),
        r"://[^\s/?#@:\"'<>\\]*:(?P<it>[^\s/?#\"'<>\\\[\]]+)@",
        _is_password,
    ),
)

_FIELDS = {
    "authorization": "authorization",
    "proxyauthorization": "authorization",
    "xapikey": "api key",
    "secretaccesskey": "aws key",
    "awssecretaccesskey": "aws key",
    "awssessiontoken": "aws key",
}


def find_kinds(text: str) -> tuple[CredentialKind, ...]:
    """Return the kinds of which a text may have something."""
    small = text.lower()
    return tuple(shape for shape in CREDENTIAL_KINDS if any(word in small for word in shape.words))


def kind_of_field(name: str) -> str | None:
    """Return what kind of credential a field of this name holds, whatever it looks like."""
    return _FIELDS.get(name.lower().replace("-", "").replace("_", ""))
