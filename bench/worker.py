"""A worker in a process of its own, so that nothing else is measured with it."""

import argparse
import asyncio
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    PollerBehaviorAutoscaling,
    UnsandboxedWorkflowRunner,
    WorkerConfig,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

KINDS = ("ours", "uncached", "raw")

AS_IS = "as it is"
SANDBOXED = "sandboxed"
SANDBOXED_ONCE = "sandboxed, workflows/ imported once"
UNSANDBOXED = "unsandboxed"
AUTOSCALING = "poller autoscaling"
LAZY = "no eager activities"
UVLOOP = "uvloop"
PYDANTIC = "pydantic converter"

# What a sandbox needn't import again for every run.
LIBRARIES = ("pydantic", "structlog", "jsonschema_rs")
OURS = ("contracts", "policy", "activities", "adapters", "tools")


class Change(SimplePlugin):
    """Overwrites options of the worker, whoever builds it."""

    def __init__(self, options: WorkerConfig) -> None:
        super().__init__("bench")  # pyright: ignore[reportUnknownMemberType] -- its Callables say nothing
        self._options = options

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        config.update(self._options)  # pyright: ignore[reportUnknownMemberType] -- as above
        return config


def _sandboxed(*passed_through: str) -> WorkerConfig:
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*passed_through)
    return WorkerConfig(workflow_runner=SandboxedWorkflowRunner(restrictions=restrictions))


def _autoscaling() -> WorkerConfig:
    return WorkerConfig(
        workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
    )


VARIANTS: Mapping[str, Callable[[], WorkerConfig]] = {
    AS_IS: WorkerConfig,
    SANDBOXED: lambda: _sandboxed(*LIBRARIES, *OURS),
    SANDBOXED_ONCE: lambda: _sandboxed(*LIBRARIES, *OURS, "workflows"),
    UNSANDBOXED: lambda: WorkerConfig(workflow_runner=UnsandboxedWorkflowRunner()),
    AUTOSCALING: _autoscaling,
    LAZY: lambda: WorkerConfig(disable_eager_activity_execution=True),
    UVLOOP: WorkerConfig,
    PYDANTIC: WorkerConfig,
}
"""What can be changed about a worker: by options, by its event loop, by its converter."""


def has_uvloop() -> bool:
    """Whether uvloop can be imported; it is no dependency."""
    return importlib.util.find_spec("uvloop") is not None


def _working(kind: str, client: Client, queue: str) -> AbstractAsyncContextManager[object]:
    # Each imports only what it needs: the floor knows nothing of ours.
    if kind == "raw":
        from bench.raw import build_raw_worker

        return build_raw_worker(client, queue)
    from bench.app import app
    from holdfast.serving import memory
    from holdfast.worker import run_worker

    memory.settle()
    cached = 0 if kind == "uncached" else 256
    return run_worker(client, app, task_queue=queue, cached_transcripts=cached)


def _convert_for(kind: str, variant: str) -> DataConverter:
    """Return what a worker of this kind converts payloads with, as `connect` gives it to ours."""
    if kind != "raw":
        from holdfast.workflows.payloads import data_converter

        return data_converter
    return pydantic_data_converter if variant == PYDANTIC else DataConverter.default


async def _work(kind: str, address: str, queue: str, variant: str) -> None:
    client = await Client.connect(
        address,
        data_converter=_convert_for(kind, variant),
        plugins=[Change(VARIANTS[variant]())],
    )
    async with _working(kind, client, queue):
        # Ends with the process that started this one, however that ends.
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Work until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m bench.worker", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--address", required=True)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--variant", choices=list(VARIANTS), default=AS_IS)
    given = parser.parse_args()
    loop = importlib.import_module("uvloop").new_event_loop if given.variant == UVLOOP else None
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(_work(given.kind, given.address, given.queue, given.variant))


if __name__ == "__main__":
    main()
