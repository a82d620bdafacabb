"""What credentials look like, whoever they belong to. Pure, and linear in the length of a text."""

import base64
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Found(NamedTuple):
    """A secret in a text, from `start` up to `end`; one that is known has no name."""

    start: int
    end: int
    name: str


class Shape(NamedTuple):
    """A kind of credential; without one of its words, in small letters, a text has none of it."""

    words: tuple[str, ...]
    find: Callable[[str], Iterator[Found]]


def _form(
    name: str,
    words: tuple[str, ...],
    form: str,
    flags: re.RegexFlag = re.ASCII,
    is_one: Callable[[str], bool] = bool,
) -> Shape:
    """
    Describe a kind of credential by a pattern, whose group `it`, or else the whole, is secret.

    A pattern must begin at few places of a text and read on from there only once, or a hostile
    text would take hours: a look back keeps it from beginning inside of a word, and what repeats
    gives nothing back.
    """
    pattern = re.compile(form, flags)
    group = "it" if "it" in pattern.groupindex else 0

    def find(text: str) -> Iterator[Found]:
        for match in pattern.finditer(text):
            if is_one(match[group]):
                yield Found(*match.span(group), name)

    return Shape(words, find)


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def _is_user_and_password(text: str) -> bool:
    try:
        said = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END "
_WHOLE_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_LETTERS = re.compile(r"(?:[A-Za-z0-9+/=]|\s|\\[nr])*+")
_LONGEST_KEY = 20_000


def _private_keys(text: str) -> Iterator[Found]:
    place, end = 0, 0
    while begin := _BEGIN.search(text, place):
        if 0 <= end < begin.end():
            end = text.find(_END, begin.end())
        closing = _WHOLE_END.match(text, end) if begin.end() <= end else None
        if closing is not None and end - begin.end() <= _LONGEST_KEY:
            place = closing.end()
        elif letters := _LETTERS.match(text, begin.end()):
            place = letters.end()  # cut off before its end: what may be of it, is
        yield Found(begin.start(), place, "private key")


_AFTER_NAME = r"[\"'\\]{0,4}\s{0,8}[:=>]{1,2}\s{0,8}[\"'\\]{0,4}"
_ANY_CASE = re.ASCII | re.IGNORECASE

SHAPES: tuple[Shape, ...] = (
    Shape(("-----begin",), _private_keys),
    _form("api key", ("sk-",), r"(?<![A-Za-z0-9])sk-[\w-]{20,}+", is_one=_has_digit),
    _form(
        "aws key",
        ("akia", "asia"),
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    _form(
        "aws key",
        ("secretaccesskey", "secret_access_key", "session_token", "sessiontoken"),
        r"(?:secret_?access_?key|aws_?session_?token)"
        rf"{_AFTER_NAME}(?P<it>[A-Za-z0-9/+=]{{40,}}+)",
        _ANY_CASE,
    ),
    _form("azure key", ("accountkey=",), r"AccountKey=(?P<it>[A-Za-z0-9+/]{40,}+={0,2})"),
    _form(
        "github token",
        ("gh", "github_pat_"),
        r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}+|github_pat_\w{22,}+)",
    ),
    _form("gitlab token", ("glpat-",), r"glpat-[\w-]{20,}+"),
    _form("google key", ("aiza",), r"(?<![A-Za-z0-9])AIza[\w-]{35}"),
    _form(
        "google key",
        ("ya29.", "gocspx-"),
        r"(?<![A-Za-z0-9])(?:ya29\.|GOCSPX-)[\w-]{20,}+",
    ),
    _form("hugging face token", ("hf_",), r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}+"),
    _form("npm token", ("npm_",), r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}+"),
    _form("sendgrid key", ("sg.",), r"(?<![A-Za-z0-9])SG\.[\w-]{16,32}\.[\w-]{32,64}"),
    _form(
        "slack token",
        ("xox", "xapp-"),
        r"(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}+",
        is_one=_has_digit,
    ),
    _form(
        "slack webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?P<it>(?:services|workflows|triggers)/[\w/+-]{20,}+)",
    ),
    _form(
        "stripe key",
        ("k_live_", "k_test_", "whsec_"),
        r"(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}+",
    ),
    _form("jwt", ("eyj",), r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+){1,3}"),
    _form(
        "authorization",
        ("authorization",),
        rf"authorization{_AFTER_NAME}"
        r"(?P<it>(?:(?:basic|bearer|digest|token|apikey)\s{1,8})?[^\s\"'\\,;\[\]]{8,}+)",
        _ANY_CASE,
    ),
    _form(
        "bearer token",
        ("bearer",),
        r"(?<![a-z0-9])bearer\s{1,8}(?P<it>[\w.~+/=-]{16,}+)",
        _ANY_CASE,
        _has_digit,
    ),
    _form(
        "password",
        ("basic",),
        r"(?<![a-z0-9])basic\s{1,8}(?P<it>[a-z0-9+/]{8,}+={0,2})",
        _ANY_CASE,
        _is_user_and_password,
    ),
    _form(
        "password",
        ("://",),
        r"://[^\s/?#@:\"'<>\\]{0,200}+:(?P<it>[^\s/?#\"'<>\\\[\]]{1,400})@",
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

FIELD_WORDS = ("authorization", "api", "secret", "session")
"""Without any of these, in small letters, no field of a JSON text is a credential by its name."""


def shapes_in(text: str) -> tuple[Shape, ...]:
    """Return the kinds of which a text may have something."""
    small = text.lower()
    return tuple(shape for shape in SHAPES if any(word in small for word in shape.words))


def field(name: str) -> str | None:
    """Return what kind of credential a field of this name holds, whatever it looks like."""
    return _FIELDS.get(name.lower().replace("-", "").replace("_", ""))
