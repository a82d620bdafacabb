"""The activity that runs guardrails: each named one looks at each subject."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import NamedTuple, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import build_hand_back, require_app, require_run_caller
from holdfast.activities.heartbeats import Heartbeater, time_limit
from holdfast.activities.secret_filter import clear_spans
from holdfast.contracts import bounds
from holdfast.contracts.base import digest
from holdfast.contracts.bounds import MAX_CONSTRAINT_CHARS, MAX_VERDICT_REASON_CHARS
from holdfast.contracts.errors import AppError, PayloadTooLarge, format_stack, safe_str
from holdfast.contracts.guardrails import (
    GuardrailResult,
    GuardrailVerdict,
    GuardrailVerdicts,
    RunGuardrails,
    Subject,
    quotes_answer,
)
from holdfast.contracts.texts import clip_chars, cut_with_note
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    GuardrailFunction,
    ResourceClaims,
)
from holdfast.tools.context import SpanLog
from holdfast.tools.fair_threads import TENANT, FairThreads
from holdfast.tools.redaction import Redactor
from holdfast.tools.sharing.quota import TenantQuota

FAILED = "GuardrailFailed"

MAX_LONG_LOOKS = 20
"""Local activities that look at long texts at once, of the hundred in which all is decided."""

_LONG_BYTES = 5_000

# To compare a reason with an answer of half a megabyte takes a third of a second.
_QUOTES = FairThreads(1, "quotes")


Told = TypeVar("Told")


class GuardrailActivities:
    """Runs the guardrails of an app. Raises AppError when two can't be told apart."""

    def __init__(
        self,
        guardrails: Iterable[Guardrail],
        holders: ResourceClaims,
        redactor: Redactor,
        app: str = "",
    ) -> None:
        self._app = app
        self._functions = functions(guardrails)
        self._holders = holders
        self._redactor = redactor
        self._long_looks = TenantQuota(MAX_LONG_LOOKS)

    async def run(self, asked: RunGuardrails) -> GuardrailVerdicts:
        """
        Return a verdict for each guardrail and subject, in that order.

        Raises ApplicationError where a guardrail can't decide, which a run takes for a tripwire.
        Where this worker lacks one it hands all of them back, and where they would look at a long
        text within a workflow task while it has many of the tenant's. What is too much to be told
        at once fails by that name.
        """
        require_run_caller(asked.run_id)
        TENANT.set(asked.tenant)
        require_app(asked.app, self._app)
        looking = [(name, self._find_function(name)) for name in asked.names]
        spans = SpanLog()
        context = GuardrailContext.of(asked, self._holders, spans.add)
        late = ApplicationError("no answer in time", type=FAILED)
        with self._begin(asked) as free:
            if not free:
                raise build_hand_back(
                    "this worker looks at many long texts of this tenant already"
                )
            async with Heartbeater(), time_limit(late):
                found = await self._look(looking, asked, context)
        told = await clear_spans(asked.run_id, spans.kept, self._redactor)
        answer = GuardrailVerdicts(verdicts=_fit_into_payload(found), spans=told)
        if (has := bounds.size(answer)) > bounds.MAX_PAYLOAD_BYTES:
            why = f"{len(found):,} verdicts have {has:,} bytes: too many to be sent at once"
            raise ApplicationError(why, type=PayloadTooLarge.__name__, non_retryable=True)
        return answer

    def _begin(self, asked: RunGuardrails) -> AbstractContextManager[bool]:
        """Have a place for a long text within a workflow task, if the tenant has one left."""
        waits = activity.info().is_local and bounds.size(asked.subjects) > _LONG_BYTES
        return self._long_looks.take(asked.tenant) if waits else nullcontext(enter_result=True)

    async def _look(
        self,
        looking: Iterable[tuple[str, GuardrailFunction]],
        asked: RunGuardrails,
        context: GuardrailContext,
    ) -> list[GuardrailVerdict]:
        return [
            await self._verdict(name, function, subject, asked, context.with_name(name))
            for name, function in looking
            for subject in asked.subjects
        ]

    def _find_function(self, name: str) -> GuardrailFunction:
        function = self._functions.get(name)
        if function is None:
            raise build_hand_back(f"this worker has no guardrail {name!r}")
        return function

    async def _verdict(
        self,
        name: str,
        function: GuardrailFunction,
        subject: Subject,
        asked: RunGuardrails,
        context: GuardrailContext,
    ) -> GuardrailVerdict:
        async with _ErrorTranslation(name, subject, asked):
            result = _require_result(await function(subject, context))
        await asyncio.sleep(0)  # other runs' heartbeats: of a long answer each verdict takes long
        return await _look_for_quotes(
            subject, asked.tenant, partial(self._tell, name, result, subject, asked)
        )

    def _tell(
        self, name: str, result: GuardrailResult, subject: Subject, asked: RunGuardrails
    ) -> GuardrailVerdict:
        """Return what a guardrail says, without secrets; that takes the longer the more it saw."""
        reason = self._clear(result.reason, MAX_VERDICT_REASON_CHARS)
        return GuardrailVerdict(
            tripwire_triggered=result.tripwire_triggered,
            reason=reason,
            constraints=tuple(
                self._clear(each, MAX_CONSTRAINT_CHARS) for each in result.constraints
            ),
            applicable=result.applicable,
            signals=result.signals,
            cost=result.cost,
            guardrail=name,
            subject=digest(subject.model_dump(mode="json")),
            call_id=subject.call_id,
            quotes=quotes_answer(reason, subject, asked.unreleased),
        )

    def _clear(self, words: str, most: int) -> str:
        """Return as much of some words as is told; nobody looks at what they quote beyond it."""
        return clip_chars(self._redactor.part(words, most + 1).text, most)


def _fit_into_payload(found: list[GuardrailVerdict]) -> tuple[GuardrailVerdict, ...]:
    """Cut what verdicts say where they wouldn't fit into one payload together."""
    if bounds.size(found) <= bounds.MAX_VERDICTS_BYTES:
        return tuple(found)
    room = bounds.MAX_VERDICTS_BYTES // (2 * len(found))
    return tuple(
        verdict.model_copy(
            update={"reason": cut_with_note(verdict.reason, room), "constraints": ()}
        )
        for verdict in found
    )


def functions(guardrails: Iterable[Guardrail]) -> dict[str, GuardrailFunction]:
    """Return the functions of guardrails that have one; raises AppError for a name used twice."""
    known: dict[str, Guardrail] = {}
    for each in guardrails:
        if known.setdefault(each.spec.name, each).function != each.function:
            raise AppError(
                f"guardrail {each.spec.name!r}: two different guardrails have this name; "
                "rename one"
            )
    return {name: each.function for name, each in known.items() if each.function is not None}


def _require_result(result: object) -> GuardrailResult:
    """Let through what a guardrail may say; whoever wrote it may have forgotten to say it."""
    if isinstance(result, GuardrailResult):
        return result
    raise TypeError(
        f"it returned {type(result).__name__}; "
        "return passed(), tripped(reason) or not_applicable(reason)"
    )


async def _look_for_quotes(subject: Subject, tenant: str, look: Callable[[], Told]) -> Told:
    """Do what holds words against a subject: beside the loop of all runs, where that is long."""
    if bounds.size(subject) <= _LONG_BYTES:
        return look()
    return await _QUOTES.run(tenant, look)


class _Undecided(NamedTuple):
    """Why a guardrail can't decide, and whether the error that says so is told with its stack."""

    why: str
    hidden: bool


class _ErrorTranslation:
    """
    Whatever a guardrail raises says that it can't decide.

    A server shows what an attempt failed with to whoever may describe a run: words of an answer
    are no part of it.
    """

    def __init__(self, name: str, subject: Subject, asked: RunGuardrails) -> None:
        self._name, self._subject = name, subject
        self._tenant, self._unreleased = asked.tenant, asked.unreleased

    async def __aenter__(self) -> None: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            look = partial(self._explain, error)
            found = await _look_for_quotes(self._subject, self._tenant, look)
            raise ApplicationError(
                f"guardrail {self._name!r} can't decide: {found.why}", type=FAILED
            ) from (None if found.hidden else error)

    def _explain(self, error: Exception) -> _Undecided:
        said = safe_str(error) or type(error).__name__
        quoting = self._quotes(said)
        why = f"{type(error).__name__}, which quotes the answer" if quoting else said
        # The worker's log has the stack, and with it whatever led to this error.
        return _Undecided(why, quoting or self._stack_quotes(error))

    def _stack_quotes(self, error: Exception) -> bool:
        """Whether the stack of an error has words of an answer; one that can't be told may."""
        if self._subject.kind not in self._unreleased:
            return False
        with contextlib.suppress(BaseException):  # it may have forgotten how to say what it is
            return self._quotes(format_stack(error))
        return True

    def _quotes(self, said: str) -> bool:
        return quotes_answer(said, self._subject, self._unreleased)
