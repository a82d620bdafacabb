"""Approving and rejecting from the command line, signed where that is needed."""

import sys
from typing import Literal, NamedTuple

import typer
from pydantic import ValidationError
from temporalio.client import Client

from contracts.approvals import Approvable, ApprovalSignal
from contracts.errors import HoldfastError
from holdfast.cli import access, render, requested, signatures
from settings import Settings
from workflows.messages import objections

_STANDARD_INPUT = "-"


class Words(NamedTuple):
    """What a person says about a request: as whom, with which key, or by a token of elsewhere."""

    decision: Literal["approve", "reject"]
    reason: str | None = None
    approver: str | None = None
    key: str | None = None
    token: str | None = None


async def decide(client: Client, run: str, request_id: str | None, words: Words) -> None:
    """Send a decision about a request and say what became of it."""
    if words.token is not None and (words.key is not None or words.approver is not None):
        raise typer.BadParameter("a token says itself who decides: no --key or --approver with it")
    request = await _meant(client, run, request_id, words)
    signature = _signature(run, request, words)
    try:
        message = ApprovalSignal(
            request_id=request.request_id if request else request_id or "",
            decision=words.decision,
            approver=signature.name or "by token",
            reason=words.reason,
            token=signature.token,
        )
    except ValidationError as error:
        raise HoldfastError(objections(error)) from None
    disposition = await access.decide(client, run, message)
    if not disposition.accepted:
        raise HoldfastError(f"refused: {disposition.reason}")
    done = "approved" if words.decision == "approve" else "rejected"
    who = f" as {signature.name}" if signature.name else ""
    more = _still_missing(request) if words.decision == "approve" else ""
    render.console().print(f"{done} {message.request_id} of {run}{who}{more}")


async def _meant(
    client: Client, run: str, request_id: str | None, words: Words
) -> Approvable | None:
    """Return the request, if anything of it has to be known; the run refuses what isn't there."""
    if request_id is not None and words.decision == "reject" and words.key is None:
        return None
    request = await access.approval(client, run, request_id)
    if request is None and words.key is not None:
        raise HoldfastError(f"no request {request_id!r} of run {run!r} waits for approval")
    return request


class _Signature(NamedTuple):
    """Who decides, unless a token of elsewhere says it, and the token if there is one."""

    name: str | None
    token: str | None = None


def _signature(run: str, request: Approvable | None, words: Words) -> _Signature:
    if words.token is not None:
        given = sys.stdin.read() if words.token == _STANDARD_INPUT else words.token
        return _Signature(None, given.strip())
    # A rejection needs no signature.
    needed = request is not None and request.needs_proof and words.decision == "approve"
    if request is None or not (needed or words.key):
        return _Signature(words.approver or Settings.load().user)
    key = signatures.own_key(words.key or words.approver)
    if key.is_locked:
        signatures.needs_terminal()
        # Nobody signs what they haven't seen.
        requested.show_request(render.console(errors=True), run, request)
    passphrase = signatures.passphrase_of(key)
    token = signatures.token(key, passphrase, run, request, words.decision)
    return _Signature(key.name, token)


def _still_missing(request: Approvable | None) -> str:
    missing = request.count - len(request.approvals) - 1 if request else 0
    return f"; {missing} more must approve" if missing > 0 else ""
