"""What a tool says is cleared of secrets before anything of it is cut, kept or refused."""

import asyncio
import builtins
import contextlib
from collections.abc import Callable
from functools import partial
from types import TracebackType

from pydantic import JsonValue
from pydantic_core import from_json, to_json
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import NOT_AS_DECIDED, NOT_HERE
from holdfast.activities.redaction import MAX_INLINE_WORDS, is_cancellation
from holdfast.contracts.base import repair_surrogates
from holdfast.contracts.bounds import (
    MAX_FAILURE_BYTES,
    MAX_NEXT_ACTIONS,
    MAX_TOOL_REASON_CHARS,
)
from holdfast.contracts.calls import MAX_SPAN_NAME_CHARS, CustomSpan, ToolSuccess
from holdfast.contracts.errors import ToolCrashed, ToolError, ToolTimeout, safe_str
from holdfast.contracts.texts import clip_chars
from holdfast.tools.context import as_report
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.large_json import READERS, is_readable_json, look_through
from holdfast.tools.redaction import WITHHELD, Redactor, withhold_values
from holdfast.tools.views import TooManyPieces

MAX_DETAILS = 10
"""Of what a tool raises."""

_ACTION_CHARS = MAX_FAILURE_BYTES // MAX_NEXT_ACTIONS
"""Of a refusal no more is told."""

_SPANS_TIMEOUT_SECONDS = 2.0
"""Less than the time-out of heartbeats: a guardrail that has looked sends none any more."""

# Its own, for words that are few: no large result of others has a guardrail look once more.
_SPAN_CLEARER = FairThreads(1, "clear-spans")

_WITHHELD_SUMMARY = "done; texts and numbers of the result are withheld, the tool delivers them"


class SecretFilter:
    """
    Keeps the secrets of one call that a cut would hide from whoever looks for them later.

    With *withholds* no text and no number of the call's result, reports, refusals or failures
    leaves at all, known or not: it may have made a secret just now.
    """

    def __init__(self, redactor: Redactor, *, withholds: bool) -> None:
        self._redactor = redactor
        self._withholds = withholds

    async def redact(self, run_id: str, content: bytes) -> bytes | None:
        """Return a result of a run without secrets; null for one that can't be read."""
        return await look_through(run_id, content, self._redact_readable)

    def redact_summary(self, result: ToolSuccess) -> ToolSuccess:
        """Say in the summary of a result what was withheld of it."""
        return result.with_(summary=_WITHHELD_SUMMARY) if self._withholds else result

    def redact_report(self, progress: JsonValue) -> Callable[[], JsonValue]:
        """Take note of a report as it is now, and return what makes of it what may be told."""
        return partial(self._filter_report, as_report(progress))

    async def redact_spans(
        self, run_id: str, spans: tuple[CustomSpan, ...]
    ) -> tuple[CustomSpan, ...]:
        """Return what a call said of its own work without secrets, as its reports are told."""
        return await clear_spans(run_id, spans, self._redactor)

    async def redact_refusal(
        self, run_id: str, error: ToolError, *, by_tool: bool = True
    ) -> ToolError:
        """Return what a tool refuses with, or its worker, without secrets; the model reads it."""
        if by_tool and self._withholds:
            error.reason, error.next_valid_actions = WITHHELD, ()
            return error
        said = (error.reason, *error.next_valid_actions[:MAX_NEXT_ACTIONS])
        clear = partial(self._redact_refusal, *said)
        are_many = sum(map(len, said)) > MAX_INLINE_WORDS
        error.reason, *actions = await READERS.run(run_id, clear) if are_many else clear()
        error.next_valid_actions = tuple(actions)
        return error

    def _redact_refusal(self, reason: str, *actions: str) -> tuple[str, ...]:
        return (
            self._redact_words(reason, MAX_TOOL_REASON_CHARS),
            *(self._redact_words(action, _ACTION_CHARS) for action in actions),
        )

    def _redact_words(self, text: str, most: int) -> str:
        return repair_surrogates(self._redactor.part(text, most).text)

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """
        Have whatever the tool raised fail its activity, under the name that it has.

        Only a worker says that a call has not begun: an error of that name gets another one.
        """
        if error is None or isinstance(error, ToolError) or is_cancellation(error):
            return
        raise self._failure(error) from (None if self._withholds else error)

    def _failure(self, error: BaseException) -> BaseException:
        match error:
            case ToolTimeout():
                return ApplicationError(str(error), type="ToolTimeout", non_retryable=True)
            case ToolCrashed():
                return ApplicationError(self._words(error), type=self._kind(error.kind))
            case ApplicationError():
                return ApplicationError(
                    WITHHELD if self._withholds else error.message,
                    *(self._detail(detail) for detail in error.details[:MAX_DETAILS]),
                    type=self._kind(error.type),
                    non_retryable=error.non_retryable,
                    next_retry_delay=error.next_retry_delay,
                    category=error.category,
                )
            case _:
                return ApplicationError(self._words(error), type=self._kind(type(error).__name__))

    def _words(self, error: BaseException) -> str:
        said = safe_str(error)
        return WITHHELD if self._withholds and said else said

    def _kind(self, kind: str | None) -> str | None:
        """Name an error: a name of the tool's own may say what it made."""
        if kind in {NOT_AS_DECIDED, NOT_HERE}:
            return f"its own {kind}"
        return kind if kind is None or not self._withholds or hasattr(builtins, kind) else WITHHELD

    def _detail(self, detail: object) -> JsonValue:
        return self._filter_report(as_report(detail))

    def _filter_report(self, report: JsonValue) -> JsonValue:
        return from_json(withhold_values(to_json(report))) if self._withholds else report

    def _redact_readable(self, content: bytes) -> bytes | None:
        if not is_readable_json(content):
            return None
        with contextlib.suppress(TooManyPieces):
            return self._redactor.json(withhold_values(content) if self._withholds else content)
        return None


async def clear_spans(
    run_id: str, spans: tuple[CustomSpan, ...], redactor: Redactor
) -> tuple[CustomSpan, ...]:
    """
    Return spans of a run without secrets and what looks like one, as people read them.

    What they are of is done: where their words are many, and have no turn, they are left out. So
    is the end of a name that has become longer by that, as no result with it could be read.
    """
    clear = partial(_clear_spans, spans, redactor)
    if sum(len(one.model_dump_json()) for one in spans) <= MAX_INLINE_WORDS:
        return clear()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SPANS_TIMEOUT_SECONDS):
            return await _SPAN_CLEARER.run(run_id, clear)
    return ()


def _clear_spans(spans: tuple[CustomSpan, ...], redactor: Redactor) -> tuple[CustomSpan, ...]:
    return tuple(_clear_span(one, redactor) for one in spans)


def _clear_span(span: CustomSpan, redactor: Redactor) -> CustomSpan:
    said: dict[str, JsonValue] = {}
    with contextlib.suppress(TooManyPieces):
        said = from_json(redactor.json(to_json(span.data)))
    name = clip_chars(redactor.text(span.name), MAX_SPAN_NAME_CHARS)
    return span.copy_with({"name": name, "data": said})
