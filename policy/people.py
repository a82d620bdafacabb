"""Who is who: when two names are one person."""

import unicodedata


def person(name: str) -> str:
    """Return what two names have in common that look the same: they count as one person."""
    seen = (letter for letter in name if unicodedata.category(letter) != "Cf")
    folded = unicodedata.normalize("NFKC", "".join(seen)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())
