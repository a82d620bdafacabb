"""An example of every contract that names what history has, in full."""

from holdfast.contracts.base import Contract
from holdfast.contracts.transcript import ReplyReference, ResultReference, ToolTurnReference
from holdfast.run import turns
from tests.builders import a_call, a_state, a_success

REPLY = ReplyReference(digest="d" * 16)
RESULT = ResultReference(call_id="c2", digest="d" * 16)
RESULTS = ToolTurnReference(results=(a_success(a_call()), RESULT))

EXAMPLES: list[Contract] = [
    REPLY,
    RESULT,
    RESULTS,
    turns.build_model_call(a_state(), "scripted:it").with_(items=(REPLY, RESULTS)),
]
