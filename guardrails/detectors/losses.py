"""Whether what is done to a thing takes away what nobody can bring back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from holdfast.guardrails.detectors import vocabulary
from holdfast.guardrails.detectors.acts import Act
from holdfast.guardrails.detectors.reading import Name, Text, are_several
from holdfast.guardrails.detectors.verbs import DOING_AWAY, TAKING, VERBS, Manner

PRONOUNS = frozenset({"it", "them", "they", "those", "these", "this", "that"})

NAMED = vocabulary.THINGS | vocabulary.BIG

_NOT_THINGS = (vocabulary.DETERMINERS - vocabulary.ALL) | PRONOUNS
_KNOWN = NAMED | vocabulary.SMALL | vocabulary.PAPERS | vocabulary.MINOR | vocabulary.COMPOUNDS

_NONE = frozenset({"no", "nothing", "none"})
_COPIES = frozenset({"copy", "copies", "version", "versions"})
_LIST = "list"
_MAX_NEAR = 6
"""How far behind a table it may say that it is one to eat at."""

_TAME_FOR_GOOD = vocabulary.TAME - vocabulary.NEVER_MIND

_SEVERAL = frozenset(word for word in vocabulary.KEPT | vocabulary.TRADES if word.endswith("s"))

_ENOUGH: Mapping[Manner, frozenset[str]] = {
    Manner.EMPTYING: vocabulary.HOLDING | vocabulary.LOGGING,
    Manner.FLUSHING: vocabulary.HOLDING,
    Manner.CLEARING: (vocabulary.HOLDING | vocabulary.LOGGING)
    - {"queue", "queues", "calendar", "calendars"}
    | vocabulary.TRADES.intersection(_SEVERAL),
    Manner.TRUNCATING: vocabulary.LOGGING,
    Manner.OVERWRITING: vocabulary.WRITTEN | vocabulary.LARGE | _SEVERAL,
    Manner.ENDING: frozenset(word for word in vocabulary.RUNNING if word.endswith("s")),
    Manner.REMOVING: _SEVERAL | vocabulary.LARGE,
    Manner.DROPPING: _SEVERAL | vocabulary.COLUMNS | {"history", "data", "telemetry", "metadata"},
}
"""Of these one is enough, or several, for what is done to them."""


_RUN = vocabulary.BIG - {"index", "indices"}
_SPECIAL = frozenset({Manner.WITHDRAWING, Manner.ZEROING, Manner.FORMATTING})

_WHOLE = frozenset({Manner.DROPPING, Manner.ENDING})
"""What is done to a part of something big is done to much."""


@dataclass(frozen=True)
class Thing:
    """What is done away with: its name, and the names of what it is in or of."""

    text: Text
    name: Name
    places: tuple[Name, ...]

    @cached_property
    def head(self) -> str:
        """What it is."""
        head = self.text.head(self.name)
        if head in _KNOWN:
            return head
        return self._kind or _read_kind(head)

    @cached_property
    def _kind(self) -> str:
        """What it is where a name follows that only it has: the volume pgdata."""
        words = self.text.texts[self.name.begin : self.name.end]
        return words[-2] if len(words) > 1 and words[-2] in vocabulary.TITLED else ""

    @cached_property
    def where(self) -> frozenset[str]:
        """What it is in or of."""
        return frozenset(self.text.head(place) for place in self.places)

    @cached_property
    def is_all(self) -> bool:
        """Whether all of them are meant, or all that is in one of the others."""
        return any(self.text.has(vocabulary.ALL, *name) for name in (self.name, *self.places))

    @cached_property
    def is_precious(self) -> bool:
        """Whether it is the main one, or the production's."""
        return self.text.has(vocabulary.PRECIOUS, *self.name)

    @cached_property
    def is_on_paper(self) -> bool:
        """Whether it is in a text, in code or on a screen."""
        return any(self._is_paper(place) for place in self.places)

    @cached_property
    def is_in_a_store(self) -> bool:
        """Whether it is taken from where people have put it."""
        if _LIST in self.where or not vocabulary.STORES.isdisjoint(self.where):
            return True
        named = self.is_all and not NAMED.isdisjoint(self.where)
        return named or any(self.text.is_path(place) for place in self.places)

    @cached_property
    def is_at_home(self) -> bool:
        """Whether it is of a household: a face, cheese, a table to eat at."""
        end = min(self.name.end + _MAX_NEAR, len(self.text.words))
        if self.head in vocabulary.LAID and self.text.has(vocabulary.MEALS, self.name.begin, end):
            return True
        there = self.head not in NAMED and not vocabulary.AT_HOME.isdisjoint(self.where)
        return there or (self.head in vocabulary.AT_HOME and not self.is_in_a_store)

    @cached_property
    def is_identifier(self) -> bool:
        """Whether it is one word as databases name things: idx_orders_date."""
        only = self.text.texts[self.name.begin : self.name.end]
        return len(only) == 1 and "_" in only[0] and not self.places

    def is_one_of(self, kind: frozenset[str]) -> bool:
        """Whether what it is called says what it belongs to: customer comments."""
        return self.text.has(kind, self.name.begin, self.name.end - 1)

    def is_tame(self, thorough: bool) -> bool:  # noqa: FBT001 -- it is what `Act.thorough` is
        """Whether it was made for a moment."""
        tame = _TAME_FOR_GOOD if thorough else vocabulary.TAME
        return not self.is_precious and self.text.has(tame, *self.name)

    def is_told_which(self) -> bool:
        """Whether one person, file or record is meant: user 5512, the file named x."""
        behind = self.text.texts[self.name.end : self.name.end + 1]
        words = self.text.words[self.name.begin : self.name.end]
        told = any(word.proper for word in words) or not vocabulary.WHICH.isdisjoint(behind)
        single = self.head in vocabulary.SINGLE and (
            told or self.text.head(self.name) != self.head
        )
        belongs = self.head in NAMED and not vocabulary.SINGLE.isdisjoint(self.where)
        of_one = self.head in vocabulary.HOLDERS and behind == ["of"]
        return single or of_one or belongs or self.text.is_path(self.name)

    def has_number(self) -> bool:
        """Whether a number says how many there are."""
        words = self.text.texts[self.name.begin : self.name.end - 1]
        return any(word.isdecimal() and word != "1" for word in words)

    def _is_paper(self, place: Name) -> bool:
        head = self.text.head(place)
        if head == _LIST and self.text.has(vocabulary.LISTS, *place):
            return False
        return head in vocabulary.PAPERS or self.text.has(vocabulary.PAPERY, *place)


def _read_kind(name: str) -> str:
    """Return what a thing is by the last word of its own name: db-replica-2."""
    parts = [part for part in name.split("-") if part.isalpha()]
    return parts[-1] if len(parts) > 1 and parts[-1] in vocabulary.BIG else name


def is_lost(thing: Thing, act: Act) -> bool:
    """Whether nobody can bring back what is done to a thing."""
    head = thing.head
    nothing = thing.text.has(_NONE, thing.name.begin, thing.name.begin + 1)
    if (
        nothing
        or not head
        or head in _NOT_THINGS
        or (act.thorough and VERBS.get(head) is Manner.THOROUGH)
    ):
        return False
    if act.manner in _SPECIAL:
        return _is_lost_that_way(thing, act.manner)
    if thing.is_at_home:
        return False
    if thing.is_on_paper:
        return act.thorough and thing.is_all and head in _COPIES
    if head in vocabulary.PORTIONS and (_is_part_of_much(thing) or thing.is_one_of(_RUN)):
        return True
    if act.manner is Manner.DROPPING and (head in vocabulary.COLUMNS or thing.is_identifier):
        return True
    if head in vocabulary.SMALL:
        return head in vocabulary.ENTERED and _is_an_entry(thing, act)
    if head in vocabulary.BIG:
        stops = act.manner is Manner.ENDING and thing.is_one_of(vocabulary.ONES_OWN)
        return not stops and act.manner is not Manner.REVOKING and not thing.is_tame(thorough=True)
    return _is_much(thing, act)


def _is_lost_that_way(thing: Thing, manner: Manner) -> bool:
    """Whether it is lost in a way that is known for few things alone."""
    if manner is Manner.WITHDRAWING:
        return thing.is_in_a_store and not thing.is_on_paper
    if manner is Manner.ZEROING:
        several = thing.is_all or are_several(thing.head) or thing.places != ()
        return several and thing.head in NAMED
    return thing.head in vocabulary.DISKS


def _is_part_of_much(thing: Thing) -> bool:
    return any(name in NAMED or "." in name for name in thing.where)


def _is_an_entry(thing: Thing, act: Act) -> bool:
    if _LIST in thing.where or not vocabulary.OWNERS.isdisjoint(thing.where):
        return act.thorough
    if act.manner is Manner.RESETTING:
        return False
    all_of_it = thing.is_all or act.thorough or act.manner is Manner.ENDING
    if thing.is_precious:
        return True
    return thing.is_in_a_store or (all_of_it and thing.is_one_of(NAMED | vocabulary.STORES))


def _is_much(thing: Thing, act: Act) -> bool:
    """Whether a thing is much for what is done to it, whichever of its kind it is."""
    if not thing.is_in_a_store and thing.is_tame(act.thorough or thing.head in vocabulary.KEPT):
        return False
    much = thing.is_all or thing.is_precious or act.for_ever
    if act.thorough:
        return much or thing.is_in_a_store or thing.head not in vocabulary.MINOR
    if thing.head in _ENOUGH.get(act.manner, frozenset()):
        return True
    if act.manner in DOING_AWAY and thing.is_told_which():
        return True
    if act.manner is Manner.OVERWRITING and "." in thing.head:
        return True
    if act.manner in _WHOLE and thing.head in NAMED and thing.is_one_of(vocabulary.RUN):
        return True
    if act.manner is Manner.REVOKING:
        return much and thing.head in vocabulary.REVOCABLE
    if act.manner is Manner.REMOVING and are_several(thing.head):
        return True
    all_of_it = thing.is_all and (act.manner is not Manner.RESETTING or thing.head in NAMED)
    if all_of_it or ((much or thing.has_number()) and thing.head in NAMED):
        return True
    return thing.is_in_a_store and act.manner in TAKING
