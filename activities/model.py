"""The activity `call_model`: one question to a model, one complete reply."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import TracebackType

from pydantic import JsonValue
from structlog.contextvars import bind_contextvars
from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities import reply_limits, structured_output
from holdfast.activities.callers import (
    build_hand_back,
    find_calling_execution,
    require_app,
    require_run_caller,
)
from holdfast.activities.heartbeats import Heartbeater, time_limit
from holdfast.activities.redaction import is_cancellation
from holdfast.activities.transcripts import Transcripts
from holdfast.adapters.base import ModelAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError, ModelNotHere, ModelRejected, ModelUnavailable
from holdfast.contracts.model import ModelCall, ModelReply, ModelRequest
from holdfast.contracts.usage import UNKNOWN_USAGE, Attempts
from holdfast.run import context
from holdfast.run.limits import budgets
from holdfast.run.texts.figures import pluralize
from holdfast.tools.fair_threads import TENANT
from holdfast.tools.large_json import MAX_INLINE_BYTES, READERS
from holdfast.tools.redaction import GrowingText, Redactor


class ModelActivities:
    """Asks models through the adapters of their providers."""

    def __init__(
        self,
        adapters: Mapping[str, ModelAdapter],
        transcripts: Transcripts,
        shapes: structured_output.Shapes,
        redactor: Redactor,
        app: str = "",
    ) -> None:
        self._adapters = adapters
        self._transcripts = transcripts
        self._shapes = shapes
        self._redactor = redactor
        self._app = app

    @activity.defn
    async def call_model(self, call: ModelCall) -> ModelReply:
        """
        Ask the model once with the whole transcript, of which *call* brings only what is new.

        Raises a model's error by its kind (contracts/errors.py), or TranscriptMismatch. An error
        is for good where its provider asks for a longer wait than the patience of the call.
        """
        require_run_caller(call.run_id)
        bind_contextvars(turn=call.turn)
        TENANT.set(call.tenant)
        async with Heartbeater() as heartbeater:
            require_app(call.app, self._app)
            _charge_lost_attempts(call, heartbeater)
            request = await self._request(call)
            began = time.monotonic()
            with _Failing(call, heartbeater):
                async with self._hear(call, request, heartbeater) as heard:
                    reply = await self._reply(call, heard, failed=heartbeater.attempts.failed)
            took = max(round((time.monotonic() - began) * 1000), 1)
            return reply.with_(
                model=call.model,
                latency_ms=reply.latency_ms or took,
                failed_usage=heartbeater.attempts.usage,
            )

    @asynccontextmanager
    async def _hear(
        self, call: ModelCall, request: ModelRequest, heartbeater: Heartbeater
    ) -> AsyncGenerator[ModelRequest]:
        """Have somebody listen to the reply, if its words are wanted while they come."""
        if not call.stream:
            yield request
            return
        async with heartbeater.tell_live(GrowingText(self._redactor), call.turn) as on_text:
            yield replace(request, on_text=on_text)

    async def _reply(self, call: ModelCall, request: ModelRequest, *, failed: int) -> ModelReply:
        adapter = self._adapter(call.model)
        late = f"{adapter.provider} did not reply in time: wait, or use another model"
        # A server that sends a ping now and then would have all attempts take all of their time.
        kind = ModelRejected if failed else ModelUnavailable
        async with time_limit(kind(late, kind="timeout")):
            reply = await adapter.respond(request)
        if reply.provider_state is not None:
            state = adapter.merge_state(request.provider_state, reply.provider_state)
            reply = reply.with_(provider_state=state)
        accept = partial(self._accept, reply, request)
        # Counted first: what is larger than any reply is gone through no more.
        if reply_limits.count_chars(reply) <= MAX_INLINE_BYTES:
            return accept()
        return await READERS.run(call.run_id, accept)

    def _accept(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        """Return what may enter history. Raises ModelError where it can't."""
        reply = reply_limits.shorten_names(reply_limits.repair_unicode(reply))
        if request.without_tools:
            return reply_limits.enforce(_without_calls(reply))
        return reply_limits.enforce(
            structured_output.validate(reply, request.prefix.output_schema, self._shapes)
        )

    async def _request(self, call: ModelCall) -> ModelRequest:
        provider, _, model = call.model.partition(":")
        return ModelRequest(
            run_id=call.run_id,
            turn=call.turn,
            attempt=activity.info().attempt,
            model=model,
            prefix=(await self._transcripts.prefix(call)).narrow(call.tools),
            transcript=await self._transcripts.view(call, find_calling_execution().id),
            provider_state=_own_state(provider, call.provider_state),
            strategy=call.strategy,
            pruned_before=context.measure_reduction(call.view),
            without_tools=call.purpose != "turn",
            unheard=call.unheard,
            calls_left=call.calls_left,
        )

    def _adapter(self, model: str) -> ModelAdapter:
        adapter = self._adapters.get(model.partition(":")[0])
        if adapter is None:
            known = ", ".join(sorted(self._adapters))
            raise ModelNotHere(f"no provider for model {model!r} (known providers: {known})")
        return adapter


class _Failing:
    """
    Whatever asking a model raises leaves as a failure that the workflow reads.

    What is no ModelError is a fault of the adapter: nobody knows whether the model replied, so
    what is reserved for a call counts as used, or, where nothing is, an unknown amount.
    """

    def __init__(self, call: ModelCall, heartbeater: Heartbeater) -> None:
        self._call = call
        self._heartbeater = heartbeater

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        match error:
            case ModelNotHere():
                raise build_hand_back(str(error)) from None
            case ModelError():
                raise self._failure(error) from None
            case Exception() if not is_cancellation(error):
                raise self._failure(self._build_fault(error)) from error
            case _:
                return

    def _build_fault(self, error: Exception) -> ModelError:
        # Without its words, which may be anybody's: the worker's log has them, with the stack.
        return ModelUnavailable(
            f"the adapter of {self._call.model} raised {type(error).__name__}, which is a fault "
            "of its own: mend it by what the worker's log says, or use another model",
            kind="unreadable",
            usage=self._call.reserved if self._call.left else UNKNOWN_USAGE,
        )

    def _failure(self, error: ModelError) -> ApplicationError:
        self._heartbeater.spend(error.usage)
        attempts = self._heartbeater.attempts
        spent = budgets.is_used_up(self._call.left, attempts.usage)
        return as_activity_failure(error, attempts, self._call.patience, spent=spent)


def _charge_lost_attempts(call: ModelCall, heartbeater: Heartbeater) -> None:
    """
    Count attempts that were lost with their workers, which the provider has billed.

    Raises ApplicationError, before anybody is asked, where nothing is left of the budget then.
    """
    heartbeater.charge_lost(call.reserved)
    if budgets.is_used_up(call.left, heartbeater.attempts.usage):
        lost = heartbeater.attempts.lost
        error = ModelUnavailable(
            f"{lost} attempts were lost with their workers, and may have used what was left of "
            "the budget: look why workers end, or raise the limit",
            kind="cut_off",
        )
        raise as_activity_failure(error, heartbeater.attempts, call.patience, spent=True)


def _own_state(provider: str, state: JsonObject) -> JsonObject:
    """Return what this provider wants to see again, of what all of them do."""
    kept: JsonValue = state.get(provider)
    return kept if isinstance(kept, dict) else {}


def _without_calls(reply: ModelReply) -> ModelReply:
    """Return the reply of a model that was to say something and call nothing."""
    if not reply.calls:
        return reply
    note = f"{pluralize(len(reply.calls), 'call')} left out: the model was asked for words alone"
    return reply.with_(
        calls=(),
        parts=tuple(part for part in reply.parts if part.kind != "call"),
        stop="end_turn" if reply.stop == "tool_use" else reply.stop,
        notes=(*reply.notes, note),
    )


def as_activity_failure(
    error: ModelError, attempts: Attempts, patience: float, *, spent: bool = False
) -> ApplicationError:
    """
    Translate once, here: the workflow reads type and details, Temporal reads the rest.

    Where the budget is *spent*, or can't be kept any more, no other attempt is made.
    """
    wait = error.retry_after if isinstance(error, ModelUnavailable) else None
    told = _describe_long_wait(wait, patience)
    return ApplicationError(
        f"{error}{told}",
        attempts,
        type=error.kind,
        non_retryable=spent or bool(told) or not isinstance(error, ModelUnavailable),
        next_retry_delay=None if wait is None else timedelta(seconds=wait),
    )


def _describe_long_wait(wait: float | None, patience: float) -> str:
    """Say that a wait is longer than anybody has patience for; nothing where it isn't."""
    if wait is None or wait <= patience:
        return ""
    return f" (it asks to wait {wait:,.9g} s; nobody waits longer than {patience:g} s here)"
