"""What is said of the commands, in the page and in their list, is what they say."""

import subprocess
import sys

from holdfast.cli.main import COMMANDS, build_app
from tests.holdfast.cli_page import PAGE, written
from tests.shape.tree import ROOT

WIDE = 1_000


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


def test_the_list_loads_no_command() -> None:
    """`holdfast --help` imports nothing of an app, a worker, or who signs."""
    program = (
        "import sys\n"
        "from holdfast.cli import main\n"
        "code = main.run(['--help'])\n"
        "heavy = {'holdfast.app', 'holdfast.worker', 'temporalio.client', 'joserfc', 'openai'}\n"
        "print(code, heavy & set(sys.modules))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines()[-1] == "0 set()"
