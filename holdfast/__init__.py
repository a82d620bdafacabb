"""What user code imports: agents, tools, guardrails, and the scripted model for tests."""

from activities.guardrails.builtin import (
    conflict_detection,
    cost_estimation,
    dependency_check,
    deployment_safety,
    destructive_operations,
    injection_detection,
    judged_by,
    pii_detection,
    project_passes,
    review_approval,
    scope_validation,
    secret_detection,
    spec_compliance,
    static_analysis,
    tests_pass,
)
from activities.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    guardrail,
    not_applicable,
    passed,
    tripped,
)
from activities.notifications import Webhook
from adapters.openai_chat.servers import KNOWN as KNOWN_CHAT_SERVERS
from adapters.openai_chat.servers import ChatServer
from adapters.scripted import Reply, Script, ScriptTurn, call, calls, fail, say, using
from contracts.approvals import Requirement
from contracts.budget import Budget
from contracts.content import Part
from contracts.control import Backtracking, Decomposition, Fallback, Tiers, Triggers
from contracts.errors import (
    AppError,
    HoldfastError,
    ModelRejected,
    ModelUnavailable,
    ToolError,
)
from contracts.guardrails import GuardrailResult, Signals, Subject
from contracts.model import ModelSettings
from contracts.tools import HostedTool, Reconciled, ResourceScope, Risk
from contracts.usage import CallUsage, UsageMetrics
from holdfast.agent import Agent
from holdfast.app import App
from policy.guardrails.personal import redact_pii
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
    "Backtracking",
    "Budget",
    "CallUsage",
    "ChatServer",
    "Decomposition",
    "Fallback",
    "Guardrail",
    "GuardrailContext",
    "GuardrailResult",
    "HoldfastError",
    "HostedTool",
    "HttpAnswer",
    "ModelRejected",
    "ModelSettings",
    "ModelUnavailable",
    "Part",
    "Reconciled",
    "Reply",
    "Requirement",
    "ResourceScope",
    "Risk",
    "Script",
    "ScriptTurn",
    "Signals",
    "Subject",
    "Tiers",
    "Tool",
    "ToolContext",
    "ToolError",
    "Triggers",
    "UsageMetrics",
    "Webhook",
    "ask_user",
    "call",
    "calls",
    "conflict_detection",
    "cost_estimation",
    "dependency_check",
    "deployment_safety",
    "destructive_operations",
    "fail",
    "guardrail",
    "http_request",
    "injection_detection",
    "judged_by",
    "list_files",
    "not_applicable",
    "passed",
    "pii_detection",
    "project_passes",
    "read_file",
    "redact_pii",
    "review_approval",
    "run_command",
    "run_python",
    "say",
    "scope_validation",
    "secret_detection",
    "spec_compliance",
    "static_analysis",
    "submit_plan",
    "tests_pass",
    "tool",
    "tripped",
    "using",
    "write_file",
]
