"""Paths in a task, and whether they lead out of a folder; what is on the disk is not asked."""

from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from string import ascii_letters
from urllib.parse import unquote

from holdfast.contracts.patterns import WORD, Pattern
from holdfast.guardrails.detectors.normalize import normalize_slashes

_QUOTES = "\"'`"
_MAX_QUOTE_CHARS = 400
_BETWEEN_WORDS = str.maketrans(dict.fromkeys("\"'`<>|;,(){}[]=", " "))
_PUNCTUATION = ".,;:!?"
_OPTION = Pattern(r"(?P<it>-{1,2}[A-Za-z]?|[@!+#*&^]+)(?:[/\\].|~/|\.\.)")

_HOME = Pattern(
    rf"~(?:[A-Za-z_][{WORD}.\-]*)?(?:/|\n?$)|\$\{{?HOME(?:[^{WORD}]|$)|\$env:|%[A-Z]{{4,}}%"
)
_ADDRESS = Pattern(r"[a-z][a-z0-9+.\-]+://", any_case=True)
_LEADS_TO = frozenset(
    {"in", "of", "from", "to", "at", "under", "on", "into", "inside", "within", "below"}
    | {"ls", "cd", "rm", "find", "du", "cat", "tree", "chmod", "chown", "mount"}
)


def find_paths(text: str) -> Iterator[str]:
    """
    Find what may be a path in a text: every word and every quoted piece, in one spelling.

    Addresses of the web are none. A slash or tilde between two words is no path either.
    """
    shown = _strip_closing_tags(normalize_slashes(text))
    words = shown.translate(_BETWEEN_WORDS).split()
    for place, word in enumerate(words):
        if not _is_lone_slash(word) or _is_meant_as_path(words, place):
            yield from _find_spellings(word)
    for quoted in _find_quotes(shown):
        yield from _find_spellings(quoted)


def leads_out(path: str, root: str) -> bool:
    """Whether a path, taken from the folder *root*, names a place that isn't in it."""
    if path != ".." and not set(path) & set("/\\~$%"):
        return False
    path = _strip_file_scheme(path)
    if _HOME.beginning(path):
        return True
    if _has_drive(path) or path.startswith("\\\\"):
        return _leaves(PureWindowsPath(path), PureWindowsPath(root))
    path = path.replace("\\", "/")
    if path.startswith("/"):
        return _leaves(PurePosixPath(path), PurePosixPath(root))
    return _climbs(PurePosixPath(path))


def _strip_closing_tags(text: str) -> str:
    """Leave out the ends of elements: their slashes are part of no path."""
    before, *parts = text.replace("/>", " ").split("</")
    return before + "".join(map(_strip_closing_tag, parts))


def _strip_closing_tag(part: str) -> str:
    name, ends, rest = part.partition(">")
    begins, plain = name[:1], name.rstrip().replace("-", "").replace("_", "")
    is_end = ends and begins in ascii_letters and plain.isalnum()
    return f" {rest}" if is_end else f"</{part}"


def _find_quotes(text: str) -> Iterator[str]:
    """Find what stands between quotes of one kind on one line, if it isn't long."""
    end = -1
    for place, letter in enumerate(text):
        if letter in _QUOTES and place > end:
            other = text.find(letter, place + 1, place + _MAX_QUOTE_CHARS + 2)
            piece = text[place + 1 : max(other, 0)]
            if piece and "\n" not in piece:
                yield piece
                end = other


def _strip_file_scheme(path: str) -> str:
    """Return the path that an address of a file names."""
    if path[:5].lower() != "file:":
        return path
    path = path[5:]
    for host in ("//localhost", "//"):
        if path.lower().startswith(f"{host}/"):
            return path[len(host) :]
    return path


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


def _find_spellings(word: str) -> Iterator[str]:
    """Yield a word without what surrounds it, and as it is meant where it is spelled for a URL."""
    bare = _strip_option(_strip_punctuation(word.strip()))
    if not bare or _is_web_address(bare):
        return
    yield bare
    if "%" in bare and (meant := normalize_slashes(unquote(unquote(bare)))) != bare:
        yield meant
    _, colon, rest = bare.partition(":")
    if colon and not _has_drive(bare) and rest[:1] in ("/", "~", ".", "\\"):
        yield rest


def _strip_punctuation(word: str) -> str:
    bare = word.rstrip(_PUNCTUATION)
    return word if bare.endswith(("/", "\\")) else bare or word


def _strip_option(word: str) -> str:
    """Leave out the option, or the sign, that stands before a path."""
    if not set(word) & {"/", "\\", "."}:
        return word
    option = next(_OPTION.spans_in(word), None)
    return word[: option.start] + word[option.end :] if option else word


def _is_web_address(word: str) -> bool:
    is_address = "://" in word and _ADDRESS.beginning(word) > 0
    return is_address and word[:5].lower() != "file:"


def _has_drive(path: str) -> bool:
    return path[1:3] in {":/", ":\\"} and path[0] in ascii_letters


def _is_lone_slash(word: str) -> bool:
    """Whether a word is a slash or a tilde alone, or everything below a slash."""
    return word == "~" or (word.startswith("/") and word.lstrip("/") in {"", "*", "**"})


def _is_meant_as_path(words: list[str], place: int) -> bool:
    """Whether a lone slash or tilde is a place: it ends the text, or follows what leads to one."""
    before = words[place - 1].lower() if place else ""
    return place + 1 == len(words) or before.startswith("-") or before in _LEADS_TO
