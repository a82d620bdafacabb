"""Results of tools: what a recording has as text is the data of ours, and goes out as our JSON."""

import json

from holdfast.contracts.calls import ToolFailure, ToolResult, ToolSuccess
from tests.adapters.recordings.values import Body, fields

SUCCESS = {"status", "summary", "data"}
FAILURE = {"status", "type", "reason", "next_valid_actions"}


def taken(call_id: str, text: str, *, failed: bool = False, of: str = "") -> ToolResult:
    """
    Take a result in: one that we wrote, or a stranger's, whose text is then its data.

    *of* is what a provider wants said of the call again. Our results have no place for it, as the
    call has it; here the name tells it, to be compared.
    """
    ours = _object(text)
    if failed:
        reason = str(ours["reason"]) if ours.keys() == FAILURE else text
        return ToolFailure(
            status="error", call_id=call_id, name=of, type="internal_error", reason=reason
        )
    data = ours["data"] if ours.keys() == SUCCESS else text
    return ToolSuccess(call_id=call_id, name=of, summary="", data=data)


def approved(call_id: str, *, approve: bool, reason: str) -> ToolResult:
    """Take in what was said to a provider that asked before it used a tool of its own."""
    if approve:
        return ToolSuccess(call_id=call_id, name="", summary="")
    return ToolFailure(
        status="denied", call_id=call_id, name="", type="permission_denied", reason=reason
    )


def _object(text: str) -> Body:
    try:
        return fields(json.loads(text))
    except ValueError:
        return {}
