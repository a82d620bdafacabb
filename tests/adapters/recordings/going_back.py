"""What goes back to a model of what it said: piece by piece, in its order."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.contracts.calls import AnyCall, ToolSuccess
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn
from tests.adapters.recordings.exchanges import Format
from tests.adapters.recordings.expected import Call, Said
from tests.adapters.recordings.turns import asking
from tests.adapters.recordings.values import Body, is_list

NO_ID = "none"
NO_NAME = "_"
"""What a call is named on its way back whose model forgot to: the APIs take no empty name."""

THOUGHTS = {"thinking", "redacted_thinking", "reasoning"}


class Piece(NamedTuple):
    """One piece: words, a call, or something of the provider's own."""

    kind: str
    text: str
    call: AnyCall | None
    native: Body

    def is_within(self, other: "Piece") -> bool:
        """Whether the other is the same, or has more of the provider's own fields."""
        same = self[:2] == other[:2] and _meant(self.call, other.call)
        return same and all(other.native.get(name) == self.native[name] for name in self.native)


def _meant(one: AnyCall | None, other: AnyCall | None) -> bool:
    """Whether both are the same call; where there was no id, any is right."""
    if one is None or other is None:
        return one is other
    if NO_ID in {one.call_id, other.call_id}:
        return one == other.model_copy(update={"call_id": one.call_id})
    return one == other


def pieces(turns: Iterable[TranscriptItem]) -> Iterator[Piece]:
    """All that a model said in these turns."""
    for turn in turns:
        if not isinstance(turn, AssistantTurn):
            continue
        calls = iter(turn.calls)
        for part in turn.parts:
            call = next(calls) if part.kind == "call" else None
            yield Piece(part.kind, part.text, call, part.native)
        if not turn.parts and turn.text:
            yield Piece("text", turn.text, None, {})
        for call in calls:
            yield Piece("call", "", call, {})


def can_go_back(said: list[Piece]) -> list[Piece]:
    """
    What a provider takes back of what its model said.

    Thoughts that nothing came of, or that aren't signed, stay behind. Where reasoning is neither
    encrypted nor open, what came with it goes back bare, as it may not go without it.
    """
    kept = [piece for piece in said if _is_signed(piece.native)]
    while kept and _is_thought(kept[-1].native):
        kept.pop()
    if all(map(_is_readable, (piece.native for piece in kept))):
        return kept
    return [piece._replace(native={}) for piece in kept if piece.kind in {"text", "call"}]


def _is_thought(native: Body) -> bool:
    """Whether it is a thought of a server that has one thought after the other, and then words."""
    return native.get("type") in THOUGHTS and not is_list(native.get("thinking"))


def _is_signed(native: Body) -> bool:
    unsigned = isinstance(native.get("thinking"), str) and not native.get("signature")
    return native.get("type") != "thinking" or not unsigned


def _is_readable(native: Body) -> bool:
    open_or_not = native.get("encrypted_content") or native.get("content")
    return native.get("type") != "reasoning" or bool(open_or_not)


def missing(some: Iterable[Piece], among: Iterable[Piece]) -> list[Piece]:
    """Those of *some* that aren't *among* the others in the same order."""
    others = iter(among)
    return [piece for piece in some if not any(piece.is_within(other) for other in others)]


def as_request(format_: Format, said: Said) -> Body:
    """A request that has a recorded reply as its past, as it came."""
    match format_:
        case "anthropic":
            message = {"role": "assistant", "content": said.output}
            return {"model": "m", "messages": [message, {"role": "user", "content": "Go on."}]}
        case "openai":
            return {"model": "m", "input": said.output}
        case "openai-chat":
            return {"model": "m", "messages": [_message(said)]}


def _message(said: Said) -> Body:
    """A message whose calls are all of one kind, and whose words may be a refusal."""
    message: Body = {
        **said.output,
        "role": "assistant",
        "tool_calls": list(map(_call, said.calls)),
    }
    return message | {"content": message["refusal"]} if message.get("refusal") else message


def _call(call: Call) -> Body:
    call_id, name, arguments = call
    function = {"name": name or NO_NAME, "arguments": arguments}
    return {"id": call_id or NO_ID, "type": "function", "function": function}


def after(reply: ModelReply, before: ModelRequest) -> ModelRequest:
    """Ask for what follows our reply to *before*."""
    provider = reply.model.partition(":")[0]
    turn = AssistantTurn(
        model=f"{provider}:{before.model}", text=reply.text, calls=reply.calls, parts=reply.parts
    )
    results = (ToolSuccess(call_id=c.call_id, name=c.name, summary="") for c in reply.calls)
    following = ToolTurn(results=tuple(results)) if reply.calls else UserTurn(text="Go on.")
    return asking(before.model, before.prefix, (UserTurn(text="A goal."), turn, following))
