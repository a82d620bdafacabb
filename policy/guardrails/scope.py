"""Paths in a task, and whether they lead out of a folder; what is on the disk is not asked."""

import re
from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from urllib.parse import unquote

from policy.guardrails.plain import slashed

_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|`([^`\n]{1,400})`")
_WORD = re.compile(r"[^\s\"'`<>|;,(){}\[\]=]+")
_MARKUP = re.compile(r"</[A-Za-z][\w-]*+\s*>|/>")
_TRAILING = re.compile(r"(?<=[^./\\,;:!?])[.,;:!?]++$")
_OPTION = re.compile(r"(?:-{1,2}[A-Za-z]?|[@!+#*&^]++)(?=[/\\].|~/|\.\.)")
_LONE = re.compile(r"/++\*{0,2}|~")

_TELLING = re.compile(r"[/\\~$%]|^\.\.$")
_HOME = re.compile(r"~(?:[A-Za-z_][\w.-]*+)?(?:/|$)|\$\{?HOME\b|\$env:|%[A-Z]{4,}%")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+://", re.IGNORECASE)
_FILE = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_LEADS_TO = frozenset(
    {"in", "of", "from", "to", "at", "under", "on", "into", "inside", "within", "below"}
    | {"ls", "cd", "rm", "find", "du", "cat", "tree", "chmod", "chown", "mount"}
)


def paths(text: str) -> Iterator[str]:
    """
    Find what may be a path in a text: every word and every quoted piece, in one spelling.

    Addresses of the web are none. A slash or tilde between two words is no path either.
    """
    shown = _MARKUP.sub(" ", slashed(text))
    words: list[str] = _WORD.findall(shown)
    for place, word in enumerate(words):
        if not _LONE.fullmatch(word) or _is_meant(words, place):
            yield from _spelled(word)
    for quoted in _QUOTED.finditer(shown):
        yield from _spelled(quoted[quoted.lastindex or 0])


def leads_out(path: str, root: str) -> bool:
    """Whether a path, taken from the folder *root*, names a place that isn't in it."""
    if not _TELLING.search(path):
        return False
    path = _FILE.sub("", path, count=1) if _FILE.match(path) else path
    if _HOME.match(path):
        return True
    if _DRIVE.match(path) or path.startswith("\\\\"):
        return _leaves(PureWindowsPath(path), PureWindowsPath(root))
    path = path.replace("\\", "/")
    if path.startswith("/"):
        return _leaves(PurePosixPath(path), PurePosixPath(root))
    return _climbs(PurePosixPath(path))


def _leaves(path: PurePath, root: PurePath) -> bool:
    return not path.is_relative_to(root) or _climbs(path.relative_to(root))


def _climbs(path: PurePath) -> bool:
    """Whether a path leaves the folder that it is taken from, be it only on its way."""
    depth = 0
    for part in path.parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _spelled(word: str) -> Iterator[str]:
    """Yield a word without what surrounds it, and as it is meant where it is spelled for a URL."""
    bare = _OPTION.sub("", _TRAILING.sub("", word.strip()), count=1)
    if not bare or _ADDRESS.match(bare):
        return
    yield bare
    if "%" in bare and (meant := slashed(unquote(unquote(bare)))) != bare:
        yield meant
    _, colon, rest = bare.partition(":")
    if colon and not _DRIVE.match(bare) and rest[:1] in ("/", "~", ".", "\\"):
        yield rest


def _is_meant(words: list[str], place: int) -> bool:
    """Whether a lone slash or tilde is a place: it ends the text, or follows what leads to one."""
    before = words[place - 1].lower() if place else ""
    return place + 1 == len(words) or before.startswith("-") or before in _LEADS_TO
