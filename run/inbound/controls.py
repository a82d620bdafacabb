"""What signals about no request do to a run, one case for each. Pure."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.signals import (
    CloseSignal,
    Control,
    SteerSignal,
    StopSignal,
    SuspensionSignal,
)
from holdfast.contracts.state.phase import Ended, Stopping
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import UserTurn
from holdfast.run import requests, turns
from holdfast.run.delegation.subagents import TIME_IS_UP, WHOLE_IS_FULL
from holdfast.run.sessions import messages as sessions
from holdfast.run.step import grading


class Refusal(NamedTuple):
    """Why a signal has no effect."""

    reason: str
    code: OutcomeCode


def wants_judgement(
    control: Control, signal: str, signed: Collection[str], *, is_part: bool
) -> bool:
    """Whether the signature of a signal has to be looked at, or that it has none."""
    if is_part and control.comes_with_whole:
        return False
    return control.token is not None or signal in signed


def after_control(
    state: RunState, signal: str, control: Control, now: datetime
) -> RunState | Refusal:
    """Let a signal of this name take effect, or say why not."""
    match control:
        case SuspensionSignal():
            return turns.set_suspension(state, on=signal == "suspend")
        case StopSignal() if state.is_ending:
            return Refusal(requests.describe_end(state), "over")
        case StopSignal():
            return after_stop(state, control, now)
        case CloseSignal():
            return sessions.close_as_told(state, control)
        case SteerSignal(text=text):
            deaf = requests.find_steering_refusal(state, text)
            if deaf is not None:
                return Refusal(*deaf)
            return requests.queue_steering(state, UserTurn(text=text, origin="steer"), now)


def stop_graders(state: RunState, message: StopSignal) -> RunState:
    """End those that look at work which is over, as a person says; it stays what it came to."""
    if not isinstance(state.phase, Ended):
        return state
    stop = _build_stop(state, message)
    return state.with_(phase=state.phase.with_grading_stop(stop))


def after_stop(state: RunState, message: StopSignal, now: datetime) -> RunState:
    """Begin to end a run, as a person says, or its time: nobody is asked anything any more."""
    if message.by == WHOLE_IS_FULL and state.brief.path:
        return stop_for_full_history(state, message.reason, now)
    stop = _build_stop(state, message)
    return requests.withdraw_requests(state, now).with_(phase=Stopping(stop=stop))


def stop_for_full_history(state: RunState, why: str, now: datetime) -> RunState:
    """
    Begin to end a run as a stop does, before the server ends it, and a part with its whole.

    Where it is over guardrails look at it no longer.
    """
    if state.has_graders:
        return grading.set_grading(state, "done")
    stop = Stop.because(StopReason.HISTORY_FULL, why)
    return requests.withdraw_requests(state, now).with_(phase=Stopping(stop=stop))


def _build_stop(state: RunState, message: StopSignal) -> Stop:
    """
    Build what a person said, or why its time is up.

    A time is given by who this one works for; of no other run anybody's word says that it is up,
    nor that a history is full.
    """
    late = message.by == TIME_IS_UP and bool(state.brief.path)
    reason = StopReason.TIME_IS_UP if late else StopReason.TOLD_TO_STOP
    return Stop.because(reason, message.reason, ended_by=message.by or "a person")
