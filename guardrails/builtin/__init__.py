"""The guardrails that come with Holdfast, each a function that makes one."""

from collections.abc import Callable, Mapping

from holdfast.guardrails.builtin.calls import (
    conflict_detection,
    cost_estimation,
    dependency_check,
)
from holdfast.guardrails.builtin.code import static_analysis
from holdfast.guardrails.builtin.deployment import deployment_safety
from holdfast.guardrails.builtin.judges import (
    judged_by,
    project_passes,
    review_approval,
    tests_cover,
    tests_pass,
)
from holdfast.guardrails.builtin.scope import scope_validation
from holdfast.guardrails.builtin.shape import spec_compliance
from holdfast.guardrails.builtin.texts import (
    destructive_operations,
    injection_detection,
    pii_detection,
    secret_detection,
)
from holdfast.guardrails.definition import Guardrail

BUILTIN: Mapping[str, Callable[..., Guardrail]] = {
    "scope_validation": scope_validation,
    "destructive_operations": destructive_operations,
    "pii_detection": pii_detection,
    "injection_detection": injection_detection,
    "cost_estimation": cost_estimation,
    "dependency_check": dependency_check,
    "conflict_detection": conflict_detection,
    "static_analysis": static_analysis,
    "secret_detection": secret_detection,
    "spec_compliance": spec_compliance,
    "test_validation": tests_pass,
    "test_coverage": tests_cover,
    "project_test": project_passes,
    "review_approval": review_approval,
    "deployment_safety": deployment_safety,
    "judged_by": judged_by,
}
"""By the name that a guardrail has unless told otherwise, in the order of the layers."""
