"""The verbs that destroy, and how much each does to a thing."""

from enum import StrEnum


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
    REVOKING = "revoking"
    """What can be undone, unless it is done to all of them."""


DOING_AWAY = frozenset({Manner.REMOVING, Manner.DROPPING})
TAKING = DOING_AWAY | {Manner.EMPTYING, Manner.CLEARING, Manner.TRUNCATING}
"""What is done to something within something else."""

_BASES = {
    Manner.THOROUGH: (
        "delete erase wipe purge destroy nuke obliterate shred expunge eradicate annihilate "
        "vaporize vaporise incinerate demolish pulverize"
    ),
    Manner.REMOVING: (
        "remove eliminate scrap scratch trash discard zap axe unlink prune cleanse ditch "
        "toss chuck strip unpublish scrub strike"
    ),
    Manner.DROPPING: "drop",
    Manner.EMPTYING: "empty drain",
    Manner.FLUSHING: "flush",
    Manner.CLEARING: "clear",
    Manner.RESETTING: "reset revert",
    Manner.TRUNCATING: "truncate",
    Manner.ENDING: "terminate decommission uninstall deprovision evict kill burn",
    Manner.OVERWRITING: "overwrite",
    Manner.FORMATTING: "format reformat",
    Manner.REVOKING: "cancel revoke close deactivate disable void unsubscribe suspend",
}
_WORN = {
    Manner.THOROUGH: "delete erase destroy purge",
    Manner.REMOVING: "remove",
    Manner.TRUNCATING: "truncate",
}
"""What people write so often that they misspell it."""

_DOUBLING = frozenset({"format", "reformat", "drop", "scrap", "zap", "strip", "reset"})
_OTHER_WORDS = frozenset({"rase", "ease", "ears", "rove"})


def _inflect(verb: str) -> tuple[str, ...]:
    """Return a verb as it stands, with -s and with -ing."""
    third = f"{verb}es" if verb.endswith(("sh", "ss", "x")) else f"{verb}s"
    third = f"{verb[:-1]}ies" if verb == "empty" else third
    doubled = verb[-1] if verb in _DOUBLING else ""
    return verb, third, f"{verb.removesuffix('e')}{doubled}ing"


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

PREFIXES = frozenset({"bulk", "mass", "hard", "force", "batch", "permanently", "auto"})
"""In front of a verb, with a hyphen: they are part of how it is done."""

PHRASES = {
    ("get", "rid", "of"): Manner.REMOVING,
    ("gets", "rid", "of"): Manner.REMOVING,
    ("getting", "rid", "of"): Manner.REMOVING,
    ("do", "away", "with"): Manner.REMOVING,
    ("kill", "off"): Manner.REMOVING,
    ("throw", "away"): Manner.THOROUGH,
    ("throw", "out"): Manner.THOROUGH,
    ("throwing", "away"): Manner.THOROUGH,
    ("throwing", "out"): Manner.THOROUGH,
    ("blow", "away"): Manner.THOROUGH,
    ("wipe", "out"): Manner.THOROUGH,
    ("wipe", "off"): Manner.THOROUGH,
    ("dispose", "of"): Manner.THOROUGH,
    ("disposing", "of"): Manner.THOROUGH,
    ("make", "disappear"): Manner.THOROUGH,
    ("tear", "down"): Manner.ENDING,
    ("tearing", "down"): Manner.ENDING,
    ("shut", "down"): Manner.ENDING,
    ("bring", "down"): Manner.ENDING,
    ("burn", "down"): Manner.ENDING,
    ("take", "down"): Manner.ENDING,
    ("roll", "back"): Manner.ENDING,
    ("pull", "the", "plug", "on"): Manner.ENDING,
    ("clean", "out"): Manner.EMPTYING,
    ("clear", "out"): Manner.EMPTYING,
    ("zero", "out"): Manner.EMPTYING,
    ("write", "over"): Manner.OVERWRITING,
    ("write", "zeros", "over"): Manner.OVERWRITING,
    ("write", "zeroes", "over"): Manner.OVERWRITING,
    ("write", "zeros", "to"): Manner.OVERWRITING,
    ("write", "zeroes", "to"): Manner.OVERWRITING,
}
PARTED = {
    ("throw", "away"): Manner.THOROUGH,
    ("throw", "out"): Manner.THOROUGH,
    ("throw", "bin"): Manner.THOROUGH,
    ("throw", "trash"): Manner.THOROUGH,
    ("blow", "away"): Manner.THOROUGH,
    ("make", "disappear"): Manner.THOROUGH,
    ("make", "vanish"): Manner.THOROUGH,
    ("get", "out"): Manner.REMOVING,
    ("cut", "out"): Manner.REMOVING,
    ("tear", "down"): Manner.ENDING,
    ("shut", "down"): Manner.ENDING,
    ("take", "down"): Manner.ENDING,
    ("bring", "down"): Manner.ENDING,
    ("roll", "back"): Manner.ENDING,
    ("clean", "out"): Manner.EMPTYING,
    ("clear", "out"): Manner.EMPTYING,
    ("replace", "nothing"): Manner.OVERWRITING,
    ("replace", "zeros"): Manner.OVERWRITING,
    ("replace", "zeroes"): Manner.OVERWRITING,
}
"""Phrases that have their object in the middle: throw it away."""

_DONE = {
    Manner.THOROUGH: (
        "deleted erased wiped purged destroyed nuked obliterated shredded expunged eradicated"
    ),
    Manner.REMOVING: "removed gone go scrapped eliminated discarded trashed thrown",
    Manner.DROPPING: "dropped",
    Manner.EMPTYING: "emptied drained flushed",
    Manner.CLEARING: "cleared",
    Manner.TRUNCATING: "truncated",
    Manner.ENDING: "terminated decommissioned uninstalled killed torn",
    Manner.OVERWRITING: "overwritten",
    Manner.REVOKING: "cancelled canceled revoked closed",
}
DONE = {form: manner for manner, forms in _DONE.items() for form in forms.split()}
"""What somebody may want to be done with a thing."""

STARTING = frozenset({"run", "execute", "start", "trigger", "initiate", "launch", "schedule"})
DOING = STARTING | {"proceed", "do", "perform", "carry", "force", "make"}
NOMINALS = frozenset(
    {"deletion", "wipe", "purge", "removal", "destruction", "erasure", "truncation", "drop"}
    | {"teardown", "delete", "reset"}
)
"""What is done by doing one of these: perform a wipe of the disk."""

JOBS = frozenset({"job", "script", "task", "workflow", "routine", "run"})

FOR_EVER = frozenset({"permanently", "irrevocably", "irreversibly", "irretrievably"})
