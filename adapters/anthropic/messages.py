"""
From a transcript to the messages of a request.

What the API wants: roles alternate. All results of a turn stand in the next user message, before
any words. Where a tool of Anthropic's own waits, for a result or to go on, words would be in its
way: they are held back until the next message that may carry them. Nobody puts words into the
model's mouth: unless it goes on with a turn that it paused, the last message is the user's.
"""

import hashlib
from collections.abc import Iterable

from pydantic import JsonValue

from holdfast.adapters import wire
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import (
    AnyCall,
    ToolCall,
    ToolFailure,
    ToolResult,
)
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, TranscriptItem, UserTurn

CONTINUE_PROMPT = "Go on."
HELD_BACK_NOTE = "what was said last waits until a tool of anthropic's own is done"

_CALL_ID = Pattern(r"[a-zA-Z0-9_-]+")


class MessageBuilder:
    """
    The messages of a request to *model*, built from one item of the transcript after the other.

    While `_results_only`, a tool of Anthropic's own waits and words are `_held`. If `_goes_on`,
    the model paused in its last turn and goes on without a word of the user.
    """

    def __init__(self, model: str, transcript: Iterable[TranscriptItem]) -> None:
        self._model = f"anthropic:{model}"
        self._messages: list[tuple[str, list[JsonObject]]] = []
        self._held: list[JsonObject] = []
        self._results_only = self._goes_on = False
        self._toolsets: dict[str, JsonValue] = {}
        items = tuple(transcript)
        turns = [item for item in items if isinstance(item, AssistantTurn) and _has_content(item)]
        parts = [part for turn in turns for part in self._own_parts(turn)]
        self._answered = _find_result_ids(parts)
        self._asked = {str(p.native.get("id")) for p in parts if p.kind == "hosted_call"}
        self._last = turns[-1] if turns else None
        for item in items:
            self._add(item)
        if self._ends_with("assistant") and not self._goes_on:
            self._add_user_text(_text(CONTINUE_PROMPT))

    @property
    def messages(self) -> list[JsonValue]:
        """
        The messages, with the user's last two marked as ends of a cache.

        The last one is where the next request finds this one's cache, the one before it where
        this request finds that of the request before.
        """
        shown: list[JsonValue] = []
        users = [place for place, (role, _) in enumerate(self._messages) if role == "user"]
        for place, (role, blocks) in enumerate(self._messages):
            marked = (
                [*blocks[:-1], with_cache_control(blocks[-1])] if place in users[-2:] else blocks
            )
            shown.append({"role": role, "content": [*marked]})
        return shown

    @property
    def notes(self) -> tuple[str, ...]:
        """What can't be said yet."""
        return (HELD_BACK_NOTE,) if self._held else ()

    @property
    def began_without_thinking(self) -> bool:
        """Whether results are to be read in a turn that the model didn't begin with thinking."""
        if len(self._messages) < 2:  # noqa: PLR2004 -- a call and its results
            return False
        (_, said), (_, heard) = self._messages[-2:]
        return heard[0].get("type") == "tool_result" and not _is_thinking(said[0])

    def _add(self, item: TranscriptItem) -> None:
        match item:
            case UserTurn():
                self._add_user_text(_text(item.text))
            case AssistantTurn():
                self._add_assistant_turn(item)
            case ToolTurn():
                self._add_results(item)

    def _add_user_text(self, words: list[JsonObject]) -> None:
        self._held += words
        if not self._results_only and self._held:
            self._extend("user", self._held)
            self._held = []

    def _add_results(self, turn: ToolTurn) -> None:
        results = [tool_result(result) for result in turn.results]
        for result in results:
            if toolset := self._toolsets.get(str(result["tool_use_id"])):
                result["toolset_name"] = toolset
        if results:
            self._extend("user", results)
        self._add_user_text([])

    def _add_assistant_turn(self, turn: AssistantTurn) -> None:
        own = self._own_parts(turn)
        if not own:
            if blocks := [*_text(turn.words), *map(_call, turn.calls)]:
                self._results_only = self._goes_on = False
                self._extend("assistant", blocks)
            return
        if not (blocks := self._own_blocks(turn)):
            return
        answered = _find_result_ids(own)
        waits = any(self._is_pending(part, turn, answered) for part in own)
        hosted = any(part.kind in ("hosted_call", "hosted_result", "other") for part in own)
        self._results_only = waits or any(_is_programmatic(part) for part in own)
        self._goes_on = hosted and not turn.calls
        self._extend("assistant", blocks)

    def _own_parts(self, turn: AssistantTurn) -> tuple[Part, ...]:
        """Return the parts of a turn of this very model; another's mean nothing to it."""
        return turn.parts if turn.parts and turn.model == self._model else ()

    def _own_blocks(self, turn: AssistantTurn) -> list[JsonObject]:
        calls = iter(turn.calls)
        blocks: list[JsonObject] = []
        for part in turn.parts:
            match part.kind:
                case "text":
                    blocks += [{**block, **part.native} for block in _text(part.text)]
                case "call":
                    block = {**_call(next(calls)), **part.native}
                    self._toolsets[str(block["id"])] = block.get("toolset_name")
                    blocks.append(block)
                case "reasoning" if part.native.get("type") == "thinking":
                    blocks.append({**part.native, "thinking": part.text})
                case "hosted_call" if self._is_orphan(part, turn):
                    pass
                case "hosted_result" if str(part.native.get("tool_use_id")) not in self._asked:
                    pass  # its call was pruned away
                case "reasoning" | "hosted_call" | "hosted_result" | "other":
                    blocks.append(part.native)
        return _drop_unsendable_thinking(blocks)

    def _is_pending(self, part: Part, turn: AssistantTurn, answered: frozenset[str]) -> bool:
        """Whether a hosted call isn't among those *answered* in its own turn."""
        is_open = str(part.native.get("id")) not in answered
        return part.kind == "hosted_call" and is_open and not self._is_orphan(part, turn)

    def _is_orphan(self, part: Part, turn: AssistantTurn) -> bool:
        """Whether a hosted call was left for good: another model went on in its place."""
        return turn is not self._last and str(part.native.get("id")) not in self._answered

    def _extend(self, role: str, blocks: Iterable[JsonObject]) -> None:
        if self._ends_with(role):
            self._messages[-1][1].extend(blocks)
        else:
            self._messages.append((role, list(blocks)))

    def _ends_with(self, role: str) -> bool:
        return bool(self._messages) and self._messages[-1][0] == role


def tool_result(result: ToolResult) -> JsonObject:
    """Render the answer to one call."""
    block: JsonObject = {
        "type": "tool_result",
        "tool_use_id": _call_id(result.call_id),
        "content": wire.result_text(result),
    }
    return block | {"is_error": True} if isinstance(result, ToolFailure) else block


def with_cache_control(block: JsonObject) -> JsonObject:
    """Ask for a cache of everything up to a block."""
    return {**block, "cache_control": {"type": "ephemeral"}}


def _text(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _call(call: AnyCall) -> JsonObject:
    # The API takes nothing but an object here; the result says what was wrong.
    return {
        "type": "tool_use",
        "id": _call_id(call.call_id),
        "name": wire.tool_name(call.name),
        "input": call.arguments if isinstance(call, ToolCall) else {},
    }


def _has_content(turn: AssistantTurn) -> bool:
    """Whether there is anything in a turn; a pause may come before the first word."""
    return bool(turn.parts or turn.calls or turn.text)


def _call_id(call_id: str) -> str:
    """Return an id that the API takes; one with other characters becomes a digest."""
    if _CALL_ID.fits(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"


def _find_result_ids(parts: Iterable[Part]) -> frozenset[str]:
    """Return the ids of the hosted calls whose results are here."""
    return frozenset(str(part.native.get("tool_use_id")) for part in parts)


def _is_programmatic(part: Part) -> bool:
    """Whether a call comes from code that runs at Anthropic."""
    caller = part.native.get("caller")
    return part.kind == "call" and isinstance(caller, dict) and caller.get("type") != "direct"


def _drop_unsendable_thinking(blocks: list[JsonObject]) -> list[JsonObject]:
    """Leave out the thinking that the API doesn't take back: without signature, or at the end."""
    kept = [b for b in blocks if b.get("type") != "thinking" or b.get("signature")]
    while kept and _is_thinking(kept[-1]):
        kept.pop()
    return kept


def _is_thinking(block: JsonObject) -> bool:
    return block.get("type") in ("thinking", "redacted_thinking")
