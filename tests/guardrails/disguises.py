"""Texts that look the same and are spelled otherwise."""

_CYRILLIC = str.maketrans("aeop", "\u0430\u0435\u043e\u0440")


def wide(text: str) -> str:
    """Spell a text in the full-width letters of East Asian fonts."""
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text)


def cyrillic(text: str) -> str:
    """Spell some letters of a text in another alphabet."""
    return text.translate(_CYRILLIC)
