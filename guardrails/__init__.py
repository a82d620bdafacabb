"""Guardrails: how an app defines them, those that come with Holdfast, and what these look for."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.contracts.guardrails import GuardrailResult, Signals, Subject
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
        tests_cover,
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

if __name__ != "holdfast.guardrails":
    raise ImportError(
        "import it as holdfast.guardrails; a folder guardrails/ of your own has an __init__.py"
    )

__all__ = [
    "Guardrail",
    "GuardrailContext",
    "GuardrailResult",
    "Signals",
    "Subject",
    "conflict_detection",
    "cost_estimation",
    "dependency_check",
    "deployment_safety",
    "destructive_operations",
    "guardrail",
    "injection_detection",
    "judged_by",
    "not_applicable",
    "passed",
    "pii_detection",
    "project_passes",
    "redact_pii",
    "review_approval",
    "scope_validation",
    "secret_detection",
    "spec_compliance",
    "static_analysis",
    "tests_cover",
    "tests_pass",
    "tripped",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "holdfast.contracts.guardrails": (
            "GuardrailResult",
            "Signals",
            "Subject",
        ),
        "holdfast.guardrails.builtin": (
            "conflict_detection",
            "cost_estimation",
            "dependency_check",
            "deployment_safety",
            "destructive_operations",
            "injection_detection",
            "judged_by",
            "pii_detection",
            "project_passes",
            "review_approval",
            "scope_validation",
            "secret_detection",
            "spec_compliance",
            "static_analysis",
            "tests_cover",
            "tests_pass",
        ),
        "holdfast.guardrails.definition": (
            "Guardrail",
            "GuardrailContext",
            "guardrail",
            "not_applicable",
            "passed",
            "tripped",
        ),
        "holdfast.guardrails.detectors.personal": ("redact_pii",),
    },
)
