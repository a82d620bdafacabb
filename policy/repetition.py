"""Whether a run goes round in circles."""

from contracts.base import JsonObject, digest
from contracts.budget import Ledger, Limits
from contracts.run import Stop
from contracts.tools import AnyCall, ToolCall, ToolResult


def fingerprint(call: AnyCall) -> str:
    """Return what makes two calls the same: tool and arguments, in whatever order of keys."""
    arguments = call.arguments if isinstance(call, ToolCall) else call.raw_arguments
    return digest([call.name, arguments])


def effect(name: str, values: JsonObject) -> str:
    """Return what makes two calls do the same, however their arguments are written."""
    return digest([name, values])


def count_call(ledger: Ledger, call: AnyCall) -> Ledger:
    """Count a call that a model asks for, whatever becomes of it."""
    now = fingerprint(call)
    repeats = ledger.repeats_in_a_row + 1 if now == ledger.last_fingerprint else 1
    return ledger.model_copy(update={"last_fingerprint": now, "repeats_in_a_row": repeats})


def count_result(ledger: Ledger, result: ToolResult) -> Ledger:
    """Count a result: a success ends a streak of failures."""
    failures = 0 if result.status == "ok" else ledger.failures_in_a_row + 1
    return ledger.model_copy(update={"failures_in_a_row": failures})


def looping(budget: Limits, ledger: Ledger, call: AnyCall) -> Stop | None:
    """Stop the run when *call*, counted already, is one identical call too many."""
    if ledger.repeats_in_a_row <= budget.loop_repeat_threshold:
        return None
    return Stop(
        reason="loop detected: same tool, same args",
        detail=f"{call.name} was asked for {ledger.repeats_in_a_row} times in a row "
        f"with the same arguments (loop_repeat_threshold {budget.loop_repeat_threshold})",
        next_safe_action="look at the trace for what the tool keeps answering, "
        "or declare the tool pollable",
    )


def failing(budget: Limits, ledger: Ledger) -> Stop | None:
    """Stop the run when too many calls failed in a row."""
    if ledger.failures_in_a_row < budget.max_consecutive_failures:
        return None
    return Stop(
        reason=f"max_consecutive_failures ({budget.max_consecutive_failures}) reached",
        detail=f"{ledger.failures_in_a_row} calls failed in a row",
        next_safe_action="look at the trace for the errors, mend their cause, start again",
    )
