"""Guardrails that read a text: destructive tasks, data about people, injection, secrets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.making import (
    BuiltinOptions,
    InputOptions,
    build_guardrail,
    builtin,
    run_detector,
)
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors.destruction import REASON, is_destructive
from holdfast.guardrails.detectors.injection import find_injection
from holdfast.guardrails.detectors.normalize import strip_invisible
from holdfast.guardrails.detectors.personal import find_pii
from holdfast.guardrails.detectors.secrets import (
    find_assigned_secrets,
    is_example,
    is_placeholder,
    is_random,
)
from holdfast.guardrails.detectors.subject_text import collect_text
from holdfast.tools.credentials import find_kinds

_NO_WORDS = "there are no words in it"


@builtin
def destructive_operations(**wishes: Unpack[InputOptions]) -> Guardrail:
    """Trip on a task that destroys what nobody can bring back; on_trip "ask" has people decide."""
    watches = ("goal", "words")
    return build_guardrail(
        "destructive_operations", "input", _check_destructive, wishes, local=True, watches=watches
    )


@builtin
def pii_detection(**wishes: Unpack[InputOptions]) -> Guardrail:
    """Trip on data about people in what people say: the reason says which kind, never which."""
    watches = ("goal", "words")
    return build_guardrail(
        "pii_detection", "input", _check_personal, wishes, local=True, watches=watches
    )


@builtin
def injection_detection(**wishes: Unpack[InputOptions]) -> Guardrail:
    """Trip on texts that try to steer the model, also in results of tools."""
    watches = ("goal", "words", "results")
    return build_guardrail(
        "injection_detection", "input", _check_injection, wishes, local=True, watches=watches
    )


@builtin
def secret_detection(allow: tuple[str, ...] = (), **wishes: Unpack[BuiltinOptions]) -> Guardrail:
    """Trip on credentials in an answer; those that documentation shows and *allow* may pass."""
    return build_guardrail("secret_detection", "output", _Secrets(allow), wishes, local=True)


async def _check_destructive(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    if subject.kind not in ("goal", "words"):
        return not_applicable("only what people say is a task")
    found = await run_detector(context, subject.text, is_destructive)
    return tripped(REASON) if found else passed()


async def _check_personal(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    text = collect_text(subject)
    if not text.strip():
        return not_applicable(_NO_WORDS)
    kinds = await run_detector(
        context, text, lambda said: sorted({found.kind for found in find_pii(said)})
    )
    return tripped(f"it holds personal data: {', '.join(kinds)}") if kinds else passed()


async def _check_injection(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    text = collect_text(subject)
    if not text.strip():
        return not_applicable(_NO_WORDS)
    found = await run_detector(context, text, find_injection)
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

_MASKED_KINDS = frozenset(
    {"private key", "password", "authorization", "bearer token", "secret value"}
)
"""Kinds that don't begin with letters which all of them have: nothing of them is shown."""

_SHOWN_CHARS = 4
_MIN_CHARS_TO_SHOW = 16


@dataclass(frozen=True)
class _Secrets:
    """The credentials that may pass."""

    allow: tuple[str, ...]

    async def __call__(self, subject: Subject, context: GuardrailContext) -> GuardrailResult:
        text = collect_text(subject)
        if not text.strip():
            return not_applicable(_NO_WORDS)
        found = await run_detector(
            context, text, lambda said: sorted(set(self._describe_credentials(said)))
        )
        if not found:
            return passed()
        return tripped(
            f"it holds credentials: {', '.join(found)}",
            "leave credentials out: say where they are kept, or use a mark like <API_KEY>",
        )

    def _describe_credentials(self, text: str) -> Iterator[str]:
        """Yield a name for each credential, with its beginning where that says nothing."""
        for kind, value in _find_credentials(text):
            if value in self.allow:
                continue
            shown = kind not in _MASKED_KINDS and len(value) >= _MIN_CHARS_TO_SHOW
            yield f"{kind} {value[:_SHOWN_CHARS]}…" if shown else kind


def _find_credentials(said: str) -> Iterator[tuple[str, str]]:
    text = strip_invisible(said)
    for shape in find_kinds(text):
        for start, end, kind in shape.find(text):
            value = text[start:end]
            if not _is_harmless(kind, value):
                yield kind, value
    for value in find_assigned_secrets(text):
        yield "secret value", value


def _is_harmless(kind: str, value: str) -> bool:
    if kind == "private key":
        return "..." in value
    if kind == "authorization":
        return is_placeholder(value) or not is_random(value)
    return is_placeholder(value) if kind in _MASKED_KINDS else is_example(value)
