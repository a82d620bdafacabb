"""What several commands have in common: arguments, options, and running to an end."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, ParamSpec, TypeAlias

import typer
from pydantic import ValidationError

from holdfast import cli
from holdfast.client import Holdfast
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Budget
from holdfast.contracts.run import TASK_QUEUE
from holdfast.run.summaries import describe_validation_error
from holdfast.settings import Settings

P = ParamSpec("P")

RunId: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")]
OneRequest: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[REQUEST]", help="Needed only where several wait.")
]
Digest: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="DIGEST", help="That of the request as you saw it; needed without a terminal."
    ),
]
Key: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sign with this key of yours; done unasked where needed."),
]
TraceId: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TRACE", help="Only the run of this trace, by its id.")
]
RunOrFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN|FILE", help="The id of a run, or a file with its history.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print events as they come, each as JSON on a line.")
]
InputFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Text that follows the goal, or is the goal.")
]
Actor: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Whom the run acts for, who can't approve it; you unless given."),
]
Models: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME", help="One of the agent's models to ask; repeatable."),
]
ProjectPath: TypeAlias = Annotated[
    str | None,
    typer.Option("--path", metavar="FILE", help="The file of its project that it is about."),
]
Metadata: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="What else is known of it; repeatable."),
]
Plan: TypeAlias = Annotated[
    bool, typer.Option("--plan", help="Change nothing before somebody approves its plan.")
]
Wait: TypeAlias = Annotated[
    bool, typer.Option("--wait/--detach", help="Show progress until the end, or just start.")
]
WithTrace: TypeAlias = Annotated[
    bool, typer.Option("--with-trace", help="With --json: print its tree of spans behind them.")
]
MaxSteps: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Limit on model calls.")
]
MaxTokens: TypeAlias = Annotated[int | None, typer.Option(metavar="N", help="Limit on tokens.")]
MaxCost: TypeAlias = Annotated[
    str | None, typer.Option(metavar="DOLLARS", help="Limit on the estimated cost.")
]
MaxWallTime: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Limit on time, without waiting for people."),
]


def find_queue() -> str:
    """Return the queue of the app that is meant, if the environment says which one."""
    found = Settings.load()
    return found.task_queue or (cli.load_app(found.app).queue if found.app else TASK_QUEUE)


async def connect() -> Holdfast:
    """Connect, with the codec of the app that the environment names."""
    app = Settings.load().app
    return await Holdfast.connect(codec=cli.load_app(app).codec if app else None)


def login() -> str:
    """Return the name of whoever types the command, as far as the machine knows it."""
    return Settings.load().user


def blocking(command: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Make a command of an asynchronous function."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(command(*args, **kwargs))

    return run


def budget(
    max_steps: int | None,
    max_tokens: int | None,
    max_cost: str | None,
    max_wall_time: float | None,
) -> Budget | None:
    """Return the limits that were given; a limit that can't be is a usage error."""
    given = {
        "max_steps": max_steps,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "max_wall_time": max_wall_time,
    }
    named = {name: value for name, value in given.items() if value is not None}
    try:
        return Budget.model_validate(named) if named else None
    except ValidationError as error:
        raise typer.BadParameter(describe_validation_error(error)) from None


def metadata(given: list[str] | None, path: str | None) -> JsonObject:
    """Return what is said about a run; what is said twice, or of nothing, is a usage error."""
    found: JsonObject = {} if path is None else {"path": path}
    for one in given or ():
        key, separator, value = one.partition("=")
        if not (key and separator):
            raise typer.BadParameter(f"--metadata {one!r}: write KEY=VALUE")
        if key in found:
            raise typer.BadParameter(f"--metadata {one!r}: {key} is given already")
        found[key] = value
    return found


def require_end(*, with_trace: bool, wait: bool, as_json: bool) -> None:
    """Refuse to print a trace behind events that aren't printed to the end."""
    if with_trace and not (wait and as_json):
        raise typer.BadParameter("--with-trace needs --json, and no --detach: it comes at the end")
