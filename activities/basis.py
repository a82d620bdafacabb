"""By what a worker decides about a call: told with each decision, and compared where it begins."""

from collections.abc import Callable
from typing import TypeAlias

from holdfast.contracts.base import digest
from holdfast.policy.rules import Policy
from holdfast.tools.tool import Tool

Basis: TypeAlias = Callable[[Tool], str]

SHORT = 16
"""Digits; it stands in history twice for each call."""


def basis(tool: Tool, policy: Policy, environment: str) -> str:
    """Return what is the same for workers that decide alike about the calls of a tool."""
    return digest([policy.digest, environment, tool.digest])[:SHORT]
