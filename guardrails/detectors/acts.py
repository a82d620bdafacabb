"""Find in a sentence what destroys: a verb, a phrase, or a deed by its name."""

from itertools import pairwise
from typing import NamedTuple

from holdfast.guardrails.detectors import grammar, verbs, vocabulary
from holdfast.guardrails.detectors.reading import Text
from holdfast.guardrails.detectors.verbs import Manner

_MAX_PARTED = 13
"""How far behind a verb its other half is looked for."""

_MAX_FACTORY = 12
"""How far behind a reset it may say that it is one to what the factory had."""

_MAX_FOR_EVER = 14
"""How far behind a verb it may say that it is for ever."""

_ALONE = verbs.VERBS.keys() | verbs.DONE.keys() | verbs.NOMINALS | {"rid", "factory"}
_IN_TWO = {**verbs.PHRASES, **verbs.PARTED, **verbs.DONE_PHRASES}

FIRST_WORDS = _ALONE | verbs.OVER | verbs.RIDDING | {first for first, *_ in _IN_TWO}
"""Where none of these is, nothing is destroyed."""

_WRITING = {first for first, *_ in _IN_TWO if first.startswith("writ")}
_PAIRED = {
    (first, max(rest, key=len))
    for first, *rest in _IN_TWO
    if first not in _ALONE and first not in _WRITING
}
_RARE = {first for first, other in _PAIRED if other == "of"}

_RIDDING = rf"(?:{'|'.join(sorted(verbs.RIDDING))}) [a-z ]{{1,40}} of"

BEGINNINGS = (
    (_ALONE | verbs.STEMS | _RARE, frozenset[str]()),
    ({first for first, _ in _PAIRED} - _RARE, {other for _, other in _PAIRED} - {"of"}),
    ({_RIDDING}, frozenset[str]()),
    ((verbs.OVER | _WRITING) - _ALONE, frozenset({"over", "zeros", "zeroes"})),
)
"""The same, and with which of others: who takes something must take it down, off or out."""

_PHRASES = {
    first: [(phrase, manner) for phrase, manner in verbs.PHRASES.items() if phrase[0] == first]
    for first, *_ in verbs.PHRASES
}
_DONE_PHRASES = {
    first: [
        (phrase, manner) for phrase, manner in verbs.DONE_PHRASES.items() if phrase[0] == first
    ]
    for first, *_ in verbs.DONE_PHRASES
}
_PARTED = {
    first: {half: manner for (one, half), manner in verbs.PARTED.items() if one == first}
    for first, _ in verbs.PARTED
}


_OPEN = frozenset({"folder", "chat", "channel", "inbox", "thread", "mailbox", "box"})
"""Where people drop things for others."""

_UPON = frozenset({"on", "against", "across"})
"""What a command is run on: run delete on every row."""


_ON = frozenset(
    {"out", "home", "over", "through", "on", "to", "with", "at", "ahead", "back", "live"}
)
"""Behind "go" it is no going away."""


_AWAY = frozenset({"shredder", "bin", "trash", "scrapheap", "incinerator"})
"""What goes into one of these doesn't come back."""


_WISHING = (["if", "you"], ["rather", "you"], ["time", "we"], ["time", "you"])
_AGAIN = frozenset({"repave", "rebuild", "reinstall", "recreate", "replace", "reprovision"})
_PARTICLES = frozenset({"out", "off", "away", "up"})
_WITH_PARTICLE = {Manner.THOROUGH, Manner.REMOVING, Manner.EMPTYING, Manner.ENDING}
"""What is no other thing with a particle: chuck out."""


class Act(NamedTuple):
    """
    What is done to something: from where on that is named, and how.

    Where the verb has its other half behind the object, it is known where: take it out of a store.
    """

    begin: int
    manner: Manner
    for_ever: bool = False
    half: int = 0

    @property
    def thorough(self) -> bool:
        """Whether nobody does that to what is to be there again."""
        return self.manner is Manner.THOROUGH or (
            self.for_ever and self.manner is not Manner.REVOKING
        )


def find_act(text: Text, at: int) -> Act | None:
    """Return what the word at a place does, if it is a verb that destroys."""
    verb = text.texts[at]
    begin, manner = at + 1, _find_manner(text, at, verb)
    for phrase, thorough in _PHRASES.get(verb, ()):
        if tuple(text.texts[at : at + len(phrase)]) == phrase:
            begin, manner = at + len(phrase), thorough
    if text.texts[begin : begin + 1] and text.texts[begin] in _UPON:
        begin += 1
    elif text.texts[begin : begin + 1] in (["and"], ["&"]) and _is_verb(text, begin + 1):
        begin += 2
    elif not _PARTICLES.isdisjoint(text.texts[begin : begin + 1]):
        begin += manner in _WITH_PARTICLE
    if verb in verbs.RIDDING and (rid := _find_ridding(text, at)):
        begin, manner = rid, Manner.REMOVING
    if manner is None and verb in verbs.OVER:
        begin, manner = _find_over(text, at), Manner.OVERWRITING
    if manner is None or (manner is Manner.DROPPING and _is_put(text, at)):
        return None
    near = text.texts[max(text.find_sentence(at), at - 2) : at]
    behind = text.texts[at : at + _MAX_FOR_EVER]
    for_ever = not verbs.FOR_EVER.isdisjoint(near) or _is_for_good(behind)
    return Act(begin, manner, for_ever, _find_half(text, at, verb))


def _find_manner(text: Text, at: int, verb: str) -> Manner | None:
    prefix, _, rest = verb.partition("-")
    around = (prefix, *text.texts[max(at - 1, 0) : at + _MAX_FACTORY])
    if "factory" in around and "reset" in {verb, rest}:
        return Manner.THOROUGH
    if prefix in verbs.PREFIXES and rest in verbs.VERBS:
        return verbs.VERBS[rest]
    if _is_a_wish(text, at):
        return verbs.DONE[verb]
    return verbs.VERBS.get(verb) or _find_other_half(text, at, verb)


def _is_verb(text: Text, at: int) -> bool:
    return not (grammar.TELLING | _AGAIN).isdisjoint(text.texts[at : at + 1])


def find_done(text: Text, at: int) -> tuple[Manner, int] | None:
    """Return what a participle at a place does, and where it ends: blown away, deleted."""
    verb = text.texts[at]
    if verb == "go" and not _ON.isdisjoint(text.texts[at + 1 : at + 2]):
        return None
    if verb == "go" and not _AWAY.isdisjoint(text.texts[at + 1 : at + _MAX_FACTORY // 2]):
        return Manner.THOROUGH, at + 1
    for phrase, manner in _DONE_PHRASES.get(verb, ()):
        if tuple(text.texts[at : at + len(phrase)]) == phrase:
            return manner, at + len(phrase)
    return (verbs.DONE[verb], at + 1) if verb in verbs.DONE else None


def _find_ridding(text: Text, at: int) -> int:
    """Return where it begins of what a store is rid: rid the CRM of dead leads; 0 for none."""
    store = text.read_name(at + 1)
    rid = text.texts[store.end : store.end + 1] == ["of"] and text.head(store) != "list"
    return store.end + 1 if rid and text.head(store) in vocabulary.STORES else 0


def _find_over(text: Text, at: int) -> int:
    """Return where it begins over which something is put, or where the text ends."""
    for further in range(at + 1, min(len(text.words) - 1, at + _MAX_PARTED)):
        if text.words[further - 1].is_over or text.texts[further] in grammar.AND:
            break
        if text.texts[further] == "over":
            return further + 1
    return len(text.words)


def _is_for_good(behind: list[str]) -> bool:
    return not (verbs.FOR_EVER | {"forever"}).isdisjoint(behind) or any(
        pair in {("for", "good"), ("for", "ever")} for pair in pairwise(behind)
    )


def _is_a_wish(text: Text, at: int) -> bool:
    """Whether it stands in the past because it is a wish: I'd be glad if you deleted it."""
    before = text.texts[max(at - 2, 0) : at]
    if text.texts[at] not in verbs.DONE or before not in _WISHING:
        return False
    return before[0] != "if" or text.has(grammar.GLAD, text.find_clause(at), at)


def _is_put(text: Text, at: int) -> bool:
    """Whether something is dropped where it belongs: into a folder."""
    behind = text.texts[at + 1 : at + _MAX_PARTED]
    name = text.read_name(at + 1)
    if not {"a", "an"}.isdisjoint(text.texts[name.begin + 1 : name.end]):
        return True
    inside = "in" in behind and not _OPEN.isdisjoint(behind)
    return inside or not {"into", "onto", "off", "by"}.isdisjoint(behind)


def _find_other_half(text: Text, at: int, verb: str) -> Manner | None:
    """Return how a verb destroys that has its other half behind its object: tear it down."""
    half = _find_half(text, at, verb)
    return _PARTED[verb][text.texts[half]] if half else None


def _find_half(text: Text, at: int, verb: str) -> int:
    """Return where the other half of a verb is, or 0 where it has none."""
    halves = _PARTED.get(verb, {})
    for further in range(at + 1, min(len(text.words), at + _MAX_PARTED) if halves else 0):
        if text.words[further - 1].ends:
            break
        if text.texts[further] in halves:
            return further
    return 0
