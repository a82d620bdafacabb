"""Commands with which people decide about what waits for them."""

import asyncio
import time
from typing import Annotated, Literal, TypeAlias, TypeVar

import typer
from pydantic import TypeAdapter, ValidationError
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from holdfast.cli import deciding, options, render, request_details, run_client, screen, seeing
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.connection import connect
from holdfast.contracts.approvals import (
    Escalation,
    Question,
    Request,
)
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import WORKFLOW_TYPE, StatusReport
from holdfast.contracts.signals import (
    AnswerSignal,
    ResolutionSignal,
    StopSignal,
)
from holdfast.run.summaries import describe_validation_error

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

Message = TypeVar("Message", AnswerSignal, ResolutionSignal, StopSignal)

_STATUS = TypeAdapter(StatusReport)

# Open runs that are asked at the same time.
_MAX_CONCURRENT_QUERIES = 20

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
    found = await _find_all_requests(client) if run is None else await _find_requests(client, run)
    if as_json:
        render.show_json([{"run_id": name, **one.model_dump(mode="json")} for name, one in found])
    elif not found:
        screen.warn("nothing waits")
    else:
        out = Screen()
        for name, request in found:
            request_details.show_request(out, name, request)


@blocking
async def approve(
    run: options.RunId,
    request: options.OneRequest = None,
    *,
    digest: options.Digest = None,
    reason: Reason = None,
    approver: Approver = None,
    key: Key = None,
    token: Token = None,
) -> None:
    """
    Approve a call or a review once you have seen it, signed where it must be.

    Exit code 1 if the run refuses it.
    """
    words = deciding.DecisionOptions("approve", digest, reason, approver, key, token)
    await deciding.decide(await connect(), run, request, words)


@blocking
async def reject(
    run: options.RunId,
    request: options.OneRequest = None,
    *,
    digest: options.Digest = None,
    reason: Reason = None,
    approver: Approver = None,
    key: Key = None,
    token: Token = None,
) -> None:
    """Reject a call, whose agent reads the reason and goes on without it, or a review."""
    words = deciding.DecisionOptions("reject", digest, reason, approver, key, token)
    await deciding.decide(await connect(), run, request, words)


@blocking
async def answer(
    run: options.RunId,
    request: RequestId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    digest: options.Digest = None,
) -> None:
    """Answer a question of an agent once you have seen it."""
    message = _message(AnswerSignal, request_id=request, text=text, by=options.login())
    client = await connect()
    kinds = (Question,)
    found = await seeing.confirm_request(
        client, run, request, kinds, digest=digest, question=f"answer {text!r}?"
    )
    await _send(client, run, "answer", message, found.digest)


@blocking
async def resolve(
    run: options.RunId,
    request: RequestId,
    action: Annotated[
        Literal["resume", "abort", "extend"],
        typer.Argument(help="Go on, end the run, or go on with higher limits."),
    ],
    *,
    digest: options.Digest = None,
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
    message = _message(
        ResolutionSignal,
        request_id=request,
        action=action,
        guidance=guidance,
        budget=budget,
        by=options.login(),
    )
    client = await connect()
    kinds = (Escalation,)
    found = await seeing.confirm_request(
        client, run, request, kinds, digest=digest, question=f"{action}?"
    )
    await _send(client, run, "resolution", message, found.digest)


@blocking
async def stop(
    run: options.RunId,
    reason: Annotated[str, typer.Option(help="Why; it stands in the result.")],
) -> None:
    """End a run with a result: what changes nothing is broken off, a write comes to its end."""
    message = _message(StopSignal, reason=reason, by=options.login())
    await run_client.signal(await connect(), run, "stop", message)
    screen.tell(f"sent to {run}; '{screen.command('watch', run)}' shows its end")


def _message(kind: type[Message], **given: object) -> Message:
    try:
        return kind.model_validate(
            {name: value for name, value in given.items() if value is not None}
        )
    except ValidationError as error:
        raise HoldfastError(describe_validation_error(error)) from None


async def _find_requests(client: Client, run: str) -> list[tuple[str, Request]]:
    description = await run_client.describe(client, run)
    if description.status is not WorkflowExecutionStatus.RUNNING:
        return []
    return [(run, request) for request in await run_client.require_pending(client, run)]


async def _find_all_requests(client: Client) -> list[tuple[str, Request]]:
    runs = await _open_runs(client)
    limit = asyncio.Semaphore(_MAX_CONCURRENT_QUERIES)

    async def query_pending(run: str) -> tuple[Request, ...] | None:
        async with limit:
            return await run_client.find_pending(client, run)

    answers = list(zip(runs, await asyncio.gather(*map(query_pending, runs)), strict=True))
    if silent := [run for run, answer in answers if answer is None]:
        screen.warn(f"no worker answers for {', '.join(silent)}: {run_client.START_A_WORKER}")
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
    client: Client,
    run: str,
    name: Literal["answer", "resolution"],
    message: AnswerSignal | ResolutionSignal,
    digest: str,
) -> None:
    """Send a signal and say what became of it: the run itself judges it, a moment later."""
    before = await run_client.query_run(client, run, "status", _STATUS)
    await run_client.signal(client, run, name, message.model_copy(update={"digest": digest}))
    if before is None or not await _wait_for_acceptance(
        client, run, name, message.request_id, before
    ):
        screen.tell(f"sent to {run}; no worker has taken it yet")
    else:
        screen.tell(f"{run} took the {name} to {message.request_id}")


async def _wait_for_acceptance(
    client: Client, run: str, name: str, request_id: str, before: StatusReport
) -> bool:
    patience = time.monotonic() + run_client.RPC_TIMEOUT.total_seconds()
    while time.monotonic() < patience:
        # The refusals are asked for last: what closed the request may have refused this message.
        pending = await run_client.find_pending(client, run)
        status = await run_client.query_run(client, run, "status", _STATUS)
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
