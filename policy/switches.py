"""
What is switched off: asked when a call is decided, and again right before it runs.

Here is also the one reading of the messages about it, for the workflow that keeps the switches and
for all workers.
"""

from datetime import datetime

from pydantic import JsonValue, ValidationError

from contracts.errors import InvalidInput
from contracts.switches import Kind, Switch, SwitchSignal, SwitchState

LARGEST_STATE = 300_000
"""Characters; with every one of them escaped, the state still fits into a payload of 2 MB."""

_BESIDE_WORDS = 100
"""Characters of a switch's JSON that are none of its words."""


def switched_off(
    switches: tuple[Switch, ...], tool: str, agent: str, tenant: str
) -> Switch | None:
    """Return the switch that keeps a call from running, if any."""
    named: dict[Kind, str] = {"tool": tool, "agent": agent, "tenant": tenant}
    return next((switch for switch in switches if named[switch.kind] == switch.name), None)


def refusal(switch: Switch) -> str:
    """Say what is switched off, by whom and why; the model and the audit read it."""
    because = f": {switch.reason}" if switch.reason else ""
    return f"{switch.kind} {switch.name!r} is switched off by {switch.by}{because}"


def opened(value: JsonValue) -> SwitchState:
    """
    Read what the switches' workflow was started with; nothing at all means nothing is off.

    Raises InvalidInput for anything else that can't be read: to go on without it would switch
    everything on.
    """
    try:
        return SwitchState() if value is None else SwitchState.model_validate(value)
    except ValidationError:
        raise InvalidInput(
            "what is switched off can't be read: the input of the workflow that keeps it is none "
            "of ours; see 'switches that can't be read' in docs/operations.md"
        ) from None


def after_signal(state: SwitchState, name: str, content: bytes, now: datetime) -> SwitchState:
    """
    Return the state after any signal at all, *content* being its argument.

    Whoever spoke last counts: an `off` replaces the one before it, an `on` lifts it, whoever sent
    it. What can't be read is counted and changes nothing.
    """
    signal = _read(name, content)
    if signal is None:
        return _ignored(state)
    others = tuple(
        switch
        for switch in state.switches
        if (switch.kind, switch.name) != (signal.kind, signal.name)
    )
    if name == "on":
        return state.model_copy(update={"switches": others})
    switch = Switch(**signal.model_dump(), at=now)
    if sum(map(_size, (*others, switch))) > LARGEST_STATE:
        return _ignored(state)
    return state.model_copy(update={"switches": (*others, switch)})


def _read(name: str, content: bytes) -> SwitchSignal | None:
    if name not in {"off", "on"}:
        return None
    try:
        return SwitchSignal.model_validate_json(content)
    except ValidationError:
        return None


def _ignored(state: SwitchState) -> SwitchState:
    return state.model_copy(update={"ignored": state.ignored + 1})


def _size(switch: Switch) -> int:
    return len(switch.name) + len(switch.by) + len(switch.reason) + _BESIDE_WORDS
