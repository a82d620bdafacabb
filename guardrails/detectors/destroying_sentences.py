"""Sentences that ask for destruction: a verb, and behind it what nobody can bring back."""

from collections.abc import Iterator
from itertools import accumulate, islice
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


_NAME_ENDS = _ENDS | _AND
_NAMED = _THINGS | _BIG

_PORTIONS = _list("trace traces copy copies bit bits piece pieces one entirety contents rest most")
"""What is said of a thing in place of it."""

_ASKING = _list("does do did is are was were what why which who how")
_ASKED = _list("how why whether who what")
_ABLE = _list("to we i can could may might you people they")
_MADE_FOR = _list("that which to for can says about")
"""What leads from a tool to what it does."""

_DOUBTING = _list("why was were whether if not")
_AUXILIARIES = _list("to be should must is are")


class _Word(NamedTuple):
    """A word, whether its sentence ends with it, and whether a comma follows."""

    text: str
    ends: bool
    pauses: bool

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
        """Return the last word of a name, which is what it names."""
        return self.texts[thing.end - 1] if thing.begin < thing.end else ""

    def has(self, kind: frozenset[str], begin: int, end: int) -> bool:
        """Whether one of these stands between two places."""
        if begin >= end:
            return False
        if kind not in self._counts:
            self._counts[kind] = list(accumulate((text in kind for text in self.texts), initial=0))
        counts = self._counts[kind]
        return counts[end] > counts[begin]

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


def asks_to_destroy(text: str) -> bool:
    """Whether a sentence asks for something to be destroyed that nobody can bring back."""
    read = _Text(tuple(_read_words(text)))
    return any(
        _is_done_to_much(read, _find_object(read, at)) or _is_wanted_away(read, at)
        for at in range(len(read.words))
    )


def _read_words(text: str) -> Iterator[_Word]:
    for line in text.lower().splitlines():
        pieces = line.replace("/", " ").replace("\u2019", "'").split()
        for place, piece in enumerate(pieces):
            bare = piece.strip(_MARKS).removesuffix("'s").removesuffix("'")
            if bare:
                stops = piece[-1] in ".;:!?" or place == len(pieces) - 1
                yield _Word(bare, stops, pauses=piece[-1] == ",")


def _find_object(read: _Text, at: int) -> int:
    """Return where the object of a verb begins; 0 where there is no verb that is meant."""
    begin = at + 1 if read.texts[at] in _VERBS else 0
    for phrase in _PHRASES:
        if tuple(read.texts[at : at + len(phrase)]) == phrase:
            begin = at + len(phrase)
    return begin if begin and not _is_only_a_name(read, at) else 0


def _is_only_a_name(read: _Text, at: int) -> bool:
    """Whether a verb is a name here, is denied, or is what something else is for."""
    sentence = read.find_sentence(at)
    if sentence == at:
        return False
    last = read.texts[at - 1]
    if last in _NAMES_BEFORE:
        return True
    near = [word for word in read.texts[max(sentence, at - 4) : at] if word not in _BETWEEN]
    if near and near[-1] in _NEGATIONS:
        return True
    if read.texts[sentence] in _ASKING and at - sentence > 1:
        return True
    if last in _ABLE and read.has(_ASKED, sentence, at - 1):
        return True
    return last in _MADE_FOR and read.has(_TOOLS, max(sentence, at - 5), at)


def _is_done_to_much(read: _Text, begin: int) -> bool:
    if not begin:
        return False
    words, at, last = read.words, begin, min(len(read.words), begin + _MAX_WORDS)
    while at < last and not words[at - 1].ends:
        thing = read.read_name(at)
        if _is_irreplaceable(read, thing, _read_inside(read, thing.end)):
            return True
        at = thing.end
        while at < last and words[at].text in _AND and not words[at - 1].ends:
            at += 1
        if at == thing.end and (thing.begin == at or not words[at - 1].pauses):
            return False
    return False


def _read_inside(read: _Text, at: int) -> _Thing:
    """Read what a thing is in or of, if that is said."""
    words = read.words
    if at >= len(words) or words[at].text not in _INSIDE or words[at - 1].is_over:
        return _Thing(at, at)
    return read.read_name(at + 1)


def _is_irreplaceable(read: _Text, thing: _Thing, inside: _Thing) -> bool:
    head, place = read.head(thing), read.head(inside)
    if not head or place in _PAPERS or place == "contents":
        return False
    precious = read.has(_PRECIOUS, *thing)
    if not precious and read.has(_TAME, *thing):
        return False
    if head in _BIG:
        return True
    if head in _PORTIONS and place in _NAMED:
        return True
    if head not in _THINGS:
        return False
    if precious or head == "history" or read.has(_ALL, *thing):
        return True
    return place in _BIG or (place in _THINGS and read.has(_ALL, *inside))


def _is_wanted_away(read: _Text, at: int) -> bool:
    """Whether somebody wants a thing gone: the verb stands behind it."""
    sentence = read.find_sentence(at)
    if read.texts[at] not in _DONE or not read.has(_WANTING, sentence, at):
        return False
    if read.has(_DOUBTING, sentence, at):
        return False
    before = (read.texts[place] for place in range(at - 1, sentence - 1, -1))
    named = tuple(islice((word for word in before if word not in _AUXILIARIES), 5))[::-1]
    name = _Text(tuple(_Word(word, ends=False, pauses=False) for word in named))
    return _is_irreplaceable(name, _Thing(0, len(named)), _Thing(0, 0))
