"""Sentences that ask for destruction: a verb, and behind it what nobody can bring back."""

from holdfast.contracts.patterns import Pattern, encode_text
from holdfast.guardrails.detectors import grammar, verbs, vocabulary
from holdfast.guardrails.detectors.acts import FIRST_WORDS, Act, find_act
from holdfast.guardrails.detectors.asking import find_wish, is_asked_for
from holdfast.guardrails.detectors.losses import NAMED, PRONOUNS, Thing, is_lost
from holdfast.guardrails.detectors.reading import Name, Text, read_text
from holdfast.guardrails.detectors.verbs import DOING_AWAY, Manner

_MAX_WORDS = 14
"""How far behind a verb its objects are looked for."""

_MAX_PLACES = 3
"""How deep a thing may be in another."""

_MAX_MEANT = 30
"""How far before a pronoun is looked for what it means."""

_MAX_DOING = 6
"""How far before a deed's name is looked for who does it."""

_REMAINING = frozenset({"ones", "rest", "others", "originals", "original", "one"})
_TOOLS = [[tool] for tool in ("key", "button", "icon", "option", "command", "request", "switch")]
_LINKING = frozenset({"that", "which", "is", "are", "was", "there", "we", "have"})
_KNOWN = (vocabulary.STORES | vocabulary.THINGS | vocabulary.SMALL | vocabulary.MINOR) - (
    vocabulary.EVERYTHING | {"one", "ones"}
)

_MAY_DESTROY = Pattern(rf"(?:^|[^a-z])(?:{'|'.join(sorted(FIRST_WORDS))})(?:[^a-z]|$)")
"""Most texts have none of these words, and need not be read."""


def asks_to_destroy(text: str) -> bool:
    """Whether a sentence asks for something to be destroyed that nobody can bring back."""
    if not _MAY_DESTROY.found_in(encode_text(text.lower())):
        return False
    read = read_text(text)
    return any(
        _destroys(read, at)
        for at, word in enumerate(read.texts)
        if word in FIRST_WORDS or "-" in word
    )


def _destroys(read: Text, at: int) -> bool:
    act = find_act(read, at)
    if act is not None and _is_done_to_much(read, at, act) and is_asked_for(read, at):
        return True
    if read.texts[at] in verbs.NOMINALS and _destroys_by_name(read, at):
        return True
    return read.texts[at] in verbs.DONE and _is_wanted_away(read, at)


def _destroys_by_name(read: Text, at: int) -> bool:
    """Whether a deed is asked for by its name: perform a wipe of the disk, a factory reset."""
    begin = max(read.find_clause(at), at - _MAX_DOING)
    doing = [place for place in range(begin, at) if read.texts[place] in verbs.DOING]
    if not doing or not is_asked_for(read, doing[-1]):
        return False
    if read.texts[at] == "reset":
        return read.texts[at - 1] == "factory"
    if read.texts[at + 1 : at + 2] == ["of"]:
        return _is_done_to_much(read, at, Act(at + 2, Manner.THOROUGH))
    if read.texts[at + 1 : at + 2] and read.texts[at + 1] in verbs.JOBS:
        return read.texts[doing[-1]] in verbs.STARTING
    over = read.words[at].is_over or read.is_name_end(at + 1)
    return over and read.head(Name(doing[-1] + 1, at)) in NAMED


def _is_done_to_much(read: Text, verb: int, act: Act) -> bool:
    names = _read_names(read, act)
    if names and read.texts[slice(*names[0])] in _TOOLS:
        return False
    shared = _read_places(read, names[-1].end) if names else ()
    things = (Thing(read, name, _read_places(read, name.end) or shared) for name in names)
    return any(is_lost(thing, act) or _stands_for_much(thing, verb, act) for thing in things)


def _read_names(read: Text, act: Act) -> list[Name]:
    """Read all that one verb is done to: files, folders and their owners."""
    names = list[Name]()
    at, last = act.begin, min(len(read.words), act.begin + _MAX_WORDS)
    if at < last and read.texts[at] == "that" and not read.words[at].is_over:
        at += 1
    while at < last and not read.words[at - 1].ends:
        name = read.read_name(at)
        if name.begin < name.end:
            names.append(name)
        elif not names:
            break
        at = name.end
        while at < last and read.texts[at] in grammar.AND and not read.words[at - 1].ends:
            at += 1
        if at == name.end and (name.begin == at or not read.words[at - 1].pauses):
            break
    return names


def _read_places(read: Text, at: int) -> tuple[Name, ...]:
    """Read what a thing is in or of, and what that is in: the notes of X from the file of Y."""
    places = list[Name]()
    if read.texts[at - 1] in vocabulary.ALL:
        while read.texts[at : at + 1] and read.texts[at] in _LINKING:
            at += 1
    while at < len(read.words) and len(places) < _MAX_PLACES:
        if read.texts[at] not in grammar.INSIDE or read.words[at - 1].is_over:
            break
        begin = at + 2 if read.texts[at + 1 : at + 2] in (["of"], ["to"]) else at + 1
        if begin >= len(read.words) or read.words[at].ends:
            break
        places.append(read.read_name(begin))
        at = places[-1].end
    return tuple(places)


def _stands_for_much(thing: Thing, verb: int, act: Act) -> bool:
    """Whether it is `it`, and what that means is much."""
    said = thing.text.texts[thing.name.begin : thing.name.end]
    if said and said[-1] in _REMAINING and not thing.places:
        away = act.thorough or act.manner in DOING_AWAY
        return away and _find_meant(thing.text, verb) in NAMED
    if thing.head in vocabulary.ENTERED and not thing.places and act.thorough:
        return _find_meant(thing.text, verb) in NAMED - vocabulary.PAPERS
    if not said or said[0] not in PRONOUNS:
        return False
    if said[1:] == ["all"]:
        return act.manner is not Manner.REVOKING
    if said[1:]:
        return False
    if not vocabulary.STORES.isdisjoint(thing.where):
        return True
    meant = _find_meant(thing.text, verb)
    if act.thorough:
        return meant in (vocabulary.STORES | NAMED) - vocabulary.MINOR
    if act.manner in DOING_AWAY:
        return meant in vocabulary.STORES or meant in vocabulary.KEPT
    return meant in vocabulary.BIG


def _find_meant(read: Text, verb: int) -> str:
    """Return the noun that a pronoun means: the first of the clause that has one before it."""
    end, first = verb, max(verb - _MAX_MEANT, 0)
    while end > first:
        begin = max(read.find_clause(end - 1), first)
        for place in range(begin, end):
            if read.texts[place] in _KNOWN and read.texts[place + 1] not in _KNOWN:
                return read.texts[place]
        end = begin
    return ""


def _is_wanted_away(read: Text, at: int) -> bool:
    """Whether somebody wants a thing gone: the verb stands behind it."""
    wanted = find_wish(read, at)
    if wanted is None:
        return False
    act = Act(at, verbs.DONE[read.texts[at]])
    begin, behind = wanted.begin, _read_places(read, at + 1)
    while begin < wanted.end:
        name = Name(begin, min(read.read_name(begin).end, wanted.end))
        places = _read_places(read, name.end) if name.end < wanted.end else ()
        inside = tuple(place for place in places if place.end <= wanted.end)
        thing = Thing(read, name, inside + behind)
        if is_lost(thing, act) or _stands_for_much(thing, begin, act):
            return True
        begin, before = name.end, begin
        follows = read.texts[begin] in grammar.AND or read.words[begin - 1].pauses
        if begin == before or not follows:
            return False
        while begin < wanted.end and read.texts[begin] in grammar.AND:
            begin += 1
    return False
