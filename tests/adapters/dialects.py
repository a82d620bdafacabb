"""Every adapter that speaks to a provider; a new one joins by one line in ADAPTERS."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

from adapters.anthropic import AnthropicAdapter
from adapters.base import ModelAdapter
from adapters.openai import OpenAIAdapter
from contracts.base import JsonObject
from contracts.model import ModelReply, ModelRequest
from contracts.tools import ToolResult
from contracts.usage import UsageMetrics


class Dialect(ModelAdapter, Protocol):
    """An adapter whose translations can be looked at one by one."""

    def build_request(self, request: ModelRequest) -> JsonObject: ...

    def build_tool_result(self, result: ToolResult) -> JsonObject: ...

    def parse_response(self, raw: JsonObject) -> ModelReply: ...

    def extract_usage(self, raw: JsonObject) -> UsageMetrics: ...


class DialectType(Protocol):
    """How an adapter is made."""

    def __call__(self, timeout: timedelta = ...) -> Dialect: ...


ADAPTERS: Mapping[str, DialectType] = {"anthropic": AnthropicAdapter, "openai": OpenAIAdapter}
