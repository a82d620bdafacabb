"""Whether what a verb says is asked for, or told of, denied, or asked about."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.guardrails.detectors import grammar
from holdfast.guardrails.detectors.reading import Name, Text
from holdfast.guardrails.detectors.verbs import VERBS

_MAX_LEAD = 24
"""How far before a verb is looked for what leads to it."""

_MAX_LISTED = 6
"""How many verbs may share one object, or one denial."""

_MAX_CONFIRMED = 16
"""How far behind a verb somebody may say: do it."""


class _Lead(NamedTuple):
    """What stands in a clause before its verb, and without the adverbs in front of it."""

    words: tuple[str, ...]
    core: tuple[str, ...]
    verb: str
    is_question: bool

    def has(self, kind: frozenset[str]) -> bool:
        return not kind.isdisjoint(self.words)


def is_asked_for(text: Text, at: int) -> bool:
    """Whether somebody wants to be done what the verb at a place says."""
    return not _is_told(text, at) or _says_to_do_it(text, at)


def find_wish(text: Text, at: int) -> Name | None:
    """Return what somebody wants to be deleted or gone: the participle stands behind it."""
    begin = _begin_of(text, at)
    wanted = _read_wish(text, begin, at)
    for _ in range(_MAX_LISTED):
        joined = begin - 1 - (text.texts[begin - 1 : begin] == ["and"])
        if wanted is not None or joined < max(text.find_sentence(at), at - _MAX_LEAD):
            break
        begin = _begin_of(text, joined)
        wanted = _read_wish(text, begin, at)
    return wanted


def _read_wish(text: Text, begin: int, at: int) -> Name | None:
    lead = _read_lead(text, begin, at)
    if (
        not lead.words
        or _is_quoted_talk(text, at)
        or _is_in_doubt(lead)
        or _is_told_after(text, at)
        or _stands_behind_colon(text, at)
    ):
        return None
    behind = at
    while behind > begin and text.texts[behind - 1] in _AUXILIARIES:
        behind -= 1
    passive = frozenset(text.texts[behind:at])
    caused = _find_cause(text, begin, behind)
    due = not passive.isdisjoint(grammar.OBLIGING) and text.texts[behind - 1] not in _EXPECTED
    obliged = due and ("be" in passive or text.texts[at] in {"go", "gone"})
    if obliged or (caused >= 0 and (not passive - grammar.ADVERBS or lead.has(_ASSURING))):
        first = caused + 1 if caused >= 0 else begin
        return Name(first, behind) if first < behind and _ends_phrase(text, at) else None
    return None


_BEING = frozenset({"be", "been", "is", "are", "was", "were", "gets", "get", "let"})
_AUXILIARIES = grammar.ADVERBS | grammar.OBLIGING | _BEING
_EXPECTED = frozenset({"going", "likely", "supposed", "about", "due"})
_WHEN = frozenset({"this", "next", "asap", "soon", "first", "later", "once"})
_ASSURING = grammar.SURE | grammar.GLAD
_DOUBTING = grammar.NEGATIONS | (grammar.STRONG_NEGATIONS - grammar.INSTEAD)
_NAMING = grammar.NAMES_BEFORE | grammar.PAST_RUNS
_OTHERS = grammar.PEOPLE - {"i", "we", "it"}
_CONDITIONS = grammar.SUBORDINATES | {"how", "what"}


def _ends_phrase(text: Text, at: int) -> bool:
    return text.words[at].is_over or text.is_name_end(at + 1) or text.texts[at + 1] in _WHEN


def _is_in_doubt(lead: _Lead) -> bool:
    first, glad = lead.words[0], lead.has(grammar.GLAD)
    if "longer" not in lead.words and lead.has(_DOUBTING):
        return True
    if first in grammar.SUBORDINATES or ("if" in lead.words and not glad):
        return True
    if first in grammar.INTERROGATIVES and not _is_polite(lead):
        return first != "have" or lead.is_question
    if lead.has(grammar.REPORTING):
        return True
    asks = not _ASKING.isdisjoint(lead.words) or grammar.OBLIGING.isdisjoint(lead.words)
    return _find_telling(lead.words) >= (0 if asks else 1)


_ASKING = grammar.RELATIVES | grammar.SUBORDINATES | frozenset({"what", "how", "when", "where"})


def _is_told_after(text: Text, at: int) -> bool:
    """Whether it belongs to a name before it: tables that can be dropped."""
    begin = _begin_of(text, at)
    for place in range(begin + 1, at):
        if text.texts[place] in grammar.RELATIVES:
            return text.texts[place - 1] not in grammar.SURE | grammar.WANTING
    return False


def _find_cause(text: Text, begin: int, end: int) -> int:
    """Return the last word that has something done: want, have, let; -1 where is none."""
    for place in range(end - 1, begin - 1, -1):
        word = text.texts[place]
        if word in {"that", "if", "sure", "certain"} and place > begin:
            return place
        before = text.texts[place - 1] if place > begin else ""
        if word in grammar.WANTING and before not in grammar.NAMES_BEFORE:
            return place
        leads = before in grammar.VERBS_BEFORE or (word, before) == ("get", "we")
        if word in grammar.CAUSING and (not before or leads):
            return place
    return -1


def _begin_of(text: Text, at: int) -> int:
    begin = max(text.find_clause(at), at - _MAX_LEAD)
    while begin < at and text.texts[begin] in grammar.OPENERS:
        begin += 1
    return begin


def _read_lead(text: Text, begin: int, at: int) -> _Lead:
    words, end = tuple(text.texts[begin:at]), at
    while end > begin and _is_adverb(text.texts[end - 1]):
        end -= 1
    return _Lead(words, words[: end - begin], text.texts[at], text.is_question(at))


def _is_adverb(word: str) -> bool:
    return word in grammar.ADVERBS or word.endswith("ly")


def _is_told(text: Text, at: int) -> bool:
    if _is_quoted_talk(text, at) or _stands_behind_colon(text, at):
        return True
    begin = _begin_of(text, at)
    lead = _read_lead(text, begin, at)
    if not lead.words or not lead.core:
        return _shares_telling(text, at)
    return _judge(lead)


def _judge(lead: _Lead) -> bool:
    verdicts = (rule(lead) for rule in _RULES)
    return next((told for told in verdicts if told is not None), False)


def _is_quoted_talk(text: Text, at: int) -> bool:
    quotation = text.words[at].quoted
    if quotation <= 0:
        return False
    sentence = text.find_sentence(quotation)
    if sentence == quotation and text.words[quotation - 1].mark == ":":
        sentence = text.find_sentence(quotation - 1)
    before = text.texts[max(sentence, quotation - _MAX_LEAD) : quotation]
    return not grammar.RUNNING.intersection(before) and bool(
        grammar.MENTIONING.intersection(before)
    )


def _stands_behind_colon(text: Text, at: int) -> bool:
    sentence = text.find_sentence(at)
    if sentence == 0 or text.words[sentence - 1].mark != ":":
        return False
    if text.find_clause(at) != sentence and text.texts[text.find_clause(at)] == "then":
        return False
    begin = text.find_sentence(sentence - 1)
    while begin < sentence and text.texts[begin] in grammar.OPENERS:
        begin += 1
    first = text.texts[begin]
    read = first in grammar.TELLING and text.has(grammar.TEXTS, begin, sentence)
    return first in grammar.WORDING or read


def _shares_telling(text: Text, at: int) -> bool:
    """Whether a verb that nothing leads to goes on with what was told before it."""
    for _ in range(_MAX_LISTED):
        clause = text.find_clause(at)
        last = clause - 1
        if clause <= text.find_sentence(at) or "then" in text.texts[clause:at]:
            return False
        if text.texts[clause] not in _JOINING and not text.words[last].pauses:
            return False
        if text.texts[last] not in VERBS:
            return _goes_on_telling(text, clause, at)
        lead = _read_lead(text, _begin_of(text, last), last)
        if lead.core:
            return _judge(lead)
        at = last
    return False


_OF_THINGS = grammar.ARTICLES | {"all", "every", "everything"}
"""In front of a name: access to everything is for no verb."""

_JOINING = frozenset({"and", "or", "nor", "&"})


def _goes_on_telling(text: Text, clause: int, at: int) -> bool:
    sentence, last = text.find_sentence(at), clause - 1
    begin = _begin_of(text, last)
    before = text.texts[begin:clause]
    if not before or text.words[last].pauses:
        return False
    if text.texts[clause] in {"or", "nor"}:
        return not grammar.DENIALS.isdisjoint(before) and grammar.RELEASING.isdisjoint(before)
    first = before[0]
    if first in grammar.SUBORDINATES and begin <= sentence + 1:
        return True
    polite = _is_polite(_read_lead(text, begin, clause))
    if first in grammar.INTERROGATIVES and text.is_question(at) and not polite:
        return True
    triples = zip(before, before[1:], before[2:], strict=False)
    return any(
        two == "to" and one in grammar.GOVERNORS and three not in _OF_THINGS
        for one, two, three in triples
    )


def _says_to_do_it(text: Text, at: int) -> bool:
    """Whether somebody says behind it that it is to be done."""
    end = min(len(text.words) - 1, at + _MAX_CONFIRMED)
    return any(
        tuple(text.texts[place : place + 2]) in grammar.CONFIRMATIONS
        and (text.words[place - 1].is_over or text.texts[place - 1] in grammar.OPENERS)
        and grammar.NEGATIONS.isdisjoint(text.texts[place + 2 : place + 3])
        for place in range(at + 1, end)
    )


def _is_polite(lead: _Lead) -> bool:
    """Whether a question asks to do it: could you, why don't you, shall we."""
    words = (*lead.words, "", "")
    if words[0] in grammar.MODALS and words[1] in grammar.ASKED_ONES:
        return True
    if words[0] == "why" and words[1] in {"don't", "dont", "not"}:
        return True
    if words[0] in grammar.MODALS and "possible" in words[:5]:
        return True
    return "mind" in words or words[:2] == ("shall", "we")


def _find_telling(words: tuple[str, ...]) -> int:
    """Return where somebody is asked to tell, to make or to read; -1 where nobody is."""
    for place, word in enumerate(words):
        leads = place == 0 or words[place - 1] in grammar.VERBS_BEFORE
        behind = words[place + 1] if place + 1 < len(words) else ""
        roomy = behind in grammar.ROOMY or (word in {"remember", "see"} and behind == "to")
        if word in grammar.TELLING and leads and not roomy:
            return place
    return -1


def _is_a_name(lead: _Lead) -> bool | None:
    last = lead.core[-1]
    if lead.words[-1] in _NAMING:
        return True
    return True if last.endswith("ing") and last not in grammar.LEADING_GERUNDS else None


def _is_request(lead: _Lead) -> bool | None:
    behind = lead.words[2:]
    denied = not grammar.DENIALS.isdisjoint(behind)
    if denied or not _is_polite(lead):
        return None
    return _find_telling(lead.words[2:]) >= 0


def _has_denial(lead: _Lead) -> bool | None:
    denials = [
        place
        for place, word in enumerate(lead.words)
        if word in grammar.DENIALS
        and (word != "rather" or lead.words[place + 1 : place + 2] == ("than",))
    ]
    if not denials:
        return None
    gap = lead.words[denials[-1] + 1 :]
    if not grammar.RELEASING.isdisjoint(gap):
        return None
    strong = lead.words[denials[-1]] in grammar.STRONG_NEGATIONS
    return True if strong or grammar.CHAIN.issuperset(gap) or gap[-1:] == ("to",) else None


def _is_question(lead: _Lead) -> bool | None:
    first = lead.words[0]
    if first in {"do", "have"} and not lead.is_question:
        return None
    asks = first in grammar.INTERROGATIVES or first in grammar.SUBORDINATES
    return True if asks or "whether" in lead.words else None


def _is_work_on_a_text(lead: _Lead) -> bool | None:
    place = _find_telling(lead.words)
    if place < 0:
        return None
    if (lead.words[place], lead.core[-1]) == ("make", "by"):
        return None
    hands_on = lead.words[place] in grammar.DELEGATING and lead.core[-1] == "to"
    return None if hands_on and not lead.has(_CONDITIONS) else True


def _is_gerund(lead: _Lead) -> bool | None:
    if not lead.verb.endswith("ing"):
        return None
    return lead.core[-1] not in grammar.LEADING_GERUNDS


def _is_what_people_do(lead: _Lead) -> bool | None:
    if lead.verb.endswith("s") and not lead.verb.endswith("ss"):
        return not (lead.words[0] in grammar.RUNNING and lead.has(grammar.RELATIVES))
    return None


def _is_purpose(lead: _Lead) -> bool | None:
    """Whether "to" leads to it, and something else is for it or somebody else wants it."""
    if lead.core[-1] != "to":
        return None
    if lead.words[0] in grammar.RUNNING:
        return False
    return not grammar.GOVERNORS.isdisjoint(lead.core[-4:-1]) or lead.words[0] in _OTHERS


def _is_relative(lead: _Lead) -> bool | None:
    near = lead.words[-4:]
    if grammar.RELATIVES.isdisjoint(near):
        return None
    if lead.core[-1] == "you" or lead.words[0] in grammar.RUNNING:
        return False
    return not lead.has(grammar.SURE)


def _is_ability(lead: _Lead) -> bool | None:
    modal, subject = lead.core[-1], lead.core[-2] if len(lead.core) > 1 else ""
    if modal in grammar.DUTIES:
        return subject in _OTHERS
    if modal in grammar.MAY:
        return subject not in grammar.DOERS
    return None


def _has_subject(lead: _Lead) -> bool | None:
    if lead.words[0] in {"let", "have", "make"} and lead.words[1:2] != ("users",):
        return None
    return True if lead.core[-1] in grammar.PEOPLE else None


_RULES: tuple[Callable[[_Lead], bool | None], ...] = (
    _is_a_name,
    _is_request,
    _has_denial,
    _is_question,
    _is_work_on_a_text,
    _is_gerund,
    _is_what_people_do,
    _is_purpose,
    _is_relative,
    _is_ability,
    _has_subject,
)
"""Each says whether a verb is only told of, or leaves it to the next."""
