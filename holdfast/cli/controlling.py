"""Commands that steer a run, hold it, let it go on and end it, signed where policy wants that."""

from typing import Annotated, TypeAlias

import typer

from holdfast.cli import deciding, options, request_details, screen, standing
from holdfast.cli.options import blocking
from holdfast.client import MessageRefused, NoWorker, Run
from holdfast.client.messages import build
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import StatusReport
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.contracts.signals import (
    CloseSignal,
    Control,
    ControlName,
    SteerSignal,
    StopSignal,
    SuspensionSignal,
)

Reason: TypeAlias = Annotated[str | None, typer.Option(help="Why; it stays in the history.")]


@blocking
async def steer(
    run: options.RunId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words for the model.")],
    *,
    now: Annotated[bool, typer.Option("--now", help="Break off what changes nothing.")] = False,
    reason: Reason = None,
    key: options.Key = None,
) -> None:
    """Say something to the model, before its next turn."""
    message = build(SteerSignal, text=text, by=options.login(), now=now, reason=reason)
    asked = (await options.connect()).run(run)
    await _send(asked, "steer", message, _require_work(await _query_status(asked)), key)
    screen.tell(f"sent to {run}; its model reads it before its next turn")


@blocking
async def suspend(run: options.RunId, *, reason: Reason = None, key: options.Key = None) -> None:
    """Hold a run before its next step."""
    message = build(SuspensionSignal, by=options.login(), reason=reason)
    asked = (await options.connect()).run(run)
    await _send(asked, "suspend", message, await _query_status(asked), key)
    screen.tell(
        f"{run} stops before its next step, when what is in flight has ended: "
        f"'{screen.command('show', run)}' tells, '{screen.command('resume', run)}' lets it go on"
    )


@blocking
async def resume(run: options.RunId, *, reason: Reason = None, key: options.Key = None) -> None:
    """Let a suspended run go on."""
    message = build(SuspensionSignal, by=options.login(), reason=reason)
    asked = (await options.connect()).run(run)
    status = await _query_status(asked)
    if status is not None and status.status not in {"suspending", "suspended"}:
        commands = ", ".join(
            request_details.command(run, request) for request in await asked.pending()
        )
        answer = f"; answer what waits: {commands}" if commands else ""
        raise HoldfastError(f"run {run!r} is not suspended{answer}")
    await _send(asked, "resume", message, status, key)
    screen.tell(f"{run} goes on" if status else f"sent to {run}; no worker has taken it yet")


@blocking
async def stop(
    run: options.RunId,
    reason: Annotated[str, typer.Option(help="Why; it stands in the result.")],
    key: options.Key = None,
) -> None:
    """End a run with a result: what changes nothing is broken off, a write comes to its end."""
    message = build(StopSignal, reason=reason, by=options.login())
    asked = (await options.connect()).run(run)
    await _send(asked, "stop", message, _require_work(await _query_status(asked)), key)
    if await _is_session(asked):
        screen.tell(f"sent to {run}; '{screen.command('show', run)}' says how its message ended")
    else:
        screen.tell(f"sent to {run}; '{screen.command('watch', run)}' shows its end")


@blocking
async def close(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The id of the session.")],
    *,
    reason: Reason = None,
    key: options.Key = None,
) -> None:
    """End a session when what was said before is answered; a message opens it again."""
    message = build(CloseSignal, by=options.login(), reason=reason)
    asked = (await options.connect()).run(session)
    if not await _is_session(asked):
        ends = screen.command("stop", session)
        raise HoldfastError(f"{session!r} is a run, and only sessions close: '{ends}' ends it")
    await _send(asked, "close", message, await _query_status(asked), key)
    screen.tell(f"{session} closes when what was said before is answered")


@blocking
async def cancel(run: options.RunId, *, reason: Reason = None) -> None:
    """Cancel a run: tools that run are told to end, nothing new begins."""
    asked = (await options.connect()).run(run)
    await asked.cancel(reason=reason or "", by=options.login())
    await standing.warn_of_pause(asked)
    screen.tell(f"{run} is being cancelled")


async def _query_status(run: Run) -> StatusReport | None:
    await run.describe_open()
    try:
        return await run.status()
    except NoWorker:
        await standing.warn_of_pause(run)
        return None


def _require_work(status: StatusReport | None) -> StatusReport | None:
    """Refuse what is for the work on a message of a session that works on none."""
    if status is not None and status.status == "idle":
        raise HoldfastError(
            f"session {status.run_id!r} works on no message: the next one begins work"
        )
    return status


async def _is_session(run: Run) -> bool:
    return (await run.describe()).workflow_type == SESSION_WORKFLOW_TYPE


async def _send(
    run: Run,
    name: ControlName,
    message: Control,
    status: StatusReport | None,
    key: str | None,
) -> None:
    """Send a signal; one that is signed as an update, which says what became of it."""
    if key is None and (status is None or name not in status.signed):
        await run.signal(name, message)
        return
    outcome = await run.update(name, await deciding.sign(run, name, message, key))
    if not outcome.accepted:
        raise MessageRefused(outcome.reason, outcome.code)
