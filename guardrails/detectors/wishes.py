"""What somebody wants to be gone: the participle stands behind it, or nothing is to remain."""

from collections.abc import Iterator

from holdfast.guardrails.detectors import grammar, verbs
from holdfast.guardrails.detectors.asking import (
    MAX_LEAD,
    MAX_LISTED,
    Lead,
    begin_of,
    find_telling,
    is_asked_for,
    is_polite,
    is_quoted_talk,
    read_lead,
    stands_behind_colon,
)
from holdfast.guardrails.detectors.reading import Name, Text
from holdfast.guardrails.detectors.vocabulary import list_words

_BEING = frozenset({"had", "be", "been", "is", "are", "was", "were", "gets", "get", "let"})
_AUXILIARIES = grammar.ADVERBS | grammar.OBLIGING | _BEING
_EXPECTED = frozenset({"going", "likely", "supposed", "about", "due"})
_WHEN = frozenset({"this", "next", "asap", "soon", "first", "later", "once"})
_ASSURING = grammar.SURE | grammar.GLAD
_DOUBTING = grammar.NEGATIONS | (grammar.STRONG_NEGATIONS - grammar.INSTEAD - {"without"})
_ASKING = grammar.RELATIVES | grammar.SUBORDINATES | frozenset({"what", "how", "when", "where"})
_WHATEVER = frozenset({"whatever", "everything", "anything", "all"})
_NEEDING = frozenset({"need", "needs", "want", "wants", "require", "requires"})
_GOING = frozenset({"go", "gone", "disappear", "vanish", "cease"})
_DONE = frozenset(verbs.DONE) | {first for first, *_ in verbs.DONE_PHRASES}
_SURELY = grammar.SURE | grammar.OBLIGING | {"that"}
_NOT_TO_STAY = _AUXILIARIES | {"not", "no", "longer", "mustn't"}
_STARTING = grammar.INTERROGATIVES | grammar.SUBORDINATES
_NO_TRACE = {("no", kept) for kept in ("trace", "traces", "copy", "copies", "record", "sign")}
_NOTHING = frozenset({"nothing", "none", "neither"})

STAYING = list_words("remain remains survive survives stay stays left kept exist exists stored")
"""What nothing is to do that is to be gone."""

_STAYING_ON = list_words("in on of behind at from anywhere there for after by any anymore")
"""What may follow on what stays; else it stays as it is, or is left out."""

_MAX_DENIED = 3
"""How far before its end a denial is one of the wish, and not of which it is about."""

_MAX_WARNING = 2
"""How many words "do not" takes in front of who keeps something."""

KEEPING = frozenset({"keep", "retain", "leave"})

LEAVING = (STAYING | KEEPING, _NOTHING | {"no", "any", "only", "single", "longer", "not"})
"""Who keeps something must keep nothing of it, or only some."""


def find_wishes(text: Text, at: int, last: int) -> Iterator[Name]:
    """
    Find what somebody may want to be deleted or gone: a participle stands behind it.

    The participle is at a place, and goes on to its last word.
    """
    begin = first = begin_of(text, at)
    wanted = _read_wish(text, begin, at, last)
    for _ in range(MAX_LISTED):
        if wanted is not None:
            yield wanted
        joined = begin - 1 - (text.texts[begin - 1 : begin] == ["and"])
        if joined < max(text.find_sentence(at), at - MAX_LEAD):
            break
        begin = begin_of(text, joined)
        wanted = _read_wish(text, begin, at, last) or _share_wish(text, begin, first, at)


def find_want(text: Text, at: int) -> Name | None:
    """Return what needs a gerund at a place: the codes need deleting."""
    begin = begin_of(text, at)
    needs = at > begin + 1 and text.texts[at - 1] in _NEEDING and text.texts[at].endswith("ing")
    if not needs or not _ends_phrase(text, at) or _is_in_doubt(read_lead(text, begin, at)):
        return None
    return None if is_quoted_talk(text, at) else Name(begin, at - 1)


def _share_wish(text: Text, begin: int, first: int, at: int) -> Name | None:
    """Return what shares a wish with what is before it: it should be closed, its data deleted."""
    wishes = text.has(grammar.OBLIGING, begin, first) and text.has(frozenset({"be"}), begin, first)
    if not wishes or not text.has(_DONE, begin, first) or text.has(_AUXILIARIES, first, at):
        return None
    return None if _is_in_doubt(read_lead(text, begin, first)) else Name(first, at)


def _read_wish(text: Text, begin: int, at: int, last: int) -> Name | None:
    lead = read_lead(text, begin, at)
    if _is_polite_wish(text, begin, at):
        return Name(begin + 1, at - 1 - (text.texts[at - 2] == "please"))
    if (
        not lead.words
        or is_quoted_talk(text, at)
        or _is_in_doubt(lead)
        or stands_behind_colon(text, at)
    ):
        return None
    behind = at
    while behind > begin and text.texts[behind - 1] in _AUXILIARIES:
        behind -= 1
    passive = frozenset(text.texts[behind:at])
    caused = _find_cause(text, begin, behind)
    if (caused < 0 or passive) and _is_told_after(text, at):
        return None
    due = not passive.isdisjoint(grammar.OBLIGING) and text.texts[behind - 1] not in _EXPECTED
    past = passive.intersection({"was", "were", "had"})
    if past and "better" not in passive and not lead.has(grammar.GLAD):
        return None
    obliged = due and ("be" in passive or text.texts[at] in _GOING)
    if obliged or (caused >= 0 and (not passive - grammar.ADVERBS or lead.has(_ASSURING))):
        first = caused + 1 if caused >= 0 else begin
        return Name(first, behind) if first < behind and _ends_phrase(text, last) else None
    return None


def _is_polite_wish(text: Text, begin: int, at: int) -> bool:
    """Whether somebody asks for it in the passive: can it please be deleted."""
    asks = begin < at and text.texts[begin] in {"can", "could"} and text.texts[at - 1] == "be"
    return asks and "please" in {*text.texts[at - 2 : at], *text.texts[at + 1 : at + 2]}


def _ends_phrase(text: Text, at: int) -> bool:
    return text.words[at].is_over or text.is_name_end(at + 1) or text.texts[at + 1] in _WHEN


def _is_in_doubt(lead: Lead) -> bool:
    first, glad = lead.words[0], lead.has(grammar.GLAD)
    if first == "what" and lead.words[1:2] in (("is",), ("are",)) and not lead.is_question:
        first = "whatever"
    doubting = lead.words[-_MAX_DENIED:] if first in _WHATEVER else lead.words
    if "longer" not in lead.words and not _DOUBTING.isdisjoint(doubting):
        return True
    if first in grammar.SUBORDINATES or ("if" in lead.words and not glad):
        return True
    if first in grammar.INTERROGATIVES and not is_polite(lead):
        return first != "have" or lead.is_question
    if lead.has(grammar.REPORTING):
        return True
    asks = not _ASKING.isdisjoint(lead.words) or grammar.OBLIGING.isdisjoint(lead.words)
    return first not in _WHATEVER and find_telling(lead.words) >= (0 if asks else 1)


def _is_told_after(text: Text, at: int) -> bool:
    """Whether it belongs to a name before it: tables that can be dropped."""
    begin = begin_of(text, at)
    for place in range(begin + 1, at):
        if text.texts[place] in grammar.RELATIVES:
            return text.texts[place - 1] not in grammar.SURE | grammar.WANTING | grammar.DEMANDING
    return False


def _find_cause(text: Text, begin: int, end: int) -> int:
    """Return the last word that has something done: want, have, let; -1 where is none."""
    for place in range(end - 1, begin - 1, -1):
        word = text.texts[place]
        if word in {"that", "if", "sure", "certain"} and place > begin:
            return place
        near, before = text.texts[place - 1], _find_before(text, begin, place)
        if word in grammar.WANTING and before not in grammar.NAMES_BEFORE:
            return place
        leads = not {near, before}.isdisjoint(grammar.VERBS_BEFORE | {"mind"}) or (
            word,
            before,
        ) == ("get", "we")
        if word in grammar.CAUSING and (not before or leads):
            return place
    return -1


def _find_before(text: Text, begin: int, at: int) -> str:
    """Return the word before a place, past adverbs."""
    while at > begin and text.texts[at - 1] in grammar.ADVERBS | {"finally"}:
        at -= 1
    return text.texts[at - 1] if at > begin else ""


def find_left(text: Text, at: int) -> Name | None:
    """
    Return what nothing is to remain of: from behind `nothing` up to behind the verb.

    Said with what stays (nothing may remain of it), or with who keeps it (leave no copy of it).
    """
    word = text.texts[at]
    begin = begin_of(text, at)
    lead = read_lead(text, begin, at)
    if word in STAYING:
        told = not lead.words or lead.words[0] in _STARTING or lead.has(grammar.REPORTING)
        ends = text.words[at].is_over or text.texts[at + 1] in _STAYING_ON
        if told or not ends or find_telling(lead.words) >= 0 or is_quoted_talk(text, at):
            return None
        if _is_not_to_stay(text, begin, at):
            return Name(max(_find_cause(text, begin, at), begin - 1) + 1, at + 1)
        nothing = _find_nothing(text, begin, at)
        sure = nothing >= 0 and text.has(_SURELY, begin, at)
        return Name(nothing + 1, at + 1) if sure else None
    behind = text.texts[at + 1 : at + 2]
    if "only" in {*behind, *lead.words[-1:]}:
        return Name(at + 1, at + 1) if word != "leave" and is_asked_for(text, at) else None
    denied = lead.words[-1:] in {("don't",), ("not",), ("dont",)} and word != "leave"
    if (
        denied
        and len(lead.words) <= _MAX_WARNING
        and behind
        and behind[0] in {"any", "those", "these"}
    ):
        return Name(at + 1, at + 1)
    ordered = not lead.core or lead.core[-1] in grammar.VERBS_BEFORE | grammar.DOERS
    if behind and behind[0] in {"no", "nothing"} and ordered and is_asked_for(text, at):
        return Name(at + 1, at + 1)
    return None


def _is_not_to_stay(text: Text, begin: int, at: int) -> bool:
    """Whether it stands behind what shall no longer stay: it may not be kept any more."""
    first = at
    while first > begin and text.texts[first - 1] in _NOT_TO_STAY:
        first -= 1
    longer = "longer" in text.texts[first:at] or (
        "not" in text.texts[first:at] and text.texts[at + 1 : at + 2] in (["any"], ["anymore"])
    )
    return longer and text.has(_SURELY - {"that", "it"}, begin, at)


def _find_nothing(text: Text, begin: int, at: int) -> int:
    """Return where it says that it is nothing, or not a single one; -1 where it doesn't."""
    for place in range(begin, at):
        two = text.texts[place : place + 2]
        if two[0] in _NOTHING or two == ["a", "single"] or (two[0], two[-1]) in _NO_TRACE:
            return place
    return -1
