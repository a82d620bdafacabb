"""Tools that run programs, each in a sandbox of its own."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Annotated, TypeAlias

from pydantic import Field

from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import ResourceScope, Risk
from holdfast.tools.tool import tool

MAX_TAIL_BYTES = 8_000
"""Bytes of each output that are told: the end, where programs say what went wrong."""

MAX_RUN_SECONDS = 110.0
"""Seconds; the tools' own limit leaves time to tell what a program wrote before it was ended."""

_DRAIN_SECONDS = 1.0
"""Seconds that what is left of an output has to arrive."""

_SCRIPT = Path("/tmp/script.py")  # noqa: S108 -- the sandbox's own, empty at each call

Seconds: TypeAlias = Annotated[
    float, Field(gt=0, le=MAX_RUN_SECONDS, description="How long it may run.")
]


@dataclass(frozen=True)
class Ended:
    """
    How a program ended: no exit code when it was ended at its limit.

    `omitted` says how many bytes stand before the end of each output that is shown.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    omitted: int


@tool(
    risk=Risk.PROCESS_EXECUTION,
    scope=ResourceScope(kind="command", argument="command"),
    timeout=120,
    expected_result="the program has run in the workspace of this run, without network",
    rollback="only files of the workspace can have changed",
)
def run_command(
    command: Annotated[
        list[Annotated[str, Field(max_length=20_000)]],
        Field(min_length=1, max_length=500, description="The program and each argument."),
    ],
    seconds: Seconds = 60.0,
) -> Ended:
    """
    Run a program in the workspace, without a shell, without network and without input.

    Returns its exit code and the end of what it wrote.
    """
    return _run_program(command, seconds)


@tool(
    risk=Risk.PROCESS_EXECUTION,
    timeout=120,
    expected_result="the code has run in the workspace of this run, without network",
    rollback="only files of the workspace can have changed",
)
def run_python(
    code: Annotated[str, Field(min_length=1, max_length=200_000)], seconds: Seconds = 60.0
) -> Ended:
    """Run Python code in the workspace, without network. Returns the end of what it printed."""
    _SCRIPT.write_text(code, encoding="utf-8")
    return _run_program([shutil.which("python3") or sys.executable, str(_SCRIPT)], seconds)


def _run_program(command: Sequence[str], seconds: float) -> Ended:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(
            "not_found", f"{command[0]!r} can't be run: {reason}", ("use another program",)
        ) from None
    outputs = [_Tail(output) for output in (process.stdout, process.stderr) if output is not None]
    exit_code = None
    try:
        exit_code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    said = [output.end() for output in outputs]
    omitted = sum(output.omitted for output in outputs)
    return Ended(exit_code, *said, omitted=omitted)


class _Tail:
    """Reads an output to its end, and keeps the end only."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._kept = b""
        self.omitted = 0
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def end(self) -> str:
        # Something that the program left running may hold its output open.
        self._thread.join(_DRAIN_SECONDS)
        return self._kept.decode(errors="replace")

    def _read(self) -> None:
        with self._output:
            while part := os.read(self._output.fileno(), 65_536):
                kept = self._kept + part
                self.omitted += max(0, len(kept) - MAX_TAIL_BYTES)
                self._kept = kept[-MAX_TAIL_BYTES:]
