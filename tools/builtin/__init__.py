"""Tools that come with Holdfast."""

from tools.builtin.asking import ask_user
from tools.builtin.commands import run_command, run_python
from tools.builtin.files import list_files, read_file, write_file
from tools.builtin.plans import submit_plan
from tools.builtin.web import http_request

__all__ = [
    "ask_user",
    "http_request",
    "list_files",
    "read_file",
    "run_command",
    "run_python",
    "submit_plan",
    "write_file",
]
