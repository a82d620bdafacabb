"""Whether a run goes round in circles."""

from holdfast.contracts.base import digest
from holdfast.contracts.budget import Ledger, Limits
from holdfast.contracts.calls import AnyCall, ToolCall, ToolResult
from holdfast.contracts.stops import Stop, StopReason
from holdfast.run.texts.figures import pluralize

MAX_CYCLE_CALLS = 6
"""Calls: a run that goes round in a longer circle is ended by its other limits."""


NO_RECURRENCES = (0,) * MAX_CYCLE_CALLS


FINGERPRINT_DIGITS = 16
"""Digits of a fingerprint that tell calls apart which follow upon each other."""


def fingerprint(call: AnyCall) -> str:
    """Return what makes two calls the same: tool and arguments, in whatever order of keys."""
    arguments = call.arguments if isinstance(call, ToolCall) else call.raw_arguments
    return digest([call.name, arguments])


def count_call(ledger: Ledger, call: AnyCall, *, pollable: bool = False) -> Ledger:
    """
    Count a call that a model asks for, whatever becomes of it.

    After a call that is `pollable` the count begins again: no loop has one in it.
    """
    if pollable:
        return reset_calls(ledger)
    now, before = fingerprint(call)[:FINGERPRINT_DIGITS], ledger.recent_calls
    recurrences = tuple(
        known + 1 if length <= len(before) and before[-length] == now else 0
        for length, known in enumerate(ledger.recurrences or NO_RECURRENCES, start=1)
    )
    recent = (*before, now)[-MAX_CYCLE_CALLS:]
    return ledger.with_(recent_calls=recent, recurrences=recurrences)


def reset_calls(ledger: Ledger) -> Ledger:
    """Forget which calls there were: what was asked for before may be asked for again."""
    return ledger.with_(recent_calls=(), recurrences=())


def count_result(ledger: Ledger, result: ToolResult) -> Ledger:
    """Count a result: a success ends a streak of failures."""
    failures = 0 if result.status == "ok" else ledger.failures_in_a_row + 1
    return ledger.with_(failures_in_a_row=failures)


def check_loop(budget: Limits, ledger: Ledger, call: AnyCall) -> Stop | None:
    """Stop the run when *call*, counted already, completes one round too many of the same."""
    rounds = budget.loop_repeat_threshold
    cycles = enumerate(ledger.recurrences, start=1)
    length = next((length for length, again in cycles if again >= length * rounds), None)
    if length is None:
        return None
    same, asked = StopReason.SAME_CALL, f"{call.name} was asked for"
    if length > 1:
        same = StopReason.SAME_CYCLE
        asked = f"the same {length} calls, {call.name} the last of them, were asked for"
    return Stop.because(
        same,
        f"{asked} {rounds + 1} times in a row "
        f"with the same arguments (loop_repeat_threshold {rounds})",
    )


def check_failures(budget: Limits, ledger: Ledger) -> Stop | None:
    """Stop the run when too many calls failed in a row."""
    if ledger.failures_in_a_row < budget.max_consecutive_failures:
        return None
    return Stop.because(
        StopReason.FAILURES_IN_A_ROW,
        f"{pluralize(ledger.failures_in_a_row, 'call')} failed in a row",
        most=budget.max_consecutive_failures,
    )
