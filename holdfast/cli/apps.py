"""Commands about an app: what is registered in it."""

from collections.abc import Iterator
from typing import Annotated

import typer
from pydantic import JsonValue

from holdfast.app import load_app
from holdfast.cli import options, render
from holdfast.cli.screen import Screen
from holdfast.contracts.tools import ToolContract
from holdfast.run.texts.figures import render_value
from holdfast.tools.tool import Tool
from holdfast.tools.values.answers import describe_fitting


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
    out = Screen()
    for contract in contracts:
        users = [agent.name for agent in found.agents if _has(found.find_tools(agent), contract)]
        out.line(contract.name, "bold")
        fields = contract.model_dump(mode="json", exclude={"name"})
        rows = [(f"  {name}", _write_field(name, value)) for name, value in fields.items()]
        if contract.permission == "ask_user":
            rows.append(("  answer", _describe_answer(contract)))
        others = "; ".join(_stands_in(contract, contracts))
        more = [("  stands in", others)] if others else []
        render.show_fields(out, [*rows, *more, ("  agents", ", ".join(users))])
    for agent in found.agents:
        for hosted in agent.hosted:
            out.line(f"{hosted.name} (hosted)", "bold")
            rows = [("  risk", hosted.risk), ("  options", render_value(hosted.options))]
            render.show_fields(out, [*rows, ("  agent", agent.name)])


def _write_field(name: str, value: JsonValue) -> str:
    """Write a field of a contract, with its unit."""
    if name == "timeout" and isinstance(value, int | float):
        return f"{value:.15g} s"
    return render_value(value)


def _describe_answer(contract: ToolContract) -> str:
    """Say what a person answers whom the tool asks."""
    schema = contract.answer_schema
    return describe_fitting(schema) if schema is not None else "words"


def _stands_in(contract: ToolContract, others: tuple[ToolContract, ...]) -> Iterator[str]:
    """Say for which tools this one does what no model asks for."""
    for other in others:
        roles = {"drafts": other.draft, "reconciles": other.reconcile, "undoes": other.undo}
        for role, name in roles.items():
            if name == contract.name:
                yield f"{role} {other.name}"


def _has(tools: tuple[Tool, ...], contract: ToolContract) -> bool:
    return any(tool.contract.name == contract.name for tool in tools)
