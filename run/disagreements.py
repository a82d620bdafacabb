"""Calls that were decided and didn't begin: decided anew a few times, and then denied. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.contracts.calls import AnyCall, ToolFailure
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import tool_results

RETRY_DELAYS_SECONDS = (0, 1, 2, 4, 8, 16, 30, 30, 30)
"""
Seconds before a call is decided anew, also where it was decided too long ago. While a deployment
rolls, the worker that decides and the one that runs the call may be of two releases again and
again; whoever decides and runs by turns agrees with itself soon.
"""

RETRY_TIMER_SUMMARY = "until what hasn't begun is decided anew"
"""What history says of a pause."""


class NotBegun(NamedTuple):
    """A call that hasn't begun, and why: because something else was decided about, or long ago."""

    reason: str


TOO_OLD = NotBegun("it didn't begin within seconds after it was decided")
READ_OTHERWISE = NotBegun("it would have run otherwise than guardrails had looked at it")


def send_back(state: RunState, refused: Mapping[str, NotBegun]) -> RunState:
    """Have calls decided anew that have not begun; what no worker begins in the end is denied."""
    calls = tuple(
        send_back_call(call, refused[call.call.call_id])
        if call.result is None and call.call.call_id in refused
        else call
        for call in state.calls
    )
    return state.with_(calls=calls)


def retry_delay_seconds(state: RunState, refused: Mapping[str, NotBegun]) -> int:
    """Return how many seconds to wait before the calls are decided anew."""
    again = (call for call in state.calls if call.result is None and call.call.call_id in refused)
    return max((RETRY_DELAYS_SECONDS[call.sent_back - 1] for call in again), default=0)


def build_denial(call: AnyCall, refused: NotBegun) -> ToolFailure:
    """Build the result of a call that no worker has begun."""
    return tool_results.build_denial(
        call,
        "permission_denied",
        f"{refused.reason}, {len(RETRY_DELAYS_SECONDS) + 1} times",
        "ask for it again later",
        "go on without it",
    )


def send_back_call(call: CallState, refused: NotBegun) -> CallState:
    """Count that a call hasn't begun; deny it when it has been so too often."""
    if call.sent_back == len(RETRY_DELAYS_SECONDS):
        return call.with_(result=build_denial(call.call, refused))
    return call.with_(sent_back=call.sent_back + 1)
