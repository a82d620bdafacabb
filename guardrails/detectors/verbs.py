"""The verbs that destroy, and how much each does to a thing."""

from collections.abc import Mapping
from enum import StrEnum

from holdfast.guardrails.detectors.vocabulary import list_words


class Manner(StrEnum):
    """How something is done away with; `THOROUGH` is what nobody does to what is to be there."""

    THOROUGH = "thorough"
    REMOVING = "removing"
    DROPPING = "dropping"
    EMPTYING = "emptying"
    FLUSHING = "flushing"
    CLEARING = "clearing"
    RESETTING = "resetting"
    TRUNCATING = "truncating"
    ENDING = "ending"
    OVERWRITING = "overwriting"
    FORMATTING = "formatting"
    WITHDRAWING = "withdrawing"
    """What takes away only where it says of which store: take them off the server."""
    ZEROING = "zeroing"
    """What takes away only what people count: set all balances to zero."""
    REVOKING = "revoking"
    """What can be undone, unless it is done to all of them."""


DOING_AWAY = frozenset({Manner.REMOVING, Manner.DROPPING})
TAKING = DOING_AWAY | {Manner.EMPTYING, Manner.CLEARING, Manner.TRUNCATING}
"""What is done to something within something else."""

_BASES = {
    Manner.THOROUGH: (
        "delete erase wipe purge destroy nuke obliterate shred expunge eradicate annihilate "
        "vaporize vaporise incinerate demolish pulverize degauss zeroize torch exterminate raze "
        "pulp yeet bulldoze"
    ),
    Manner.REMOVING: (
        "remove eliminate scrap scratch trash discard zap axe unlink prune cleanse ditch "
        "toss chuck strip unpublish scrub strike cull bin deregister unregister unenroll delist "
        "unlist jettison offboard unprovision"
    ),
    Manner.DROPPING: "drop void",
    Manner.EMPTYING: "empty drain zero",
    Manner.FLUSHING: "flush",
    Manner.CLEARING: "clear",
    Manner.RESETTING: "reset revert reimage flatten",
    Manner.TRUNCATING: "truncate",
    Manner.ENDING: (
        "terminate decommission uninstall deprovision evict kill burn dismantle retire liquidate "
        "decomm rollback shutdown teardown"
    ),
    Manner.OVERWRITING: "overwrite",
    Manner.FORMATTING: "format reformat sanitize sanitise initialize initialise repartition",
    Manner.WITHDRAWING: "anonymize anonymise",
    Manner.REVOKING: (
        "cancel revoke close deactivate disable unsubscribe suspend expire invalidate"
    ),
}
_WORN = {
    Manner.THOROUGH: "delete erase destroy purge",
    Manner.REMOVING: "remove",
    Manner.TRUNCATING: "truncate",
}
"""What people write so often that they misspell it."""

_DOUBLING = list_words(
    "format reformat drop scrap zap strip reset bin shut get cut shred scrub rip"
)
_UNLIKE = {
    "overwrite": "overwritten",
    "reset": "reset",
    "strike": "struck",
    "shut": "shut",
    "get": "gotten",
    "throw": "thrown",
    "blow": "blown",
    "tear": "torn",
    "take": "taken",
    "bring": "brought",
    "do": "done",
    "cut": "cut",
    "write": "written",
    "make": "made",
    "cancel": "cancelled",
    "wind": "wound",
    "rid": "rid",
}
"""How a verb stands behind what it was done to, where that has no -ed."""

_OTHER_WORDS = frozenset({"rase", "ease", "ears", "rove"})


def _inflect(verb: str) -> tuple[str, ...]:
    """Return a verb as it stands, with -s and with -ing."""
    third = f"{verb}es" if verb.endswith(("sh", "ss", "x")) else f"{verb}s"
    third = f"{verb[:-1]}ies" if verb == "empty" else third
    doubled = verb[-1] if verb in _DOUBLING else ""
    return verb, third, f"{verb.removesuffix('e')}{doubled}ing"


def _participle(verb: str) -> str:
    """Return a verb as it stands behind what it was done to."""
    if verb in _UNLIKE:
        return _UNLIKE[verb]
    doubled = verb[-1] if verb in _DOUBLING else ""
    return "emptied" if verb == "empty" else f"{verb.removesuffix('e')}{doubled}ed"


def _misspell(verb: str) -> set[str]:
    """Return a verb with two letters in the wrong order, and with one missing or doubled."""
    found = set[str]()
    for at in range(1, len(verb) - 1):
        found |= {
            verb[:at] + verb[at + 1] + verb[at] + verb[at + 2 :],
            verb[:at] + verb[at + 1 :],
            verb[:at] + verb[at] + verb[at:],
        }
    return found - _OTHER_WORDS


VERBS = {
    "del": Manner.THOROUGH,
    "rm": Manner.THOROUGH,
    **{
        wrong: manner
        for manner, verbs in _WORN.items()
        for verb in verbs.split()
        for wrong in _misspell(verb)
    },
    **{
        form: manner
        for manner, verbs in _BASES.items()
        for verb in verbs.split()
        for form in _inflect(verb)
    },
}

PREFIXES = frozenset(
    {"bulk", "mass", "hard", "force", "batch", "permanently", "auto", "crypto", "remote"}
)
"""In front of a verb, with a hyphen: they are part of how it is done."""

_PHRASES = {
    Manner.THOROUGH: (
        "throw away|throw out|blow away|wipe out|wipe off|wipe clean|dispose of|make disappear"
    ),
    Manner.REMOVING: (
        "get rid of|do away with|kill off|weed out|write off|clean away|clear away|strip out|"
        "rip out|tear out|kick out"
    ),
    Manner.ENDING: (
        "tear down|shut down|shut off|switch off|turn off|power off|power down|spin down|"
        "bring down|burn down|take down|roll back|wind down|wind up|pull the plug on|phase out|"
        "take offline|let go of"
    ),
    Manner.EMPTYING: "clean out|clear out|zero out|clear down",
    Manner.REVOKING: "cut off|lock out|shut out",
    Manner.OVERWRITING: (
        "write over|write zeros over|write zeroes over|write zeros to|write zeroes to"
    ),
}
_PARTED = {
    Manner.THOROUGH: (
        "throw away|throw out|throw bin|throw trash|blow away|wipe out|wipe clean|"
        "make disappear|make vanish|put shredder|send shredder|send heap|feed shredder|go shredder"
    ),
    Manner.REMOVING: ("cut out|dump trash|dump bin|dump shredder|toss bin|toss trash"),
    Manner.DROPPING: "make away",
    Manner.ZEROING: "set zero|set null|set 0",
    Manner.WITHDRAWING: "get out|take out|take off|pull out|pull off|kick out|throw off",
    Manner.ENDING: (
        "tear down|shut down|shut off|switch off|turn off|power off|power down|spin down|"
        "take down|bring down|roll back|wind up|wind down|take offline"
    ),
    Manner.EMPTYING: "clean out|clear out|zero out|make empty|sweep clean",
    Manner.OVERWRITING: (
        "replace nothing|replace zeros|replace zeroes|replace blanks|replace blank|replace dummy|"
        "replace random|replace garbage|swap dummy"
    ),
}


def _spread(table: Mapping[Manner, str]) -> dict[tuple[str, ...], Manner]:
    """Return each phrase of a table in all forms of its verb."""
    return {
        (form, *rest): manner
        for manner, phrases in table.items()
        for verb, *rest in map(str.split, phrases.split("|"))
        for form in _inflect(verb)
    }


PHRASES = _spread(_PHRASES)
PARTED = {(verb, half): manner for (verb, half), manner in _spread(_PARTED).items()}
"""Phrases that have their object in the middle: throw it away."""

DONE = {
    **{_participle(verb): manner for manner, verbs in _BASES.items() for verb in verbs.split()},
    **dict.fromkeys(("gone", "go", "disappear", "vanish", "ceased", "cease"), Manner.REMOVING),
    "canceled": Manner.REVOKING,
}
"""What somebody may want to be done with a thing."""

DONE_PHRASES = {
    (_participle(verb), *rest): manner
    for manner, phrases in (*_PHRASES.items(), (Manner.WITHDRAWING, _PARTED[Manner.WITHDRAWING]))
    for verb, *rest in map(str.split, phrases.split("|"))
}
"""The same of what takes several words: blown away, gotten rid of."""

RIDDING = list_words("rid clean free relieve cleanse")
"""Who does one of these to a store "of" something takes that away."""

RESTORING = list_words("restore return bring set put revert roll reset")
FACTORY = list_words("settings setting state defaults default condition image")
"""What brings a device back to what the factory had, and so takes all from it."""

BOOKING = list_words("schedule queue submit send book put")
"""Who does one of these with a thing "for deletion" has it deleted."""

STARTING = list_words("run execute start trigger initiate launch schedule fire")
DOING = STARTING | {
    "ensure",
    "arrange",
    "organise",
    "organize",
    "handle",
    "issue",
    "send",
    "proceed",
    "do",
    "perform",
    "carry",
    "force",
    "make",
}
NOMINALS = frozenset(
    {
        "deletion",
        "wipe",
        "purge",
        "removal",
        "destruction",
        "erasure",
        "truncation",
        "drop",
        "disposal",
    }
    | {"teardown", "delete", "reset"}
)
"""What is done by doing one of these: perform a wipe of the disk."""

JOBS = list_words(
    "job script task workflow routine run plan procedure process request order action pipeline"
)

DEFINITE = list_words("the this that her his their our my")
"""What makes a deed one that is known already: proceed with the deletion."""

REQUESTING = list_words("ask asking request want need demand appreciate grateful glad")
"""Who does one of these with a deed wants it: I ask for the deletion of my data."""

OVER = list_words("restore load import copy dump deploy save")
"""Behind these, what is lost stands behind "over": restore it over the database."""

COMPLETE = list_words("remote full complete secure mass bulk total final factory")
"""What makes a deed one of its own: trigger the remote wipe."""

STEMS = list_words(
    "delete wipe purge drop destroy erase nuke remove cleanup truncate shred teardown"
)
SCRIPTS = ("sh", "py", "sql", "ps1", "bat", "js", "pl", "rb", "cmd", "yml", "yaml")
"""What a script is called that destroys: wipe_all.sh."""

FOR_EVER = frozenset({"permanently", "irrevocably", "irreversibly", "irretrievably"})
