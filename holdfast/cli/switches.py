"""Commands that switch tools, agents, tenants or everything off for all runs, and on again."""

import asyncio
from typing import Annotated, TypeAlias

import typer
from pydantic import ValidationError
from temporalio.client import Client

from holdfast.activities.kill_switch.switch_history import SwitchHistory
from holdfast.activities.kill_switch.switches import TIMEOUT_SECONDS
from holdfast.cli import options, render, screen
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.connection import connect
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import EVERYTHING, SwitchKind, SwitchSignal, SwitchState
from holdfast.run.summaries import describe_validation_error
from holdfast.run.texts.figures import moment

app = typer.Typer(
    help="Switch tools, agents, tenants or everything off for all runs.", rich_markup_mode=None
)

POLL_INTERVAL_SECONDS = 0.05
"""Seconds between looks at what the server has recorded."""

KindArgument: TypeAlias = Annotated[
    SwitchKind, typer.Argument(metavar="KIND", help="tool, agent, tenant or everything.")
]
NameArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="[NAME]", help="Its exact name; everything needs none.")
]


@app.command("off")
@blocking
async def off(
    kind: KindArgument,
    reason: Annotated[str, typer.Option(help="Why; the model and the audit read it.")],
    name: NameArgument = EVERYTHING,
) -> None:
    """Deny every call of a tool, an agent or a tenant from now on, in all runs; or every call."""
    signal = _signal(kind, name, reason)
    _require_possible_name(signal)
    state = await _send(await connect(), "off", signal)
    screen.tell(f"{_describe_target(signal)} is off for all runs, from their next call on")
    _show(state)


@app.command("on")
@blocking
async def on(kind: KindArgument, name: NameArgument = EVERYTHING) -> None:
    """Lift what was switched off, whoever did it."""
    signal = _signal(kind, name, "")
    state = await _send(await connect(), "on", signal)
    screen.tell(f"{_describe_target(signal)} is on")
    _show(state)


@app.command("list")
@blocking
async def list_(as_json: options.Json = False) -> None:
    """Show what is switched off."""
    state = await SwitchHistory(await connect()).read()
    if as_json:
        render.show_json([switch.model_dump(mode="json") for switch in state.switches])
    else:
        _show(state)


def _signal(kind: SwitchKind, name: str, reason: str) -> SwitchSignal:
    try:
        return SwitchSignal(kind=kind, name=name, by=options.login(), reason=reason)
    except ValidationError as error:
        raise HoldfastError(describe_validation_error(error)) from None


def _require_possible_name(signal: SwitchSignal) -> None:
    """Raise HoldfastError for a pattern: it would switch nothing off, and seem to have done it."""
    if signal.kind in {"tool", "agent"} and EVERYTHING in signal.name:
        raise HoldfastError(
            f"no {signal.kind} has a star in its name, and a name is no pattern: switch each off"
        )


async def _send(client: Client, name: str, signal: SwitchSignal) -> SwitchState:
    """Send a signal and return what history says after it; no worker need run for that."""
    history = SwitchHistory(client)
    await history.send(name, signal)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not _is_in_effect(state := await history.read(), name, signal):  # noqa: ASYNC110 -- it is the server's
                await asyncio.sleep(POLL_INTERVAL_SECONDS)
    except TimeoutError:
        raise HoldfastError(
            f"{_describe_target(signal)} is not {name} yet: the server took the message, but "
            "history doesn't show that it worked: look at 'holdfast switch list'"
        ) from None
    return state


def _describe_target(signal: SwitchSignal) -> str:
    return signal.kind if signal.kind == "everything" else f"{signal.kind} {signal.name}"


def _is_in_effect(state: SwitchState, name: str, signal: SwitchSignal) -> bool:
    found = [
        switch
        for switch in state.switches
        if (switch.kind, switch.name) == (signal.kind, signal.name)
    ]
    if name == "on":
        return not found
    crowded_out = any(switch.kind == "everything" for switch in state.switches)
    return crowded_out or any(
        (switch.by, switch.reason) == (signal.by, signal.reason) for switch in found
    )


def _show(state: SwitchState) -> None:
    if not state.switches:
        screen.tell("nothing is switched off")
        return
    rows = [
        (switch.kind, switch.name, switch.by, moment(switch.at), switch.reason or "-")
        for switch in state.switches
    ]
    render.show_table(Screen(), ("KIND", "NAME", "BY", "SINCE", "REASON"), rows)
