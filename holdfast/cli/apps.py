"""Commands about an app: what is registered in it."""

from typing import Annotated

import typer
from rich.text import Text

from contracts.tools import ToolContract
from holdfast.app import load_app
from holdfast.cli import options, render


def tools(
    app: Annotated[str, typer.Argument(metavar="APP", help="The app as module:attribute.")],
    as_json: options.Json = False,
) -> None:
    """Show every tool of an app with every field of its contract; hosted ones have no contract."""
    found = load_app(app)
    contracts = found.registry.contracts()
    if as_json:
        render.show_json([contract.model_dump(mode="json") for contract in contracts])
        return
    out = render.console()
    for contract in contracts:
        users = [agent.name for agent in found.agents if _has(agent.snapshot().tools, contract)]
        out.print(Text(contract.name, style="bold"))
        fields = contract.model_dump(mode="json", exclude={"name"})
        rows = [(f"  {name}", render.field(value)) for name, value in fields.items()]
        render.show_fields(out, [*rows, ("  agents", ", ".join(users))])
    for agent in found.agents:
        for hosted in agent.hosted:
            out.print(Text(f"{hosted.name} (hosted)", style="bold"))
            rows = [("  risk", hosted.risk), ("  options", render.field(hosted.options))]
            render.show_fields(out, [*rows, ("  agent", agent.name)])


def _has(tools: tuple[ToolContract, ...], contract: ToolContract) -> bool:
    return any(tool.name == contract.name for tool in tools)
