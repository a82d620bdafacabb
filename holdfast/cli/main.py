"""The command `holdfast`, and the one place that turns an error into a line and an exit code."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise
from typing import NoReturn

import typer
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError

from holdfast import logs
from holdfast.cli import approvals, apps, dev, history, keys, policy, runs, screen, switches
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import Pattern

app = typer.Typer(
    name="holdfast",
    help="Durable agents on Temporal.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("dev")(dev.dev)
app.command("run")(runs.run)
app.command("list")(runs.list_)
app.command("show")(runs.show)
app.command("pending")(approvals.pending)
app.command("approve")(approvals.approve)
app.command("reject")(approvals.reject)
app.command("answer")(approvals.answer)
app.command("resolve")(approvals.resolve)
app.command("steer")(runs.steer)
app.command("suspend")(runs.suspend)
app.command("resume")(runs.resume)
app.command("cancel")(runs.cancel)
app.command("trace")(history.trace)
app.command("replay")(history.replay)
app.command("export")(history.export)
app.command("tools")(apps.tools)
app.add_typer(keys.app, name="keys")
app.add_typer(policy.app, name="policy")
app.add_typer(switches.app, name="switch")

_OPTION = Pattern(r"--[a-z][a-z-]*")


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an error is one line on standard error."""
    try:
        _check(arguments)
        code = app(arguments, prog_name="holdfast", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:
        said = error.format_message().rstrip(".")
        return _fail(f"{said}; see 'holdfast --help'", error.exit_code)
    except HoldfastError as error:
        return _fail(str(error), 1)
    except RPCError as error:
        return _fail(f"Temporal says: {error.message} ({error.status.name.lower()})", 1)
    except typer.Abort:
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except Exception as error:
        return _fail(f"unexpected {type(error).__name__}: {error}", 1)


def main() -> NoReturn:
    """Run the command line and end the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal's encoding lacks is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    logs.capture()
    arguments = sys.argv[1:] or ["--help"]
    if arguments[0] != "dev":
        # The SDK's core would write its warnings, of many lines, between ours.
        Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))
    code = run(arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 1
    # The threads of the Temporal client may crash the interpreter while it shuts down, and with
    # it the exit code. Everything that had to be closed is closed by now.
    os._exit(code)


def _check(arguments: Sequence[str]) -> None:
    """Refuse an option with an empty value, which would count as not given."""
    for before, word in pairwise(("", *arguments)):
        if word == "--":
            return
        option, _, value = word.partition("=") if "=" in word else (before, "", word)
        if _OPTION.fits(option) and not value.strip():
            raise typer.BadParameter(f"{option} needs a value that is not empty")


def _fail(message: str, code: int) -> int:
    message = message.replace("Value error, ", "")  # pydantic's words, not ours
    screen.warn(f"holdfast: {' '.join(message.split())}")
    return code


if __name__ == "__main__":
    main()
