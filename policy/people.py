"""Who is who: when two names are one person."""

import unicodedata

from holdfast.contracts.texts import BLANK


def normalize_name(name: str) -> str:
    """Return what two names have in common that look the same: they count as one person."""
    shown = (letter for letter in name if letter not in BLANK)
    seen = (letter for letter in shown if letter.isspace() or not _is_control(letter))
    folded = unicodedata.normalize("NFKC", "".join(seen)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in {"Cc", "Cf"}
