"""Who keeps the conversation: what of it a request sends, and what it refers to instead. Pure."""

from typing import NamedTuple

from holdfast.adapters.openai.errors import PROVIDER
from holdfast.adapters.openai.output_items import CALLS, CUT_SHORT
from holdfast.adapters.wire import as_list
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem


class Scope(NamedTuple):
    """The transcript is sent from *begin* on; *reference* names what holds all before."""

    reference: JsonObject
    begin: int
    note: str = ""


WHOLE = Scope({}, 0)
"""Everything is sent, and nothing referred to."""

_STATE_KEYS = {"previous_response_id": "previous_response_id", "conversation": "conversation_id"}


def scope(request: ModelRequest) -> Scope:
    """
    Say what a request sends, as far as the state of the run tells.

    A chain or conversation goes on only where it holds just what the model was shown: nothing was
    pruned since, no call was renamed, its last turn is the last one that there is, and no reply
    came since that the run never took.
    """
    known = request.provider_state.get(_STATE_KEYS.get(request.strategy, ""))
    begin = _behind_last_reply(request)
    if request.unheard or not isinstance(known, str) or begin is None:
        return WHOLE
    if request.provider_state.get("_pruned_before") != request.pruned_before:
        return WHOLE
    asked = _list_call_ids(request.transcript[begin - 1])
    if request.provider_state.get("_calls", asked) != asked:
        return WHOLE
    return Scope({request.strategy: known}, begin)


def state(
    request: ModelRequest, scope: Scope, raw: JsonObject, reply: ModelReply
) -> JsonObject | None:
    """
    Return what the next call must know; empty where it has to begin anew.

    A response that holds a call which isn't in the reply can't be gone on from: nobody will ever
    answer that call. Nor is a call without tools gone on from: it may have been a question apart,
    which the transcript never held.
    """
    asked = [item for item in _items(raw) if item.get("type") in CALLS]
    known = scope.reference.get("conversation") or raw.get("id")
    if request.strategy == "stateless":
        return None
    if raw.get("status") in CUT_SHORT or len(asked) != len(reply.calls) or not known:
        return {}
    shown = None if request.without_tools else request.pruned_before
    kept: JsonObject = {_STATE_KEYS[request.strategy]: known, "_pruned_before": shown}
    if reply.calls:
        kept["_calls"] = [call.call_id for call in reply.calls]
    if request.strategy == "conversation":
        kept["_last_item"] = next((item.get("id") for item in reversed(_items(raw))), None)
        kept["_response"] = raw.get("id")
    return kept


def _behind_last_reply(request: ModelRequest) -> int | None:
    """Return the place behind the last reply, if it is this provider's and something follows."""
    for place in range(len(request.transcript), 0, -1):
        last = request.transcript[place - 1]
        if isinstance(last, AssistantTurn):
            follows = place < len(request.transcript)
            own = last.model.partition(":")[0] == PROVIDER.name
            return place if own and follows else None
    return None


def _list_call_ids(turn: TranscriptItem) -> list[str]:
    return [call.call_id for call in turn.calls] if isinstance(turn, AssistantTurn) else []


def _items(raw: JsonObject) -> list[JsonObject]:
    return [item for item in as_list(raw.get("output")) if isinstance(item, dict)]
