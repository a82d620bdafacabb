"""What user code imports: agents, tools, and the scripted model for tests."""

from adapters.scripted import Reply, Script, ScriptTurn, call, calls, fail, say, using
from contracts.budget import Budget
from contracts.errors import (
    AppError,
    HoldfastError,
    ModelRejected,
    ModelUnavailable,
    ToolError,
)
from contracts.tools import ResourceScope, Risk
from contracts.usage import UsageMetrics
from holdfast.app import Agent, App
from tools.builtin import ask_user
from tools.context import ToolContext
from tools.tool import Tool, tool

__all__ = [
    "Agent",
    "App",
    "AppError",
    "Budget",
    "HoldfastError",
    "ModelRejected",
    "ModelUnavailable",
    "Reply",
    "ResourceScope",
    "Risk",
    "Script",
    "ScriptTurn",
    "Tool",
    "ToolContext",
    "ToolError",
    "UsageMetrics",
    "ask_user",
    "call",
    "calls",
    "fail",
    "say",
    "tool",
    "using",
]
