"""Commands that start runs, look at them and steer them."""

from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from temporalio.exceptions import WorkflowAlreadyStartedError

from holdfast.activities.statuses import is_open
from holdfast.cli import options, render, screen, standing
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.cli.watching import show_to_end
from holdfast.client import Holdfast, Run
from holdfast.client.holdfast import MAX_LISTED_RUNS, fresh_id
from holdfast.client.listing import ACTIVE, FAILED, STATUSES
from holdfast.client.messages import build
from holdfast.client.rpc_errors import START_A_WORKER
from holdfast.contracts.budget import Budget
from holdfast.contracts.control import Triggers
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import RUN_ID_RULE, is_run_id
from holdfast.contracts.run import RunInput
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace

MAX_NUMBERED_RETRIES = 100
"""So many ids are tried for a retry before somebody has to choose one."""


@blocking
async def run(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent.")],
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What it shall do.")] = "",
    *,
    input_file: options.InputFile = None,
    wait: options.Wait = True,
    id: Annotated[str | None, typer.Option(metavar="ID", help="The id of the run.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that the run acts for.")] = None,
    actor: options.Actor = None,
    session: Annotated[str | None, typer.Option(help="The session that it belongs to.")] = None,
    domain: Annotated[str | None, typer.Option(help="What it is about, as in payments.")] = None,
    task_kind: Annotated[str | None, typer.Option(help="What kind of task it is.")] = None,
    queue: Annotated[str | None, typer.Option(help="Where its app is, as in desk.")] = None,
    path: options.ProjectPath = None,
    metadata: options.Metadata = None,
    models: options.Models = None,
    plan: options.Plan = False,
    max_steps: options.MaxSteps = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    max_wall_time: options.MaxWallTime = None,
    as_json: options.JsonLines = False,
    with_trace: options.WithTrace = False,
) -> None:
    """Start a run. Exit code: 0 completed, 3 stopped or blocked, 1 failed."""
    options.require_end(with_trace=with_trace, wait=wait, as_json=as_json)
    _check_domain(domain)
    brief = build(
        RunInput,
        agent=agent,
        input=_goal(goal, input_file),
        tenant=tenant,
        actor=actor or options.login(),
        session_id=session,
        domain=domain,
        task_kind=task_kind,
        metadata=options.metadata(metadata, path),
        models=tuple(models or ()),
        mode="plan" if plan else None,
        stream=wait or None,
        budget=options.budget(max_steps, max_tokens, max_cost, max_wall_time),
    )
    _check_id(id)
    holdfast, queue = await options.connect(), queue or options.find_queue()
    started = await _start(holdfast, brief, id or fresh_id(), queue)
    await _follow(holdfast, started, queue, wait=wait, as_json=as_json, with_trace=with_trace)


@blocking
async def retry(
    run: options.RunId,
    *,
    wait: options.Wait = True,
    id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The id of the new run; RUN-retry-N if left out."),
    ] = None,
    actor: options.Actor = None,
    models: options.Models = None,
    max_steps: options.MaxSteps = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    max_wall_time: options.MaxWallTime = None,
    as_json: options.JsonLines = False,
) -> None:
    """
    Try a run again that ended without an answer, in a new run; 'retry' and 'requeue' are one.

    That goes on where the other stopped, and repeats nothing of what it did; nothing that was
    approved there is approved here. Exit codes are those of 'holdfast run'.
    """
    given = _Given(id, actor, tuple(models or ()), wait)
    limits = options.budget(max_steps, max_tokens, max_cost, max_wall_time)
    await _go_on_from(run, given, limits, as_json=as_json)


@blocking
async def fork(
    run: options.RunId,
    *,
    at: Annotated[int, typer.Option(metavar="TURN", min=1, help="The turn that is taken anew.")],
    dry: Annotated[
        bool, typer.Option("--dry", help="Run no tool: calls get what that run recorded.")
    ] = False,
    wait: options.Wait = True,
    id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The id of the new run; RUN-fork-N if left out."),
    ] = None,
    actor: options.Actor = None,
    models: options.Models = None,
    max_steps: options.MaxSteps = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    max_wall_time: options.MaxWallTime = None,
    as_json: options.JsonLines = False,
) -> None:
    """
    Go on otherwise from a turn of a run that is over, in a new run.

    That reads what was said before the turn, and repeats nothing of what was done before or behind
    it; nothing that was approved there is approved here. Exit codes are those of 'holdfast run'.
    """
    given = _Given(id, actor, tuple(models or ()), wait, at, dry)
    limits = options.budget(max_steps, max_tokens, max_cost, max_wall_time)
    await _go_on_from(run, given, limits, as_json=as_json)


class _Given(NamedTuple):
    """What somebody says of a run that goes on from another one."""

    id: str | None
    actor: str | None
    models: tuple[str, ...]
    wait: bool
    at: int | None = None
    dry: bool = False


async def _go_on_from(run: str, given: _Given, limits: Budget | None, *, as_json: bool) -> None:
    """Try a run again, or fork it before a turn."""
    _check_id(given.id)
    holdfast = await options.connect()
    earlier, queue = await _find_earlier(holdfast.run(run), given.at)
    lineage = {"run_id": run, "first_execution_run_id": earlier.first_execution}
    brief = build(
        RunInput,
        agent=earlier.brief.agent if earlier.brief else None,
        tenant=earlier.brief.tenant if earlier.brief else None,
        actor=given.actor or options.login(),
        retry_of={**lineage, "turn": given.at, "dry": given.dry},
        models=given.models,
        stream=given.wait or None,
        budget=limits,
    )
    started = await (
        _start_under_next_id(holdfast, brief, run, queue)
        if given.id is None
        else _start(holdfast, brief, given.id, queue)
    )
    await _follow(holdfast, started, queue, wait=given.wait, as_json=as_json)


async def _find_earlier(run: Run, at: int | None) -> tuple[Trace, str]:
    """
    Return a run that may be tried again, or forked *at* a turn, and its task queue.

    Raises HoldfastError for any other; the new run looks for itself when it begins.
    """
    found = await run.describe()
    if found.workflow_type == SESSION_WORKFLOW_TYPE:
        raise HoldfastError(
            f"{run.id!r} is a session, which goes on with each message: say it once more in a new "
            f"one, and '{screen.command('show', run.id)}' tells how those before ended"
        )
    if is_open(found.status):
        raise HoldfastError(
            f"run {run.id!r} goes on: wait for its end, or '{screen.command('cancel', run.id)}'"
        )
    trace = read_trace(await run.history())
    if trace.status == "blocked" or (trace.status == "completed" and at is None):
        raise HoldfastError(
            f"run {run.id!r} is {trace.status}, and only what failed or was ended is tried again"
        )
    if trace.brief is None:
        raise HoldfastError(f"run {run.id!r} never began: its input can't be used")
    taken = max((turn.number for turn in trace.turns if turn.is_step), default=0)
    if at is not None and at > taken:
        raise HoldfastError(
            f"run {run.id!r} has no turn {at}: its models took {taken}, which "
            f"'{screen.command('trace', run.id)}' shows"
        )
    return trace, found.task_queue


async def _start_under_next_id(holdfast: Holdfast, brief: RunInput, run: str, queue: str) -> Run:
    """
    Start a run under the first of RUN-retry-1, -2, ... or RUN-fork-1, ... that no run has.

    Raises HoldfastError where one of these tries the same run again already: neither would know
    what the other did. Forks are alternatives, of which there may be several.
    """
    word = "fork" if brief.retry_of and brief.retry_of.turn else "retry"
    begins, _, number = run.rpartition(f"-{word}-")
    stem = begins if begins and number.isdecimal() else run
    for number in range(1, MAX_NUMBERED_RETRIES + 1):
        fresh = f"{stem}-{word}-{number}"
        if not is_run_id(fresh):
            raise HoldfastError(f"{fresh!r} is too long for an id: choose an --id")
        with suppress(WorkflowAlreadyStartedError):
            return await holdfast.start_with(brief, fresh, queue)
        if word == "retry" and await _is_retry_of(holdfast.run(fresh), run):
            again = screen.command("retry", fresh)
            raise HoldfastError(
                f"run {run!r} was tried again as {fresh!r}, and another one wouldn't know what "
                f"that did: '{again}' goes on with it once it is over, or choose an --id"
            )
    raise HoldfastError(f"there are {MAX_NUMBERED_RETRIES} such runs of {run!r}: choose an --id")


async def _is_retry_of(taken: Run, run: str) -> bool:
    """
    Whether a run, if it is one, tries another one again, of the same id at least.

    One that was over before it did anything, as its start was refused, tries nothing.
    """
    try:
        trace = read_trace(await taken.history())
        began = trace.entries or trace.first_execution != (await taken.describe()).run_id
    except HoldfastError:
        return False
    earlier = trace.brief.retry_of if trace.brief else None
    if earlier is None or earlier.turn is not None or earlier.run_id != run:
        return False
    return bool(began) or trace.ended is None


async def _follow(
    holdfast: Holdfast,
    started: Run,
    queue: str,
    *,
    wait: bool,
    as_json: bool,
    with_trace: bool = False,
) -> None:
    """Show a run until its end, if that is wanted; else tell its id."""
    if wait:
        await show_to_end(holdfast, started, as_json=as_json, with_trace=with_trace)
    await _tell_start(holdfast, started.id, queue, as_json=as_json)


async def _tell_start(holdfast: Holdfast, run: str, queue: str, *, as_json: bool) -> None:
    """Say what was started, and if nobody seems to take it."""
    if as_json:
        render.show_json({"run_id": run})
    else:
        screen.tell(run)  # nothing but the id, for scripts
    if not await holdfast.has_workers(queue):
        screen.warn(f"no worker asks for work on task queue {queue!r}: {START_A_WORKER}")


def _check_id(id: str | None) -> None:
    if id is not None and not is_run_id(id):
        raise typer.BadParameter(f"{RUN_ID_RULE}: choose another --id")


def _check_domain(domain: str | None) -> None:
    """Refuse a slip of the pen, by which a run would begin what it has to wait with."""
    if domain is None:
        return
    known = Triggers().sensitive_domains
    meant = get_close_matches(domain.strip().casefold(), known, n=1)
    if meant and domain.strip().casefold() not in known:
        raise typer.BadParameter(
            f"no domain {domain!r}: write {meant[0]!r}, or a word that is no likeness of "
            f"{', '.join(known)}"
        )


async def _start(holdfast: Holdfast, brief: RunInput, run_id: str, queue: str) -> Run:
    try:
        return await holdfast.start_with(brief, run_id, queue)
    except WorkflowAlreadyStartedError:
        raise HoldfastError(
            f"there is a run {run_id!r} already: choose another --id, or look at that one with "
            f"'{screen.command('show', run_id)}'"
        ) from None


@blocking
async def list_(
    *,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help=f"One of {', '.join(STATUSES)}.")
    ] = None,
    active: Annotated[
        bool, typer.Option("--active", help="Only what is not over, sessions too.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only runs that ended without an answer, and why.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Only runs of this agent.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only runs for this tenant.")] = None,
    waiting_for: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Only what waits for this group, kind or tool."),
    ] = None,
    trace: options.TraceId = None,
    limit: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=MAX_LISTED_RUNS, help="How many at most, the latest first."
        ),
    ] = 20,
    as_json: options.Json = False,
) -> None:
    """List runs, the latest first."""
    if status is not None and status not in STATUSES:
        raise typer.BadParameter(f"{status!r} is none of {', '.join(STATUSES)}")
    if (status is not None) + active + failed > 1:
        raise typer.BadParameter("one of --status, --active and --failed, not two")
    holdfast = await options.connect()
    found = await holdfast.runs(
        status=status or (ACTIVE if active else FAILED if failed else None),
        agent=agent,
        tenant=tenant,
        waiting_for=waiting_for,
        trace_id=trace,
        limit=limit,
    )
    if as_json:
        render.show_json([entry.model_dump(mode="json") for entry in found])
    elif not found:
        screen.warn("no runs")
    else:
        render.show_runs(Screen(), found)


@blocking
async def show(run: options.RunId, as_json: options.Json = False) -> None:
    """Show where a run stands. Without a worker this comes from its history."""
    asked = (await options.connect()).run(run)
    view = await standing.view(asked)
    await standing.warn_of_pause(asked)
    if as_json:
        render.show_json(view.model_dump(mode="json"))
    else:
        standing.show_view(Screen(), view)


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
