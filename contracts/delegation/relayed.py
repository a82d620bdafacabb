"""Requests of a run's parts on their way up, what people say about them on its way down."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from holdfast.contracts.approvals import Request
from holdfast.contracts.base import Inbound, JsonObject
from holdfast.contracts.signals import MessageOutcome, Name

RELAYED_SIGNALS = frozenset({"held", "requests", "verdict"})
"""The signals that the parts of a run send it, and no person."""


def _read_once(value: object) -> object:
    """Have what comes as JSON made values once; each field that lacks would make them anew."""
    return value


class RequestsSignal(Inbound):
    """The signal `requests`: all that waits for people in a run that works for this one."""

    run_id: str
    requests: Annotated[tuple[Request, ...], BeforeValidator(_read_once)]


class ForwardedSignal(Inbound):
    """
    The signal `forwarded`: what was said to the run that this one works for, about a request here.

    `message` is the object of `signal` as it was sent, with the request's id in this run.
    """

    forward_id: Name
    signal: Literal["approval", "answer", "resolution"]
    message: Annotated[JsonObject, Field(max_length=20)]


class VerdictSignal(Inbound):
    """The signal `verdict`: what became of a message that was forwarded to a part of this run."""

    forward_id: Name
    outcome: MessageOutcome
