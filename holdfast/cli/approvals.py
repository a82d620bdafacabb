"""Commands with which people decide about what waits for them."""

from typing import Annotated, Literal, TypeAlias

import typer

from holdfast.activities.statuses import is_open
from holdfast.cli import deciding, options, render, request_details, screen, seeing
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.client import Holdfast, NoWorker, PendingRequest, Run
from holdfast.client.messages import build
from holdfast.contracts.approvals import Escalation, Question, Request
from holdfast.contracts.signals import (
    AnswerSignal,
    ResolutionSignal,
)

RequestId: TypeAlias = Annotated[
    str, typer.Argument(metavar="REQUEST", help="The id of the request, from 'holdfast pending'.")
]
Reason: TypeAlias = Annotated[str | None, typer.Option(help="Why; it stays in the history.")]
Approver: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who decides; your user name unless given.")
]
Token: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="TOKEN", help="A token that was signed elsewhere; - reads it."),
]


@blocking
async def pending(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="One run; all open ones if left out.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what waits for a person, with everything needed to judge it."""
    holdfast = await options.connect()
    found = await (
        _find_all_requests(holdfast) if run is None else _find_requests(holdfast.run(run))
    )
    if as_json:
        render.show_json(
            [{"run_id": one.run.id, **one.request.model_dump(mode="json")} for one in found]
        )
    elif not found:
        screen.warn("nothing waits")
    else:
        out = Screen()
        for one in found:
            request_details.show_request(out, one.run.id, one.request)


@blocking
async def approve(
    run: options.RunId,
    request: options.OneRequest = None,
    *,
    digest: options.Digest = None,
    reason: Reason = None,
    approver: Approver = None,
    key: options.Key = None,
    token: Token = None,
) -> None:
    """
    Approve a call or a review once you have seen it, signed where it must be.

    Exit code 1 if the run refuses it.
    """
    words = deciding.DecisionOptions("approve", digest, reason, approver, key, token)
    await deciding.decide((await options.connect()).run(run), request, words)


@blocking
async def reject(
    run: options.RunId,
    request: options.OneRequest = None,
    *,
    digest: options.Digest = None,
    reason: Reason = None,
    approver: Approver = None,
    key: options.Key = None,
    token: Token = None,
) -> None:
    """Reject a call, whose agent reads the reason and goes on without it, or a review."""
    words = deciding.DecisionOptions("reject", digest, reason, approver, key, token)
    await deciding.decide((await options.connect()).run(run), request, words)


@blocking
async def answer(
    run: options.RunId,
    request: RequestId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    digest: options.Digest = None,
    *,
    key: options.Key = None,
) -> None:
    """Answer a question of an agent once you have seen it."""
    message = build(AnswerSignal, request_id=request, text=text, by=options.login())
    asked = (await options.connect()).run(run)
    kinds = (Question,)
    found = await seeing.confirm_request(
        asked, request, kinds, digest=digest, question=f"answer {text!r}?"
    )
    await _send(asked, "answer", message.with_digest(found.digest), key, found)


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
    key: options.Key = None,
) -> None:
    """Say how an escalated run goes on."""
    budget = options.budget(max_steps, max_tokens, max_cost, max_wall_time)
    if action == "extend" and budget is None:
        raise typer.BadParameter("extend needs a limit, e.g. --max-steps 50")
    if action != "extend" and budget is not None:
        raise typer.BadParameter("only extend takes limits")
    message = build(
        ResolutionSignal,
        request_id=request,
        action=action,
        guidance=guidance,
        budget=budget,
        by=options.login(),
    )
    asked = (await options.connect()).run(run)
    kinds = (Escalation,)
    found = await seeing.confirm_request(
        asked, request, kinds, digest=digest, question=f"{action}?"
    )
    await _send(asked, "resolution", message.with_digest(found.digest), key, found)


async def _send(
    run: Run,
    name: Literal["answer", "resolution"],
    message: AnswerSignal | ResolutionSignal,
    key: str | None,
    request: Request,
) -> None:
    """Send a signal, signed where that is wanted, and say what became of it."""
    if key is not None or await run.wants_signature(name):
        message = await deciding.sign(run, name, message, key, request)
    taken = await run.send(name, message)
    said = f"{run.id} took the {name} to {message.request_id}"
    screen.tell(said if taken else f"sent to {run.id}; no worker has taken it yet")


async def _find_requests(run: Run) -> list[PendingRequest]:
    description = await run.describe()
    if not is_open(description.status):
        return []
    waiting = await seeing.read_from_asking_runs(run, await run.pending())
    return [PendingRequest(run, request) for request in waiting]


async def _find_all_requests(holdfast: Holdfast) -> list[PendingRequest]:
    found: list[PendingRequest] = []
    try:
        async for one in holdfast.pending():
            found.append(one)  # noqa: PERF401 -- those that came before the error count
    except NoWorker as error:
        screen.warn(str(error))
    return found
