"""
What is switched off: asked when a call is decided, and again right before it runs.

Here is also the one reading of the messages about it, for the workflow that keeps the switches and
for all workers.
"""

from datetime import datetime

from pydantic import JsonValue, ValidationError

from holdfast.contracts import bounds
from holdfast.contracts.bounds import (
    MAX_MESSAGE_BYTES,
    MAX_SWITCH_NAME_CHARS,
    MAX_SWITCH_QUOTE_CHARS,
    MAX_SWITCH_REASON_CHARS,
    MAX_SWITCHES_BYTES,
)
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.switches import EVERYTHING, Switch, SwitchKind, SwitchSignal, SwitchState
from holdfast.contracts.texts import clip_chars


def find_switch(
    switches: tuple[Switch, ...], tool: str, agents: tuple[str, ...], tenant: str
) -> Switch | None:
    """
    Return the switch that keeps a call from running, if any.

    *agents* are the one that asks for it, and those that it works for.
    """
    named: dict[SwitchKind, tuple[str, ...]] = {
        "tool": (tool,),
        "agent": agents,
        "tenant": (tenant,),
        "everything": (EVERYTHING,),
    }
    return next((switch for switch in switches if switch.name in named[switch.kind]), None)


def describe_switch(switch: Switch) -> str:
    """Say what is switched off, by whom and why; the model and the audit read it."""
    because = f": {switch.reason}" if switch.reason else ""
    return f"{switch.kind} {switch.name!r} is switched off by {switch.by}{because}"


def parse_state(value: JsonValue) -> SwitchState:
    """
    Read what the switches' workflow was started with; nothing at all means nothing is off.

    What is larger than any state of ours has everything off, and keeps what there is room for.
    Raises InvalidInput for anything else that can't be read: to go on without it would switch
    everything on.
    """
    try:
        return SwitchState() if value is None else _fit_state(SwitchState.model_validate(value))
    except ValidationError:
        raise InvalidInput(
            "what is switched off can't be read: the input of the workflow that keeps it is none "
            "of ours; see 'switches that can't be read' in docs/operations.md"
        ) from None


class Switchboard:
    """
    What is switched off, while signals are taken one after the other.

    Ten thousand may come at once, and thousands of things be off: nothing of what is off is looked
    through or measured for each.
    """

    def __init__(self, state: SwitchState) -> None:
        self._off: dict[tuple[SwitchKind, str], Switch] = {}
        self._named_bytes = 1  # a list has as many brackets as entries have commas, and one more
        self._ignored = state.ignored
        for switch in state.switches:
            self._switch_off(switch)

    @property
    def state(self) -> SwitchState:
        """What is off by now, the latest last."""
        return SwitchState().with_(switches=tuple(self._off.values()), ignored=self._ignored)

    def take(self, name: str, content: bytes, at: datetime) -> None:
        """
        Take any signal at all, *content* being its argument.

        Whoever spoke last counts: an `off` replaces the one before it, an `on` lifts it, whoever
        sent it. What can't be read is counted and changes nothing. Where there is no room for one
        switch more, everything is off: a flood of them must not keep an operator's from working.
        """
        signal = _parse_signal(name, content)
        if signal is None:
            self._ignored += 1
        elif name == "on":
            self._lift(signal.kind, signal.name)
        else:
            switch = Switch(**signal.model_dump(), at=at)
            # What an earlier `off` of the same thing says stays where there is no room: an `on` of
            # everything lifts only that.
            self._switch_off(switch if self._has_room(switch) else _switch_everything_off(switch))

    def _has_room(self, switch: Switch) -> bool:
        if switch.kind == "everything":
            return True
        before = self._off.get((switch.kind, switch.name))
        freed = 0 if before is None else _takes(before)
        return self._named_bytes - freed + _takes(switch) <= MAX_SWITCHES_BYTES

    def _switch_off(self, switch: Switch) -> None:
        self._lift(switch.kind, switch.name)
        self._off[switch.kind, switch.name] = switch
        self._named_bytes += _takes(switch)

    def _lift(self, kind: SwitchKind, name: str) -> None:
        before = self._off.pop((kind, name), None)
        self._named_bytes -= 0 if before is None else _takes(before)


def _takes(switch: Switch) -> int:
    """Return what it takes of the room for switches; what switches everything off has its own."""
    return 0 if switch.kind == "everything" else switch.written_bytes + 1


def _fit_state(state: SwitchState) -> SwitchState:
    """Keep the latest switches, as many as there is room for; who drops one has everything off."""
    named = kept = _without_everything(state.switches)
    every = tuple(_truncate_texts(one) for one in state.switches if one.kind == "everything")[-1:]
    if bounds.size(named) > MAX_SWITCHES_BYTES:
        kept = bounds.select_latest(named, MAX_SWITCHES_BYTES - len(named) - 1)
        every = every or (_switch_everything_off(_truncate_texts(named[0])),)
    return state.with_(switches=(*kept, *every))


def _without_everything(switches: tuple[Switch, ...]) -> tuple[Switch, ...]:
    """Leave out what switches everything off: there is one, with room of its own."""
    return tuple(switch for switch in switches if switch.kind != "everything")


def _truncate_texts(switch: Switch) -> Switch:
    """Return a switch with no more words than a signal may bring."""
    return switch.with_(
        name=switch.name[:MAX_SWITCH_NAME_CHARS],
        by=switch.by[:MAX_SWITCH_NAME_CHARS],
        reason=switch.reason[:MAX_SWITCH_REASON_CHARS],
    )


def _switch_everything_off(crowded_out: Switch) -> Switch:
    """Switch everything off in place of one thing for which there is no room."""
    name, reason = crowded_out.name, crowded_out.reason[:MAX_SWITCH_QUOTE_CHARS]
    return crowded_out.with_(
        kind="everything",
        name=EVERYTHING,
        reason=clip_chars(
            f"no room to switch {crowded_out.kind} {name!r} off alone: {reason}",
            MAX_SWITCH_REASON_CHARS,
        ),
    )


def _parse_signal(name: str, content: bytes) -> SwitchSignal | None:
    if name not in {"off", "on"} or len(content) > MAX_MESSAGE_BYTES:
        return None
    try:
        return SwitchSignal.model_validate_json(content)
    except ValidationError:
        return None
