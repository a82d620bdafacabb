"""What user code imports: agents, tools, and the scripted model for tests."""

from adapters.openai_chat.servers import KNOWN as KNOWN_CHAT_SERVERS
from adapters.openai_chat.servers import ChatServer
from adapters.scripted import Reply, Script, ScriptTurn, call, calls, fail, say, using
from contracts.budget import Budget
from contracts.content import Part
from contracts.errors import (
    AppError,
    HoldfastError,
    ModelRejected,
    ModelUnavailable,
    ToolError,
)
from contracts.model import ModelSettings
from contracts.tools import HostedTool, Reconciled, ResourceScope, Risk
from contracts.usage import CallUsage, UsageMetrics
from holdfast.app import Agent, App
from tools.builtin import (
    ask_user,
    http_request,
    list_files,
    read_file,
    run_command,
    run_python,
    submit_plan,
    write_file,
)
from tools.context import ToolContext
from tools.egress.exchange import HttpAnswer
from tools.tool import Tool, tool

__all__ = [
    "KNOWN_CHAT_SERVERS",
    "Agent",
    "App",
    "AppError",
    "Budget",
    "CallUsage",
    "ChatServer",
    "HoldfastError",
    "HostedTool",
    "HttpAnswer",
    "ModelRejected",
    "ModelSettings",
    "ModelUnavailable",
    "Part",
    "Reconciled",
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
    "http_request",
    "list_files",
    "read_file",
    "run_command",
    "run_python",
    "say",
    "submit_plan",
    "tool",
    "using",
    "write_file",
]
