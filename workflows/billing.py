"""What a call of a model costs a run. Pure."""

from contracts.model import ModelReply
from contracts.state import RunState
from contracts.usage import CallUsage


def billed(state: RunState, reply: ModelReply) -> RunState:
    """Count what a reply used, and what the attempts before it did."""
    state = billed_failure(state, reply.failed_usage or CallUsage())
    hosted = sum(part.kind == "hosted_call" for part in reply.parts)
    ledger = state.ledger.model_copy(
        update={
            "steps": state.ledger.steps + 1,
            "hosted_calls": state.ledger.hosted_calls + hosted,
            "usage": state.ledger.usage + reply.usage,
            "last_call": reply.usage,
        }
    )
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
