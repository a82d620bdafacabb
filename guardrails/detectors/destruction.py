"""
Whether a task asks to destroy what nobody can bring back: a linear classifier of its words.

It weighs each two sentences that stand side by side. Their features are their words, each two
words side by side, and the commands among them (`commands.py`). Each feature has a weight, in
`destruction.tsv` for anybody to read, and where the sum is above zero people are asked. Weights
are those of a logistic regression over thousands of tasks: `python -m tests.guardrails.learn`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import pairwise

from holdfast.contracts.patterns import Pattern
from holdfast.guardrails.detectors.commands import find_commands
from holdfast.guardrails.detectors.normalize import fold_confusables

REASON = "Destructive operation requires human approval"

WEIGHTS = resources.files("holdfast.guardrails.detectors") / "destruction.tsv"

_SENTENCE_END = Pattern(r"[.!?;][\"')\]]*(?:\s|$)|\n")

_EDGE = "\u00b6"
_COMMAND = "\u00a7command"
_NUMBER = "0"
_SHORTEST = 3
"""A number and its mark are none of a sentence, but of a list."""

_ALWAYS = ""
"""A feature that everything has: its weight is the bias."""

_MARKS = '!"#$%&()*+,-./:;<=>?@[\\]^`{|}~\u201c\u201d\u201e\u00ab\u00bb\u2026\u2014'
_APART = str.maketrans({**{mark: f" {mark} " for mark in _MARKS}, "'": None})


def is_destructive(text: str) -> bool:
    """Whether a task asks for something that destroys what nobody can bring back."""
    weights = load_weights()
    return any(
        sum(weights.get(feature, 0) for feature in features) > 0
        for features in select_features(text)
    )


def select_features(text: str) -> Iterator[frozenset[str]]:
    """Return what is weighed of each two sentences of a text, from its beginning to its end."""
    sentences = list(_split_sentences(text))
    passages = [first + second for first, second in pairwise(sentences)] or sentences
    for words in passages:
        words.append(_EDGE)
        yield frozenset((_ALWAYS, *words, *map(" ".join, pairwise(words))))


def _split_sentences(text: str) -> Iterator[list[str]]:
    """Split a text into the words of its sentences, in small letters: an edge, words, marks."""
    plain = _mark_commands(fold_confusables(text))
    begin = 0
    for end in (*(span.end for span in _SENTENCE_END.spans_in(plain)), len(plain)):
        words = plain[begin:end].translate(_APART).split()
        begin = end
        if words and not (words[0].isdigit() and len(words) < _SHORTEST):
            yield [_EDGE, *(_NUMBER if word.isdigit() else word for word in words)]


def _mark_commands(plain: str) -> str:
    """Return a text with a sign in front of each command."""
    pieces: list[str] = []
    end = 0
    for command in find_commands(plain):
        pieces += (plain[end : command.start], f" {_COMMAND} ")
        end = command.start
    return "".join((*pieces, plain[end:]))


@cache
def load_weights() -> Mapping[str, int]:
    """Load the weight of each feature, in hundredths: their sum is the same in any order."""
    rows = (line.split("\t") for line in WEIGHTS.read_text(encoding="utf-8").splitlines())
    return {feature: int(weight) for weight, feature in rows}
