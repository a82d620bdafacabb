"""Who is who: when two names are one person."""

import re
import unicodedata

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""What is shown as nothing, and isn't in the category Cf (Unicode: Default_Ignorable)."""


def person(name: str) -> str:
    """Return what two names have in common that look the same: they count as one person."""
    shown = _UNSEEN.sub("", name)
    seen = (letter for letter in shown if unicodedata.category(letter) != "Cf")
    folded = unicodedata.normalize("NFKC", "".join(seen)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())
