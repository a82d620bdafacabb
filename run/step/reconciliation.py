"""What is found out of a call whose own answer was lost. Pure."""

from pydantic import ValidationError

from holdfast.contracts.calls import AnyCall, Reconciled, ToolFailure, ToolResult, ToolSuccess


def parse_reconciliation(answer: ToolResult) -> Reconciled | None:
    """Read what a tool that reconciles found out; what can't be read tells nothing."""
    if isinstance(answer, ToolFailure):
        return None
    try:
        return Reconciled.model_validate(answer.data)
    except ValidationError:
        return None


def build_reconciliation(
    call: AnyCall, finder: str, answer: ToolResult | None
) -> ToolResult | None:
    """Build the result of a call whose own answer was lost; null while nobody knows of it."""
    match answer and parse_reconciliation(answer), answer:
        case Reconciled(happened=True, result=data), ToolSuccess():
            said = f"it happened, says {finder}; its own answer was lost"
            made = answer.with_(call_id=call.call_id, name=call.name, summary=said, spans=())
            return made.with_(data=data)
        case Reconciled(happened=False), _:
            said = f"it didn't happen, says {finder}"
            actions = ("ask for it again", "go on without it")
            return ToolFailure.of(call, "error", "timeout", said, *actions)
        case _:
            return None
