"""Conversations that OpenAI keeps: begun, and looked at before an attempt is repeated."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from holdfast.adapters import failures
from holdfast.adapters.openai import connection, conversation_state
from holdfast.adapters.openai.conversation_state import Scope
from holdfast.adapters.openai.errors import PROVIDER, ConversationExpired
from holdfast.adapters.wire import as_list
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelRequest
from holdfast.tools.network.pace import UnacceptableResponse

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MAX_ITEMS_PER_REPLY = 1_000
"""Items; a reply has 200 calls at most, each with what was thought before it and its result."""

_LOST_REPLY_NOTE = (
    "a reply that was lost or dropped may be in the conversation at openai: "
    "a new conversation was begun with the whole context"
)


async def scope(client: "AsyncOpenAI", request: ModelRequest) -> Scope:
    """
    Say what is sent in which conversation; begins one where there is none to go on with.

    What a failed attempt has left in it can't be taken back: a conversation is given up when it
    ends with anything but the item that it ended with when the last reply came. One with a reply
    that the run never took is given up without a look: it may still be on its way there.
    """
    known = conversation_state.scope(request)
    if not known.reference:
        left = request.unheard and "conversation_id" in request.provider_state
        return await begin(client, _LOST_REPLY_NOTE if left else "")
    if request.attempt == 1:
        return known
    last = await _last_item(client, str(known.reference["conversation"]))
    if last is not None and last == request.provider_state.get("_last_item"):
        return known
    return await begin(client, _LOST_REPLY_NOTE)


async def begin(client: "AsyncOpenAI", note: str = "") -> Scope:
    """Begin a conversation, to which everything is sent."""
    match await connection.create(client, "/conversations"):
        case {"id": str(made)}:
            return Scope({"conversation": made}, 0, note)
        case _:
            raise failures.from_unreadable_reply(PROVIDER)


async def forget(client: "AsyncOpenAI", states: Sequence[JsonObject]) -> Mapping[str, bool]:
    """
    Delete the responses and conversations that states of replies name.

    Raises ModelError, too, where one lists more than so many replies have left in it: a server
    may go on for ever.
    """
    found: dict[str, bool] = {}
    for response in _collect(states, "previous_response_id", "_response"):
        path = f"/responses/{_encode(response)}"
        found[f"response {response}"] = await connection.delete(client, path)
    for conversation in _collect(states, "conversation_id"):
        path = _path(conversation)
        # Its items would outlive it.
        await _empty(client, path, most=len(states) * _MAX_ITEMS_PER_REPLY)
        found[f"conversation {conversation}"] = await connection.delete(client, path)
    return found


def _collect(states: Sequence[JsonObject], *names: str) -> Sequence[str]:
    """Return what states have under these names, each once."""
    found = (state.get(name) for state in states for name in names)
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str)))


async def _empty(client: "AsyncOpenAI", path: str, most: int) -> None:
    """Delete all items of a conversation; nothing where it is gone."""
    deleted = set[str]()
    while True:
        try:
            listed = await connection.get(client, f"{path}/items?limit=100&order=desc")
        except ConversationExpired:
            return
        items = (one for one in as_list(listed.get("data")) if isinstance(one, dict))
        left = [str(one.get("id")) for one in items if str(one.get("id")) not in deleted]
        if not left:
            return
        if len(deleted) + len(left) > most:
            told = (
                f"a conversation with more than {most:,} items, of a run that can't have so many"
            )
            raise failures.from_unreadable_reply(PROVIDER, error=UnacceptableResponse(told))
        for name in left:
            await connection.delete(client, f"{path}/items/{_encode(name)}")
        deleted.update(left)


async def _last_item(client: "AsyncOpenAI", conversation: str) -> str | None:
    """Return the id of the last item; null without one, or without the conversation."""
    path = f"{_path(conversation)}/items?limit=1&order=desc"
    try:
        listed = await connection.get(client, path)
    except ConversationExpired:
        return None
    match listed:
        case {"data": [{"id": str(last)}, *_]}:
            return last
        case _:
            return None


def _path(conversation: str) -> str:
    return f"/conversations/{_encode(conversation)}"


def _encode(name: str) -> str:
    """Write a name as one segment of a path: `..` would lead out of it."""
    return quote(name, safe="").replace(".", "%2E")
