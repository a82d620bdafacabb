"""Sentences that ask for destruction: a verb, and behind it what nobody can bring back."""

from collections.abc import Set as AbstractSet

from holdfast.contracts.patterns import Pattern, encode_text
from holdfast.guardrails.detectors import grammar, verbs, vocabulary
from holdfast.guardrails.detectors.acts import BEGINNINGS, FIRST_WORDS, Act, find_act, find_done
from holdfast.guardrails.detectors.asking import begin_of, is_asked_for
from holdfast.guardrails.detectors.losses import NAMED, PRONOUNS, Thing, is_lost
from holdfast.guardrails.detectors.reading import Name, Text, are_several, read_text
from holdfast.guardrails.detectors.verbs import DOING_AWAY, Manner
from holdfast.guardrails.detectors.wishes import (
    KEEPING,
    LEAVING,
    STAYING,
    find_left,
    find_want,
    find_wishes,
)

_MAX_WORDS = 14
"""How far behind a verb its objects are looked for."""

_MAX_PLACES = 3
"""How deep a thing may be in another."""

_MAX_MEANT = 30
"""How far before a pronoun is looked for what it means."""

_MAX_DOING = 6
"""How far before a deed's name is looked for who does it."""

_MAX_REQUEST = 4
"""How far before a deed's name is looked for who requests it."""

_MEANT = {
    Manner.ENDING: vocabulary.RUNNING,
    Manner.EMPTYING: vocabulary.BIG | vocabulary.HOLDING | {"data"},
    Manner.CLEARING: vocabulary.BIG | vocabulary.HOLDING,
    Manner.TRUNCATING: vocabulary.BIG | vocabulary.LOGGING,
}
"""What a pronoun must mean for it to be much, where the verb is not thorough."""

_STAND_INS = frozenset({"duplicate", "duplicates", "copy", "copies", "version", "versions"})
_SEVERAL = frozenset({"them", "they", "those", "these"})
_REMAINING = frozenset({"ones", "rest", "others", "originals", "original", "one"})
_TOOLS = [[tool] for tool in ("key", "button", "icon", "option", "command", "request", "switch")]
_SAID = frozenset({"is", "are", "was", "were", "has", "will", "should"})
_LINKING = frozenset({"that", "which", "is", "are", "was", "there", "we", "have"})
_KNOWN = (vocabulary.STORES | vocabulary.THINGS | vocabulary.SMALL | vocabulary.MINOR) - (
    vocabulary.EVERYTHING | {"one", "ones"}
)

_SHARED = vocabulary.STORES - {"list", "page", "pages", "account", "site"}
_LEFT = (vocabulary.STORES | NAMED | vocabulary.SINGLE) - vocabulary.MINOR
_FIRST_WORDS = FIRST_WORDS | STAYING | KEEPING


def _compile(words: AbstractSet[str]) -> Pattern:
    return Pattern(rf"(?:^|[^a-z])(?:{'|'.join(sorted(words))})(?:[^a-z]|$)")


_MAY_DESTROY = [
    (_compile(words), _compile(others) if others else None)
    for words, others in (*BEGINNINGS, LEAVING)
]
"""Most texts have none of these words, and need not be read."""


def asks_to_destroy(text: str) -> bool:
    """Whether a sentence asks for something to be destroyed that nobody can bring back."""
    said = encode_text(text.lower())
    if not any(
        words.found_in(said) and (others is None or others.found_in(said))
        for words, others in _MAY_DESTROY
    ):
        return False
    read = read_text(text)
    return any(
        _destroys(read, at) if word in _FIRST_WORDS or "-" in word else _runs_script(read, at)
        for at, word in enumerate(read.texts)
    )


def _destroys(read: Text, at: int) -> bool:
    act = find_act(read, at)
    if act is not None and _is_done_to_much(read, at, act) and is_asked_for(read, at):
        return True
    word = read.texts[at]
    if word == "factory" and _restores(read, at):
        return True
    if word in verbs.NOMINALS and _destroys_by_name(read, at):
        return True
    if word in STAYING | KEEPING and _leaves_nothing(read, at):
        return True
    return _is_wanted_away(read, at)


def _restores(read: Text, at: int) -> bool:
    """Whether a device is to be what it was in the factory."""
    begin = max(read.find_clause(at), at - _MAX_WORDS)
    doing = [place for place in range(begin, at) if read.texts[place] in verbs.RESTORING]
    behind = verbs.FACTORY.intersection(read.texts[at + 1 : at + 2])
    return behind != frozenset() and doing != [] and is_asked_for(read, doing[0])


def _requests(read: Text, begin: int, at: int) -> bool:
    """Whether somebody wants it for himself: I hereby ask for the deletion of my data."""
    first = begin_of(read, at)
    asks = read.texts[first : first + 1] in (["i"], ["we"], ["i'd"], ["i'm"], ["we'd"])
    denied = read.has(grammar.DENIALS, first, at)
    near = max(begin, at - _MAX_REQUEST)
    return asks and not denied and read.has(verbs.REQUESTING, near, at)


def _runs_script(read: Text, at: int) -> bool:
    """Whether a script is to be run whose name says that it destroys: wipe_all.sh."""
    word = read.words[at]
    stem, _, ending = word.text.rpartition(".")
    if not word.proper or ending not in verbs.SCRIPTS:
        return False
    near = range(max(read.find_clause(at), at - _MAX_DOING), at)
    runs = [place for place in near if read.texts[place] in verbs.STARTING]
    destroys = not verbs.STEMS.isdisjoint(stem.replace("-", "_").replace(".", "_").split("_"))
    return destroys and bool(runs) and is_asked_for(read, runs[-1])


def _leaves_nothing(read: Text, at: int) -> bool:
    """Whether nothing is to remain of what nobody can bring back."""
    left = find_left(read, at)
    if left is None:
        return False
    if read.texts[at + 1 : at + 3] == ["nothing", "behind"]:
        return True
    begin = left.begin
    if "only" in read.texts[max(at - 1, 0) : at + 2]:
        name = read.read_name(begin + (read.texts[begin : begin + 1] == ["only"]))
        paper = read.has(vocabulary.PAPERS, name.end, min(len(read.words), at + _MAX_WORDS))
        return read.head(name) in _LEFT and are_several(read.head(name)) and not paper
    name = read.read_name(begin)
    if not read.has(frozenset({"any", "nothing"}), *name) and read.head(name) in _LEFT:
        return True
    begin = name.end
    places = (*_read_places(read, begin), *_read_places(read, max(at + 1, begin)))
    if places:
        return any(read.head(place) in _LEFT or read.is_path(place) for place in places)
    return left.begin <= at and read.words[at].is_over


def _destroys_by_name(read: Text, at: int) -> bool:
    """Whether a deed is asked for by its name: perform a wipe of the disk, a factory reset."""
    begin = max(read.find_clause(at), at - _MAX_DOING)
    before, behind = read.texts[at - 1], read.texts[at + 1 : at + 2]
    if behind == ["of"] and _requests(read, begin, at):
        return _is_done_to_much(read, at, Act(at + 2, Manner.THOROUGH))
    booked = before == "for"
    doers = verbs.BOOKING if booked else verbs.DOING
    doing = [place for place in range(begin, at) if read.texts[place] in doers]
    if not doing or not is_asked_for(read, doing[-1]):
        return False
    if read.texts[at] == "reset" and before != "hard":
        return before == "factory"
    if behind == ["of"]:
        return _is_done_to_much(read, at, Act(at + 2, Manner.THOROUGH))
    if behind and behind[0] in verbs.JOBS:
        return read.texts[doing[-1]] in verbs.STARTING
    if booked:
        return _is_done_to_much(read, at, Act(doing[-1] + 1, Manner.THOROUGH))
    over = read.words[at].is_over or read.is_name_end(at + 1)
    whole = before in verbs.COMPLETE | verbs.DEFINITE
    return over and (whole or read.head(Name(doing[-1] + 1, at)) in NAMED)


def _is_done_to_much(read: Text, verb: int, act: Act) -> bool:
    names = _read_names(read, act)
    if names and (read.texts[slice(*names[0])] in _TOOLS or _is_subject(read, names[0])):
        return False
    if not names and (act.thorough or act.manner in DOING_AWAY):
        return _is_meant_much(read, verb)
    shared = _read_places(read, act.half or names[-1].end) if names else ()
    things = (Thing(read, name, _read_places(read, name.end) or shared) for name in names)
    return any(is_lost(thing, act) or _stands_for_much(thing, verb, act) for thing in things)


def _is_meant_much(read: Text, verb: int) -> bool:
    """Whether a verb without an object is about much: old backups, delete."""
    if read.texts[verb - 1] in grammar.AND and not read.words[verb - 2].is_over:
        return False
    if _is_last(read, verb):
        sentence = read.find_sentence(verb)
        if sentence and read.words[sentence - 1].mark == ":":
            sentence = read.find_sentence(sentence - 1)
        return _find_meant(read, verb, sentence) in _LEFT
    return any(read.head(place) in vocabulary.STORES for place in _read_places(read, verb + 1))


def _is_last(read: Text, at: int) -> bool:
    """Whether a sentence is over with a word."""
    return read.words[at].ends or at + 1 == len(read.words)


def _is_subject(read: Text, name: Name) -> bool:
    """Whether the verb is part of its name, as something is said of it: purge jobs are slow."""
    bare = not read.has(vocabulary.DETERMINERS | vocabulary.ALL | PRONOUNS, *name)
    said = read.texts[name.end : name.end + 1]
    pauses = name.end > name.begin and read.words[name.end - 1].is_over
    return bare and not pauses and said != [] and said[0] in _SAID


def _read_names(read: Text, act: Act) -> list[Name]:
    """Read all that one verb is done to: files, folders and their owners."""
    names = list[Name]()
    at, last = act.begin, min(len(read.words), act.begin + _MAX_WORDS)
    if at < last and read.texts[at] == "that" and not read.words[at].is_over:
        at += 1
    while at < last and not read.words[at - 1].ends:
        if names and _is_an_order(read, at):
            break
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


def _is_an_order(read: Text, at: int) -> bool:
    """Whether somebody is told to do something else there: scrap it and propose another."""
    if read.texts[at] not in grammar.TELLING:
        return False
    with_article = not grammar.ARTICLES.isdisjoint(read.texts[at + 1 : at + 2])
    return with_article or read.texts[at] not in _KNOWN


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
        return away and _find_meant(thing.text, verb) in NAMED | {"duplicates"}
    if thing.head in vocabulary.ENTERED and not thing.places and act.thorough:
        return _find_meant(thing.text, verb) in NAMED - vocabulary.PAPERS
    if said in (["her"], ["him"]):
        return not vocabulary.RUN.isdisjoint(thing.where)
    if not said or said[0] not in PRONOUNS:
        return False
    if said[1:] == ["all"]:
        return act.manner is not Manner.REVOKING
    if not grammar.ADVERBS.issuperset(said[1:]):
        return False
    if not vocabulary.STORES.isdisjoint(thing.where):
        return True
    return _means_much(thing.text, verb, act)


def _means_much(read: Text, verb: int, act: Act) -> bool:
    if act.manner is Manner.WITHDRAWING:
        return read.has(_SHARED, max(verb - _MAX_MEANT, 0), verb)
    meant = _find_meant(read, verb)
    if act.thorough:
        return meant in (vocabulary.STORES | NAMED) - vocabulary.MINOR
    if act.manner in DOING_AWAY:
        return meant != "list" and meant in vocabulary.STORES | NAMED - vocabulary.MINOR
    return meant in _MEANT.get(act.manner, vocabulary.BIG)


def _find_meant(read: Text, verb: int, first: int = 0) -> str:
    """
    Return the noun that a pronoun means: the first of the clause that has one before it.

    Where the pronoun stands for several it is the first of several, if there are any.
    """
    end, first = verb, max(verb - _MAX_MEANT, first)
    several = not _SEVERAL.isdisjoint(read.texts[verb : verb + 3])
    found = ""
    while end > first:
        begin = max(read.find_clause(end - 1), first)
        for place in range(begin, end):
            if _is_noun(read, place):
                word = read.texts[place]
                fits = word not in _STAND_INS and (not several or are_several(word))
                if fits:
                    return word
                found = found or word
        end = begin
    return found


def _is_noun(read: Text, at: int) -> bool:
    """Whether a known noun stands there, and is no verb: lock it."""
    behind = read.texts[at + 1]
    leads = begin_of(read, at) == at and behind in vocabulary.DETERMINERS | PRONOUNS
    return read.texts[at] in _KNOWN and behind not in _KNOWN and not leads


def _is_wanted_away(read: Text, at: int) -> bool:
    """Whether somebody wants a thing gone: the verb stands behind it."""
    done, needed = find_done(read, at), find_want(read, at)
    if needed is not None and read.texts[at] in verbs.VERBS:
        return _is_one_lost(read, needed, Act(at, verbs.VERBS[read.texts[at]]), ())
    if done is None:
        return False
    manner, end = done
    act, behind = Act(at, manner, _is_for_ever(read, at, end)), _read_places(read, end)
    return any(
        _is_one_lost(read, wanted, act, behind) for wanted in find_wishes(read, at, end - 1)
    )


def _is_for_ever(read: Text, at: int, end: int) -> bool:
    near = read.texts[max(at - 2, 0) : at]
    behind = read.texts[end : end + 2]
    return not verbs.FOR_EVER.isdisjoint(near) or behind == ["for", "good"]


def _is_one_lost(read: Text, wanted: Name, act: Act, behind: tuple[Name, ...]) -> bool:
    """Whether nobody can bring back one of the things that somebody wants gone."""
    begin = wanted.begin
    while begin < wanted.end:
        end = max(read.read_name(begin).end, begin + (read.texts[begin] in PRONOUNS))
        name = Name(begin, min(end, wanted.end))
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
