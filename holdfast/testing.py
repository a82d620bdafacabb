"""Tests without a model: scripts of what one says, recorded runs, what adapters promise."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.adapters.contract import AdapterSamples, check_adapter
    from holdfast.adapters.scripted import Reply, Script, ScriptTurn, call, calls, fail, say, using
    from holdfast.evaluation import recorded

__all__ = [
    "AdapterSamples",
    "Reply",
    "Script",
    "ScriptTurn",
    "call",
    "calls",
    "check_adapter",
    "fail",
    "recorded",
    "say",
    "using",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "holdfast.adapters.contract": ("AdapterSamples", "check_adapter"),
        "holdfast.adapters.scripted": (
            "Reply",
            "Script",
            "ScriptTurn",
            "call",
            "calls",
            "fail",
            "say",
            "using",
        ),
        "holdfast.evaluation": ("recorded",),
    },
)
