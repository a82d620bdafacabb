"""What a call of a model costs a run. Pure."""

from holdfast.contracts.model import ModelReply
from holdfast.contracts.state import RunState
from holdfast.contracts.usage import CallUsage
from holdfast.policy import budgets


def billed(state: RunState, reply: ModelReply) -> RunState:
    """Count what a reply used, and what the attempts before it did."""
    state = billed_failure(state, reply.failed_usage or CallUsage())
    hosted = sum(part.kind == "hosted_call" for part in reply.parts)
    ledger = budgets.counted(state.ledger, reply.usage)
    ledger = ledger.model_copy(update={"hosted_calls": ledger.hosted_calls + hosted})
    return state.model_copy(update={"ledger": ledger})


def billed_failure(state: RunState, used: CallUsage) -> RunState:
    """Count what attempts without a reply used up."""
    ledger = state.ledger.model_copy(
        update={
            "usage": state.ledger.usage + used,
            "failed_usage": state.ledger.failed_usage + used,
        }
    )
    return state.model_copy(update={"ledger": ledger})
