"""
The command `holdfast`, and the one place that turns an error into a line and an exit code.

What a list of the commands doesn't need isn't loaded for it: `cli` finds it when it is used.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from holdfast import cli

if TYPE_CHECKING:
    from temporalio.service import RPCError

_AGAIN = (
    "Try a run again that ended without an answer, in a new run; 'retry' and 'requeue' are one."
)

COMMANDS = {
    "dev": (
        "dev:dev",
        "Run a Temporal server with its UI, and a worker if an app is named, until Ctrl-C.",
    ),
    "worker": ("dev:worker", "Work for an app until Ctrl-C or SIGTERM."),
    "run": ("runs:run", "Start a run."),
    "watch": (
        "watching:watch",
        "Follow a run that exists, as 'run' does, until it ends; Ctrl-C leaves it to itself.",
    ),
    "chat": ("sessions:chat", "Talk with an agent, a message a line, until Ctrl-D or Ctrl-C."),
    "sessions": (
        "sessions:sessions",
        "List sessions, the latest first; or show one, and what was said last.",
    ),
    "retry": ("runs:retry", _AGAIN),
    "requeue": ("runs:retry", _AGAIN),
    "fork": ("runs:fork", "Go on otherwise from a turn of a run that is over, in a new run."),
    "list": ("runs:list_", "List runs, the latest first."),
    "show": ("runs:show", "Show where a run stands."),
    "pending": (
        "approvals:pending",
        "Show what waits for a person, with everything needed to judge it.",
    ),
    "approve": (
        "approvals:approve",
        "Approve a call or a review once you have seen it, signed where it must be.",
    ),
    "reject": (
        "approvals:reject",
        "Reject a call, whose agent reads the reason and goes on without it, or a review.",
    ),
    "answer": ("approvals:answer", "Answer a question of an agent once you have seen it."),
    "resolve": ("approvals:resolve", "Say how an escalated run goes on."),
    "steer": ("controlling:steer", "Say something to the model, before its next turn."),
    "suspend": ("controlling:suspend", "Hold a run before its next step."),
    "resume": ("controlling:resume", "Let a suspended run go on."),
    "stop": (
        "controlling:stop",
        "End a run with a result: what changes nothing is broken off, a write comes to its end.",
    ),
    "close": (
        "controlling:close",
        "End a session when what was said before is answered; a message opens it again.",
    ),
    "cancel": (
        "controlling:cancel",
        "Cancel a run: tools that run are told to end, nothing new begins.",
    ),
    "trace": (
        "tracing:trace",
        "Print the transcript of a run, or with --json its tree of spans and those of its parts.",
    ),
    "replay": ("history:replay", "Replay a run with the code of today."),
    "export": ("history:export", "Write the history of a run as JSON, all its executions."),
    "tools": (
        "apps:tools",
        (
            "Show every tool of an app with every field of its contract; "
            "hosted ones have no contract."
        ),
    ),
    "probe": ("apps:probe", "Try what an endpoint does of what runs ask of a model."),
    "forget": (
        "apps:forget",
        "Delete what providers keep of a run that is over, and of runs that did a part of it.",
    ),
    "keys": ("keys:app", "Keys that sign approvals, and whose count."),
    "policy": ("policy:app", "Check, explain and test policy files."),
    "switch": ("switches:app", "Switch tools, agents, tenants or everything off for all runs."),
}
"""Where each command is, and the first sentence of its help: a list of them imports none."""

_NAME_CHARS = {*ascii_lowercase, "-"}


def build_app(called: str | None) -> TyperGroup:
    """Return the command line; of all commands but the one *called* it only knows the help."""
    app = TyperGroup(
        name="holdfast",
        help="Durable agents on Temporal. 'holdfast --version' says which release this is.",
        rich_markup_mode=None,
        commands=[
            TyperCommand(name, help=line, short_help=line) for name, (_, line) in COMMANDS.items()
        ],
    )
    if called in COMMANDS:
        app.add_command(get_group(_load(called)).commands[called])
    return app


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an error is one line on standard error."""
    try:
        if arguments == ["--version"]:
            return _tell_version()
        _check(arguments)
        code = build_app(_find_command(arguments))(
            arguments, prog_name="holdfast", standalone_mode=False
        )
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:
        said = error.format_message().rstrip(".").replace("Input should be", "it must be")
        return _fail(f"{said}; see '{_find_help(arguments)}'", error.exit_code)
    except typer.Abort:
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except Exception as error:
        return _fail(_describe(error), 1)


def _explain(error: "RPCError") -> str:
    """Say what the server said, or that it is gone: its SDK has no status of its own for that."""
    from temporalio.service import RPCStatusCode

    if "transport error" in error.message or error.status == RPCStatusCode.UNAVAILABLE:
        return (
            f"the Temporal server is gone ({error.message}): once it is back runs go on, and "
            "'holdfast list' and 'holdfast watch RUN' show them"
        )
    return f"Temporal says: {error.message} ({error.status.name.lower()})"


def main() -> NoReturn:
    """Run the command line and end the process."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal's encoding lacks is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] or ["--help"]
    if (called := _find_command(arguments)) in COMMANDS:
        cli.capture()
        if called not in {"dev", "worker"}:
            _silence_core()
    code = run(arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 1
    # The threads of the Temporal client may crash the interpreter while it shuts down, and with
    # it the exit code. Everything that had to be closed is closed by now.
    os._exit(code)


def _open_missing_streams() -> None:
    """Give a process that was started without a standard stream one that has no other end."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 -- for good


def _silence_core() -> None:
    """Let the SDK's core write none of its warnings, of many lines, between ours."""
    from temporalio.runtime import Runtime, TelemetryConfig

    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))


def _find_command(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if not word.startswith("-")), None)


def _load(name: str) -> typer.Typer:
    """Import a command, or a group of them."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(f"holdfast.cli.{module}"), attribute)
    app = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name)
    else:
        app.command(name)(found)
    return app


def _check(arguments: Sequence[str]) -> None:
    """Refuse an option with an empty value, which would count as not given."""
    for before, word in pairwise(("", *arguments)):
        if word == "--":
            return
        option, _, value = word.partition("=") if "=" in word else (before, "", word)
        if not value.strip() and _is_option(option):
            raise typer.BadParameter(f"{option} needs a value that is not empty")


def _find_help(arguments: Sequence[str]) -> str:
    """Return the command that tells how the one is used that somebody meant."""
    named = [word for word in arguments[:1] if word in COMMANDS]
    group = build_app(named[0]).commands[named[0]] if named else None
    if isinstance(group, TyperGroup):
        named += [word for word in arguments[1:2] if word in group.commands]
    return " ".join(("holdfast", *named, "--help"))


def _is_option(word: str) -> bool:
    name = word.removeprefix("--")
    return name != word and name[:1] not in {"", "-"} and set(name) <= _NAME_CHARS


def _tell_version() -> int:
    from importlib.metadata import version

    cli.tell(f"holdfast {version('holdfast')}")
    return 0


def _describe(error: Exception) -> str:
    from temporalio.service import RPCError

    match error:
        case cli.HoldfastError():
            return str(error)
        case RPCError():
            return _explain(error)
        case _:
            return f"unexpected {type(error).__name__}: {error}"


def _fail(message: str, code: int) -> int:
    message = message.replace("Value error, ", "")  # pydantic's words, not ours
    cli.warn(f"holdfast: {' '.join(message.split())}")
    return code


if __name__ == "__main__":
    main()
