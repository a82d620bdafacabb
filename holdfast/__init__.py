"""
What user code imports: agents, tools of an app, and their settings.

Guardrails are in `holdfast.guardrails`, the tools that come along in `holdfast.tools`, what tests
need in `holdfast.testing`, what starts runs and decides about them in `holdfast.client`.
"""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.activities.notifications import Webhook
    from holdfast.adapters.openai_chat.servers import KNOWN_CHAT_SERVERS, ChatServer
    from holdfast.adapters.pricing import ModelPrice
    from holdfast.agent import Agent
    from holdfast.app import App
    from holdfast.contracts.approvals import Requirement
    from holdfast.contracts.budget import Budget
    from holdfast.contracts.calls import Reconciled
    from holdfast.contracts.control import (
        Backtracking,
        Decomposition,
        Fallback,
        HandoffData,
        Route,
        Tiers,
        Triggers,
    )
    from holdfast.contracts.errors import (
        AnswerLost,
        AppError,
        HoldfastError,
        ModelRejected,
        ModelUnavailable,
        ToolError,
    )
    from holdfast.contracts.model import ModelSettings
    from holdfast.contracts.tools import HostedTool, ResourceScope, Risk
    from holdfast.contracts.transcript import Part
    from holdfast.contracts.usage import CallUsage, UsageMetrics
    from holdfast.delegation import Handoff, SubAgent
    from holdfast.tools.context import ToolContext
    from holdfast.tools.tool import Tool, tool

__all__ = [
    "KNOWN_CHAT_SERVERS",
    "Agent",
    "AnswerLost",
    "App",
    "AppError",
    "Backtracking",
    "Budget",
    "CallUsage",
    "ChatServer",
    "Decomposition",
    "Fallback",
    "Handoff",
    "HandoffData",
    "HoldfastError",
    "HostedTool",
    "ModelPrice",
    "ModelRejected",
    "ModelSettings",
    "ModelUnavailable",
    "Part",
    "Reconciled",
    "Requirement",
    "ResourceScope",
    "Risk",
    "Route",
    "SubAgent",
    "Tiers",
    "Tool",
    "ToolContext",
    "ToolError",
    "Triggers",
    "UsageMetrics",
    "Webhook",
    "tool",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "holdfast.activities.notifications": ("Webhook",),
        "holdfast.adapters.openai_chat.servers": (
            "ChatServer",
            "KNOWN_CHAT_SERVERS",
        ),
        "holdfast.adapters.pricing": ("ModelPrice",),
        "holdfast.agent": ("Agent",),
        "holdfast.app": ("App",),
        "holdfast.contracts.approvals": ("Requirement",),
        "holdfast.contracts.budget": ("Budget",),
        "holdfast.contracts.transcript": ("Part",),
        "holdfast.contracts.control": (
            "Backtracking",
            "Decomposition",
            "Fallback",
            "HandoffData",
            "Route",
            "Tiers",
            "Triggers",
        ),
        "holdfast.contracts.errors": (
            "AnswerLost",
            "AppError",
            "HoldfastError",
            "ModelRejected",
            "ModelUnavailable",
            "ToolError",
        ),
        "holdfast.contracts.model": ("ModelSettings",),
        "holdfast.contracts.calls": ("Reconciled",),
        "holdfast.contracts.tools": (
            "HostedTool",
            "ResourceScope",
            "Risk",
        ),
        "holdfast.contracts.usage": (
            "CallUsage",
            "UsageMetrics",
        ),
        "holdfast.delegation": ("Handoff", "SubAgent"),
        "holdfast.tools.context": ("ToolContext",),
        "holdfast.tools.tool": (
            "Tool",
            "tool",
        ),
    },
)
