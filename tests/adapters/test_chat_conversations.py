"""What goes back to a server of what its own models said, and what of others' words."""

from typing import Any

import pytest

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import KNOWN_CHAT_SERVERS, ChatServer, Feature
from holdfast.contracts.base import JsonObject
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.chat import BASE, ChatRules
from tests.adapters.samples.openai_chat import WORDS, completion


def adapter(server: ProviderServer, *features: Feature) -> OpenAIChatAdapter:
    local = ChatServer(
        base_url=f"{server.address}/v1", key_variable="K", supports=frozenset(features)
    )
    return OpenAIChatAdapter({"local": local}, lambda _: "key")


def thinker(*parts: Part) -> AssistantTurn:
    return AssistantTurn(model="openai-chat:local/m", text="Köln.", parts=parts)


DETAILS: JsonObject = {
    "reasoning": "Two orders.",
    "reasoning_details": [{"type": "reasoning.text", "text": "Two orders.", "signature": "s"}],
}
THINKING: JsonObject = {"type": "thinking", "thinking": [{"type": "text", "text": "Two orders."}]}
SAID = Part(kind="text", text="Köln.")


@pytest.mark.parametrize(
    ("turn", "rendered"),
    [
        pytest.param(
            thinker(Part(kind="reasoning", native={"reasoning_content": "Two."}), SAID),
            {"reasoning_content": "Two.", "role": "assistant", "content": "Köln."},
            id="a field",
        ),
        pytest.param(
            thinker(Part(kind="reasoning", native=DETAILS), SAID),
            {**DETAILS, "role": "assistant", "content": "Köln."},
            id="two fields",
        ),
        pytest.param(
            thinker(Part(kind="reasoning", native=THINKING), SAID),
            {"role": "assistant", "content": [THINKING, {"type": "text", "text": "Köln."}]},
            id="pieces",
        ),
        pytest.param(
            thinker(SAID, Part(kind="other", name="audio", native={"audio": {"id": "a"}})),
            {"role": "assistant", "content": "Köln."},
            id="what nobody reads",
        ),
    ],
)
async def test_thoughts_go_back_as_they_came(
    provider: ProviderServer, turn: AssistantTurn, rendered: JsonObject
) -> None:
    """A server that takes reasoning back gets it in its own fields, unchanged."""
    # T-25; facts B.19
    provider.rules["/chat/completions"] = ChatRules(takes=BASE | {"reasoning"})
    provider.answer(WORDS)
    chat = adapter(provider, "reasoning_history")

    await chat.respond(say.request("local/m", say.GOAL, turn, say.STEERED))

    messages = provider.requests[0].body["messages"]
    assert isinstance(messages, list)
    assert messages[2] == rendered


@pytest.mark.parametrize(
    ("model", "features", "told"),
    [
        pytest.param("local/other", ("reasoning_history",), False, id="another model"),
        pytest.param("local/m", (), True, id="a server that takes none"),
    ],
)
async def test_thoughts_are_dropped_whole_elsewhere(
    provider: ProviderServer, model: str, features: tuple[Feature, ...], *, told: bool
) -> None:
    """No reasoning goes to another model, or to a server that refuses it, which is reported."""
    # T-25
    provider.rules["/chat/completions"] = ChatRules(takes=BASE)
    provider.answer(WORDS)
    turn = thinker(Part(kind="reasoning", native=THINKING), SAID)

    reply = await adapter(provider, *features).respond(
        say.request(model, say.GOAL, turn, say.STEERED)
    )

    messages = provider.requests[0].body["messages"]
    assert isinstance(messages, list)
    assert messages[2] == {"role": "assistant", "content": "Köln."}
    lost = "local takes no reasoning of earlier turns: it isn't sent back"
    assert (lost in reply.notes) is told


async def test_what_a_server_adds_to_its_calls_goes_back(provider: ProviderServer) -> None:
    """Some servers sign their calls and want to see the signature again."""
    provider.rules["/chat/completions"] = ChatRules(takes=BASE | {"reasoning"})
    extra: JsonObject = {"extra_content": {"google": {"thought_signature": "s"}}}
    function: JsonObject = {"name": "find_order", "arguments": '{"order_id":1}'}
    call: JsonObject = {"id": "c1", "type": "function", "function": function, **extra}
    provider.answer(completion({"content": None, "tool_calls": [call]}, stop="tool_calls"))
    provider.answer(WORDS)
    chat = adapter(provider)

    reply = await chat.respond(say.request("local/m"))
    turn = AssistantTurn(
        model="openai-chat:local/m", text=reply.text, calls=reply.calls, parts=reply.parts
    )
    await chat.respond(say.request("local/m", say.GOAL, turn, ToolTurn(results=(say.FOUND,))))

    messages = provider.requests[1].body["messages"]
    assert isinstance(messages, list)
    assert messages[2] == {"role": "assistant", "content": None, "tool_calls": [call]}


def test_ids_have_the_form_that_a_server_wants() -> None:
    """Mistral takes ids of nine letters and digits; its own calls keep theirs."""
    # AD-04
    chat = OpenAIChatAdapter({"mistral": KNOWN_CHAT_SERVERS["mistral"]})
    own = say.ASKED_TWICE.model_copy(update={"model": "openai-chat:mistral/m"})

    foreign = chat.build_request(say.request("mistral/m", say.ASKED_TWICE, say.ANSWERED))
    same = chat.build_request(say.request("mistral/m", own, say.ANSWERED))

    assert _ids(foreign) == (["d0f631ca1", "9c0abe51c"], ["d0f631ca1", "9c0abe51c"])
    assert _ids(same) == (["c1", "c2"], ["c1", "c2"])


def _ids(body: JsonObject) -> tuple[list[str], list[str]]:
    """The ids of calls, and of their results."""
    messages: Any = body["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    return calls, [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def test_turn_without_words_and_calls_is_left_out() -> None:
    """Servers refuse a message that says nothing."""
    silent = AssistantTurn(model="openai-chat:m", text="")

    body = OpenAIChatAdapter().build_request(say.request("m", say.GOAL, silent, say.STEERED))

    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where are my orders?"},
        {"role": "user", "content": "Hurry."},
    ]
