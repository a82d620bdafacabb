"""Commands about an app: what is registered in it, what its models can do, and what is kept."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

import typer
from pydantic import JsonValue

from holdfast import settings
from holdfast.adapters.base import ProviderAdapter, StateKeeper
from holdfast.adapters.registry import PROVIDERS, Setup
from holdfast.app import App, load_app
from holdfast.cli import explaining, options, render, screen
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.client.spans import read_with_parts
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.tools import ToolContract
from holdfast.probes.report import ProbeReport
from holdfast.probes.report import probe as probe_model
from holdfast.run.texts.figures import dollars, pluralize, render_value
from holdfast.tools import schema
from holdfast.tools.tool import Tool
from holdfast.tools.values.answers import describe_fitting
from holdfast.trace.values import Trace

_Providers: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="APP", help="The app with its server or adapter; or HOLDFAST_APP."),
]


def tools(
    app: Annotated[str, typer.Argument(metavar="APP", help="The app as module:attribute.")],
    as_json: options.Json = False,
) -> None:
    """Show every tool of an app with every field of its contract; hosted ones have no contract."""
    found = load_app(app)
    contracts = found.registry.contracts()
    if as_json:
        render.show_json([_build_json(found, contract) for contract in contracts])
        return
    out = Screen()
    for contract in contracts:
        users = [agent.name for agent in found.agents if _has(found.find_tools(agent), contract)]
        out.line(contract.name, "bold")
        fields = _dump_fields(contract)
        del fields["name"]
        rows = [(f"  {name}", _write_field(name, value)) for name, value in fields.items()]
        if contract.permission == "ask_user":
            rows.append(("  answer", _describe_answer(contract)))
        others = "; ".join(_stands_in(contract, contracts))
        more = [("  stands in", others)] if others else []
        for agent in found.agents:
            more += explaining.describe_sender(agent, contract.name)
        render.show_fields(out, [*rows, *more, ("  agents", ", ".join(users))])
        for warning in _warnings(contract):
            out.line(f"  warning: {warning}", "yellow", hang=11)
    for agent in found.agents:
        for hosted in agent.hosted:
            out.line(f"{hosted.name} (hosted)", "bold")
            rows = [("  risk", hosted.risk), ("  options", render_value(hosted.options))]
            render.show_fields(out, [*rows, ("  agent", agent.name)])


def _build_json(app: App, contract: ToolContract) -> JsonObject:
    """Return a contract, and who gives work by it under which ceiling."""
    given = [explaining.build_sender(agent, contract.name) for agent in app.agents]
    senders: list[JsonValue] = [one for one in given if one is not None]
    dumped: JsonObject = {
        **_dump_fields(contract),
        "warnings": [*_warnings(contract)],
    }
    return {**dumped, "senders": senders} if senders else dumped


def _dump_fields(contract: ToolContract) -> JsonObject:
    """Return every field, also one that history leaves out where it says nothing."""
    said: JsonObject = contract.model_dump(mode="json")
    return {name: said.get(name, getattr(contract, name)) for name in ToolContract.model_fields}


@blocking
async def probe(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="The model, as an agent names it.")
    ],
    *,
    app: _Providers = None,
    as_json: options.Json = False,
) -> None:
    """
    Try what an endpoint does of what runs ask of a model.

    That is a dozen small requests, which its provider bills; where one keeps conversations, a
    short one is left there. Exit code 1 if something is refused, or other than it has to be.
    """
    found = _load_providers(app)
    adapter, name = _find_provider(model, found)
    servers = found.chat_servers.values() if found else ()
    passwords = settings.find_passwords(one.base_url for one in servers)
    report = await probe_model(adapter, name, passwords)
    if as_json:
        render.show_json(report.model_dump(mode="json"))
    else:
        _show_report(report)
    raise typer.Exit(0 if report.is_fit else 1)


@blocking
async def forget(
    run: options.RunId,
    *,
    app: _Providers = None,
    as_json: options.Json = False,
) -> None:
    """
    Delete what providers keep of a run that is over, and of runs that did a part of it.

    That is what a strategy other than 'stateless' leaves there. What is gone already is told as
    such. Of an attempt whose reply was lost nobody knows what it left.
    """
    traces = await read_with_parts((await options.connect()).client, run)
    for trace in traces:
        if trace.ended_at is None:
            raise HoldfastError(
                f"run {trace.run_id!r} isn't over: it goes on from what is kept; stop it first"
            )
    found = await _forget(traces, _load_providers(app))
    deleted, gone = ([name for name, was in found.items() if was is one] for one in (True, False))
    if as_json:
        render.show_json({"run_id": run, "deleted": [*deleted], "gone": [*gone]})
        return
    for name in deleted:
        screen.tell(f"deleted {name}")
    for name in gone:
        screen.tell(f"gone already: {name}")
    if not found:
        screen.tell(f"nothing of {run} is kept at a provider that could delete it")


async def _forget(traces: Sequence[Trace], app: App | None) -> dict[str, bool]:
    """Delete what replies of these runs have left, at each provider that can."""
    states: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for turn in (turn for trace in traces for turn in trace.turns if turn.provider_state):
        states[turn.model.partition(":")[0]].append(turn.provider_state)
    found: dict[str, bool] = {}
    for provider, kept in states.items():
        adapter, _ = _find_provider(f"{provider}:any", app)
        if isinstance(adapter, StateKeeper):
            found.update(await adapter.forget(kept))
    return found


def _load_providers(named: str | None) -> App | None:
    """Return the app that is named, here or in the environment; null where none is."""
    name = named or settings.Settings.load().app
    return load_app(name) if name else None


def _find_provider(model: str, app: App | None) -> tuple[ProviderAdapter, str]:
    """Return who is asked for a model, as a worker would ask, and its name there."""
    provider, _, name = model.partition(":")
    setup = Setup(chat_servers=app.chat_servers if app else {}, variable=settings.variable)
    plugged = {adapter.provider: adapter for adapter in app.adapters} if app else {}
    if provider in plugged:
        return plugged[provider], name
    if provider not in PROVIDERS or not name:
        known = ", ".join(sorted({*PROVIDERS, *plugged}))
        raise HoldfastError(f"no endpoint for {model!r}: name a model as PROVIDER:NAME ({known})")
    return PROVIDERS[provider](setup), name


def _show_report(report: ProbeReport) -> None:
    out = Screen()
    rows = [(one.probe, one.verdict, one.detail) for one in report.findings]
    render.show_table(out, ("PROBE", "VERDICT", "FOUND"), rows)
    for note in dict.fromkeys(note for one in report.findings for note in one.notes):
        out.line(f"note: {note}", "dim")
    used = report.usage
    told = pluralize(used.total_tokens, "token") if used.tokens_known else "tokens unknown"
    price = dollars(used.estimated_cost)
    out.line(f"{report.model}: {report.requests} requests, {told}, {price}")


def _write_field(name: str, value: JsonValue) -> str:
    """Write a field of a contract, with its unit."""
    if name == "timeout" and isinstance(value, int | float):
        return f"{value:.15g} s"
    return render_value(value)


def _describe_answer(contract: ToolContract) -> str:
    """Say what a person answers whom the tool asks."""
    schema = contract.answer_schema
    return describe_fitting(schema) if schema is not None else "words"


def _warnings(contract: ToolContract) -> tuple[str, ...]:
    return schema.find_warnings(contract.input_schema, contract.resource_scope.argument)


def _stands_in(contract: ToolContract, others: tuple[ToolContract, ...]) -> Iterator[str]:
    """Say for which tools this one does what no model asks for."""
    for other in others:
        roles = {"drafts": other.draft, "reconciles": other.reconcile, "undoes": other.undo}
        for role, name in roles.items():
            if name == contract.name:
                yield f"{role} {other.name}"


def _has(tools: tuple[Tool, ...], contract: ToolContract) -> bool:
    return any(tool.contract.name == contract.name for tool in tools)
