"""Guardrails that read a text: destructive tasks, data about people, injection, secrets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.making import BuiltinOptions, InputOptions, builtin, looked, made
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors.destruction import REASON, is_destructive
from holdfast.guardrails.detectors.injection import injection
from holdfast.guardrails.detectors.normalize import seen
from holdfast.guardrails.detectors.personal import personal
from holdfast.guardrails.detectors.secrets import assigned, is_documented, is_mark, is_random
from holdfast.guardrails.detectors.subject_text import words
from holdfast.tools.credentials import shapes_in

_NO_WORDS = "there are no words in it"


@builtin
def destructive_operations(**wishes: Unpack[InputOptions]) -> Guardrail:
    """Trip on a task that destroys what nobody can bring back; on_trip "ask" has people decide."""
    watches = ("goal", "words")
    return made(
        "destructive_operations", "input", _destructive, wishes, local=True, watches=watches
    )


@builtin
def pii_detection(**wishes: Unpack[InputOptions]) -> Guardrail:
    """Trip on data about people in what people say: the reason says which kind, never which."""
    watches = ("goal", "words")
    return made("pii_detection", "input", _personal, wishes, local=True, watches=watches)


@builtin
def injection_detection(**wishes: Unpack[InputOptions]) -> Guardrail:
    """Trip on texts that try to steer the model, also in results of tools."""
    watches = ("goal", "words", "results")
    return made("injection_detection", "input", _injection, wishes, local=True, watches=watches)


@builtin
def secret_detection(allow: tuple[str, ...] = (), **wishes: Unpack[BuiltinOptions]) -> Guardrail:
    """Trip on credentials in an answer; those that documentation shows and *allow* may pass."""
    return made("secret_detection", "output", _Secrets(allow), wishes, local=True)


async def _destructive(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    if subject.kind not in ("goal", "words"):
        return not_applicable("only what people say is a task")
    return tripped(REASON) if await looked(subject.text, is_destructive) else passed()


async def _personal(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    text = words(subject)
    if not text.strip():
        return not_applicable(_NO_WORDS)
    kinds = await looked(text, lambda said: sorted({found.kind for found in personal(said)}))
    return tripped(f"it holds personal data: {', '.join(kinds)}") if kinds else passed()


async def _injection(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    text = words(subject)
    if not text.strip():
        return not_applicable(_NO_WORDS)
    found = await looked(text, injection)
    if found is None:
        return passed()
    source = f"a result of {subject.tool}" if subject.tool else f"the {_SOURCES[subject.kind]}"
    return tripped(f"{source} looks like prompt injection: {found}")


_SOURCES = {
    "goal": "goal",
    "words": "message",
    "results": "result of a tool",
    "call": "call",
    "done": "result",
    "answer": "answer",
}

_TELLING = frozenset({"private key", "password", "authorization", "bearer token", "secret value"})
"""Kinds that don't begin with letters which all of them have: nothing of them is shown."""

_SHOWN = 4
_LEAST_MASKED = 16


@dataclass(frozen=True)
class _Secrets:
    """The credentials that may pass."""

    allow: tuple[str, ...]

    async def __call__(self, subject: Subject, _: GuardrailContext) -> GuardrailResult:
        text = words(subject)
        if not text.strip():
            return not_applicable(_NO_WORDS)
        found = await looked(text, lambda said: sorted(set(self._named(said))))
        if not found:
            return passed()
        return tripped(
            f"it holds credentials: {', '.join(found)}",
            "leave credentials out: say where they are kept, or use a mark like <API_KEY>",
        )

    def _named(self, text: str) -> Iterator[str]:
        """Yield a name for each credential, with its beginning where that says nothing."""
        for kind, value in _credentials(text):
            if value in self.allow:
                continue
            shown = kind not in _TELLING and len(value) >= _LEAST_MASKED
            yield f"{kind} {value[:_SHOWN]}…" if shown else kind


def _credentials(said: str) -> Iterator[tuple[str, str]]:
    text = seen(said)
    for shape in shapes_in(text):
        for start, end, kind in shape.find(text):
            value = text[start:end]
            if not _is_harmless(kind, value):
                yield kind, value
    for value in assigned(text):
        yield "secret value", value


def _is_harmless(kind: str, value: str) -> bool:
    if kind == "private key":
        return "..." in value
    if kind == "authorization":
        return is_mark(value) or not is_random(value)
    return is_mark(value) if kind in _TELLING else is_documented(value)
