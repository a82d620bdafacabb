"""Sentences that ask for destruction: a verb, and behind it what nobody can bring back."""

from collections.abc import Iterator
from itertools import accumulate, islice
from typing import NamedTuple

from holdfast.guardrails.detectors import vocabulary

_MAX_WORDS = 14
"""How far behind a verb its objects are looked for."""

_MAX_PARTED = 8
"""How far behind a verb its other half is looked for."""

_MAX_TOLD = 20
"""How far behind somebody is asked to tell of something that is told of."""

_MARKS = ",.;:!?()[]{}\"'`*"


_NAME_ENDS = vocabulary.ENDS | vocabulary.AND
_NAMED = vocabulary.THINGS | vocabulary.BIG


class _Word(NamedTuple):
    """
    A word, whether its sentence ends with it, and whether a comma follows.

    Some are `proper`: they can only be what something is called, as acme/legacy or "web-3".
    """

    text: str
    ends: bool
    pauses: bool
    proper: bool = False

    @property
    def is_over(self) -> bool:
        """Whether no name goes on behind it."""
        return self.ends or self.pauses


class _Thing(NamedTuple):
    """What a verb is done to: a name, from its first word to behind its last."""

    begin: int
    end: int


class _Text:
    """
    The words of a text, and where their sentences begin and their names end.

    All of that is found once: a sentence may be as long as the text, and each of its words a verb.
    """

    def __init__(self, words: tuple[_Word, ...]) -> None:
        self.words = words
        self.texts = [word.text for word in words]
        self._sentences = self._find_sentences()
        self._name_ends = self._find_name_ends()
        self._counts: dict[frozenset[str], list[int]] = {}

    def find_sentence(self, at: int) -> int:
        """Return where the sentence of a word begins."""
        return self._sentences[at]

    def read_name(self, at: int) -> _Thing:
        """Read a name: up to what leads to another, or to the end of the sentence."""
        return _Thing(at, self._name_ends[at])

    def head(self, thing: _Thing) -> str:
        """Return the last word of a name, which is what it names, before what that is called."""
        at = thing.end - 1
        while at > thing.begin and self.words[at].proper:
            at -= 1
        return self.texts[at] if thing.begin < thing.end else ""

    def has(self, kind: frozenset[str], begin: int, end: int) -> bool:
        """Whether one of these stands between two places."""
        if begin >= end:
            return False
        if kind not in self._counts:
            self._counts[kind] = list(accumulate((text in kind for text in self.texts), initial=0))
        counts = self._counts[kind]
        return counts[end] > counts[begin]

    def goes_on(self, begin: int, end: int) -> bool:
        """Whether something else is asked for between two places, or may be."""
        pauses = any(word.pauses for word in self.words[begin : begin + _MAX_TOLD])
        return end - begin > _MAX_TOLD or pauses or self.has(vocabulary.FOLLOWING, begin, end)

    def _find_sentences(self) -> list[int]:
        begin, found = 0, list[int]()
        for at, word in enumerate(self.words):
            found.append(begin)
            begin = at + 1 if word.ends else begin
        return found

    def _find_name_ends(self) -> list[int]:
        ends = [len(self.words)]
        for at, word in reversed(tuple(enumerate(self.words))):
            if word.text in _NAME_ENDS:
                ends.append(at)
            else:
                ends.append(at + 1 if word.is_over else ends[-1])
        return ends[::-1]


class _Act(NamedTuple):
    """What is done to something: from where on that is named, and whether thoroughly."""

    begin: int
    thorough: bool
    empties: bool = False
    for_ever: bool = False


def asks_to_destroy(text: str) -> bool:
    """Whether a sentence asks for something to be destroyed that nobody can bring back."""
    read = _Text(tuple(_read_words(text)))
    return any(
        _is_done_to_much(read, at) or _is_wanted_away(read, at) for at in range(len(read.words))
    )


def _read_words(text: str) -> Iterator[_Word]:
    for line in text.lower().splitlines():
        pieces = line.replace("\u2019", "'").split()
        for place, piece in enumerate(pieces):
            parts = [bare for part in piece.split("/") if (bare := _strip(part))]
            last = place == len(pieces) - 1
            for number, bare in enumerate(parts, start=1):
                at_end = number == len(parts)
                yield _Word(
                    bare,
                    ends=at_end and (piece[-1] in ".;:!?" or last),
                    pauses=at_end and piece[-1] == ",",
                    proper=_is_proper(piece, bare),
                )


def _strip(piece: str) -> str:
    return piece.strip(_MARKS).removesuffix("'s").removesuffix("'")


def _is_proper(piece: str, bare: str) -> bool:
    quoted = piece[0] in "\"'`" or piece.rstrip(".,;:!?)")[-1:] in {'"', "'", "`"}
    return "/" in piece or quoted or any(mark in bare for mark in "-_.@#0123456789")


def _find_act(read: _Text, at: int) -> _Act | None:
    """Find a verb that is meant."""
    begin = at + 1 if read.texts[at] in vocabulary.VERBS else 0
    for phrase in vocabulary.PHRASES:
        if tuple(read.texts[at : at + len(phrase)]) == phrase:
            begin = at + len(phrase)
    if not begin and _has_other_half(read, at):
        begin = at + 1
    if not begin or _is_only_a_name(read, at):
        return None
    if begin < len(read.words) and read.texts[begin] == "that":
        begin += 1
    verb, near = read.texts[at], read.texts[max(read.find_sentence(at), at - 2) : at]
    return _Act(
        begin,
        thorough=verb in vocabulary.THOROUGH,
        empties=verb in {"flush", "empty"},
        for_ever=not vocabulary.FOR_EVER.isdisjoint(near),
    )


def _has_other_half(read: _Text, at: int) -> bool:
    """Whether a verb has its other half behind its object: tear it down."""
    for further in range(at + 1, min(len(read.words), at + _MAX_PARTED)):
        if read.words[further - 1].ends:
            return False
        if (read.texts[at], read.texts[further]) in vocabulary.PARTED:
            return True
    return False


def _is_only_a_name(read: _Text, at: int) -> bool:
    """Whether a verb is a name here, is denied, or is what something else is for."""
    sentence = read.find_sentence(at)
    if sentence == at:
        return False
    last = read.texts[at - 1]
    if last in vocabulary.NAMES_BEFORE:
        return True
    near = [
        word for word in read.texts[max(sentence, at - 4) : at] if word not in vocabulary.BETWEEN
    ]
    if near and near[-1] in vocabulary.NEGATIONS:
        return True
    if read.texts[sentence] in vocabulary.ASKING and at - sentence > 1:
        return True
    if read.texts[sentence] in vocabulary.TELLING and not read.goes_on(sentence, at):
        return True
    asked = read.has(vocabulary.ASKED, sentence, at - 1)
    if last in vocabulary.ABLE and (asked or read.texts[sentence] in vocabulary.TRYING):
        return True
    tools = read.has(vocabulary.TOOLS, max(sentence, at - 5), at)
    return last in vocabulary.MADE_FOR and tools


def _is_done_to_much(read: _Text, verb: int) -> bool:
    act = _find_act(read, verb)
    if act is None:
        return False
    at, last = act.begin, min(len(read.words), act.begin + _MAX_WORDS)
    while at < last and not read.words[at - 1].ends:
        thing = read.read_name(at)
        if _is_irreplaceable(read, thing, _read_inside(read, thing.end), act):
            return True
        if _stands_for_much(read, thing, verb, act):
            return True
        at = thing.end
        while at < last and read.texts[at] in vocabulary.AND and not read.words[at - 1].ends:
            at += 1
        if at == thing.end and (thing.begin == at or not read.words[at - 1].pauses):
            return False
    return False


def _stands_for_much(read: _Text, thing: _Thing, verb: int, act: _Act) -> bool:
    """Whether it is `it`, and something big was named before."""
    if not act.thorough and read.texts[verb] not in {"drop", "remove", "tear"}:
        return False
    pronoun = read.texts[thing.begin : thing.end] in (["it"], ["them"])
    return pronoun and read.has(vocabulary.BIG, read.find_sentence(verb), verb)


def _read_inside(read: _Text, at: int) -> _Thing:
    """Read what a thing is in or of, if that is said."""
    ends = at >= len(read.words)
    if ends or read.texts[at] not in vocabulary.INSIDE or read.words[at - 1].is_over:
        return _Thing(at, at)
    return read.read_name(at + 1)


def _is_irreplaceable(read: _Text, thing: _Thing, inside: _Thing, act: _Act) -> bool:
    head, place = read.head(thing), read.head(inside)
    if not head or place in vocabulary.PAPERS or place == "contents":
        return False
    precious, each = read.has(vocabulary.PRECIOUS, *thing), read.has(vocabulary.ALL, *thing)
    if head in vocabulary.BIG:
        return precious or not read.has(vocabulary.TAME - vocabulary.NEVER_MIND, *thing)
    if not precious and read.has(vocabulary.TAME, *thing):
        return False
    if head in vocabulary.PORTIONS and place in _NAMED:
        return True
    if _is_much_for(act, head):
        return True
    if read.has(vocabulary.ALL, *inside) and place in _NAMED:
        return head in vocabulary.THINGS or place in vocabulary.BIG
    if head not in vocabulary.THINGS:
        return act.thorough and precious and each
    return precious or each or head == "history" or place in vocabulary.BIG


def _is_much_for(act: _Act, head: str) -> bool:
    """Whether a thing is much for what is done to it, whichever of its kind it is."""
    if act.empties and head in vocabulary.HOLDING:
        return True
    if head in vocabulary.KEPT or (act.for_ever and head in vocabulary.THINGS):
        return True
    several = head.endswith("s") and not head.endswith(("ss", "us", "is"))
    large = head in vocabulary.LARGE or (several and head not in vocabulary.SMALL)
    return act.thorough and large


def _is_wanted_away(read: _Text, at: int) -> bool:
    """Whether somebody wants a thing gone: the verb stands behind it."""
    sentence = read.find_sentence(at)
    if read.texts[at] not in vocabulary.DONE or not read.has(vocabulary.WANTING, sentence, at):
        return False
    if read.has(vocabulary.DOUBTING, sentence, at):
        return False
    before = (read.texts[place] for place in range(at - 1, sentence - 1, -1))
    told = (word for word in before if word not in vocabulary.AUXILIARIES)
    named = tuple(islice(told, 5))[::-1]
    name = _Text(tuple(_Word(word, ends=False, pauses=False) for word in named))
    act = _Act(at, read.texts[at] in vocabulary.THOROUGHLY_DONE)
    return _is_irreplaceable(name, _Thing(0, len(named)), _Thing(0, 0), act)
