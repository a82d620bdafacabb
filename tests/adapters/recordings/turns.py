"""Our items, made piece by piece."""

from typing import NamedTuple

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall, MalformedCall, ToolCall
from holdfast.contracts.model import ModelRequest, Prefix, Strategy
from holdfast.contracts.transcript import AssistantTurn, Part, TranscriptItem
from tests.adapters.recordings.values import Body, Value, is_object

SYSTEM = {"system", "developer"}


class Saying:
    """What a model said, in order."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._parts: list[Part] = []
        self._calls: list[AnyCall] = []

    def text(self, text: str, native: JsonObject) -> None:
        if text:
            self.add(Part(kind="text", text=text, native=native))

    def call(self, call_id: str, name: str, arguments: Value, native: JsonObject) -> None:
        """Add a call; arguments that are no object stay text."""
        if is_object(arguments):
            self._calls.append(ToolCall(call_id=call_id, name=name, arguments=arguments))
        else:
            self._calls.append(MalformedCall(call_id=call_id, name=name, raw_arguments=arguments))
        self.add(Part(kind="call", native=native))

    def add(self, part: Part) -> None:
        self._parts.append(part)

    @property
    def turn(self) -> AssistantTurn:
        """The turn; without parts where its text and its calls tell it all."""
        texts = [part.text for part in self._parts if part.kind == "text"]
        return AssistantTurn(
            model=self._model,
            text="\n\n".join(texts),
            calls=tuple(self._calls),
            parts=() if self._is_plain(len(texts)) else tuple(self._parts),
        )

    def _is_plain(self, texts: int) -> bool:
        kinds = [part.kind for part in self._parts]
        native = any(part.native for part in self._parts)
        return (
            not native and texts <= 1 and kinds == ["text"] * texts + ["call"] * len(self._calls)
        )


def says_anything(turn: AssistantTurn) -> bool:
    return bool(turn.text or turn.calls or turn.parts)


def leading(messages: list[Body]) -> tuple[list[Body], list[Body]]:
    """Split what the system says first from the conversation."""
    words = (n for n, m in enumerate(messages) if m.get("role") not in SYSTEM or "type" in m)
    count = next(words, len(messages))
    return messages[:count], messages[count:]


class Kept(NamedTuple):
    """What a provider keeps of a conversation, and how the run knows it."""

    strategy: Strategy = "stateless"
    state: JsonObject = {}  # noqa: RUF012 -- never changed

    @property
    def known(self) -> bool:
        return self.strategy != "stateless"


def asking(
    model: str,
    prefix: Prefix,
    transcript: tuple[TranscriptItem, ...],
    kept: Kept = Kept(),  # noqa: B008 -- a constant
) -> ModelRequest:
    """Ask for what follows the transcript, in the first turn: there a choice of tool counts."""
    return ModelRequest(
        run_id="r1",
        turn=1,
        attempt=1,
        model=model,
        prefix=prefix,
        transcript=transcript,
        provider_state=kept.state,
        strategy=kept.strategy,
    )
