"""Deciding from the command line, signed where that is needed, by a key of the person there."""

import sys
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeVar

import typer

from holdfast import signing
from holdfast.cli import options, screen, seeing
from holdfast.client import MessageRefused, Run
from holdfast.client.messages import build
from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRequest,
    Request,
    Review,
)
from holdfast.contracts.base import Inbound
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ControlSignal,
    ResolutionSignal,
    SignedSignal,
)
from holdfast.settings import Settings

Signed = TypeVar("Signed", bound=AnswerSignal | ResolutionSignal | ControlSignal)

_STANDARD_INPUT = "-"


class DecisionOptions(NamedTuple):
    """
    What a person says about a request: as whom, with which key, or by a token of elsewhere.

    `digest` is that of the request as they saw it.
    """

    decision: Literal["approve", "reject"]
    digest: str | None = None
    reason: str | None = None
    approver: str | None = None
    key: str | None = None
    token: str | None = None


async def decide(run: Run, request_id: str | None, words: DecisionOptions) -> None:
    """Have a person see a request, send what they decide, and say what became of it."""
    signed = words.token is not None
    if signed and (words.key is not None or words.approver is not None):
        raise typer.BadParameter("a token says itself who decides: no --key or --approver with it")
    kinds, question = (ApprovalRequest, Review), f"{words.decision}?"
    request = await seeing.confirm_request(
        run, request_id, kinds, digest=words.digest, question=question, signed=signed
    )
    signature = _signature(run.find_asking(request).id, request, words)
    message = build(
        ApprovalSignal,
        request_id=request.request_id,
        digest=request.digest,
        decision=words.decision,
        approver=signature.name or "by token",
        reason=words.reason,
        token=signature.token,
    )
    outcome = await run.decide(message)
    if not outcome.accepted:
        raise MessageRefused(outcome.reason, outcome.code)
    done = "approved" if words.decision == "approve" else "rejected"
    who = f" as {signature.name}" if signature.name else ""
    more = _still_missing(request) if words.decision == "approve" else ""
    screen.tell(f"{done} {message.request_id} of {run.id}{who}{more}")


class _Signature(NamedTuple):
    """Who decides, unless a token of elsewhere says it, and the token if there is one."""

    name: str | None
    token: str | None = None


def _signature(run: str, request: Approvable, words: DecisionOptions) -> _Signature:
    if words.token is not None:
        given = sys.stdin.read() if words.token == _STANDARD_INPUT else words.token
        return _Signature(None, given.strip())
    # A rejection needs no signature.
    if not ((request.needs_proof and words.decision == "approve") or words.key):
        return _Signature(words.approver or options.login())
    key = own_key(words.key or words.approver)
    signed = sign_decision(key, passphrase_of(key), run, request, words.decision)
    return _Signature(key.name, signed)


def _still_missing(request: Approvable) -> str:
    missing = request.count - len(request.approvals) - 1
    return f"; {missing} more must approve" if missing > 0 else ""


def own_key(wanted: str | None = None) -> "signing.OwnKey":
    """Return the key to sign with: the one named, else the user's, else the only one there is."""
    found = Settings.load()
    return signing.choose(signing.keys_in(found.keys), found.keys, wanted, found.user)


def passphrase_of(key: "signing.OwnKey") -> str | None:
    """Ask for the passphrase of a key, if it has one."""
    return ask_passphrase(f"passphrase of key {key.name!r}: ") if key.has_passphrase else None


def ask_passphrase(question: str) -> str:
    """Ask the person at the terminal for words that nobody else shall see."""
    if not sys.stdin.isatty():
        raise HoldfastError("a passphrase is needed: run this on a terminal")
    try:
        return screen.ask_secret(question)
    except EOFError:
        raise HoldfastError("no passphrase was given") from None


def sign_decision(
    key: "signing.OwnKey",
    passphrase: str | None,
    run: str,
    request: Approvable,
    decision: Literal["approve", "reject"],
) -> str:
    """Sign a decision about one request of a run."""
    return signing.sign_decision(key, passphrase, run, request, decision, datetime.now(UTC))


async def sign(
    run: Run,
    signal: SignedSignal,
    message: Signed,
    key: str | None,
    request: Request | None = None,
) -> Signed:
    """Sign a signal to a run, about a request or none, with the key named, or a person's own."""
    own = own_key(key)
    token = await sign_signal(run, signal, message, own, passphrase_of(own), request)
    return message.with_token(token)


async def sign_signal(
    run: Run,
    signal: SignedSignal,
    message: Inbound,
    key: "signing.OwnKey",
    passphrase: str | None,
    request: Request | None = None,
) -> str:
    """
    Return a token for a signal to a run.

    Where it is about the *request* of a part it is for that, by the id that the request has there.
    """
    if request is not None and request.run_id:
        run = run.find_asking(request)
        message = message.model_copy(update={"request_id": request.own_id})
    found = await run.describe()
    about = run.id, found.raw_description.workflow_execution_info.first_run_id
    return signing.sign_signal(key, passphrase, about, signal, message, datetime.now(UTC))
