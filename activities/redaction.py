"""Whatever leaves an activity is cleared of secrets: results, failures, heartbeats, stacks."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import temporalio
from pydantic import JsonValue
from pydantic_core import from_json, to_json
from structlog.contextvars import bind_contextvars
from temporalio import activity
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

from holdfast.activities.heartbeats import each_second
from holdfast.contracts.base import repair_surrogates
from holdfast.contracts.bounds import CLEARING_TIMEOUT, MAX_FAILURE_BYTES
from holdfast.contracts.errors import HoldfastError, ToolCrashed, format_stack, safe_str
from holdfast.contracts.texts import cut_with_note
from holdfast.contracts.usage import Attempts
from holdfast.event_log import log
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.large_json import MAX_INLINE_BYTES
from holdfast.tools.redaction import Redactor

_TOO_DEEP = "[redacted: nested too deeply to be checked]"

_STACK_CHARS = 8_000
"""Of the end of a stack."""

MAX_INLINE_WORDS = 5_000
"""Characters of a failure; more, which may be anybody's words, takes too long for the loop."""

Cleared = TypeVar("Cleared")

# Of their own: no result of a tool, which may be as large as anything, keeps a decision waiting.
CLEARERS = FairThreads(2, "clear")
LATE_CLEARER = FairThreads(1, "clear-late")


class RedactionInterceptor(Interceptor):
    """
    Stands between all activities of a worker and history.

    A result leaves without known secrets; what it tells of others is the business of whoever made
    it, because what only looks like a credential may be what a provider wants to have back. All
    else leaves without lookalikes, too: people read it, and nobody needs it word by word.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Inbound(next, self._redactor)


class _Inbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, redactor: Redactor) -> None:
        super().__init__(next)
        self._redactor = redactor
        self._outbound: _Outbound | None = None

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        self._outbound = _Outbound(outbound, self._redactor)
        super().init(self._outbound)

    async def execute_activity(self, input: ExecuteActivityInput) -> RawValue:
        # A secret may be rotated while the activity still works with the old one.
        self._redactor.learn()
        # Whoever logs in an activity, which is a task of its own, says of which run; what else it
        # is about it binds itself.
        bind_contextvars(run_id=activity.info().workflow_id)
        async with _ErrorRedaction(self._redactor, self._repeat):
            return await self._redact(await super().execute_activity(input))

    async def _redact(self, result: object) -> RawValue:
        [payload] = activity.payload_converter().to_payloads([result])
        if payload.data:
            payload.data = await self._redact_data(payload.data)
        return RawValue(payload)

    async def _redact_data(self, content: bytes) -> bytes:
        if len(content) <= MAX_INLINE_BYTES:
            return self._redact_known(content)
        return await _clear_beside(partial(self._redact_known, content), self._repeat)

    def _redact_known(self, content: bytes) -> bytes:
        try:
            return self._redactor.json(content, lookalikes=False)
        except ValueError:
            # A text in the place of a result is none: whoever waits for it would try for ever.
            raise ApplicationError(
                "it returns what is nested too deeply, or escaped too often, to be cleared",
                type="NestedTooDeeply",
                non_retryable=True,
            ) from None

    def _repeat(self) -> None:
        if self._outbound is not None:
            self._outbound.repeat()


async def _clear_beside(work: Callable[[], Cleared], beat: Callable[[], None]) -> Cleared:
    """Clear something beside the loop, alive meanwhile; what has no turn, behind others."""
    run_id = activity.info().workflow_id or ""
    with each_second(beat):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLEARING_TIMEOUT.total_seconds()):
                return await CLEARERS.run(run_id, work)
        return await LATE_CLEARER.run(run_id, work)


class _Words(NamedTuple):
    """What an error says, details as JSON, and where it was raised: nobody has looked yet."""

    message: str
    kind: str | None
    details: tuple[bytes, ...]
    stack: str

    @classmethod
    def of(cls, error: BaseException) -> "_Words":
        if isinstance(error, ApplicationError):
            stack = _find_stack(error.__cause__)
            details = tuple(map(_write, error.details))
            return cls(error.message, error.type, details, stack)
        return cls(safe_str(error), type(error).__name__, (), _find_stack(error))

    @property
    def are_many(self) -> bool:
        """Whether to look through them takes long."""
        said = len(self.message) + len(self.kind or "") + len(self.stack)
        return said + sum(map(len, self.details)) > MAX_INLINE_WORDS


class _ErrorRedaction:
    """Whatever is raised through it leaves as a failure that has no secrets."""

    def __init__(self, redactor: Redactor, beat: Callable[[], None]) -> None:
        self._redactor = redactor
        self._beat = beat

    async def __aenter__(self) -> None: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if error is not None:
            raise await self._redact_error(error) from None

    async def _redact_error(self, error: BaseException) -> BaseException:
        """Return what stands for an error, whatever it raises itself when it is looked at."""
        if is_cancellation(error):
            return asyncio.CancelledError()
        with contextlib.suppress(Exception):
            words = _Words.of(error)
            if not words.are_many:
                return self._failure(error, words)
            return await _clear_beside(partial(self._failure, error, words), self._beat)
        final = isinstance(error, ApplicationError) and error.non_retryable
        return ApplicationError("it can't be told what failed", non_retryable=final)

    def _failure(self, error: BaseException, words: _Words) -> ApplicationError:
        """Return what stands for an error in history: without its causes and its stack."""
        self._log(words.stack)
        message, kind = self._redact_text(words.message), words.kind
        if not isinstance(error, ApplicationError):
            return ApplicationError(message, type=kind and self._redact_text(kind))
        return ApplicationError(
            message,
            *(_redact_detail(detail, self._redactor) for detail in words.details),
            type=kind and self._redact_text(kind),
            non_retryable=error.non_retryable,
            next_retry_delay=error.next_retry_delay,
            category=error.category,
        )

    def _redact_text(self, text: str) -> str:
        said = self._redactor.part(text, MAX_FAILURE_BYTES)
        return cut_with_note(repair_surrogates(said.text), MAX_FAILURE_BYTES, said.left_out)

    def _log(self, stack: str) -> None:
        """
        Keep the stack of a fault: whoever wrote the code needs one.

        History has none, which may quote anything; what we raise on purpose needs none.
        """
        if stack:
            stack = self._redactor.part(stack, _STACK_CHARS, last=True).text
            asked = activity.info()
            log.warning(
                "activity.raised",
                activity=asked.activity_type,
                attempt=asked.attempt,
                stack=repair_surrogates(stack[-_STACK_CHARS:]),
            )


def _find_stack(error: BaseException | None) -> str:
    match error:
        case ToolCrashed():
            return error.stack
        case None | HoldfastError():
            return ""
        case _:
            with contextlib.suppress(Exception):  # that there is no stack hides no failure
                return format_stack(error, leading=tuple(temporalio.__path__))
            return ""


class _Outbound(ActivityOutboundInterceptor):
    def __init__(self, next: ActivityOutboundInterceptor, redactor: Redactor) -> None:
        super().__init__(next)
        self._redactor = redactor
        self._details: tuple[object, ...] = ()
        self._told: tuple[JsonValue, ...] = ()

    def heartbeat(self, *details: Any) -> None:  # noqa: ANN401 -- as the SDK says it
        # Each second it says the same again, until there is more to say.
        if details != self._details:
            self._told = tuple(_redact_beat(detail, self._redactor) for detail in details)
            self._details = details
        super().heartbeat(*self._told)

    def repeat(self) -> None:
        """Say again what was said last, or, before the first word, by the attempt before it."""
        asked = activity.info()
        if not asked.is_local:
            super().heartbeat(*(self._told or asked.heartbeat_details))


def _redact_beat(detail: object, redactor: Redactor) -> JsonValue:
    """Return what a heartbeat carries; live words were looked through as they came."""
    if not isinstance(detail, Attempts) or detail.live is None:
        return _redact_detail(_write(detail), redactor)
    others = _redact_detail(_write(detail.with_(live=None)), redactor)
    live = detail.live.model_dump(mode="json")
    return {**others, "live": live} if isinstance(others, dict) else others


def _write(detail: object) -> bytes:
    """Return a detail as JSON; of what is none, its words are."""
    try:
        return to_json(detail, serialize_unknown=True)
    except ValueError:
        return to_json(_TOO_DEEP)


def _redact_detail(detail: bytes, redactor: Redactor) -> JsonValue:
    try:
        return from_json(redactor.json(detail))
    except ValueError:
        return _TOO_DEEP


def is_cancellation(error: BaseException) -> bool:
    """Whether an activity ends because somebody wanted it, and not because it says so itself."""
    return isinstance(error, asyncio.CancelledError | CancelledError) and activity.is_cancelled()
