"""What the options of a hosted tool may say: a version of it, never another tool."""

import pytest

from holdfast import Agent, App, AppError, HostedTool
from holdfast.contracts.base import JsonObject


def app(name: str, options: JsonObject) -> App:
    hosted = [HostedTool(name=name, options=options)]
    return App(agents=[Agent(name="it", instructions="Go.", models=["openai:x"], hosted=hosted)])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("web_search", {"type": "mcp", "server_url": "https://x", "require_approval": "never"}),
        ("web_search", {"type": "shell"}),
        ("code_execution", {"type": "bash_20250124", "name": "bash"}),
        ("web_search", {"type": None}),
        ("web_fetch", {"name": "bash"}),
        ("web_search", {"type": "code_interpreter"}),
    ],
)
def test_options_make_no_other_tool(name: str, options: JsonObject) -> None:
    """A harmless name is no cover: what the provider is told is what it runs."""
    # HT-02 T-28
    with pytest.raises(AppError, match="its options name another tool"):
        app(name, options)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("web_search", "web_search_20250305"),
        ("web_search", "web_search_preview_2025_03_11"),
        ("code_execution", "code_interpreter"),
        ("file_search", "file_search"),
    ],
)
def test_options_may_name_a_version(name: str, kind: str) -> None:
    """Providers have several versions of their tools."""
    assert app(name, {"type": kind}).agents
