"""Commands with which people decide about what waits for them."""

import asyncio
import sys
import time
from typing import Annotated, Literal, TypeAlias

import typer
from pydantic import TypeAdapter, ValidationError
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from contracts.approvals import (
    AnswerSignal,
    Escalation,
    Question,
    Request,
    ResolutionSignal,
)
from contracts.errors import HoldfastError
from contracts.run import WORKFLOW_TYPE, StatusReport
from holdfast.cli import access, deciding, options, render, requested
from holdfast.cli.options import blocking
from holdfast.connection import connect
from workflows.messages import objections

RequestId: TypeAlias = Annotated[
    str, typer.Argument(metavar="REQUEST", help="The id of the request, from 'holdfast pending'.")
]
Reason: TypeAlias = Annotated[str | None, typer.Option(help="Why; it stays in the history.")]
Approver: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who decides; your user name unless given.")
]
Key: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sign with this key of yours; done unasked where needed."),
]
Token: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="TOKEN", help="A token that was signed elsewhere; - reads it."),
]

_STATUS = TypeAdapter(StatusReport)

# Open runs that are asked at the same time.
_AT_ONCE = 20

# Runs of a worker that began without search attributes may wait too.
_OPEN = f"WorkflowType = '{WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'"
_WAITING = f"{_OPEN} AND (AgentPending IS NOT NULL OR AgentStatus IS NULL)"


@blocking
async def pending(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="One run; all open ones if left out.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what waits for a person, with everything needed to judge it."""
    client = await connect()
    found = await _of_all(client) if run is None else await _of_one(client, run)
    if as_json:
        render.show_json([{"run_id": name, **one.model_dump(mode="json")} for name, one in found])
    elif not found:
        print("nothing waits", file=sys.stderr)  # noqa: T201 -- standard output is for requests
    else:
        out = render.console()
        for name, request in found:
            requested.show_request(out, name, request)


@blocking
async def approve(
    run: options.RunId,
    request: options.OneRequest = None,
    reason: Reason = None,
    approver: Approver = None,
    key: Key = None,
    token: Token = None,
) -> None:
    """Approve a call or a review, signed where it must be. Exit code 1 if the run refuses it."""
    words = deciding.Words("approve", reason, approver, key, token)
    await deciding.decide(await connect(), run, request, words)


@blocking
async def reject(
    run: options.RunId,
    request: options.OneRequest = None,
    reason: Reason = None,
    approver: Approver = None,
    key: Key = None,
    token: Token = None,
) -> None:
    """Reject a call, whose agent reads the reason and goes on without it, or a review."""
    words = deciding.Words("reject", reason, approver, key, token)
    await deciding.decide(await connect(), run, request, words)


@blocking
async def answer(
    run: options.RunId,
    request: RequestId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
) -> None:
    """Answer a question of an agent."""
    try:
        message = AnswerSignal(request_id=request, text=text)
    except ValidationError as error:
        raise HoldfastError(objections(error)) from None
    await _send(run, "answer", message)


@blocking
async def resolve(
    run: options.RunId,
    request: RequestId,
    action: Annotated[
        Literal["resume", "abort", "extend"],
        typer.Argument(help="Go on, end the run, or go on with higher limits."),
    ],
    *,
    guidance: Annotated[str | None, typer.Option(help="Words for the model.")] = None,
    max_steps: options.MaxSteps = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    max_wall_time: options.MaxWallTime = None,
) -> None:
    """Say how an escalated run goes on."""
    budget = options.budget(max_steps, max_tokens, max_cost, max_wall_time)
    if action == "extend" and budget is None:
        raise typer.BadParameter("extend needs a limit, e.g. --max-steps 50")
    if action != "extend" and budget is not None:
        raise typer.BadParameter("only extend takes limits")
    given = {"request_id": request, "action": action, "guidance": guidance, "budget": budget}
    try:
        message = ResolutionSignal.model_validate(
            {name: value for name, value in given.items() if value is not None}
        )
    except ValidationError as error:
        raise HoldfastError(objections(error)) from None
    await _send(run, "resolution", message)


async def _of_one(client: Client, run: str) -> list[tuple[str, Request]]:
    description = await access.describe(client, run)
    if description.status is not WorkflowExecutionStatus.RUNNING:
        return []
    return [(run, request) for request in await access.pending(client, run)]


async def _of_all(client: Client) -> list[tuple[str, Request]]:
    runs = await _open_runs(client)
    limit = asyncio.Semaphore(_AT_ONCE)

    async def asked(run: str) -> tuple[Request, ...] | None:
        async with limit:
            return await access.ask(client, run, "pending", access.REQUESTS)

    answers = list(zip(runs, await asyncio.gather(*map(asked, runs)), strict=True))
    if silent := [run for run, answer in answers if answer is None]:
        print(  # noqa: T201 -- standard output is for requests
            f"no worker answers for {', '.join(silent)}: {access.START_A_WORKER}", file=sys.stderr
        )
    return [(run, request) for run, answer in answers for request in answer or ()]


async def _open_runs(client: Client) -> list[str]:
    try:
        return [run.id async for run in client.list_workflows(_WAITING)]
    except RPCError as error:
        if error.status is not RPCStatusCode.INVALID_ARGUMENT:
            raise
        # The server lacks the search attributes: any open run may wait.
        return [run.id async for run in client.list_workflows(_OPEN)]


async def _send(
    run: str, name: Literal["answer", "resolution"], message: AnswerSignal | ResolutionSignal
) -> None:
    """Send a signal and say what became of it: the run itself judges it, a moment later."""
    client = await connect()
    await access.describe_open(client, run)
    before = await access.ask(client, run, "status", _STATUS)
    await _check_open(client, run, message)
    await access.signal(client, run, name, message)
    if before is None or not await _taken(client, run, name, message.request_id, before):
        render.console().print(f"sent to {run}; no worker has taken it yet")
    else:
        render.console().print(f"{run} took the {name} to {message.request_id}")


async def _check_open(client: Client, run: str, message: AnswerSignal | ResolutionSignal) -> None:
    """Refuse a message that fits no open request; where no worker answers, the run will."""
    found = await access.ask(client, run, "pending", access.REQUESTS)
    if found is None:
        return
    request = next((one for one in found if one.request_id == message.request_id), None)
    if request is None:
        names = ", ".join(one.request_id for one in found)
        what_is = f"open: {names}" if names else "none is open"
        raise HoldfastError(f"no request {message.request_id!r} of run {run!r} waits; {what_is}")
    if not isinstance(request, Question if isinstance(message, AnswerSignal) else Escalation):
        raise HoldfastError(
            f"request {request.request_id!r} of run {run!r} waits for something else: "
            f"{requested.command(run, request)}"
        )


async def _taken(
    client: Client, run: str, name: str, request_id: str, before: StatusReport
) -> bool:
    patience = time.monotonic() + access.PATIENCE.total_seconds()
    while time.monotonic() < patience:
        # The refusals are asked for last: what closed the request may have refused this message.
        pending = await access.ask(client, run, "pending", access.REQUESTS)
        status = await access.ask(client, run, "status", _STATUS)
        if pending is None or status is None:
            return False
        known = max(0, len(status.refused) - (status.refused_total - before.refused_total))
        for refused in status.refused[known:]:
            if (refused.signal, refused.request_id) == (name, request_id):
                raise HoldfastError(f"refused: {refused.reason}")
        if request_id not in {request.request_id for request in pending}:
            return True
        await asyncio.sleep(0.1)
    return False
