"""
Talking to runs from Python: what the command line does, for programs.

All of it can be done with a plain Temporal client and JSON too (docs/plain_client.md).
"""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.client.events import EventType, RunEvent
    from holdfast.client.holdfast import Holdfast, PendingRequest
    from holdfast.client.listing import ACTIVE, FAILED, RunEntry
    from holdfast.client.run import Run
    from holdfast.client.session import Session
    from holdfast.contracts.errors import MessageRefused, NoWorker

__all__ = [
    "ACTIVE",
    "FAILED",
    "EventType",
    "Holdfast",
    "MessageRefused",
    "NoWorker",
    "PendingRequest",
    "Run",
    "RunEntry",
    "RunEvent",
    "Session",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "holdfast.client.events": ("EventType", "RunEvent"),
        "holdfast.client.holdfast": ("Holdfast", "PendingRequest"),
        "holdfast.client.listing": ("ACTIVE", "FAILED", "RunEntry"),
        "holdfast.client.run": ("Run",),
        "holdfast.client.session": ("Session",),
        "holdfast.contracts.errors": ("MessageRefused", "NoWorker"),
    },
)
