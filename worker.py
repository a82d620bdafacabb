"""The composition root: the only place where concrete classes meet. Run as `worker.py APP`."""

import asyncio
import os
import signal
import sys
from datetime import timedelta

import structlog
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

import settings
from activities.model import ModelActivities
from activities.opening import OpeningActivities
from activities.policy import PolicyActivities
from activities.runs import TemporalRuns
from activities.tools import ToolActivities
from activities.transcripts import Transcripts
from adapters.anthropic import AnthropicAdapter
from adapters.base import ModelAdapter
from adapters.openai import OpenAIAdapter
from adapters.openai_chat import OpenAIChatAdapter
from adapters.scripted import ScriptedAdapter
from contracts.errors import AppError, HoldfastError
from contracts.run import TASK_QUEUE
from holdfast import logs
from holdfast.app import App, load_app
from holdfast.connection import connect
from tools.artifacts import FileArtifacts
from tools.process import warm_up
from workflows.agent_run import AgentRun

log = structlog.get_logger()

# The SDK's sandbox looks for non-determinism while runs work, at a quarter of the worker's CPU
# (docs/performance.md). Workflow code here is ours alone: the linter bans clocks, chance and I/O
# in it, imports are checked, and the tests replay in the sandbox.
WORKFLOW_RUNNER = UnsandboxedWorkflowRunner()

# A run whose worker was killed waits this long before any worker may take it over.
STICKY_TIMEOUT = timedelta(seconds=2)

# What an activity may still finish when the worker is told to stop.
GRACE = timedelta(seconds=10)


def adapters(app: App) -> dict[str, ModelAdapter]:
    """All providers by the word before the colon in a model's name."""
    known: tuple[ModelAdapter, ...] = (
        ScriptedAdapter(app.scripts),
        AnthropicAdapter(),
        OpenAIAdapter(),
        OpenAIChatAdapter(app.chat_servers, settings.variable),
    )
    return {adapter.provider: adapter for adapter in known}


def _adapters_of(app: App) -> dict[str, ModelAdapter]:
    """Return the adapters; raises AppError where one is missing."""
    known = adapters(app)
    for agent in app.agents:
        for model in agent.models:
            if model.partition(":")[0] not in known:
                raise AppError(
                    f"agent {agent.name!r}: no provider for model {model!r} "
                    f"(known providers: {', '.join(sorted(known))})"
                )
    return known


def build_worker(
    client: Client, app: App, *, task_queue: str = TASK_QUEUE, cached_transcripts: int = 256
) -> Worker:
    """Put a worker together. Tests and the bench call this too, so they test this product."""
    home = settings.Settings.load().home
    runs = TemporalRuns(client)
    opening = OpeningActivities(app.snapshots(), runs)
    model = ModelActivities(_adapters_of(app), Transcripts(runs, cached_transcripts))
    policy = PolicyActivities(app.registry)
    tools = ToolActivities(app.registry, settings.secret, FileArtifacts(home / "artifacts"))
    warm_up(app.synchronous_modules())
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[AgentRun],
        activities=[
            opening.open_run,
            model.call_model,
            policy.authorize,
            policy.judge,
            policy.record,
            tools.run_tool,
        ],
        workflow_runner=WORKFLOW_RUNNER,
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
        graceful_shutdown_timeout=GRACE,
    )


async def serve(name: str) -> None:
    """Work for one app until the process is told to stop."""
    logs.configure()
    app = load_app(name)
    client = await connect()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with build_worker(client, app):
        log.info("worker.started", app=name, temporal=client.service_client.config.target_host)
        await stopped.wait()


def main() -> int:
    """Run the worker; what keeps it from starting is one line on standard error."""
    name = sys.argv[1] if len(sys.argv) > 1 else settings.Settings.load().app
    if name is None:
        sys.stderr.write("usage: worker.py APP, where APP is module:attribute\n")
        return 2
    try:
        asyncio.run(serve(name))
    except HoldfastError as error:
        sys.stderr.write(f"worker: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # The SDK's threads may abort an interpreter that is shutting down, and with it the exit code.
    os._exit(code)
