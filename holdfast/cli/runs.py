"""Commands that start runs, look at them and steer them."""

import asyncio
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from pydantic import JsonValue, TypeAdapter, ValidationError
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from holdfast.cli import list_runs, options, render, request_details, run_client, screen, standing
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.cli.watching import Watch
from holdfast.connection import connect
from holdfast.contracts.control import Triggers
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import (
    RUN_ID_RULE,
    WORKFLOW_TYPE,
    RunInput,
    StatusReport,
    is_run_id,
)
from holdfast.contracts.signals import (
    SteerSignal,
    SuspensionSignal,
)
from holdfast.run.summaries import describe_validation_error, summarise_run
from holdfast.settings import find_task_queue
from holdfast.trace.values import Trace
from holdfast.workflows.run_context import SUMMARY

# How long Temporal waits for a worker to answer a workflow task before it asks another one. It is
# how long a run stands still when its worker is killed; the usual 10 seconds would be felt.
TASK_TIMEOUT = timedelta(seconds=3)

# Without letters and digits that look alike.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"

EXIT_STOPPED = 3

_STATUS = TypeAdapter(StatusReport)

InputFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Text that follows the goal, or is the goal.")
]
Actor: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Whom the run acts for, who can't approve it; you unless given."),
]
Wait: TypeAlias = Annotated[
    bool, typer.Option("--wait/--detach", help="Show progress until the end, or just start.")
]


@blocking
async def run(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent.")],
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What it shall do.")] = "",
    *,
    input_file: InputFile = None,
    wait: Wait = True,
    id: Annotated[str | None, typer.Option(metavar="ID", help="The id of the run.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that the run acts for.")] = None,
    actor: Actor = None,
    session: Annotated[str | None, typer.Option(help="The session that it belongs to.")] = None,
    domain: Annotated[str | None, typer.Option(help="What it is about, as in payments.")] = None,
    task_kind: Annotated[str | None, typer.Option(help="What kind of task it is.")] = None,
    max_steps: options.MaxSteps = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    max_wall_time: options.MaxWallTime = None,
    as_json: options.Json = False,
) -> None:
    """Start a run. Exit code: 0 completed, 3 stopped or blocked, 1 failed."""
    if domain is not None:
        _check_domain(domain)
    brief = _brief(
        agent=agent,
        input=_goal(goal, input_file),
        tenant=tenant,
        actor=actor or options.login(),
        session_id=session,
        domain=domain,
        task_kind=task_kind,
        budget=options.budget(max_steps, max_tokens, max_cost, max_wall_time),
    )
    if id is not None and not is_run_id(id):
        raise typer.BadParameter(f"{RUN_ID_RULE}: choose another --id")
    client = await connect()
    handle = await _start(client, brief, id or _fresh_id())
    if wait:
        trace = await _watch(client, handle, quiet=as_json)
        if as_json:
            render.show_json(_outcome(trace))
        raise typer.Exit(_exit_code(trace))
    if as_json:
        render.show_json({"run_id": handle.id})
    else:
        screen.tell(handle.id)  # nothing but the id, for scripts


def _check_domain(domain: str) -> None:
    """Refuse a slip of the pen, by which a run would begin what it has to wait with."""
    known = Triggers().sensitive_domains
    meant = get_close_matches(domain.strip().casefold(), known, n=1)
    if meant and domain.strip().casefold() not in known:
        raise typer.BadParameter(
            f"no domain {domain!r}: write {meant[0]!r}, or a word that is no likeness of "
            f"{', '.join(known)}"
        )


def _brief(**given: object) -> RunInput:
    try:
        return RunInput.model_validate(
            {name: value for name, value in given.items() if value is not None}
        )
    except ValidationError as error:
        raise HoldfastError(describe_validation_error(error)) from None


async def _watch(client: Client, handle: WorkflowHandle[object, object], *, quiet: bool) -> Trace:
    with _detaching(handle.id):
        return await Watch(client, handle.id, quiet=quiet).until_over(handle.result_run_id or "")


@contextmanager
def _detaching(run: str) -> Generator[None]:
    """Say, to whoever leaves a run with Ctrl-C, that it goes on, and how to come back to it."""
    try:
        yield
    except asyncio.CancelledError:
        screen.warn(
            f"{run} goes on without you: '{screen.command('watch', run)}' comes back to it, "
            f"'{screen.command('cancel', run)}' ends it"
        )
        raise


@blocking
async def watch(run: options.RunId, as_json: options.Json = False) -> None:
    """
    Follow a run that exists, as 'run' does, until it ends; Ctrl-C leaves it to itself.

    Exit code: 0 completed, 3 stopped or blocked, 1 failed.
    """
    client = await connect()
    known = await run_client.describe(client, run)
    *earlier, _ = await run_client.history(client, run, known.run_id)
    with _detaching(run):
        trace = await Watch(client, run, quiet=as_json).until_over(
            known.run_id, earlier=earlier, known=known.history_length
        )
    if as_json:
        render.show_json(_outcome(trace))
    raise typer.Exit(_exit_code(trace))


async def _start(client: Client, brief: RunInput, run_id: str) -> WorkflowHandle[object, object]:
    summary = summarise_run(brief.agent, brief.input)
    try:
        return await client.start_workflow(
            WORKFLOW_TYPE,
            # Limits that were not given must not be sent: those of the agent hold.
            brief.model_dump(mode="json", exclude_unset=True),
            id=run_id,
            task_queue=find_task_queue(),
            task_timeout=TASK_TIMEOUT,
            # People look at a run, and decide about it, by its id: no second one may have it.
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            static_summary=summary,
            memo={SUMMARY: summary},
        )
    except WorkflowAlreadyStartedError:
        raise HoldfastError(
            f"there is a run {run_id!r} already: choose another --id, or look at that one with "
            f"'{screen.command('show', run_id)}'"
        ) from None


@blocking
async def list_(
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help=f"One of {', '.join(list_runs.STATUSES)}.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Only runs of this agent.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only runs for this tenant.")] = None,
    waiting_for: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Only what waits for this group, kind or tool."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most, the latest first.")] = 20,
    as_json: options.Json = False,
) -> None:
    """List runs, the latest first."""
    if status is not None and status not in list_runs.STATUSES:
        raise typer.BadParameter(f"{status!r} is none of {', '.join(list_runs.STATUSES)}")
    wanted = list_runs.Wanted(status, agent, tenant, waiting_for)
    found = await list_runs.runs(await connect(), wanted, limit)
    if as_json:
        render.show_json([entry.model_dump(mode="json") for entry in found])
    elif not found:
        screen.warn("no runs")
    else:
        list_runs.show(Screen(), found)


@blocking
async def show(run: options.RunId, as_json: options.Json = False) -> None:
    """Show where a run stands. Without a worker this comes from its history."""
    view = await standing.view(await connect(), run)
    if as_json:
        render.show_json(view.model_dump(mode="json"))
    else:
        standing.show_view(Screen(), view)


@blocking
async def steer(
    run: options.RunId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words for the model.")],
) -> None:
    """Say something to the model, before its next turn."""
    try:
        message = SteerSignal(text=text, by=options.login())
    except ValidationError as error:
        raise HoldfastError(describe_validation_error(error)) from None
    await run_client.signal(await connect(), run, "steer", message)
    screen.tell(f"sent to {run}; its model reads it before its next turn")


@blocking
async def suspend(run: options.RunId) -> None:
    """Hold a run before its next step."""
    message = SuspensionSignal(by=options.login())
    await run_client.signal(await connect(), run, "suspend", message)
    screen.tell(
        f"{run} stops before its next step, when what is in flight has ended: "
        f"'{screen.command('show', run)}' tells, '{screen.command('resume', run)}' lets it go on"
    )


@blocking
async def resume(run: options.RunId) -> None:
    """Let a suspended run go on."""
    client = await connect()
    await run_client.describe_open(client, run)
    status = await run_client.query_run(client, run, "status", _STATUS)
    if status is not None and status.status not in {"suspending", "suspended"}:
        waiting = await run_client.find_pending(client, run) or ()
        commands = ", ".join(request_details.command(run, request) for request in waiting)
        answer = f"; answer what waits: {commands}" if commands else ""
        raise HoldfastError(f"run {run!r} is not suspended{answer}")
    await run_client.signal(client, run, "resume", SuspensionSignal(by=options.login()))
    screen.tell(f"{run} goes on" if status else f"sent to {run}; no worker has taken it yet")


@blocking
async def cancel(run: options.RunId) -> None:
    """Cancel a run: tools that run are told to end, nothing new begins."""
    client = await connect()
    await run_client.describe_open(client, run)
    await client.get_workflow_handle(run).cancel(reason=f"asked for by {options.login()}")
    screen.tell(f"{run} is being cancelled")


def _goal(goal: str, input_file: Path | None) -> str:
    if input_file is None:
        if not goal.strip():
            raise typer.BadParameter("say what the agent shall do, in GOAL or --input-file")
        return goal
    try:
        text = input_file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{input_file} is no text in UTF-8") from None
    except OSError as error:
        raise typer.BadParameter(f"{input_file}: {error.strerror}") from None
    if not (goal.strip() or text.strip()):
        raise typer.BadParameter(f"{input_file} is empty, and so is GOAL")
    return f"{goal}\n\n{text}" if goal.strip() else text


def _fresh_id() -> str:
    return "run-" + "".join(secrets.choice(_ALPHABET) for _ in range(7))


def _outcome(trace: Trace) -> dict[str, JsonValue]:
    if trace.result is not None:
        return {"run_id": trace.run_id, **trace.result.model_dump(mode="json")}
    return {"run_id": trace.run_id, "status": trace.status, "failure": trace.failure}


def _exit_code(trace: Trace) -> int:
    match trace.status:
        case "completed":
            return 0
        case "stopped" | "blocked":
            return EXIT_STOPPED
        case "failed" | "cancelled" | "terminated" | "timed_out":
            return 1
        case "running" | "waiting" | "suspending" | "suspended":
            return 1
