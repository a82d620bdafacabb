"""What goes back to a model of what it said: piece by piece, in its order."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from contracts.model import ModelReply, ModelRequest
from contracts.tools import AnyCall, ToolSuccess
from contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn
from tests.adapters.recordings.exchanges import Body, Format
from tests.adapters.recordings.turns import asking


class Piece(NamedTuple):
    """One piece: words, a call, or something of the provider's own."""

    kind: str
    text: str
    call: AnyCall | None
    native: dict[str, Any]

    def is_within(self, other: "Piece") -> bool:
        """Whether the other is the same, or has more of the provider's own fields."""
        same = self[:3] == other[:3]
        return same and all(other.native.get(name) == self.native[name] for name in self.native)


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
    """Reasoning that is neither encrypted nor open can't; what came with it is bare without it."""
    thoughts = [piece.native for piece in said if piece.kind == "reasoning"]
    kept = all(t.get("type") != "reasoning" or _is_readable(t) for t in thoughts)
    bare = (piece._replace(native={}) for piece in said if piece.kind in {"text", "call"})
    return said if kept else list(bare)


def _is_readable(thought: Body) -> bool:
    return bool(thought.get("encrypted_content") or thought.get("content"))


def missing(some: Iterable[Piece], among: Iterable[Piece]) -> list[Piece]:
    """Those of *some* that aren't *among* the others in the same order."""
    others = iter(among)
    return [piece for piece in some if not any(piece.is_within(other) for other in others)]


def as_request(format_: Format, answer: Body) -> Body:
    """A request that has a recorded answer as its past, as it came."""
    match format_:
        case "anthropic":
            said = {"role": "assistant", "content": answer["content"]}
            return {"model": "m", "messages": [said, {"role": "user", "content": "Go on."}]}
        case "openai":
            return {"model": "m", "input": answer["output"]}
        case "openai-chat":
            message: Body = answer["choices"][0]["message"]
            return {"model": "m", "messages": [{"role": "assistant", **message}]}


def after(reply: ModelReply, before: ModelRequest) -> ModelRequest:
    """Ask for what follows our reply to *before*."""
    provider = reply.model.partition(":")[0]
    turn = AssistantTurn(
        model=f"{provider}:{before.model}", text=reply.text, calls=reply.calls, parts=reply.parts
    )
    results = (ToolSuccess(call_id=c.call_id, name=c.name, summary="") for c in reply.calls)
    following = ToolTurn(results=tuple(results)) if reply.calls else UserTurn(text="Go on.")
    return asking(before.model, before.prefix, (UserTurn(text="A goal."), turn, following))
