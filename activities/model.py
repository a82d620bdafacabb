"""The activity `call_model`: one question to a model, one complete reply."""

import time
from collections.abc import Mapping
from datetime import timedelta

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import intake, outputs
from activities.callers import check_run
from activities.heartbeats import Pulse, heartbeating
from activities.transcripts import Transcripts
from adapters.base import ModelAdapter
from contracts.base import JsonObject
from contracts.errors import ModelError, ModelRejected, ModelUnavailable
from contracts.model import ModelCall, ModelReply, ModelRequest
from contracts.usage import CallUsage
from policy import context


class ModelActivities:
    """Asks models through the adapters of their providers."""

    def __init__(self, adapters: Mapping[str, ModelAdapter], transcripts: Transcripts) -> None:
        self._adapters = adapters
        self._transcripts = transcripts

    @activity.defn
    async def call_model(self, call: ModelCall) -> ModelReply:
        """
        Ask the model once with the whole transcript, of which *call* brings only what is new.

        Raises a model's error by its kind (contracts/errors.py), or TranscriptMismatch. An error
        is for good where its provider asks for a longer wait than the patience of the call.
        """
        check_run(call.run_id)
        async with heartbeating() as pulse:
            spent = _Spent(pulse)
            request = await self._request(call)
            began = time.monotonic()
            try:
                reply = await self._reply(call, request)
            except ModelError as error:
                used = spent.add(error.usage)
                raise as_activity_failure(error, used, call.patience) from error
            took = max(round((time.monotonic() - began) * 1000), 1)
            return reply.model_copy(
                update={
                    "model": call.model,
                    "latency_ms": reply.latency_ms or took,
                    "failed_usage": spent.usage,
                }
            )

    async def _reply(self, call: ModelCall, request: ModelRequest) -> ModelReply:
        adapter = self._adapter(call.model)
        reply = intake.named(intake.legible(await adapter.respond(request)))
        if reply.provider_state is not None:
            state = adapter.merge_state(request.provider_state, reply.provider_state)
            reply = reply.model_copy(update={"provider_state": state})
        if request.without_tools:
            return intake.fitting(_words_alone(reply))
        return intake.fitting(outputs.checked(reply, request.prefix.output_schema))

    async def _request(self, call: ModelCall) -> ModelRequest:
        provider, _, model = call.model.partition(":")
        return ModelRequest(
            run_id=call.run_id,
            turn=call.turn,
            attempt=activity.info().attempt,
            model=model,
            prefix=await self._transcripts.prefix(call),
            transcript=await self._transcripts.view(call),
            provider_state=_own_state(provider, call.provider_state),
            strategy=call.strategy,
            pruned_before=context.extent(call.view),
            without_tools=call.without_tools,
        )

    def _adapter(self, model: str) -> ModelAdapter:
        adapter = self._adapters.get(model.partition(":")[0])
        if adapter is None:
            known = ", ".join(sorted(self._adapters))
            raise ModelRejected(
                f"no provider for model {model!r} (known providers: {known})", kind="not_found"
            )
        return adapter


class _Spent:
    """
    What attempts without a reply have used up.

    It goes with the heartbeats, so that the next attempt knows it, on whatever worker.
    """

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        details = activity.info().heartbeat_details
        self.usage = CallUsage.model_validate(details[0]) if details else None
        self._report()

    def add(self, usage: CallUsage | None) -> CallUsage | None:
        """Count a failed attempt, and return what all of them used."""
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage
            self._report()
        return self.usage

    def _report(self) -> None:
        if self.usage is not None:
            self._pulse.report(self.usage.model_dump(mode="json"))


def _own_state(provider: str, state: JsonObject) -> JsonObject:
    """Return what this provider wants to see again, of what all of them do."""
    kept: JsonValue = state.get(provider)
    return kept if isinstance(kept, dict) else {}


def _words_alone(reply: ModelReply) -> ModelReply:
    """Return the reply of a model that was to say something and call nothing."""
    if not reply.calls:
        return reply
    note = f"{len(reply.calls)} calls were left out: the model was asked for words alone"
    return reply.model_copy(
        update={
            "calls": (),
            "parts": tuple(part for part in reply.parts if part.kind != "call"),
            "stop": "end_turn" if reply.stop == "tool_use" else reply.stop,
            "notes": (*reply.notes, note),
        }
    )


def as_activity_failure(
    error: ModelError, used: CallUsage | None, patience: float | None
) -> ApplicationError:
    """Translate once, here: the workflow reads type and details, Temporal reads the rest."""
    wait = error.retry_after if isinstance(error, ModelUnavailable) else None
    told = _too_long(wait, patience)
    return ApplicationError(
        f"{error}{told}",
        *(() if used is None else (used,)),
        type=error.kind,
        non_retryable=bool(told) or not isinstance(error, ModelUnavailable),
        next_retry_delay=None if wait is None else timedelta(seconds=wait),
    )


def _too_long(wait: float | None, patience: float | None) -> str:
    """Say that a wait is longer than anybody has patience for; nothing where it isn't."""
    if wait is None or patience is None or wait <= patience:
        return ""
    return f" (it asks to wait {wait:g} s; after {patience:g} s another model is the better wait)"
