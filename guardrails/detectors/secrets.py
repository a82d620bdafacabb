"""Credentials by the name they are given to, and what stands for one without being one."""

import math
from collections import Counter
from collections.abc import Iterator

from holdfast.contracts.patterns import WORD, Pattern, decode_text, encode_text

MIN_ENTROPY_BITS_PER_CHAR = 3.2
"""Bits a character: sixteen random hexadecimal digits have about 3.4, words of a language less."""

_ASSIGNMENT = Pattern(
    r"(?:secret|token|passw(?:or)?d|passphrase|pwd|api[_\-]?key|access[_\-]?key|private[_\-]?key"
    r"|signing[_\-]?key|encryption[_\-]?key|credentials?)[\w.\-]{0,20}[\"'`]?\s{0,4}"
    r"(?::=|=>|[:=])\s{0,4}[\"'`]?(?P<it>[A-Za-z0-9+/=_\-.~!@#$%^&*]{12,400})(?:[\"'`\s,;)}\]<]|\z)",
    any_case=True,
)
_IDENTIFIER = Pattern(rf"[A-Za-z_][{WORD}]*(?:[./-][A-Za-z_][{WORD}]*)*")
_PLACEHOLDER = Pattern(
    r"your|example|placeholder|change[_-]?me|dummy|sample|redacted|insert|replace|x{4}|\*{3}|\.{3}"
    r"|1234567|abcdef|\$[\pL\pN_{(]|%[\pL\pN_]",
    any_case=True,
)
_WORD = Pattern("[a-z]{4,}")
_INSIDE = Pattern(r"\d[A-Za-z]")
_PATH_WORDS = 2
_MIN_DISTINCT_CHARS = 4
_WORDS = frozenset(
    {"pass", "password", "passwd", "secret", "user", "pw", "pwd", "postgres", "root"}
)

EXAMPLE_SECRETS = frozenset(
    {
        "sk_test_4eC39HqLyjWDarjtT1zdp7dc",  # Stripe's documentation
        "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
    }
)
_EXAMPLE_PART = Pattern(
    # AWS' documentation: every key in it ends so.
    "EXAMPLE(?:KEY)?$"
    # The payload of the token that jwt.io shows: {"sub":"1234567890","name":"John Doe"
    r"|\.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l"
)


def find_assigned_secrets(text: str) -> Iterator[str]:
    """Find values that look like chance and are given to a name that says secret."""
    content = encode_text(text)
    for start, end in _ASSIGNMENT.spans(content):
        value = decode_text(content[start:end])
        if is_random(value) and not is_placeholder(value):
            yield value


def is_random(value: str) -> bool:
    """Whether a value looks like chance: not like a name or a path, and with digits in it."""
    if _IDENTIFIER.fits(value) and not _has_inner_digits(value):
        return False
    words = [part for part in value.split("/") if _WORD.fits(part)]
    has_digit = any(map(str.isdigit, value))
    return has_digit and len(words) < _PATH_WORDS and _entropy(value) >= MIN_ENTROPY_BITS_PER_CHAR


def is_example(value: str) -> bool:
    """Whether documentation shows this very value, or it is one letter again and again."""
    if value in EXAMPLE_SECRETS or _EXAMPLE_PART.found_in(value):
        return True
    longest = max(value.replace("-", "_").split("_"), key=len)
    return len(set(longest)) < _MIN_DISTINCT_CHARS


def is_placeholder(value: str) -> bool:
    """Whether a value only marks the place of another: `YOUR_KEY`, `${KEY}`, `password`."""
    is_known = is_example(value) or value.lower() in _WORDS
    return is_known or _PLACEHOLDER.found_in(value)


def _has_inner_digits(value: str) -> bool:
    """Whether digits stand between letters, as they don't in names."""
    return sum(1 for _ in _INSIDE.spans_in(value)) > 1


def _entropy(value: str) -> float:
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())
