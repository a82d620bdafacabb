"""The command `worker`: a worker alone, wherever the Temporal server is."""

from typing import Annotated

import typer

from holdfast.cli.options import blocking
from holdfast.settings import Settings
from holdfast.worker import serve


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
