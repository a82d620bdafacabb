"""The composition root: the only place where concrete classes meet. Run as `worker.py APP`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

from temporalio.client import Client
from temporalio.worker import Interceptor, Worker

from holdfast import connection, excepthooks, logs, runner, settings
from holdfast.activities.authority.basis import Basis
from holdfast.activities.authority.keys import Keys
from holdfast.activities.authority.late_calls import LateCallReader, LateCalls, Ruler
from holdfast.activities.capabilities import Capabilities, CapabilityActivities
from holdfast.activities.dispatch import NamedActivities
from holdfast.activities.guardrails import GuardrailActivities
from holdfast.activities.holders import TemporalHolders
from holdfast.activities.kill_switch.switches import KillSwitch, TemporalKillSwitch
from holdfast.activities.model import ModelActivities
from holdfast.activities.notifications import NotificationActivities, OpenRequests
from holdfast.activities.opening import EarlierRuns, OpeningActivities, Searchability
from holdfast.activities.policy import PolicyActivities, PolicyEnvironment
from holdfast.activities.project import ProjectActivities
from holdfast.activities.redaction import RedactionInterceptor
from holdfast.activities.runs import TemporalEarlierRuns, TemporalRuns
from holdfast.activities.sessions.archive import Archive, open_archive
from holdfast.activities.sessions.earlier import EarlierSessions, TemporalEarlierSessions
from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.activities.tools import BeginsBy, ToolActivities
from holdfast.activities.transcripts import RunReader, TranscriptInterceptor, Transcripts
from holdfast.activities.webhooks import WebhookMessenger
from holdfast.adapters.base import ModelAdapter
from holdfast.adapters.catalogue import PriceList
from holdfast.adapters.registry import Setup, build_adapters
from holdfast.app import App, load_app
from holdfast.client.archiving import sweep_runs
from holdfast.connection import CREDENTIALS, build_client, connect, find_secrets, require_codec
from holdfast.contracts.errors import AppError, HoldfastError
from holdfast.contracts.run import sandbox_queue
from holdfast.contracts.switches import SWITCHES
from holdfast.contracts.texts import escape_invisible
from holdfast.event_log import log
from holdfast.event_order import LocalSecondsInterceptor
from holdfast.guardrails.definition import ResourceClaims
from holdfast.serving import memory
from holdfast.serving.slots import LocalActivityCounter, WorkflowSlots, build_tuner
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.builtin.results import read_result
from holdfast.tools.egress.client import Egress
from holdfast.tools.egress.names import look_up_apart
from holdfast.tools.execution import Executor, WorkerExecutor
from holdfast.tools.process import warm_up
from holdfast.tools.redaction import Redactor
from holdfast.tools.sandbox.calls import SandboxExecutor
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.workspaces import Workspaces
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.agent_session import AgentSession
from holdfast.workflows.execution.naming import SummaryInterceptor
from holdfast.workflows.switches import HoldfastSwitches

if __name__ == "worker":  # as "__mp_main__" it is where synchronous tools run
    raise ImportError("import it as holdfast.worker")

# Sandboxed calls beside each other: each may take half a gigabyte and all of a processor.
MAX_CONCURRENT_SANDBOX_ACTIVITIES = 2 * (os.cpu_count() or 1) + 2

# What an activity may still finish when the worker is told to stop.
GRACEFUL_SHUTDOWN_TIMEOUT = timedelta(seconds=10)


class RunDirectory(RunReader, Searchability, OpenRequests, LateCallReader, Protocol):
    """Knows all that activities ask of runs, and of the server that has them."""


class Surroundings(NamedTuple):
    """What activities have beside their app: they ask nobody else for anything of a run."""

    runs: RunDirectory
    earlier_runs: EarlierRuns
    switches: KillSwitch
    holders: ResourceClaims
    secrets: settings.KnownSecrets
    redactor: Redactor
    earlier_sessions: EarlierSessions
    own_files: tuple[Path, ...]
    archive: Archive | None = None
    has_codec: bool = False


def adapters(app: App) -> dict[str, ModelAdapter]:
    """All providers by the word before the colon in a model's name."""
    return build_adapters(
        Setup(app.scripts, app.chat_servers, settings.variable, plugged=app.adapters)
    )


def _require_adapters(app: App) -> dict[str, ModelAdapter]:
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


@asynccontextmanager
async def run_worker(
    client: Client,
    app: App,
    *,
    task_queue: str | None = None,
    switches_name: str = SWITCHES,
    cached_transcripts: int = 256,
    archive: str | None = None,
) -> AsyncGenerator[str]:
    """
    Serve an app while the block lasts: of its calls, those that HOLDFAST_SANDBOX leaves to us.

    The queue, which it gives, is *task_queue*, or HOLDFAST_TASK_QUEUE, or else the app's own.
    *archive* is where the app's is if it doesn't say. Raises AppError where it can't work.
    """
    found = settings.Settings.load()
    task_queue = task_queue or found.task_queue or app.queue
    if task_queue == switches_name:
        raise AppError(f"queue {task_queue!r} is that of the kill switch: choose another")
    async with AsyncExitStack() as stack:
        switches = await stack.enter_async_context(_keep_switches(client, switches_name))
        client = await build_client(client, app.codec)
        around = _build_surroundings(app, found, client, switches, archive)
        flaw = await stack.enter_async_context(
            _run_sandbox_worker(client, app, task_queue, found, around)
        )
        if found.sandbox == "only":
            yield task_queue
            return
        # The loop's threads are left to those who need them: no name and no process takes any.
        look_up_apart(asyncio.get_running_loop())
        warm_up(app.synchronous_modules())
        await stack.enter_async_context(sweep_runs(client, around.archive, task_queue))
        slots, transcripts = WorkflowSlots(), Transcripts(around.runs, cached_transcripts)
        inner = TranscriptInterceptor(transcripts), LocalActivityCounter(slots)
        worker = Worker(
            client,
            task_queue=task_queue,
            workflows=[AgentRun, AgentSession],
            activities=build_activities(app, found, around, transcripts, has_sandbox=flaw is None),
            workflow_runner=runner.build_runner(client.data_converter),
            workflow_task_executor=runner.build_workflow_threads(),
            interceptors=build_interceptors(around.redactor, *inner),
            tuner=build_tuner(slots),
            **connection.POLLING,
            graceful_shutdown_timeout=GRACEFUL_SHUTDOWN_TIMEOUT,
            max_workflow_task_external_storage_concurrency=1,  # or each payload has a task
        )
        await stack.enter_async_context(runner.run_worker(worker))
        await stack.enter_async_context(memory.giving_back())
        yield task_queue


def _build_surroundings(
    app: App, found: settings.Settings, client: Client, switches: KillSwitch, place: str | None
) -> Surroundings:
    archive = open_archive(app.archive or place)
    archived = () if archive is None else (archive.folder,)
    secrets = build_known_secrets(app, find_secrets(client))
    return Surroundings(
        TemporalRuns(client),
        TemporalEarlierRuns(client),
        switches,
        TemporalHolders(client),
        secrets,
        Redactor(secrets),
        TemporalEarlierSessions(client),
        (*found.own_files, *archived, *app.policy.live_files),
        archive,
        require_codec(client, app.regulated_agents),
    )


def build_activities(
    app: App,
    found: settings.Settings,
    around: Surroundings,
    transcripts: Transcripts,
    *,
    has_sandbox: bool,
) -> list[Callable[..., object]]:
    """Build all that a worker does for runs, but in a sandbox."""
    policy = _build_policy(app, found, around, has_sandbox=has_sandbox)
    model = _build_model_activities(app, transcripts, around.redactor)
    prices = PriceList(adapters(app))
    opening = OpeningActivities(
        *(app.snapshots(), around.runs, prices, around.earlier_runs, tuple(app.policy.signals)),
        has_codec=around.has_codec,
    )
    sessions = SessionActivities(
        around.archive, around.earlier_sessions, has_codec=around.has_codec
    )
    kept = FileArtifacts(found.home / "artifacts")
    place = WorkerExecutor(around.secrets.give, kept, around.own_files, app.policy.file)
    tools = _build_tools(app, found, around, place, policy.authorize)
    guarding = GuardrailActivities(app.guardrails(), around.holders, around.redactor, app.name)
    return [
        opening.open_run,
        opening.read_earlier_run,
        sessions.load_session,
        sessions.save_session,
        sessions.save_conversation,
        CapabilityActivities(_find_capabilities(app)).find_worker,
        model.call_model,
        policy.authorize,
        policy.judge,
        policy.record,
        policy.mark_judged,
        NamedActivities(tools, guarding).run,
        *_build_notify_activities(app, around.runs),
    ]


def build_interceptors(redactor: Redactor, *innermost: Interceptor) -> list[Interceptor]:
    """Build what stands between these activities and history, from the outside inwards."""
    ours = LocalSecondsInterceptor(), RedactionInterceptor(redactor), SummaryInterceptor()
    return [*ours, *innermost]


@asynccontextmanager
async def _keep_switches(client: Client, name: str) -> AsyncGenerator[TemporalKillSwitch]:
    """Follow the switches of the namespace, and help to keep them, as every worker does."""
    worker = Worker(
        client,
        task_queue=name,
        workflows=[HoldfastSwitches],
        workflow_runner=runner.RUNNER,
        max_cached_workflows=0,
        max_concurrent_workflow_task_polls=connection.SWITCH_POLLS,
        max_workflow_task_external_storage_concurrency=1,
    )
    async with runner.run_worker(worker), TemporalKillSwitch(client, name) as switches:
        yield switches


@asynccontextmanager
async def _run_sandbox_worker(
    client: Client, app: App, task_queue: str, found: settings.Settings, around: Surroundings
) -> AsyncGenerator[str | None]:
    """Serve sandboxed calls, if this process does; yield why nobody does, if so."""
    sandboxed = app.registry.select_for_sandbox(by_rule=app.policy.has_sandbox_rule)
    match found.sandbox:
        case "none":
            yield "HOLDFAST_SANDBOX is none"
            return
        case "elsewhere":
            yield None
            return
        case "local" if not (sandboxed or any(one.project for one in app.agents)):
            yield "none of the app's tools runs in it"
            return
        case "local" | "only":
            pass
    archived = () if around.archive is None else (around.archive.folder,)
    sandbox = Sandbox(found.home, hidden=(*found.private_files, *archived))
    flaw = await _prepare_sandbox(sandbox, app, found)
    rule = _build_policy(app, found, around, has_sandbox=True).authorize
    tools = _build_tools(app, found, around, SandboxExecutor(sandbox, Egress(), flaw), rule)
    projects = ProjectActivities(Workspaces(found.home, own=around.own_files), around.redactor)
    async with Worker(
        client,
        task_queue=sandbox_queue(task_queue),
        activities=[
            tools.run_tool,
            projects.open_project,
            projects.snapshot_workspace,
            projects.restore_workspace,
        ],
        interceptors=[RedactionInterceptor(around.redactor)],
        max_concurrent_activities=MAX_CONCURRENT_SANDBOX_ACTIVITIES,
        graceful_shutdown_timeout=GRACEFUL_SHUTDOWN_TIMEOUT,
    ):
        yield flaw


async def _prepare_sandbox(sandbox: Sandbox, app: App, found: settings.Settings) -> str | None:
    """Prepare the sandbox; say why there is none, if so. Raises HoldfastError if it is all."""
    flaw = await sandbox.flaw()
    if flaw is None:
        await sandbox.prepare(app.registry.select_for_sandbox(by_rule=app.policy.has_sandbox_rule))
        log.info("sandbox.ready")
    elif found.sandbox == "only":
        raise HoldfastError(f"HOLDFAST_SANDBOX is only, and there is no sandbox: {flaw}")
    else:
        log.warning("sandbox.missing", reason=flaw)
    return flaw


def _build_policy(
    app: App, found: settings.Settings, around: Surroundings, *, has_sandbox: bool
) -> PolicyActivities:
    app.policy.require_environment(found.environment)
    here = PolicyEnvironment(app.policy, found.environment, has_sandbox, app.name)
    keys = Keys(app.policy.issuers, app.policy.folder, found.approvers)
    return PolicyActivities(app.registry, here, keys, around.switches)


def _build_tools(
    app: App, found: settings.Settings, around: Surroundings, place: Executor, rule: Ruler
) -> ToolActivities:
    """Build the activities of an app's tools, which run in one place."""
    readers = (agent.name for agent in app.agents if read_result in agent.tools)
    artifacts = FileArtifacts(found.home / "artifacts", readers)
    by = Basis(app.name, app.policy, found.environment)
    begins_by = BeginsBy(by, around.switches, LateCalls(around.runs, rule))
    return ToolActivities(app.registry, place, artifacts, around.redactor, begins_by)


def _build_model_activities(app: App, known: Transcripts, redactor: Redactor) -> ModelActivities:
    shapes = app.build_output_adapters()
    return ModelActivities(_require_adapters(app), known, shapes, redactor, app.name)


def _find_capabilities(app: App) -> Capabilities:
    """Return what the app has the code for."""
    return Capabilities(
        app.name,
        frozenset(agent.name for agent in app.agents),
        frozenset(contract.name for contract in app.registry.contracts()),
        frozenset(guardrail.spec.name for guardrail in app.guardrails()),
    )


def build_known_secrets(app: App, own: frozenset[str] = frozenset()) -> settings.KnownSecrets:
    """Return what this process keeps out of history and logs, with what is its *own*."""
    providers = (adapter.credentials for adapter in adapters(app).values())
    passwords = settings.find_passwords(one.base_url for one in app.chat_servers.values())
    return settings.KnownSecrets(CREDENTIALS.union(*providers), own | passwords)


def _build_notify_activities(app: App, runs: OpenRequests) -> list[Callable[..., object]]:
    """Return the activity that tells somebody outside, if the app names one."""
    if app.notify is None:
        return []
    messenger = WebhookMessenger(app.notify, settings.secret)
    return [NotificationActivities(messenger, runs, app.name).notify]


def heed_signals() -> asyncio.Event:
    """Return what is set when this process is told to stop, also by a closed terminal."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    runner.leave_threads(loop)
    return stopped


async def serve(name: str) -> None:
    """Work for one app until the process is told to stop. Raises HoldfastError if it can't."""
    logs.configure(Redactor(settings.KnownSecrets(CREDENTIALS)).text)
    app = load_app(name)
    memory.settle()
    client = await connect()
    secrets = build_known_secrets(app, find_secrets(client))
    logs.configure(Redactor(secrets).text, stacks=app.codec is None)
    stopped = heed_signals()
    async with run_worker(client, app) as queue:
        server = client.service_client.config.target_host
        log.info("worker.started", app=name, queue=queue, temporal=server)
        await stopped.wait()


def main() -> int:
    """Run the worker; what keeps it from starting is one line on standard error."""
    excepthooks.capture()
    name = sys.argv[1] if len(sys.argv) > 1 else settings.Settings.load().app
    if name is None:
        sys.stderr.write("usage: python worker.py APP, where APP is module:attribute\n")
        return 2
    try:
        asyncio.run(serve(name))
    except HoldfastError as error:
        sys.stderr.write(f"worker.py: {escape_invisible(str(error))}\n")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # The SDK's threads may abort an interpreter that is shutting down, and with it the exit code.
    os._exit(code)
