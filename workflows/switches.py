"""The kill switch: one workflow that keeps what is switched off for all runs of a namespace."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue

from holdfast.contracts.bounds import (
    MAX_SHOWN_REASON_CHARS,
    MAX_SHOWN_SWITCHES,
    MAX_SWITCH_EVENTS,
    MAX_SWITCH_HISTORY_BYTES,
)
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import SWITCHES_WORKFLOW_TYPE, SwitchState
from holdfast.contracts.texts import MAX_LINE_CHARS, shorten
from holdfast.policy.switches import Switchboard, parse_state
from holdfast.run.summaries import quote_words, render_code
from holdfast.workflows import failures


@workflow.defn(name=SWITCHES_WORKFLOW_TYPE, failure_exception_types=[HoldfastError])
class HoldfastSwitches:
    """
    Keeps the switches, and does nothing else.

    Workers read the signals from its history themselves, so a switch works before this workflow
    has seen it. Its own copy answers queries, and goes on when the history is long.
    """

    def __init__(self) -> None:
        self._state = SwitchState()
        self._received: list[tuple[str, bytes]] = []

    @workflow.run
    async def run(self, *arguments: JsonValue) -> None:
        """Take signals for as long as there are any. Raises ApplicationError where it can't be."""
        info = workflow.info()
        if info.retry_policy is not None or info.cron_schedule:
            # What they start again begins with what was off once, and goes on from that.
            raise failures.build_start_refusal(
                f"start {SWITCHES_WORKFLOW_TYPE} without retry policy and without cron schedule"
            )
        self._state = parse_state(arguments[0] if arguments else None)
        while True:
            self._apply_signals()
            workflow.set_current_details(render_details(self._state))
            # Nothing may be awaited between the last look at the signals and this.
            if _is_history_long():
                workflow.continue_as_new(self._state)
            await workflow.wait_condition(lambda: bool(self._received))

    @workflow.signal(dynamic=True)
    def receive(self, name: str, payloads: Sequence[RawValue]) -> None:
        """
        Take any signal; it may come before the input has been read.

        One handler for all names: a handler of its own drops what it can't decode without a trace,
        and a wrong number of arguments fails the workflow task, for ever.
        """
        content = payloads[0].payload.data if len(payloads) == 1 else b""
        self._received.append((name, content))

    @workflow.query
    def switches(self) -> SwitchState:
        """Return what is switched off."""
        return self._state

    def _apply_signals(self) -> None:
        board = Switchboard(self._state)
        for name, content in self._received:
            board.take(name, content, workflow.now())
        self._state = board.state
        self._received.clear()


def render_details(state: SwitchState) -> str:
    """Write what is off as the Markdown that the UI shows as current details."""
    if not state.switches:
        return "Nothing is switched off."
    named = [switch for switch in state.switches if switch.kind != "everything"]
    shown = [switch for switch in state.switches if switch.kind == "everything"]
    shown += named[-MAX_SHOWN_SWITCHES:]
    lines = [_line(one.kind, one.name, one.by, one.reason, one.at) for one in shown]
    if (more := len(state.switches) - len(shown)) > 0:
        lines.append(f"- and {more} more, which the query `switches` names")
    return "**Switched off for all runs**\n\n" + "\n".join(lines)


@lru_cache(maxsize=4 * MAX_SHOWN_SWITCHES)
def _line(kind: str, name: str, by: str, reason: str, at: datetime) -> str:
    why = f": {quote_words(reason, MAX_SHOWN_REASON_CHARS)}" if reason else ""
    what = render_code(shorten(name))
    who = quote_words(by, MAX_LINE_CHARS)
    return f"- {kind} {what}: off since {at:%Y-%m-%d %H:%M:%S} UTC by {who}{why}"


def _is_history_long() -> bool:
    info = workflow.info()
    return (
        info.get_current_history_length() >= MAX_SWITCH_EVENTS
        or info.get_current_history_size() >= MAX_SWITCH_HISTORY_BYTES
    )
