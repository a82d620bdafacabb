"""An adapter of somebody's own, whose replies are the plainest that there can be."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from pydantic import JsonValue

from holdfast import ModelPrice, ModelUnavailable
from holdfast.adapters.base import merge_fields
from holdfast.adapters.pricing import Listing, Tokens, build_usage
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall, ToolCall, ToolResult, ToolSuccess
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.testing import AdapterSamples

PRICE = ModelPrice(input=Decimal(2), output=Decimal(4))


class HouseAdapter:
    """Asks nobody: it repeats what it is told."""

    provider = "house"
    credentials = frozenset({"HOUSE_KEY"})
    hosted_tools: Mapping[str, str] = {"map_search": "map_search"}

    def find_listing(self, name: str) -> Listing | None:
        return Listing("", name, PRICE)

    def find_refused_settings(
        self, name: str, settings: ModelSettings
    ) -> Mapping[str, str] | None:
        return None

    async def respond(self, request: ModelRequest) -> ModelReply:
        goal = request.transcript[0]
        assert isinstance(goal, UserTurn)
        return self.parse_response(reply(f"heard: {goal.text}"))

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        return merge_fields(before, fresh)

    def build_request(self, request: ModelRequest) -> JsonObject:
        prefix = request.prefix
        said: list[JsonObject] = []
        for item in request.transcript:
            match item:
                case UserTurn(text=text):
                    said.append({"person": text})
                case AssistantTurn(text=text, calls=calls):
                    asked: list[JsonValue] = [
                        {one.name: one.arguments} for one in calls if isinstance(one, ToolCall)
                    ]
                    said.append({"model": text, "asked": asked})
                case ToolTurn(results=results):
                    said += map(self.build_tool_result, results)
        return {
            "told": prefix.instructions,
            "tools": [[one.name, one.description, one.input_schema] for one in prefix.tools],
            "said": [*said],
        }

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        said = result.summary if isinstance(result, ToolSuccess) else result.reason
        return {"answers": result.call_id, "said": said}

    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        whole: JsonObject = {}
        for event in events:
            whole.update(event)
        if "why" not in whole:
            raise ModelUnavailable("it ended in the middle", kind="cut_off")
        return whole

    def parse_response(self, raw: JsonObject) -> ModelReply:
        match raw:
            case {"text": str(text), "asks": list(asks), "why": str(why)}:
                calls = tuple(map(read_call, asks)) if why != "full" else ()
                return ModelReply(
                    text=text,
                    calls=calls,
                    stop="max_tokens" if why == "full" else "tool_use" if calls else "end_turn",
                    usage=self.extract_usage(raw),
                    model="house:it",
                )
            case _:
                raise ModelRejected("no reply", kind="unreadable")

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        match raw:
            case {"used": [int(came), int(went)]}:
                return build_usage(
                    self.provider, Listing("", "it", PRICE), Tokens(came, 0, 0, went)
                )
            case {"text": _}:
                return CallUsage(tokens_known=False, estimated_cost=None)
            case _:
                raise ModelUnavailable("no reply", kind="unreadable")


def read_call(asked: JsonValue) -> ToolCall | MalformedCall:
    match asked:
        case [str(call_id), str(name), dict(arguments)]:
            return ToolCall.model_validate(
                {"call_id": call_id, "name": name, "arguments": arguments}
            )
        case [str(call_id), str(name), raw]:
            return MalformedCall(call_id=call_id, name=name, raw_arguments=str(raw))
        case _:
            raise ModelRejected("no call", kind="unreadable")


def reply(text: str, *asks: JsonValue, why: str = "done") -> JsonObject:
    return {"text": text, "asks": [*asks], "why": why, "used": [10, 2]}


WORDS = reply("In Köln.")
TWO_CALLS = reply(
    "Let me see.",
    ["call_1", "find_order", {"order_id": 2**53 + 1, "max": 0.1}],
    ["call_2", "find_order", {}],
)


def in_events(whole: JsonObject) -> list[JsonObject]:
    return [{name: value} for name, value in sorted(whole.items())]


SAMPLES = AdapterSamples(
    model="it",
    words=WORDS,
    two_calls=TWO_CALLS,
    malformed=reply("", ["call_1", "find_order", [4]]),
    cut_short=reply("", ["call_1", "find_order", {}], why="full"),
    uncounted={name: value for name, value in WORDS.items() if name != "used"},
    words_events=in_events(WORDS),
    calls_events=in_events(TWO_CALLS),
)
