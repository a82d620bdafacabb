"""The command `dev`: everything on this machine."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from holdfast import logs
from holdfast.app import App, load_app
from holdfast.cli import render
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.contracts.errors import HoldfastError
from holdfast.dev_server import dev_server
from holdfast.settings import Settings
from holdfast.tools.redaction import Redactor
from holdfast.worker import build_known_secrets, run_worker


@blocking
async def dev(
    app: Annotated[
        str | None,
        typer.Argument(metavar="[APP]", help="The app for a worker, as module:attribute."),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65_535, help="The port of the server.")
    ] = 7233,
    ui_port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65_535, help="The port of its UI.")
    ] = 8233,
    db: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where runs are kept across restarts.")
    ] = None,
) -> None:
    """Run a Temporal server with its UI, and a worker if an app is named, until Ctrl-C."""
    logs.configure(quiet=True)
    settings = Settings.load()
    name = app or settings.app
    served = None if name is None else load_app(name)
    database = db or settings.home / "temporal.db"
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HoldfastError(f"{database.parent}: {error.strerror}") from None
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        environment = await stack.enter_async_context(
            dev_server(port=port, ui_port=ui_port, database=database)
        )
        if served is not None:
            secrets = build_known_secrets(served, environment.client)
            logs.configure(Redactor(secrets).text, quiet=True)
            await stack.enter_async_context(run_worker(environment.client, served))
        _announce(Screen(), name, served, port, ui_port, database)
        await stopped.wait()


def _announce(
    out: Screen, name: str | None, app: App | None, port: int, ui_port: int, database: Path
) -> None:
    rows = [
        ("Temporal", f"localhost:{port}"),
        ("UI", f"http://localhost:{ui_port}"),
        ("state", str(database)),
    ]
    if app is not None:
        agents = ", ".join(agent.name for agent in app.agents)
        rows.append(("worker", f"{name} (agents: {agents})"))
    render.show_fields(out, rows)
    out.line("Ctrl-C stops it; runs go on when it is started again.", "dim")
