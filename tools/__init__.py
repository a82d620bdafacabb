"""What an agent can do: the tool contract, its checks, and how a tool runs. No Temporal."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.tools.builtin import (
        ask_user,
        find_tools,
        http_request,
        list_files,
        read_file,
        read_result,
        report_progress,
        run_command,
        run_python,
        submit_plan,
        write_file,
    )
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
        "holdfast.tools.builtin": (
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
        ),
        "holdfast.tools.egress.exchange": ("HttpAnswer",),
        "holdfast.tools.values.two_part": ("TwoPart",),
    },
)
