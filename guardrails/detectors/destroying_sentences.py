"""Sentences that ask for destruction: a verb, and behind it what nobody can bring back."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


def _list(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VERBS = _list(
    "delete deletes deleting erase erases erasing wipe wipes wiping purge purges purging "
    "destroy destroys destroying drop drops dropping remove removes removing clear clears "
    "clearing empty empties emptying reset resets resetting truncate truncates truncating "
    "nuke nukes nuking obliterate obliterates scrap scraps scrapping trash trashes trashing "
    "eliminate eliminates eliminating uninstall uninstalls terminate terminates terminating "
    "decommission overwrite overwrites overwriting discard discards discarding zap annihilate "
    "shred shreds shredding kill kills killing flush flushes flushing burn vaporize bin axe"
)
_PHRASES = (
    ("get", "rid", "of"),
    ("gets", "rid", "of"),
    ("getting", "rid", "of"),
    ("throw", "away"),
    ("throw", "out"),
    ("blow", "away"),
    ("tear", "down"),
    ("tearing", "down"),
    ("shut", "down"),
    ("wipe", "out"),
    ("wipe", "off"),
    ("clean", "out"),
    ("clear", "out"),
    ("take", "down"),
    ("do", "away", "with"),
    ("dispose", "of"),
    ("make", "disappear"),
)
_DONE = _list(
    "deleted erased wiped purged destroyed dropped removed gone emptied truncated nuked "
    "obliterated scrapped eliminated terminated overwritten shredded cleared"
)
"""What somebody may want to be done with a thing."""

_WANTING = _list("want wants wanted need needs have get should must shall make see please like")

_ALL = _list("all every everything each entire whole complete everybody everyone any")

_BIG = _list(
    "database databases db dbs table tables schema schemas keyspace collection repo repos "
    "repository repositories bucket buckets cluster clusters server servers vm vms volume "
    "volumes disk disks drive drives partition partitions backup backups snapshots production "
    "prod filesystem namespace namespaces tenant tenants datacenter infrastructure mainframe "
    "warehouse datastore mailbox archive archives environment environments"
)
"""Of these one is enough."""

_THINGS = _list(
    "data rows row records record users user accounts account customers customer clients "
    "client orders order files file folders folder directories directory logs log branches "
    "branch instances instance machines machine messages message mails mail emails email "
    "documents document indices indexes index environments environment projects project "
    "history system systems invoices invoice payments payment contacts contact photos photo "
    "tickets ticket subscriptions subscription employees employee entries objects object pods "
    "pod deployments deployment services service queues queue secrets keys credentials sites "
    "site pages content contents commits tags releases posts comments members member "
    "transactions transaction products product resources uploads resource stacks stack images "
    "containers it them everything everybody everyone all"
)
"""Of these it takes all, or what is in one of the others."""

_PRECIOUS = _list("main master production prod live customer customers")
"""What makes one of the things one that nobody can bring back."""

_ENDS = _list(
    "from in on at by with to into onto for of when while if unless because so then than as "
    "via using through but that which who where after before until during without under over "
    "within inside belonging created older newer made located except tonight today tomorrow "
    "now completely immediately permanently please since right entirely forever again too "
    "here there clean already"
)
_INSIDE = _list("from in of on inside within for belonging to")
_AND = _list("and or plus along nor &")
_NAMES_BEFORE = _list(
    "a an the this that these those your our its his her their my new another no soft undo"
)
"""In front of a verb it is a name: a delete button, the reset."""

_NEGATIONS = _list(
    "not never don't dont doesn't doesnt cannot can't cant won't wont without avoid avoids "
    "avoiding before when while instead how why whether what stop from of against "
    "accidentally nobody shouldn't mustn't didn't prevents prevent forbid"
)
_BETWEEN = _list("to be ever accidentally just really by you i we it")

_TOOLS = _list(
    "button buttons endpoint endpoints function functions method methods test tests page "
    "dialog dialogue command commands option options feature icon link menu handler handlers "
    "hook hooks prompt warning message confirmation flag api route routes permission checkbox "
    "docs documentation section chapter guide article paragraph sentence policy guardrail "
    "rule tutorial example shortcut"
)
"""Who makes one of these that deletes something deletes nothing."""

_PAPERS = _list(
    "report page docs document documentation readme slide slides layout html markdown wiki "
    "article list menu diagram figure template ui screen view paper presentation spreadsheet "
    "navbar form newsletter"
)
"""What is taken out of one of these can be put back."""

_TAME = _list(
    "test tests temp temporary tmp scratch mock dummy sample example fake unused in-memory "
    "cached local empty dev development"
)

_MAX_WORDS = 14
"""How far behind a verb its objects are looked for."""

_MARKS = ",.;:!?()[]{}\"'`*"


_PORTIONS = _list("trace traces copy copies bit bits piece pieces one entirety contents rest most")
"""What is said of a thing in place of it."""

_ASKING = _list("does do did is are was were what why which who how")
_ABLE = _list("to we i can could may might you people they")


class _Word(NamedTuple):
    """A word, whether its sentence ends with it, and whether a comma follows."""

    text: str
    ends: bool
    pauses: bool


class _Thing(NamedTuple):
    """What a verb is done to: the words of one name, and where it ends."""

    words: tuple[str, ...]
    end: int

    @property
    def head(self) -> str:
        return self.words[-1] if self.words else ""


def asks_to_destroy(text: str) -> bool:
    """Whether a sentence asks for something to be destroyed that nobody can bring back."""
    words = tuple(_read_words(text))
    return any(
        _is_done_to_much(words, begin) or _is_wanted_away(words, at)
        for at, word in enumerate(words)
        for begin in (_find_object(words, at, word.text),)
    )


def _read_words(text: str) -> Iterator[_Word]:
    for line in text.lower().splitlines():
        pieces = line.replace("/", " ").replace("\u2019", "'").split()
        for place, piece in enumerate(pieces):
            bare = piece.strip(_MARKS).removesuffix("'s").removesuffix("'")
            if bare:
                stops = piece[-1] in ".;:!?" or place == len(pieces) - 1
                yield _Word(bare, stops, pauses=piece[-1] == ",")


def _find_object(words: Sequence[_Word], at: int, text: str) -> int:
    """Return where the object of a verb begins; 0 where there is no verb that is meant."""
    begin = 0
    if text in _VERBS:
        begin = at + 1
    for phrase in _PHRASES:
        if tuple(word.text for word in words[at : at + len(phrase)]) == phrase:
            begin = at + len(phrase)
    return begin if begin and not _is_only_a_name(words, at) else 0


def _is_only_a_name(words: Sequence[_Word], at: int) -> bool:
    """Whether a verb is a name here, is denied, or is what something else is for."""
    sentence = _read_back(words, at)
    if not sentence:
        return False
    if sentence[-1] in _NAMES_BEFORE:
        return True
    near = [word for word in sentence[-4:] if word not in _BETWEEN]
    if near and near[-1] in _NEGATIONS:
        return True
    if sentence[0] in _ASKING and len(sentence) > 1:
        return True
    asked = {"how", "why", "whether", "who", "what"} & set(sentence[:-1])
    if asked and sentence[-1] in _ABLE:
        return True
    return any(word in _TOOLS for word in sentence[-5:]) and sentence[-1] in {
        "that",
        "which",
        "to",
        "for",
        "can",
        "says",
        "about",
    }


def _read_back(words: Sequence[_Word], at: int) -> list[str]:
    """Return the words of the sentence before one of them."""
    before: list[str] = []
    for word in reversed(words[:at]):
        if word.ends:
            break
        before.append(word.text)
    return before[::-1]


def _is_done_to_much(words: Sequence[_Word], begin: int) -> bool:
    if not begin:
        return False
    at, last = begin, begin + _MAX_WORDS
    while at < min(len(words), last) and not words[at - 1].ends:
        thing = _read_thing(words, at)
        inside = _read_inside(words, thing.end)
        if _is_irreplaceable(thing, inside):
            return True
        at = thing.end
        while at < len(words) and words[at].text in _AND and not words[at - 1].ends:
            at += 1
        if at == thing.end and not words[at - 1].pauses:
            return False
    return False


def _read_thing(words: Sequence[_Word], at: int) -> _Thing:
    """Read the words of one name: up to what leads to another, or to the end of the sentence."""
    found: list[str] = []
    while at < len(words) and words[at].text not in _ENDS | _AND:
        found.append(words[at].text)
        at += 1
        if words[at - 1].ends or words[at - 1].pauses:
            break
    return _Thing(tuple(found), at)


def _read_inside(words: Sequence[_Word], at: int) -> _Thing:
    """Read what a thing is in or of, if that is said."""
    if at >= len(words) or words[at].text not in _INSIDE or _is_over(words[at - 1]):
        return _Thing((), at)
    return _read_thing(words, at + 1)


def _is_over(word: _Word) -> bool:
    return word.ends or word.pauses


def _is_irreplaceable(thing: _Thing, inside: _Thing) -> bool:
    words = set(thing.words)
    if not words or inside.head in _PAPERS or inside.head == "contents":
        return False
    if _TAME & words and not _PRECIOUS & words:
        return False
    if thing.head in _BIG:
        return True
    if thing.head in _PORTIONS and inside.head in _THINGS | _BIG:
        return True
    if _ALL & words and thing.head in _THINGS:
        return True
    if thing.head in _THINGS and (_PRECIOUS & words or thing.head == "history"):
        return True
    whole = bool(_ALL & set(inside.words)) and inside.head in _THINGS | _BIG
    return thing.head in _THINGS and (whole or inside.head in _BIG)


def _is_wanted_away(words: Sequence[_Word], at: int) -> bool:
    """Whether somebody wants a thing gone: the verb stands behind it."""
    if words[at].text not in _DONE:
        return False
    sentence = _read_back(words, at)
    if not _WANTING & set(sentence) or {"why", "was", "were", "whether", "if", "not"} & set(
        sentence
    ):
        return False
    thing = [word for word in sentence if word not in {"to", "be", "should", "must", "is", "are"}]
    return _is_irreplaceable(_Thing(tuple(thing[-5:]), 0), _Thing((), 0))
