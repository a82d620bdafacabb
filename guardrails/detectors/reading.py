"""A text as words: where its sentences and clauses begin, and where its names end."""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from holdfast.guardrails.detectors import grammar
from holdfast.guardrails.detectors.verbs import VERBS

_MARKS = ",.;:!?()[]{}<>\"'`*_\u2013\u2014-"
_LEADING = _MARKS.replace(".", "")
_QUOTES = "\"'`"

_NAME_ENDS = grammar.ENDS | grammar.AND
_CLAUSE_BEGINS = grammar.AND | grammar.FOLLOWING
_THINGS = frozenset({"thing", "anything", "everything", "something", "nothing", "bed", "feed"})
"""What ends as a participle does, and is none."""

_ABBREVIATIONS = frozenset({"nr.", "mr.", "mrs.", "ms.", "dr.", "st.", "inc.", "ltd.", "e.g."})


class Word(NamedTuple):
    """
    A word, whether its sentence ends with it, by which mark, and whether a comma follows.

    Some are `proper`: they can only be what something is called, as acme/legacy or "web-3".
    What is quoted knows the first word of its quotation.
    """

    text: str
    mark: str = ""
    pauses: bool = False
    proper: bool = False
    quoted: int = -1

    @property
    def ends(self) -> bool:
        """Whether a sentence ends with it."""
        return self.mark != ""

    @property
    def is_over(self) -> bool:
        """Whether no name goes on behind it."""
        return self.ends or self.pauses


class Name(NamedTuple):
    """What a verb is done to: a name, from its first word to behind its last."""

    begin: int
    end: int


class Text:
    """
    The words of a text, and where their sentences and clauses begin and their names end.

    All of that is found once: a sentence may be as long as the text, and each of its words a verb.
    """

    def __init__(self, words: tuple[Word, ...]) -> None:
        self.words = words
        self.texts = [word.text for word in words]
        self._sentences, self._clauses = self._find_beginnings()
        self._questions = self._find_questions()
        self._name_ends = self._find_name_ends()
        self._counts: dict[frozenset[str], list[int]] = {}

    def find_sentence(self, at: int) -> int:
        """Return where the sentence of a word begins."""
        return self._sentences[at]

    def find_clause(self, at: int) -> int:
        """Return where the part of a sentence begins that a word is in."""
        return self._clauses[at]

    def is_question(self, at: int) -> bool:
        """Whether the sentence of a word ends with a question mark."""
        return self._questions[self._sentences[at]]

    def is_name_end(self, at: int) -> bool:
        """Whether no name goes on with the word at a place."""
        if at >= len(self.texts):
            return True
        word, before = self.texts[at], self.texts[at - 1] if at else ""
        if word == "it":
            return self.texts[at + 1 : at + 2] != [] and self.texts[at + 1] in grammar.FINITE
        if self.texts[at + 1 : at + 2] == ["times"]:
            return True
        return word in _NAME_ENDS and not (
            word.endswith(("ed", "er")) and before in grammar.ARTICLES
        )

    def read_name(self, at: int) -> Name:
        """Read a name: up to what leads to another, or to the end of the sentence."""
        return Name(at, self._name_ends[at])

    def head(self, name: Name) -> str:
        """Return the last word of a name, which is what it names, before what that is called."""
        at = name.end - 1
        while at > name.begin and self.words[at].proper:
            at -= 1
        if at < name.end - 1 and self.texts[at] in grammar.ARTICLES:
            only = self.texts[at + 1]
            return only if _is_compound(only) else self.texts[at]
        return self.texts[at] if name.begin < name.end else ""

    def is_path(self, name: Name) -> bool:
        """Whether a name is made of several proper ones, as a path is."""
        words = self.words[name.begin : name.end]
        return len(words) > 1 and all(word.proper for word in words)

    def has(self, kind: frozenset[str], begin: int, end: int) -> bool:
        """Whether one of these stands between two places."""
        if begin >= end:
            return False
        if kind not in self._counts:
            self._counts[kind] = list(accumulate((text in kind for text in self.texts), initial=0))
        counts = self._counts[kind]
        return counts[end] > counts[begin]

    def _find_beginnings(self) -> tuple[list[int], list[int]]:
        sentence, clause = 0, 0
        sentences, clauses = list[int](), list[int]()
        for at, word in enumerate(self.words):
            if word.text in _CLAUSE_BEGINS:
                clause = at
            sentences.append(sentence)
            clauses.append(clause)
            if word.ends:
                sentence = at + 1
            if word.is_over:
                clause = at + 1
        return sentences, clauses

    def _find_questions(self) -> dict[int, bool]:
        return {
            begin: word.mark == "?"
            for begin, word in zip(self._sentences, self.words, strict=True)
        }

    def _find_name_ends(self) -> list[int]:
        ends = [len(self.words)]
        for at, word in reversed(tuple(enumerate(self.words))):
            if self.is_name_end(at) or self._is_participle(at):
                ends.append(at)
            else:
                ends.append(at + 1 if word.is_over else ends[-1])
        return ends[::-1]

    def _is_participle(self, at: int) -> bool:
        """Whether a participle stands behind several of something: files ending with x."""
        before = self.texts[at - 1] if at and not self.words[at - 1].is_over else ""
        ends = self.texts[at].endswith(("ing", "ed")) and self.texts[at] not in _THINGS
        return ends and are_several(before) and before not in VERBS


def _is_compound(word: str) -> bool:
    """Whether a hyphen is all that a word has beside letters: x-rays."""
    return "-" in word and word.replace("-", "").isalpha()


def are_several(noun: str) -> bool:
    """Whether a noun has the ending of several."""
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is"))


def read_text(text: str) -> Text:
    """Read a text as words; its lines end sentences unless a line can't end there."""
    words = list[Word]()
    for line in text.lower().replace("\u2019", "'").splitlines():
        words += _read_line(line, len(words))
    return Text(tuple(words))


def _read_line(line: str, begin: int) -> list[Word]:
    words, opened, quote = list[Word](), -1, ""
    for piece in line.split():
        first, last = piece.lstrip("([{")[:1], piece.rstrip(".,;:!?)]}")[-1:]
        if opened < 0 and first in _QUOTES and first:
            opened, quote = len(words), first
        words += _read_piece(piece)
        if opened >= 0 and last == quote and (len(words) > opened):
            words[opened:] = [word._replace(quoted=begin + opened) for word in words[opened:]]
            opened = -1
        if words and not words[-1].ends and not piece.strip(_MARKS):
            words[-1] = words[-1]._replace(pauses=True)
    if words and not words[-1].ends and words[-1].text not in grammar.GOING_ON:
        words[-1] = words[-1]._replace(mark="\n")
    return words


def _read_piece(piece: str) -> Iterator[Word]:
    piece = "nr." if piece == "no." else piece
    parts = [bare for part in piece.split("/") if (bare := _strip(part))]
    end = "" if piece in _ABBREVIATIONS else piece.rstrip("\"'`)]}*_")[-1:]
    for number, bare in enumerate(parts, start=1):
        last = number == len(parts)
        yield Word(
            bare,
            mark=end if last and end in ".;:!?" else "",
            pauses=last and end == ",",
            proper=_is_proper(piece, bare),
        )


def _strip(piece: str) -> str:
    begun = piece if piece[:1] == "-" else piece.lstrip(_LEADING)
    return begun.rstrip(_MARKS).removesuffix("'s").removesuffix("'")


def _is_proper(piece: str, bare: str) -> bool:
    quoted = piece[0] in _QUOTES or piece.rstrip(".,;:!?)")[-1:] in set(_QUOTES)
    return "/" in piece or quoted or any(mark in bare for mark in "-_.@#0123456789")
