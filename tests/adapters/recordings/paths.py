"""
Where a value stands in JSON, and patterns of such places.

A path names what leads to a value, each object with its type or else its role:
`messages[]<user>.content[]<text>.text`. A text has its value too: `reasoning_effort=default`. In a
pattern `a|b` is one of two words, `!a|b` any other word, `*` any part of a word, `**` anything;
a type that it doesn't name may be any, and so may a value.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

from tests.adapters.recordings.values import Value, is_list, is_object

Leaf: TypeAlias = str | int | float | bool | None

_WORD = re.compile(r"[^.\[\]<>=]+")
_ANY = r"[^.\[\]<>=]+"
_SOME = r"[^.\[\]<>=]*"
_TYPE = r"(?:<[^<>]*>)?"
_VALUE = r"(?:=.*)?"


def labelled(value: Value, path: str) -> str:
    """The path of a value with its type; that of a text with the text."""
    if isinstance(value, str):
        return f"{path}={value}"
    if not is_object(value):
        return path
    kind: object = value.get("type") or value.get("role")
    return f"{path}<{kind}>" if isinstance(kind, str) else path


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def below(value: Value, path: str) -> Iterator[tuple[Value, str]]:
    """The values right below one, with their paths; *path* is already labelled."""
    if is_object(value):
        for name, entry in value.items():
            yield entry, labelled(entry, joined(path, name))
    elif is_list(value):
        for entry in value:
            yield entry, labelled(entry, f"{path}[]")


def leaves(value: Value, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """All values that hold no others, with their paths."""
    if isinstance(value, dict | list):
        for entry, place in below(value, path):
            yield from leaves(entry, place)
    else:
        yield path.partition("=")[0], value


def matches(pattern: str, path: str) -> bool:
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_translated(pattern)) + _TYPE + _VALUE, re.DOTALL)


def _translated(pattern: str) -> Iterator[str]:
    end = 0
    for word in _WORD.finditer(pattern):
        yield re.escape(pattern[end : word.start()]).replace(r"\.", rf"{_TYPE}\.")
        yield _translated_word(word[0])
        end = word.end()
    yield re.escape(pattern[end:])


def _translated_word(word: str) -> str:
    if word == "**":
        return ".*"
    if word.startswith("!"):
        return rf"(?!{_one_of(word[1:])}(?:[.\[\]<>=]|$)){_ANY}"
    return _one_of(word)


def _one_of(words: str) -> str:
    escaped = (re.escape(word).replace(r"\*", _SOME) for word in words.split("|"))
    return f"(?:{'|'.join(escaped)})"
