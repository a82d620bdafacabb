"""The commands that serve: `dev`, everything on this machine, and `worker`, that alone."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from holdfast import logs
from holdfast.app import App, load_app
from holdfast.cli import render, screen
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.connection import CREDENTIALS, find_secrets
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import TASK_QUEUE
from holdfast.dev_server import dev_server
from holdfast.settings import KnownSecrets, LogSettings, Settings
from holdfast.tools.redaction import Redactor
from holdfast.worker import build_known_secrets, heed_signals, run_worker, serve

DEFAULT_PORT = 7233


@blocking
async def dev(
    app: Annotated[
        str | None,
        typer.Argument(metavar="[APP]", help="The app for a worker, as module:attribute."),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65_535, help="The port of the server.")
    ] = DEFAULT_PORT,
    ui_port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65_535, help="The port of its UI.")
    ] = 8233,
    db: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where runs are kept across restarts.")
    ] = None,
) -> None:
    """Run a Temporal server with its UI, and a worker if an app is named, until Ctrl-C."""
    logs.configure(Redactor(KnownSecrets(CREDENTIALS)).text, quiet=True)
    settings = Settings.load()
    name = app or settings.app
    served = None if name is None else load_app(name)
    database = db or settings.home / "temporal.db"
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HoldfastError(f"{database.parent}: {error.strerror}") from None
    if port == ui_port:
        raise typer.BadParameter(f"--port and --ui-port are both {port}: choose two")
    stopped = heed_signals()
    async with AsyncExitStack() as stack:
        environment = await stack.enter_async_context(
            dev_server(port=port, ui_port=ui_port, database=database)
        )
        if served is not None:
            secrets = build_known_secrets(served, find_secrets(environment.client))
            logs.configure(Redactor(secrets).text, quiet=True, stacks=served.codec is None)
            await stack.enter_async_context(
                run_worker(environment.client, served, archive=f"file:{settings.home / 'archive'}")
            )
        out = Screen()
        _announce(out, name, served, port, ui_port, database)
        await stopped.wait()
        out.line("")
        out.line("Stopping: first the worker, which ends what it has begun, then the server.")
    out.line(f"Stopped. What happened is kept in {database}.", "dim")


def _announce(
    out: Screen, name: str | None, app: App | None, port: int, ui_port: int, database: Path
) -> None:
    settings = LogSettings.load()
    shown = "warnings and errors, here" if Screen(errors=True).is_terminal else "on standard error"
    rows = [
        ("UI", f"http://localhost:{ui_port}"),
        ("Temporal", f"localhost:{port}"),
        ("state", str(database)),
        ("log", str(settings.file or f"{shown} (more: HOLDFAST_LOG=info)")),
    ]
    if app is not None:
        agents = ", ".join(agent.name for agent in app.agents)
        rows.append(("worker", f"{name} (agents: {agents})"))
    render.show_fields(out, rows)
    at = "" if port == DEFAULT_PORT else f"TEMPORAL_ADDRESS=localhost:{port} "
    if app is None:
        out.line(f"Next, in another terminal: {at}holdfast worker APP", hang=None)
    else:
        begin = screen.command("run", app.agents[0].name, "GOAL") if app.agents else "holdfast run"
        talk = screen.command("chat", app.agents[0].name) if app.agents else "holdfast chat"
        queue = Settings.load().task_queue or app.queue
        where = "" if queue == TASK_QUEUE else f" --queue {queue}"
        out.line(f"Next, in another terminal: {at}{begin}{where}", hang=None)
        out.line(f"Or: {at}{talk}{where}", hang=None)
        out.line(f"Then: {at}holdfast list, and for one run show, pending, trace", "dim")
        out.line(f"And: {at}holdfast sessions, for what was said in chats", "dim")
    out.line("Ctrl-C stops it; runs go on when it is started again.", "dim")


@blocking
async def worker(
    app: Annotated[
        str | None,
        typer.Argument(metavar="[APP]", help="The app, as module:attribute; or HOLDFAST_APP."),
    ] = None,
) -> None:
    """Work for an app until Ctrl-C or SIGTERM."""
    name = app or Settings.load().app
    if name is None:
        raise typer.BadParameter("name the app as module:attribute, or set HOLDFAST_APP")
    await serve(name)
