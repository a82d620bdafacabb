"""What all adapters have in common."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from contracts.base import JsonObject
from contracts.errors import ModelUnavailable
from contracts.tools import ToolResult
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect
from tests.adapters.provider_server import ProviderServer

ROOT = Path(__file__).parents[2]


def objects(value: JsonValue) -> list[JsonObject]:
    """Every object inside of a value, and itself."""
    match value:
        case dict():
            return [value, *(inner for part in value.values() for inner in objects(part))]
        case list():
            return [inner for part in value for inner in objects(part)]
        case _:
            return []


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param(say.FOUND, say.FOUND_TEXT, id="success"),
        pytest.param(say.NOT_FOUND, say.NOT_FOUND_TEXT, id="failure"),
    ],
)
def test_result_keeps_its_call_id(adapter: Dialect, result: ToolResult, text: str) -> None:
    """A result names its call in the provider's own field, and says the same to every model."""
    # AD-08, AD-14, AD-17
    rendered = adapter.build_tool_result(result)

    assert result.call_id in rendered.values()
    assert text in rendered.values()


def test_schema_is_the_same_for_every_model(adapter: Dialect) -> None:
    """A tool's schema reaches every provider as it is."""
    # AD-06, TC-01
    tools = adapter.build_request(say.request("m"))["tools"]

    assert say.ORDER_SCHEMA in objects(tools)


async def test_turns_of_another_provider_are_understood(
    provider: ProviderServer, adapter: Dialect
) -> None:
    """A run that changes its model in the middle sends the new one everything there was."""
    # AD-04, LP-09
    provider.answer("not looked at", 500)

    with pytest.raises(ModelUnavailable, match="HTTP 500"):
        await adapter.respond(say.request("m", say.GOAL, say.ASKED_TWICE, say.ANSWERED))


def test_sdks_are_imported_when_first_asked() -> None:
    """A worker that asks no provider never pays for an SDK."""
    # TS-01
    program = (
        "import sys\n"
        "from adapters.anthropic import AnthropicAdapter\n"
        "from adapters.openai import OpenAIAdapter\n"
        "AnthropicAdapter(), OpenAIAdapter()\n"
        "print({'anthropic', 'openai', 'genai_prices', 'httpx2'} & set(sys.modules))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout == "set()\n"
