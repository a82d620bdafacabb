"""Texts that try to steer a model: it reads them as data, and they speak as its master."""

import base64
import html
from collections.abc import Iterator
from string import ascii_letters, hexdigits
from typing import NamedTuple

from holdfast.contracts.patterns import Pattern, encode_text
from holdfast.guardrails.detectors.normalize import fold_confusables, strip_invisible

MAX_BASE64_PIECES = 50
MAX_BASE64_PIECE_CHARS = 20_000
"""Characters of base64 that are looked into, of so many pieces of a text."""

_MIN_PRINTABLE_RATIO = 0.9

_OLD = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|former|past"
    r"|system|developer|safety|your|these|those|vorherigen|bisherigen|precedentes|previas"
    r"|anteriores)"
)
_RULES = (
    r"(?:instructions?|directions?|directives?|rules|guidelines|guardrails|prompts?|programming"
    r"|restrictions|safeguards|system message|anweisungen|instrucciones|consignes)"
)
_FILL = (
    r"(?:(?:all|any|every|each|of|the|your|my|our|its|and|or|these|those|what|alle|toutes|les"
    r"|todas|las|le)\s+)*"
)
_IGNORE = (
    r"(?:ignor(?:e|ing|a|ez|iere)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass|discard"
    r"|neglect|abandon|do(?:\s+not|n'?t)\s+(?:follow|obey)|stop\s+(?:following|obeying)|vergiss"
    r"|oublie[zr]?|olvida)"
)
_BEFORE = (
    r"(?:precedentes|anteriores|previas"
    r"|(?:(?:given|from|(?:that\s+)?(?:you|we|i|they)\s+(?:were|was|have|had|gave|got))\s+"
    r"(?:\w+\s+){0,2})?(?:above|before|earlier|previously))"
)
_TOLD = (
    r"(?:(?:that\s+)?(?:you|i|we)\s+(?:(?:were|was|have|had|been)\s+)*"
    r"(?:told|said|instructed|given|taught)|(?:\w+\s+)?(?:above|before\s+this)\b)"
)
_LINE_START = r"(?m)^\s{0,8}[#*\[(\-]{0,4}\s{0,2}"
_MASTER = (
    r"(?:system|developer|admin(?:istrator)?)"
    r"(?:\s+(?:prompt|message|note|override|instructions?))?"
)
_COMMAND = (
    r"(?:you|your|ignore|disregard|forget|new|override|the\s+(?:user|assistant)|from\s+now|always"
    r"|never|do\s+not|respond|reply|reveal|send|call)\b"
)
_SHOW = (
    r"(?:reveal|show|print|repeat|output|display|tell|give|leak|dump|share|quote|recite|disclose"
    r"|summari[sz]e|translate|what\s+(?:is|are|were))\s+(?:(?:me|us|back|out|verbatim)\s+)*"
)
_HIDDEN = (
    r"(?:system\s+(?:prompt|message|instructions)|(?:initial|hidden|original|secret|exact|full"
    r"|internal|developer|confidential)\s+(?:\w+\s+)?(?:prompt|instructions?|rules|guidelines))"
)
_SECRETS = (
    r"(?:api[\s_\-]?keys?|passwords|credentials|secrets|access\s+tokens?|tokens|private\s+keys?"
    r"|ssh\s+keys?|environment\s+variables|env\s+vars|\.env(?:\s+file)?|cookies"
    r"|chat\s+history|conversation(?:\s+history)?|system\s+prompt|personal\s+data)"
)
_SEND = (
    r"(?:send|post|upload|forward|exfiltrat(?:e|ing)|e-?mail|transmit|leak|submit|copy|pass"
    r"|append|include|put)"
)
_OUTSIDE = (
    r"(?:https?://|ftp://|[\w.+\-]+@[\w\-]+\.\w|\b\w+\.(?:com|net|org|io|ru|cn|xyz|site|example)\b"
    r"|\bthe\s+(?:url|query|webhook|attacker))"
)
_NO_LIMITS = r"(?:restrictions|rules|guidelines|limits|limitations|filters|guardrails|safety)"
_CONCEAL = r"(?:tell|inform|notify|alert|let|(?:mention|reveal)\s+(?:this|it|that)\s+to)"


class _Family(NamedTuple):
    name: str
    pattern: Pattern


def _build_family(name: str, *forms: str) -> _Family:
    return _Family(name, Pattern("|".join(f"(?:{form})" for form in forms)))


_FAMILIES: tuple[_Family, ...] = (
    _build_family(
        "it overrides instructions",
        rf"\b{_IGNORE}\s+{_FILL}(?:{_OLD}\s+(?:and\s+\w+\s+)?){{1,3}}(?:\w+\s+)?{_RULES}\b",
        rf"\b{_IGNORE}\s+{_FILL}{_RULES}\s+{_BEFORE}\b",
        rf"\b{_IGNORE}\s+(?:everything|anything|all|whatever)\s+{_TOLD}",
        r"\b(?:new|updated|real|actual)\s+(?:system\s+)?instructions?\s*:\s*\w+",
        r"\byour\s+(?:new|real|actual|true)\s+(?:instructions|task|goal|objective|purpose)s?"
        r"\s+(?:is|are)\b",
        r"\bfrom\s+now\s+on,?\s+you\s+(?:are|will|must|shall|only)\b",
    ),
    _build_family(
        "it plays the system's part",
        r"<\|(?:im_start|im_end|system|start_header_id|endoftext|begin_of_text)\|?>?",
        r"\[/?inst\]|<</?sys>>|</?(?:system|system_prompt|system-message)>",
        rf"{_LINE_START}{_MASTER}[\])*]{{0,3}}\s{{0,2}}:\s{{0,4}}{_COMMAND}",
        r"\b(?:system|admin(?:istrator)?)\s+override\b",
        r"\b(?:this|the\s+following)\s+is\s+(?:a\s+message\s+from\s+)?(?:the\s+|your\s+)?"
        r"(?:system|developers?|openai|anthropic)\s+(?:prompt|message|speaking|team)\b",
    ),
    _build_family(
        "it takes the limits off",
        r"\byou\s+are\s+now\s+(?:\w+\s+){0,3}?(?:dan|jailbroken|unrestricted|uncensored|unfiltered"
        r"|unbound|free\s+(?:from|of)|in\s+(?:developer|debug|god|admin|maintenance)\s+mode)\b",
        r"\b(?:enter|enable|activate|switch\s+to)\s+(?:developer|god|jailbreak|dan|unrestricted)"
        r"\s+mode\b|\bdo\s+anything\s+now\b",
        r"\b(?:pretend|act|behave|respond|imagine|roleplay)\s+(?:\w+\s+){0,3}?"
        rf"(?:have|had|without|are)\s+(?:no|any|free\s+of)?\s*(?:\w+\s+)?{_NO_LIMITS}\b",
    ),
    _build_family(
        "it asks for hidden instructions",
        rf"\b{_SHOW}your\s+(?:\w+\s+){{0,3}}?{_HIDDEN}\b",
        r"\b(?:reveal|leak|dump|disclose|recite|exfiltrate)\s+(?:me\s+|us\s+)?(?:the\s+|its\s+)"
        r"(?:\w+\s+){0,2}?(?:system\s+prompt|hidden\s+instructions|initial\s+instructions)\b",
        r"\brepeat\s+(?:back\s+)?(?:everything|all|the\s+(?:text|words|content|prompt"
        r"|instructions))\s+(?:\w+\s+){0,2}?above\b",
    ),
    _build_family(
        "it carries data out",
        rf"\b{_SEND}\s+(?:\w+\s+){{0,4}}?{_SECRETS}(?:\W+\w+){{0,4}}?\W+(?:to|at|in|into|via|as)\W"
        rf"[^\n]{{0,40}}?{_OUTSIDE}",
        rf"\b(?:exfiltrat(?:e|ing)|steal)\b[^\n]{{0,60}}\b{_SECRETS}",
        r"!\[[^\]\n]{0,200}\]\(https?://[^)\s]{0,300}[?&/](?:data|secret|prompt|conversation|token"
        r"|history|content|exfil|leak|q|d)=(?:[^)\s]{0,40}[{<\[$%]|[^)\s]{60,})",
        rf"\b(?:do(?:\s+not|n'?t)|never)\s+{_CONCEAL}\s+(?:the\s+)?(?:users?|human|operator|anyone"
        r"|anybody)\s+(?:about\s+(?:this|it|these)|(?:that\s+)?you\s+(?:did|have|sent|were|are"
        r"|received)|know)\b",
    ),
)

_BASE64 = Pattern(r"[A-Za-z0-9+/_\-]{24,}={0,2}")
_HEXADECIMAL = frozenset(hexdigits)
_LETTERS = {"n": "\n", "r": "\n", "t": " ", "b": "", "f": " ", "\n": "\\\n"}
_MAX_TAG_CHARS = 300


def find_injection(text: str) -> str | None:
    """
    Say how a text tries to steer the model; null when it doesn't.

    What is looked at: the text as it is meant, without its escapes and marks of HTML, and what
    its pieces of base64 say, twice within each other.
    """
    for place, view in _decode_views(text):
        content = encode_text(fold_confusables(view))
        for name, pattern in _FAMILIES:
            if pattern.found_in(content):
                return f"{name}{place}"
    return None


def _decode_views(text: str) -> Iterator[tuple[str, str]]:
    yield "", text
    if "\\" in text:
        yield "", _unescape(text)
    if "<" in text or "&" in text:
        yield ", in HTML", html.unescape(_strip_tags(html.unescape(text)))
    for piece in _decode_base64(text):
        yield ", in base64", piece
        for inner in _decode_base64(piece):
            yield ", in base64", inner


def _unescape(text: str) -> str:
    """Put letters in the place of escapes of JSON or of a programming language."""
    before, *parts = text.split("\\")
    escapes = iter(parts)
    # Nothing stands between an escaped backslash and the one that escapes it.
    meant = (_decode_escape(part) if part else "\\" + next(escapes, "") for part in escapes)
    return before + "".join(meant)


def _decode_escape(escaped: str) -> str:
    code = escaped[1:5]
    if escaped[0] == "u" and len(code) == len("0000") and set(code) <= _HEXADECIMAL:
        return chr(int(code, 16)) + escaped[5:]
    return _LETTERS.get(escaped[0], escaped[0]) + escaped[1:]


def _strip_tags(text: str) -> str:
    before, *commented = text.split("<!--")
    shown, *parts = (before + "".join(part.partition("-->")[2] for part in commented)).split("<")
    return shown + "".join(map(_strip_tag, parts))


def _strip_tag(part: str) -> str:
    """Return what stands behind a `<`, without the mark that it may begin."""
    name = part.removeprefix("/")
    end = name.find(">", 1, _MAX_TAG_CHARS + 2)
    return name[end + 1 :] if end > 0 and name[0] in ascii_letters else f"<{part}"


def _decode_base64(text: str) -> Iterator[str]:
    """Decode what may be base64, of either alphabet, as far as it is text."""
    content = encode_text(strip_invisible(text))
    for number, (start, end) in enumerate(_BASE64.spans(content)):
        if number == MAX_BASE64_PIECES:
            return
        piece = content[start : min(end, start + MAX_BASE64_PIECE_CHARS)].rstrip(b"=")
        piece = piece.translate(bytes.maketrans(b"-_", b"+/"))
        piece = piece[: len(piece) - (len(piece) % 4 == 1)]
        said = base64.b64decode(piece + b"=" * (-len(piece) % 4)).decode("utf-8", "replace")
        if sum(map(str.isprintable, said)) >= _MIN_PRINTABLE_RATIO * len(said):
            yield said
