"""What user code imports: agents, tools, guardrails, and the scripted model for tests."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.activities.notifications import Webhook
    from holdfast.adapters.openai_chat.servers import KNOWN_CHAT_SERVERS, ChatServer
    from holdfast.adapters.scripted import Reply, Script, ScriptTurn, call, calls, fail, say, using
    from holdfast.agent import Agent
    from holdfast.app import App
    from holdfast.contracts.approvals import Requirement
    from holdfast.contracts.budget import Budget
    from holdfast.contracts.content import Part
    from holdfast.contracts.control import Backtracking, Decomposition, Fallback, Tiers, Triggers
    from holdfast.contracts.errors import (
        AnswerLost,
        AppError,
        HoldfastError,
        ModelRejected,
        ModelUnavailable,
        ToolError,
    )
    from holdfast.contracts.guardrails import GuardrailResult, Signals, Subject
    from holdfast.contracts.model import ModelSettings
    from holdfast.contracts.tools import HostedTool, Reconciled, ResourceScope, Risk
    from holdfast.contracts.usage import CallUsage, UsageMetrics
    from holdfast.guardrails.builtin import (
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
    from holdfast.guardrails.definition import (
        Guardrail,
        GuardrailContext,
        guardrail,
        not_applicable,
        passed,
        tripped,
    )
    from holdfast.guardrails.detectors.personal import redact_pii
    from holdfast.tools.builtin import (
        ask_user,
        http_request,
        list_files,
        read_file,
        run_command,
        run_python,
        submit_plan,
        write_file,
    )
    from holdfast.tools.context import ToolContext
    from holdfast.tools.egress.exchange import HttpAnswer
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

# Where each name lives: it is imported when it is first used (PEP 562), so that who needs a
# contract doesn't load the platform.
_HOMES = {
    "Agent": "holdfast.agent",
    "AnswerLost": "holdfast.contracts.errors",
    "App": "holdfast.app",
    "AppError": "holdfast.contracts.errors",
    "Backtracking": "holdfast.contracts.control",
    "Budget": "holdfast.contracts.budget",
    "CallUsage": "holdfast.contracts.usage",
    "ChatServer": "holdfast.adapters.openai_chat.servers",
    "Decomposition": "holdfast.contracts.control",
    "Fallback": "holdfast.contracts.control",
    "Guardrail": "holdfast.guardrails.definition",
    "GuardrailContext": "holdfast.guardrails.definition",
    "GuardrailResult": "holdfast.contracts.guardrails",
    "HoldfastError": "holdfast.contracts.errors",
    "HostedTool": "holdfast.contracts.tools",
    "HttpAnswer": "holdfast.tools.egress.exchange",
    "KNOWN_CHAT_SERVERS": "holdfast.adapters.openai_chat.servers",
    "ModelRejected": "holdfast.contracts.errors",
    "ModelSettings": "holdfast.contracts.model",
    "ModelUnavailable": "holdfast.contracts.errors",
    "Part": "holdfast.contracts.content",
    "Reconciled": "holdfast.contracts.tools",
    "Reply": "holdfast.adapters.scripted",
    "Requirement": "holdfast.contracts.approvals",
    "ResourceScope": "holdfast.contracts.tools",
    "Risk": "holdfast.contracts.tools",
    "Script": "holdfast.adapters.scripted",
    "ScriptTurn": "holdfast.adapters.scripted",
    "Signals": "holdfast.contracts.guardrails",
    "Subject": "holdfast.contracts.guardrails",
    "Tiers": "holdfast.contracts.control",
    "Tool": "holdfast.tools.tool",
    "ToolContext": "holdfast.tools.context",
    "ToolError": "holdfast.contracts.errors",
    "Triggers": "holdfast.contracts.control",
    "UsageMetrics": "holdfast.contracts.usage",
    "Webhook": "holdfast.activities.notifications",
    "ask_user": "holdfast.tools.builtin",
    "call": "holdfast.adapters.scripted",
    "calls": "holdfast.adapters.scripted",
    "conflict_detection": "holdfast.guardrails.builtin",
    "cost_estimation": "holdfast.guardrails.builtin",
    "dependency_check": "holdfast.guardrails.builtin",
    "deployment_safety": "holdfast.guardrails.builtin",
    "destructive_operations": "holdfast.guardrails.builtin",
    "fail": "holdfast.adapters.scripted",
    "guardrail": "holdfast.guardrails.definition",
    "http_request": "holdfast.tools.builtin",
    "injection_detection": "holdfast.guardrails.builtin",
    "judged_by": "holdfast.guardrails.builtin",
    "list_files": "holdfast.tools.builtin",
    "not_applicable": "holdfast.guardrails.definition",
    "passed": "holdfast.guardrails.definition",
    "pii_detection": "holdfast.guardrails.builtin",
    "project_passes": "holdfast.guardrails.builtin",
    "read_file": "holdfast.tools.builtin",
    "redact_pii": "holdfast.guardrails.detectors.personal",
    "review_approval": "holdfast.guardrails.builtin",
    "run_command": "holdfast.tools.builtin",
    "run_python": "holdfast.tools.builtin",
    "say": "holdfast.adapters.scripted",
    "scope_validation": "holdfast.guardrails.builtin",
    "secret_detection": "holdfast.guardrails.builtin",
    "spec_compliance": "holdfast.guardrails.builtin",
    "static_analysis": "holdfast.guardrails.builtin",
    "submit_plan": "holdfast.tools.builtin",
    "tests_pass": "holdfast.guardrails.builtin",
    "tool": "holdfast.tools.tool",
    "tripped": "holdfast.guardrails.definition",
    "using": "holdfast.adapters.scripted",
    "write_file": "holdfast.tools.builtin",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
