"""An activity as a worker runs it: nothing leaves it but through the worker's interceptor."""

from collections.abc import Awaitable, Callable
from typing import Any

from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.testing import ActivityEnvironment
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
)

from holdfast.activities.redaction import RedactionInterceptor
from holdfast.tools.redaction import Redactor


class _Outside(ActivityOutboundInterceptor):
    """What hears heartbeats."""

    def __init__(self, environment: ActivityEnvironment) -> None:
        self._environment = environment

    def heartbeat(self, *details: Any) -> None:  # noqa: ANN401 -- as the SDK says it
        self._environment.on_heartbeat(*details)


class _Inside(ActivityInboundInterceptor):
    """The activity itself, which takes its heartbeat from whoever intercepts it."""

    def __init__(self) -> None: ...

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        context = activity._Context.current()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as the SDK's own does
        context.heartbeat = outbound.heartbeat

    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        return await input.fn(*input.args)


async def leaving(
    environment: ActivityEnvironment,
    redactor: Redactor,
    work: Callable[..., Awaitable[object]],
    *arguments: object,
) -> Payload:
    """Run an activity in its surroundings, and return the payload that leaves it."""

    async def run() -> Payload:
        intercepted = RedactionInterceptor(redactor).intercept_activity(_Inside())
        intercepted.init(_Outside(environment))
        asked = ExecuteActivityInput(fn=work, args=arguments, executor=None, headers={})
        left = await intercepted.execute_activity(asked)
        assert isinstance(left, RawValue)
        return left.payload

    return await environment.run(run)
