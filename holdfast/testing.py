"""Tests of agents without a model: scripts of what one says, and recorded runs to repeat."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.adapters.scripted import Reply, Script, ScriptTurn, call, calls, fail, say, using
    from holdfast.evaluation import recorded

__all__ = ["Reply", "Script", "ScriptTurn", "call", "calls", "fail", "recorded", "say", "using"]

__getattr__, __dir__ = exports(
    __name__,
    {
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
