"""What is said of the commands, in the page and in their list, is what they say."""

import subprocess
import sys

import pytest

from holdfast.cli.main import COMMANDS, build_app
from tests.holdfast.cli_page import PAGE, written
from tests.shape.tree import ROOT

WIDE = 1_000

SDKS = {"openai", "anthropic", "httpx2", "genai_prices", "opentelemetry", "prompt_toolkit"}
HEAVY = {"holdfast.app", "holdfast.worker", "temporalio.worker", "joserfc", "cryptography", *SDKS}


def test_the_page_is_what_the_commands_say() -> None:
    """After a change of a command: python -m tests.holdfast.cli_page."""
    assert PAGE.read_text(encoding="utf-8") == written()


def test_the_list_is_what_the_commands_say() -> None:
    """The list of commands has the first sentence of each, in its own words."""
    listed = build_app(None).commands

    loaded = {name: build_app(name).commands[name] for name in COMMANDS}

    assert {name: command.get_short_help_str(WIDE) for name, command in listed.items()} == {
        name: command.get_short_help_str(WIDE) for name, command in loaded.items()
    }


@pytest.mark.slow
def test_the_list_loads_no_command() -> None:
    """`holdfast --help` imports nothing of an app, a worker, or who signs."""
    loaded = _load("from holdfast.cli import main; main.run(['--help'])")

    assert "holdfast.cli.main" in loaded
    assert not {"temporalio", "pydantic", "rich", "structlog", *HEAVY} & loaded


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list", "show"])
def test_looking_at_runs_loads_no_worker(command: str) -> None:
    """Who only looks imports nothing that serves an app, decides a call, signs or logs."""
    loaded = _load(f"from holdfast.cli import main; main.run(['{command}', '--help'])")

    assert "holdfast.cli.runs" in loaded
    assert not {"holdfast.policy.engine", "structlog", "yaml", *HEAVY} & loaded


@pytest.mark.slow
def test_a_worker_loads_no_sdk_of_a_provider() -> None:
    """What asks a model is imported when the first one is asked; so are the prices."""
    loaded = _load("import holdfast.worker")

    assert "temporalio.worker" in loaded
    assert not SDKS & loaded


def _load(program: str) -> set[str]:
    """Return the modules that a program has imported, in a process of its own."""
    told = f"{program}\nimport sys\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.splitlines()[-1].split())
