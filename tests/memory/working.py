"""One attempt of an activity, made as the SDK's worker makes it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from temporalio import activity
from temporalio.activity import _Definition as Definition  # pyright: ignore[reportPrivateUsage] -- as a worker reads it
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.activity_result import ActivityExecutionResult
from temporalio.common import RawValue
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

Told = Callable[[Sequence[Payload]], None]
"""Takes what a heartbeat tells."""


class MemoryWorker:
    """Activities as a worker has them: by their names, with one for all other names."""

    def __init__(
        self,
        activities: Sequence[Callable[..., object]],
        interceptors: Sequence[Interceptor],
        converter: DataConverter,
        queue: str,
    ) -> None:
        known = [Definition.must_from_callable(each) for each in activities]  # pyright: ignore[reportUnknownMemberType] -- of any functions
        self._activities = {each.name: each for each in known}
        self.interceptors = interceptors
        self.converter = converter
        self.queue = queue

    def find(self, name: str) -> Definition:
        """Return the activity of this name. Raises ApplicationError where there is none."""
        found = self._activities.get(name) or self._activities.get(None)
        if found is None:
            raise ApplicationError(f"no activity {name!r}", type="NotFoundError")
        return found


class Attempt:
    """An attempt under way; it can be cancelled by whoever asked for it, or lost."""

    def __init__(self, worker: MemoryWorker, info: activity.Info, told: Told) -> None:
        self._worker = worker
        self._told = told
        self._cancelled = False
        self._environment = ActivityEnvironment()
        self._environment.info = info
        self._environment.payload_converter = worker.converter.payload_converter

    def cancel(self) -> None:
        """Ask it to end; it may take its time, or not listen."""
        self._cancelled = True
        self._environment.cancel()

    def inform(self, heartbeat: Sequence[object]) -> None:
        """Tell it what an earlier attempt told with its last heartbeat."""
        info = self._environment.info
        self._environment.info = replace(info, heartbeat_details=heartbeat)

    async def perform(self, given: Sequence[Payload]) -> ActivityExecutionResult:
        """Make the attempt, and return what history would have of it."""
        ended, converter = ActivityExecutionResult(), self._worker.converter
        try:
            result = await self._execute(given)
            [payload] = await converter.encode([result])
            ended.completed.result.CopyFrom(payload)
        except (asyncio.CancelledError, CancelledError) as error:
            if self._cancelled:
                cancelled = CancelledError("Cancelled")
                await converter.encode_failure(cancelled, ended.cancelled.failure)
            elif isinstance(error, CancelledError):
                await converter.encode_failure(error, ended.failed.failure)
            else:
                raise
        except Exception as error:  # noqa: BLE001 -- whatever it raises is how it ends
            await converter.encode_failure(error, ended.failed.failure)
        return ended

    async def _execute(self, given: Sequence[Payload]) -> object:
        info = self._environment.info
        found = self._worker.find(info.activity_type)
        input_ = ExecuteActivityInput(
            fn=cast("Callable[..., object]", found.fn),  # pyright: ignore[reportUnknownMemberType] -- of any function
            args=await self._decode(found, given),
            executor=None,
            headers={},
        )
        innermost = _Innermost()
        chain: ActivityInboundInterceptor = innermost
        for interceptor in reversed(self._worker.interceptors):
            chain = interceptor.intercept_activity(chain)
        chain.init(_Outermost(info, self._heartbeat))
        self._environment.on_heartbeat = innermost.heartbeat
        return await self._environment.run(chain.execute_activity, input_)

    async def _decode(self, found: Definition, given: Sequence[Payload]) -> Sequence[object]:
        kinds: list[type] | None = found.arg_types
        if found.name is None:
            kinds = [RawValue] * len(given)
        elif kinds is not None and len(kinds) != len(given):
            kinds = None
        try:
            values = await self._worker.converter.decode(given, kinds) if given else []
        except Exception as error:
            raise ApplicationError("Failed decoding arguments") from error
        return [values] if found.name is None else values

    def _heartbeat(self, *details: object) -> None:
        self._told(self._worker.converter.payload_converter.to_payloads(details))


class _Innermost(ActivityInboundInterceptor):
    """Runs the activity itself, behind all that stands before it."""

    def __init__(self) -> None:
        self._outbound: ActivityOutboundInterceptor | None = None

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        self._outbound = outbound

    def heartbeat(self, *details: object) -> None:
        """Take a heartbeat of the activity, and give it to whoever stands before that."""
        assert self._outbound is not None
        self._outbound.heartbeat(*details)

    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        return await input.fn(*input.args)


class _Outermost(ActivityOutboundInterceptor):
    """Takes what an activity says when all have seen it that stand between."""

    def __init__(self, info: activity.Info, heartbeat: Callable[..., None]) -> None:
        self._info = info
        self._heartbeat = heartbeat

    def info(self) -> activity.Info:
        return self._info

    def heartbeat(self, *details: object) -> None:
        self._heartbeat(*details)
