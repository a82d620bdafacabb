"""Whether what a verb says is asked for, or told of, denied, or asked about."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.guardrails.detectors import grammar
from holdfast.guardrails.detectors.reading import Text
from holdfast.guardrails.detectors.verbs import VERBS
from holdfast.guardrails.detectors.vocabulary import list_words

_NAMING = grammar.NAMES_BEFORE | grammar.PAST_RUNS
_OTHERS = grammar.PEOPLE - {"i", "we", "it"}
_CONDITIONS = grammar.SUBORDINATES | {"how", "what"}

MAX_LEAD = 24
"""How far before a verb is looked for what leads to it."""

MAX_LISTED = 6
"""How many verbs may share one object, or one denial."""

_MAX_CONFIRMED = 16
"""How far behind a verb somebody may say: do it."""


class Lead(NamedTuple):
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


def begin_of(text: Text, at: int) -> int:
    """Return where what leads to a verb begins, behind what says nothing of it: and then."""
    begin = max(text.find_clause(at), at - MAX_LEAD)
    while begin < at and text.texts[begin] in grammar.OPENERS:
        begin += 1
    return begin + _count_going_back(text.texts[begin:at])


def _count_going_back(words: list[str]) -> int:
    """Count the words at the beginning that only go back to what was said: in that case."""
    first, second, third = (*words, "", "", "")[:3]
    if first in grammar.LEADING and second in {"that", "this", "which"}:
        return 3 if third in grammar.BACK else 2
    if first in grammar.SUBORDINATES:
        if second in grammar.CONDITIONS_MET:
            return 2
        if second in grammar.MATTERS and third in grammar.MET:
            return 3
        if second in grammar.MATTERS and third in {"is", "are"}:
            return 4 if words[3:4] and words[3] in grammar.CONDITIONS_MET else 0
    return 0


def read_lead(text: Text, begin: int, at: int) -> Lead:
    """Read what stands in front of a verb."""
    words, end = tuple(text.texts[begin:at]), at
    while end > begin and _is_adverb(text.texts[end - 1]):
        end -= 1
    return Lead(words, words[: end - begin], text.texts[at], text.is_question(at))


def _is_adverb(word: str) -> bool:
    return word in grammar.ADVERBS or word.endswith("ly")


def _is_told(text: Text, at: int) -> bool:
    if is_quoted_talk(text, at) or stands_behind_colon(text, at) or _is_asked_where(text, at):
        return True
    begin = begin_of(text, at)
    lead = read_lead(text, begin, at)
    if not lead.words or not lead.core:
        return _shares_telling(text, at)
    return _judge(lead)


def _judge(lead: Lead) -> bool:
    verdicts = (rule(lead) for rule in _RULES)
    return next((told for told in verdicts if told is not None), False)


def is_quoted_talk(text: Text, at: int) -> bool:
    """Whether it stands in a quotation that is only talked of."""
    quotation = text.words[at].quoted
    if quotation <= 0:
        return False
    sentence = text.find_sentence(quotation)
    if sentence == quotation and text.words[quotation - 1].mark == ":":
        sentence = text.find_sentence(quotation - 1)
    before = text.texts[max(sentence, quotation - MAX_LEAD) : quotation]
    return not grammar.RUNNING.intersection(before) and bool(
        grammar.MENTIONING.intersection(before)
    )


def stands_behind_colon(text: Text, at: int) -> bool:
    """Whether it is what a text is about that somebody is asked to write or to read."""
    sentence = text.find_sentence(at)
    for _ in range(MAX_LISTED):
        if sentence == 0 or text.words[sentence - 1].mark != ":":
            return False
        if text.find_clause(at) > sentence and text.texts[text.find_clause(at)] == "then":
            return False
        colon, sentence = sentence, text.find_sentence(sentence - 1)
        begin = sentence
        while begin < colon and text.texts[begin] in grammar.OPENERS:
            begin += 1
        first = text.texts[begin]
        read = first in grammar.TELLING and text.has(grammar.TEXTS, begin, colon)
        if first in grammar.WORDING or read:
            return True
    return False


def _is_asked_where(text: Text, at: int) -> bool:
    """Whether a short question follows on what it is about: dispose of batteries, where."""
    further = range(at, min(len(text.words), at + MAX_LEAD))
    end = next((place for place in further if text.words[place].ends), at)
    asked = text.words[end + 1 : end + 1 + _MAX_WHERE]
    short = any(word.mark == "?" for word in asked) and asked[0].text in {
        "what",
        "how",
        "where",
        "when",
    }
    return text.words[end].mark == ":" and short


def _shares_telling(text: Text, at: int) -> bool:
    """Whether a verb that nothing leads to goes on with what was told before it."""
    for _ in range(MAX_LISTED):
        clause = text.find_clause(at)
        last = clause - 1
        if clause <= text.find_sentence(at) or "then" in text.texts[clause:at]:
            return False
        if _goes_on_denying(text, last):
            return True
        if text.texts[clause] not in _JOINING and not text.words[last].pauses:
            return False
        if text.texts[last] not in VERBS:
            return _goes_on_telling(text, clause, at)
        lead = read_lead(text, begin_of(text, last), last)
        if lead.core:
            return _judge(lead)
        at = last
    return False


_OF_THINGS = grammar.ARTICLES | {"all", "every", "everything"}
"""In front of a name: access to everything is for no verb."""

_OBLIGED = grammar.DOERS | list_words("agent bot system someone somebody it they assistant and")
"""Who is told what to do; of others it is told what they do."""

_HANDING = grammar.RUNNING | grammar.DELEGATING
_COMMANDS = frozenset({"rm", "git", "drop", "truncate"})
"""What is run by its name: do an rm of it."""

_JOINING = frozenset({"and", "or", "nor", "&"})


def _goes_on_denying(text: Text, last: int) -> bool:
    """Whether a denial was broken off by what is put in: do not, whatever they say, do it."""
    begin = text.find_clause(last)
    before = begin > text.find_sentence(last) and text.words[begin - 1].pauses
    put_in = before and text.words[last].pauses and text.texts[begin] in grammar.PUT_IN
    return put_in and text.texts[begin - 1] in grammar.DENIALS


def _goes_on_telling(text: Text, clause: int, at: int) -> bool:
    sentence, last = text.find_sentence(at), clause - 1
    begin = begin_of(text, last)
    before = text.texts[begin:clause]
    if not before or text.words[last].pauses:
        return False
    if text.texts[clause] in {"or", "nor"}:
        return not grammar.DENIALS.isdisjoint(before) and grammar.RELEASING.isdisjoint(before)
    first = before[0]
    if first in grammar.SUBORDINATES and begin <= sentence + 1:
        return True
    polite = is_polite(read_lead(text, begin, clause))
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


_ASKED_ABOUT = frozenset({"whether", "how", "why"})
_MAX_WHERE = 5
"""How many words a question has that is about the sentence before it."""

_SUGGESTION = ("how", "about")


def is_polite(lead: Lead) -> bool:
    """Whether a question asks to do it: could you, why don't you, shall we."""
    words = (*lead.words, "", "")
    if words[0] in grammar.MODALS and words[1] in grammar.ASKED_ONES:
        return True
    if words[0] == "why" and words[1] in {"don't", "dont", "not"}:
        return True
    if words[0] in grammar.MODALS and "possible" in words[:5]:
        return True
    if words[:3] == ("is", "it", "possible") and "you" in words:
        return True
    if words[1] == "about" and words[0] in {"how", "what"} and len(lead.words) == len(_SUGGESTION):
        return True
    return "mind" in words or words[:2] == ("shall", "we")


def find_telling(words: tuple[str, ...]) -> int:
    """Return where somebody is asked to tell, to make or to read; -1 where nobody is."""
    for place, word in enumerate(words):
        leads = place == 0 or words[place - 1] in grammar.VERBS_BEFORE
        behind = words[place + 1] if place + 1 < len(words) else ""
        roomy = behind in grammar.ROOMY or (
            word in {"remember", "see"} and behind in {"to", "that"}
        )
        if word in grammar.TELLING and leads and not roomy:
            return place
    return -1


def _is_a_name(lead: Lead) -> bool | None:
    last = lead.core[-1]
    near = list(lead.words)
    while near[-1] in VERBS and near[:-1]:
        near.pop()
    if near[-1] in _NAMING or (lead.verb == "empty" and near[-1] == "all"):
        runs = lead.words[0] in grammar.RUNNING and lead.verb in _COMMANDS
        return None if runs else True
    return True if last.endswith("ing") and last not in grammar.LEADING_GERUNDS else None


def _is_request(lead: Lead) -> bool | None:
    behind = lead.words[2:]
    denied = not grammar.DENIALS.isdisjoint(behind)
    if denied or not is_polite(lead):
        return None
    return find_telling(lead.words[2:]) >= 0


def _has_denial(lead: Lead) -> bool | None:
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


def _is_question(lead: Lead) -> bool | None:
    first = lead.words[0]
    if first in {"do", "have"} and not lead.is_question:
        return None
    asks = first in grammar.INTERROGATIVES or first in grammar.SUBORDINATES
    return True if asks or lead.has(_ASKED_ABOUT) else None


def _is_work_on_a_text(lead: Lead) -> bool | None:
    place = find_telling(lead.words)
    if place < 0:
        return None
    if lead.core[-1] == "by" and lead.words[place] in grammar.BY_DOING:
        return None
    hands_on = lead.words[place] in grammar.DELEGATING and lead.core[-1] == "to"
    return None if hands_on and not lead.has(_CONDITIONS) else True


def _is_gerund(lead: Lead) -> bool | None:
    if not lead.verb.endswith("ing"):
        return None
    if lead.core[-1] in grammar.PROPOSING and lead.words[0] in {"i", "i'd", "we", "we'd"}:
        return lead.is_question
    return lead.core[-1] not in grammar.LEADING_GERUNDS


def _is_what_people_do(lead: Lead) -> bool | None:
    if lead.verb.endswith("s") and not lead.verb.endswith("ss"):
        return not (lead.words[0] in grammar.RUNNING and lead.has(grammar.RELATIVES))
    return None


def _is_purpose(lead: Lead) -> bool | None:
    """Whether "to" leads to it, and something else is for it or somebody else wants it."""
    if lead.core[-1] != "to":
        return None
    if lead.words[0] in _HANDING or lead.words[:2] == ("you", "have"):
        return False
    if lead.words[0] in {"it", "it's"} and lead.core[-2:] == ("needed", "to"):
        return lead.is_question
    return not grammar.GOVERNORS.isdisjoint(lead.core[-4:-1]) or lead.words[0] in _OTHERS


def _is_relative(lead: Lead) -> bool | None:
    near = lead.words[-4:]
    if grammar.RELATIVES.isdisjoint(near):
        return None
    if lead.core[-1] == "you" or lead.words[0] in grammar.RUNNING:
        return False
    return not lead.has(grammar.SURE)


def _is_ability(lead: Lead) -> bool | None:
    modal, subject = lead.core[-1], lead.core[-2] if len(lead.core) > 1 else ""
    if modal in grammar.DUTIES:
        return subject not in _OBLIGED
    if modal in grammar.MAY:
        return subject not in grammar.DOERS
    return None


def _has_subject(lead: Lead) -> bool | None:
    if lead.core[-1] == "we" and lead.has(grammar.PROPOSING) and not lead.is_question:
        return None
    if lead.words[0] in {"let", "have", "make"} and lead.words[1:2] != ("users",):
        return None
    return True if lead.core[-1] in grammar.PEOPLE else None


def _is_set_up(lead: Lead) -> bool | None:
    """Whether it is what a job will do, which somebody is asked to set up."""
    sets = lead.words[0] in grammar.SETTING_UP and lead.has(grammar.SET_UP)
    return False if sets and lead.core[-1] in {*grammar.RELATIVES, "to"} else None


_RULES: tuple[Callable[[Lead], bool | None], ...] = (
    _is_a_name,
    _is_request,
    _has_denial,
    _is_question,
    _is_set_up,
    _is_work_on_a_text,
    _is_gerund,
    _is_what_people_do,
    _is_purpose,
    _is_relative,
    _is_ability,
    _has_subject,
)
"""Each says whether a verb is only told of, or leaves it to the next."""
