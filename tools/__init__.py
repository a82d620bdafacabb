"""What an agent can do: the tool contract, its checks, and how a tool runs. No Temporal."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.tools.builtin.asking import ask_user
    from holdfast.tools.builtin.commands import run_command, run_python
    from holdfast.tools.builtin.files import list_files, read_file, write_file
    from holdfast.tools.builtin.finding import find_tools
    from holdfast.tools.builtin.plans import report_progress, submit_plan
    from holdfast.tools.builtin.results import read_result
    from holdfast.tools.builtin.web import http_request
    from holdfast.tools.egress.exchange import HttpAnswer
    from holdfast.tools.values.two_part import TwoPart

if __name__ != "holdfast.tools":
    raise ImportError(
        "import it as holdfast.tools; a folder tools/ of your own has an __init__.py"
    )

__all__ = [
    "HttpAnswer",
    "TwoPart",
    "ask_user",
    "find_tools",
    "http_request",
    "list_files",
    "read_file",
    "read_result",
    "report_progress",
    "run_command",
    "run_python",
    "submit_plan",
    "write_file",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "holdfast.tools.builtin.asking": ("ask_user",),
        "holdfast.tools.builtin.commands": ("run_command", "run_python"),
        "holdfast.tools.builtin.files": ("list_files", "read_file", "write_file"),
        "holdfast.tools.builtin.finding": ("find_tools",),
        "holdfast.tools.builtin.plans": ("report_progress", "submit_plan"),
        "holdfast.tools.builtin.results": ("read_result",),
        "holdfast.tools.builtin.web": ("http_request",),
        "holdfast.tools.egress.exchange": ("HttpAnswer",),
        "holdfast.tools.values.two_part": ("TwoPart",),
    },
)
