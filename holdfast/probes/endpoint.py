"""A model where it is asked, and the questions that are put to it."""

import asyncio

from pydantic import JsonValue

from holdfast.adapters.base import ProviderAdapter, WindowSource
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings, Prefix, ToolSchema
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn
from holdfast.contracts.usage import CallUsage

REQUEST_SECONDS = 120.0
MAX_OUTPUT_TOKENS = 4_000
"""Of one reply: enough to think a little, and no bill to speak of."""

WORDS = ("heron-41", "kestrel-86")
TWO_GOAL = (
    "Look up the orders 1 and 2 with find_order, both at once in one turn. Then say what you were "
    "told of each, word by word."
)
LOOK_UP = ToolSchema(
    name="find_order",
    description="Look one order up.",
    input_schema={
        "type": "object",
        "properties": {"order_id": {"type": "integer"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
)
TOLD: JsonObject = {
    "order_id": 2**53 + 1,
    "reason": "broken",
    "items": [{"sku": "A-1", "quantity": 2}, {"sku": 'Ü "9"', "quantity": 1}],
    "remark": None,
}
_TOLD_IN_WORDS = (
    f"order_id is {2**53 + 1}, reason is broken, the items are 2 of sku A-1 and 1 of sku "
    'Ü "9" (the sku has the quotation marks in it), and remark is null'
)
CLAIM_GOAL = f"Call file_claim once: {_TOLD_IN_WORDS}."
SHAPE_GOAL = f"Answer with a claim: {_TOLD_IN_WORDS}."
_ITEM: JsonObject = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer"}},
    "required": ["sku", "quantity"],
    "additionalProperties": False,
}
CLAIM = ToolSchema(
    name="file_claim",
    description="File a claim about an order.",
    input_schema={
        "type": "object",
        "properties": {
            "order_id": {"type": "integer"},
            "reason": {"type": "string", "enum": ["late", "broken", "lost"]},
            "items": {"type": "array", "items": _ITEM},
            "remark": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["order_id", "reason", "items", "remark"],
        "additionalProperties": False,
    },
)


class Endpoint:
    """A model where it is asked, and what was asked of it so far."""

    def __init__(self, adapter: ProviderAdapter, model: str) -> None:
        self.adapter = adapter
        self.model = model
        self.requests = 0
        self.usage = CallUsage()
        self.notes: dict[str, None] = {}
        self.answered_by: str | None = None

    def build_request(
        self, goal: str, *said: TranscriptItem, prefix: Prefix | None = None
    ) -> ModelRequest:
        """Put a question, with what was said since, into the form that an adapter takes."""
        return ModelRequest(
            run_id="probe",
            turn=1 + sum(isinstance(item, AssistantTurn) for item in said),
            attempt=1,
            model=self.model,
            prefix=prefix or build_prefix(),
            transcript=(UserTurn(text=goal), *said),
            provider_state={},
        )

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Ask once. Raises ModelError, also where no whole reply comes in time."""
        self.requests += 1
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                reply = await self.adapter.respond(request)
        except TimeoutError:
            late = f"no whole reply came within {REQUEST_SECONDS:.0f} seconds"
            raise ModelUnavailable(late, kind="timeout") from None
        self.usage += reply.usage
        self.notes |= dict.fromkeys(reply.notes)
        self.answered_by = reply.model
        return reply

    async def ask_window(self) -> int | None:
        """Ask how much context the model takes, which costs nothing. Raises ModelError."""
        if not isinstance(self.adapter, WindowSource):
            return None
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await self.adapter.find_window(self.model)
        except TimeoutError:
            late = f"nothing came within {REQUEST_SECONDS:.0f} seconds"
            raise ModelUnavailable(late, kind="timeout") from None


def build_prefix(
    tools: tuple[ToolSchema, ...] = (),
    hosted: tuple[HostedTool, ...] = (),
    output_schema: JsonObject | None = None,
    **settings: JsonValue,
) -> Prefix:
    """Return what a probe tells a model beside its question."""
    return Prefix(
        instructions="Do exactly what you are told, with the tools that you have.",
        tools=tools,
        hosted=hosted,
        output_schema=output_schema,
        settings=ModelSettings.model_validate(
            {"max_output_tokens": MAX_OUTPUT_TOKENS, **settings}
        ),
    )


def answer_calls(reply: ModelReply) -> tuple[TranscriptItem, ...]:
    """Return what a run would have after a reply: its turn, and a result for each of its calls."""
    turn = AssistantTurn(model=reply.model, text=reply.text, calls=reply.calls, parts=reply.parts)
    if not reply.calls:
        return (turn,)
    results = tuple(
        ToolSuccess(call_id=call.call_id, name=call.name, summary=WORDS[number % len(WORDS)])
        for number, call in enumerate(reply.calls)
    )
    return turn, ToolTurn(results=results)


def has_field(value: JsonValue, name: str, *, wanted: bool) -> bool:
    """Whether a request says so anywhere of a field."""
    match value:
        case dict():
            return value.get(name) is wanted or any(
                has_field(inner, name, wanted=wanted) for inner in value.values()
            )
        case list():
            return any(has_field(inner, name, wanted=wanted) for inner in value)
        case _:
            return False
