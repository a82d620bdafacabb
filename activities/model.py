"""The activity `call_model`: one question to a model, one complete reply."""

import time
from collections.abc import Mapping
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeating
from activities.transcripts import Transcripts
from adapters.base import ModelAdapter
from contracts.errors import ModelError, ModelRejected, ModelUnavailable
from contracts.model import ModelCall, ModelReply, ModelRequest


class ModelActivities:
    """Asks models through the adapters of their providers."""

    def __init__(self, adapters: Mapping[str, ModelAdapter], transcripts: Transcripts) -> None:
        self._adapters = adapters
        self._transcripts = transcripts

    @activity.defn
    async def call_model(self, call: ModelCall) -> ModelReply:
        """
        Ask the model once with the whole transcript, of which *call* brings only what is new.

        Raises ModelUnavailable (retried), ModelRejected (not retried) or TranscriptMismatch.
        """
        async with heartbeating():
            provider, _, model = call.model.partition(":")
            request = ModelRequest(
                run_id=call.run_id,
                turn=call.turn,
                attempt=activity.info().attempt,
                model=model,
                prefix=await self._transcripts.prefix(call),
                transcript=await self._transcripts.view(call),
                provider_state=call.provider_state,
            )
            began = time.monotonic()
            try:
                reply = await self._adapter(provider, call.model).respond(request)
            except ModelError as error:
                raise as_activity_failure(error) from error
            spent = round((time.monotonic() - began) * 1000)
            return reply.model_copy(
                update={"model": call.model, "latency_ms": reply.latency_ms or max(spent, 1)}
            )

    def _adapter(self, provider: str, model: str) -> ModelAdapter:
        adapter = self._adapters.get(provider)
        if adapter is None:
            known = ", ".join(sorted(self._adapters))
            raise ModelRejected(f"no provider for model {model!r} (known providers: {known})")
        return adapter


def as_activity_failure(error: ModelError) -> ApplicationError:
    """Translate once, here: the workflow reads `type`, Temporal reads the rest."""
    wait = error.retry_after if isinstance(error, ModelUnavailable) else None
    return ApplicationError(
        str(error),
        type=type(error).__name__,
        non_retryable=not isinstance(error, ModelUnavailable),
        next_retry_delay=None if wait is None else timedelta(seconds=wait),
    )
