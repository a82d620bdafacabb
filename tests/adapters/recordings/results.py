"""Results of tools: what a recording has as text is the data of ours, and goes out as our JSON."""

import json

from contracts.tools import ToolFailure, ToolResult, ToolSuccess
from tests.adapters.recordings.exchanges import Body


SUCCESS = {"status", "summary", "data"}
FAILURE = {"status", "type", "reason", "next_valid_actions"}


def taken(call_id: str, text: str, *, failed: bool = False) -> ToolResult:
    """Take a result in: one that we wrote, or a stranger's, whose text is then its data."""
    ours = _object(text)
    if failed:
        reason = str(ours["reason"]) if ours.keys() == FAILURE else text
        return ToolFailure(
            status="error", call_id=call_id, name="", type="internal_error", reason=reason
        )
    data = ours["data"] if ours.keys() == SUCCESS else text
    return ToolSuccess(call_id=call_id, name="", summary="", data=data)


def _object(text: str) -> Body:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
