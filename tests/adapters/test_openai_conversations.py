"""How the conversation so far reaches a model of OpenAI Responses."""

from dataclasses import replace

import pytest

from holdfast.adapters.openai import OpenAIAdapter, conversation_state
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall, ToolFailure
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, UserTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai_items import (
    MODEL,
    ask,
    call,
    entries,
    found,
    message,
    response,
    result,
    thought,
    turn,
)

GOAL: JsonObject = {"role": "user", "content": "Where are my orders?"}
PROGRAM: JsonObject = {
    "type": "program",
    "id": "prog_1",
    "call_id": "call_9",
    "code": "go()",
    "fingerprint": "f",
    "status": "completed",
}
APPROVAL: JsonObject = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "crm",
    "name": "delete",
    "arguments": '{"id": 4}',
}
CUSTOM: JsonObject = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "call_1",
    "name": "sql",
    "input": "select 1",
}


def output(call_id: str, kind: str = "function_call_output") -> JsonObject:
    return {
        "type": kind,
        "call_id": call_id,
        "output": '{"status":"ok","summary":"sent","data":null}',
    }


async def following(provider: ProviderServer, *items: JsonObject) -> list[JsonObject]:
    """Have a model put out items, answer its calls, and return what it is sent next."""
    provider.answer(response(*items))
    provider.answer(response(message("done", 9)))
    adapter = OpenAIAdapter()
    reply = await adapter.respond(ask())
    answers = [found(reply)] if reply.calls else []
    await adapter.respond(ask(say.GOAL, turn(reply), *answers))
    return entries(provider.requests[1].body)


async def test_parallel_calls_are_answered_together(provider: ProviderServer) -> None:
    """One follow-up brings every function_call_output, before what people said meanwhile."""
    # AD-05, AD-08, AD-13, AD-14, AD-16, AD-21, LP-09, T-22
    arguments = '{"order_id":9007199254740993,"max":0.1}'
    one, other = call(1, arguments) | {"call_id": "c1"}, call(2, "{}") | {"call_id": "c2"}
    provider.answer(response(message("Let me see."), one, other))
    provider.answer(response(message("done", 2)))
    adapter = OpenAIAdapter()

    reply = await adapter.respond(ask())
    await adapter.respond(ask(say.GOAL, turn(reply), say.ANSWERED, say.STEERED))

    assert reply.stop == "tool_use"
    assert (reply.text, reply.calls) == ("Let me see.", say.ASKED_TWICE.calls)
    del one["status"], other["status"]
    assert entries(provider.requests[1].body) == [
        GOAL,
        message("Let me see."),
        one,
        other,
        {"type": "function_call_output", "call_id": "c1", "output": say.FOUND_TEXT},
        {"type": "function_call_output", "call_id": "c2", "output": say.NOT_FOUND_TEXT},
        {"role": "user", "content": "Hurry."},
    ]
    assert len(provider.requests) == 2


async def test_every_request_has_instructions_and_tools(provider: ProviderServer) -> None:
    """They are carried over from no earlier response."""
    # T-22
    await following(provider, call(1, "{}"))

    first, second = (received.body for received in provider.requests)
    assert second["instructions"] == "Be brief."
    assert second["tools"] == first["tools"]


async def test_missing_result_is_the_providers_to_refuse(provider: ProviderServer) -> None:
    """The server of these tests takes no turn with a call that has no result."""
    with pytest.raises(ModelRejected, match="No tool output found"):
        await OpenAIAdapter().respond(ask(say.GOAL, say.ASKED_TWICE))


async def test_sealed_reasoning_goes_back_over_a_tool_turn(provider: ProviderServer) -> None:
    """It is sent unchanged, with what came of it, however much of it there is."""
    # SS-01, AD-10
    sent = await following(
        provider,
        thought(1),
        message("Let me see.", 1, phase="commentary"),
        thought(2, content=[]),
        call(1, "{}"),
    )

    assert sent[1:3] == [thought(1), message("Let me see.", 1, phase="commentary")]
    assert sent[3] == thought(2, content=[])
    assert [entry["type"] for entry in sent[4:]] == ["function_call", "function_call_output"]


async def test_reasoning_is_dropped_whole_for_another_model(provider: ProviderServer) -> None:
    """Another model is sent words and calls; nobody else can open its predecessor's thoughts."""
    # AD-04, T-25
    provider.answer(response(thought(), message("Let me see."), call(1, "{}")))
    provider.answer(response(message("done", 2)))
    adapter = OpenAIAdapter()
    reply = await adapter.respond(ask())

    await adapter.respond(ask(say.GOAL, turn(reply), found(reply), model="gpt-5-mini"))

    assert entries(provider.requests[1].body) == [
        GOAL,
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": "{}"},
        output("call_1"),
    ]


async def test_reasoning_that_cant_go_back_takes_its_turn_with_it(
    provider: ProviderServer,
) -> None:
    """A server that seals nothing wouldn't know the ids of what came with it either."""
    lost = thought(encrypted_content=None)

    sent = await following(provider, lost, call(1, "{}"))

    assert sent[1:] == [
        {"type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": "{}"},
        output("call_1"),
    ]


async def test_open_reasoning_goes_back(provider: ProviderServer) -> None:
    """Models with open weights think aloud, and want to be told what they thought."""
    aloud = thought(encrypted_content=None, content=[{"type": "reasoning_text", "text": "Hm."}])

    sent = await following(provider, aloud, call(1, "{}"))

    assert sent[1] == aloud


async def test_reasoning_that_nothing_came_of_stays_behind(provider: ProviderServer) -> None:
    """The API refuses it without the item that it led to."""
    sent = await following(provider, thought(1), message("Hm.", 1), thought(2))

    assert sent[1:] == [thought(1), message("Hm.", 1)]


async def test_hosted_and_unknown_items_go_back_as_they_came(provider: ProviderServer) -> None:
    """What the provider ran itself stays in its place."""
    # HT-01, T-27
    search: JsonObject = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "orders"},
    }
    unknown: JsonObject = {"type": "hologram", "id": "ho_1"}

    sent = await following(provider, search, unknown, message("Found it."))

    assert sent[1:] == [search, unknown, message("Found it.")]


async def test_calls_of_a_program_are_answered_to_it(provider: ProviderServer) -> None:
    """The output names the program that asked, and the program goes back with its fingerprint."""
    caller: JsonObject = {"caller": {"type": "program", "caller_id": "call_9"}}
    asked = call(1, "{}") | caller

    sent = await following(provider, PROGRAM, asked)

    del asked["status"]
    assert sent[1:] == [PROGRAM, asked, output("call_1") | caller]


async def test_call_without_hurry_is_answered_as_any_other(provider: ProviderServer) -> None:
    """A model that could go on without a result gets it all the same."""
    sent = await following(provider, call(1, "{}") | {"async": True})

    assert sent[1]["async"] is True
    assert sent[2] == output("call_1")


async def test_custom_call_gets_its_own_kind_of_output(provider: ProviderServer) -> None:
    """The API knows two kinds of calls with text, and mixes them up with nobody."""
    sent = await following(provider, CUSTOM)

    assert sent[1:] == [CUSTOM, output("call_1", "custom_tool_call_output")]


@pytest.mark.parametrize(
    ("answer", "approval"),
    [
        pytest.param(
            ToolFailure(
                status="error",
                call_id="mcpr_1",
                name="mcp.crm.delete",
                type="unknown_tool",
                reason="no such tool",
            ),
            {"approve": False, "reason": "no such tool"},
            id="refused",
        ),
        pytest.param(result("mcpr_1", "mcp.crm.delete"), {"approve": True}, id="granted"),
    ],
)
async def test_approval_is_what_the_run_says(
    provider: ProviderServer, answer: ToolFailure, approval: JsonObject
) -> None:
    """A server's tool is approved only where the run itself did it; an unknown tool never is."""
    # PP-05, HT-09
    provider.answer(response(APPROVAL))
    provider.answer(response(message("done", 2)))
    adapter = OpenAIAdapter()
    reply = await adapter.respond(ask())

    await adapter.respond(ask(say.GOAL, turn(reply), ToolTurn(results=(answer,))))

    response_item: JsonObject = {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
    }
    assert entries(provider.requests[1].body)[1:] == [APPROVAL, response_item | approval]


async def test_turns_of_another_provider_are_words_and_calls(provider: ProviderServer) -> None:
    """Its ids and names are made such as the API takes, the same for a call and its result."""
    # AD-04, LP-09
    long_id, odd_name = "toolu_" + 70 * "x", "mcp.crm.find it"
    theirs = AssistantTurn(
        model="anthropic:claude-sonnet-5",
        text="B",
        calls=(ToolCall(call_id=long_id, name=odd_name, arguments={"a": 1}),),
        parts=(
            Part(kind="reasoning", text="Hm.", native={"signature": "s"}),
            Part(kind="text", text="A"),
            Part(kind="hosted_call", name="web_search", native={"type": "server_tool_use"}),
            Part(kind="text", text="B"),
            Part(kind="call"),
        ),
    )
    provider.answer(response(message("ok")))

    answers = ToolTurn(results=(result(long_id, odd_name),))
    await OpenAIAdapter().respond(ask(say.GOAL, theirs, answers))

    sent = entries(provider.requests[0].body)
    assert sent[1] == {"role": "assistant", "content": "A\n\nB"}
    assert (sent[2]["name"], sent[2]["arguments"]) == ("mcp_crm_find_it", '{"a":1}')
    assert sent[2]["call_id"] == sent[3]["call_id"]
    assert sent[2]["call_id"] != long_id


async def test_renamed_call_keeps_its_new_id(provider: ProviderServer) -> None:
    """A run tells calls with equal ids apart; the call goes back under the id of its result."""
    provider.answer(response(call(1, "{}")))
    provider.answer(response(message("done", 2)))
    adapter = OpenAIAdapter()
    reply = await adapter.respond(ask())
    renamed = reply.model_copy(
        update={"calls": (reply.calls[0].model_copy(update={"call_id": "call_1-2-1"}),)}
    )

    await adapter.respond(ask(say.GOAL, turn(renamed), found(renamed)))

    sent = entries(provider.requests[1].body)
    assert [entry["call_id"] for entry in sent[1:]] == ["call_1-2-1", "call_1-2-1"]


async def test_malformed_arguments_go_back_as_they_came(provider: ProviderServer) -> None:
    """The model sees its own mistake again."""
    provider.answer(response(message("sorry")))

    await OpenAIAdapter().respond(ask(say.GOAL, say.MALFORMED, say.REFUSED))

    assert entries(provider.requests[0].body)[1]["arguments"] == '{"order_id": 4'


async def test_paused_turn_is_sent_again(provider: ProviderServer) -> None:
    """A model that paused goes on behind what it said."""
    # BY-49
    said = message("I'll look it up.", phase="commentary")

    assert await following(provider, said) == [GOAL, said]


def test_commentary_without_an_id_keeps_its_phase() -> None:
    """Servers that give no ids may still care for the phase of a message."""
    turned = AssistantTurn(
        model=f"openai:{MODEL}",
        parts=(Part(kind="text", text="Hm.", native={"phase": "commentary"}),),
    )

    body = OpenAIAdapter().build_request(ask(say.GOAL, turned, UserTurn(text="And?")))

    assert entries(body)[1] == {"role": "assistant", "content": "Hm.", "phase": "commentary"}


@pytest.mark.parametrize(("known", "begins"), [(["c1", "c2"], 2), (["c1", "c3"], 0), (["c1"], 0)])
def test_a_chain_goes_on_only_where_its_calls_have_our_names(
    known: list[str], begins: int
) -> None:
    """A call whose id was taken has another one here: its output would find no call there."""
    # SS-02
    state: JsonObject = {
        "previous_response_id": "resp_1",
        "_pruned_before": 0,
        "_calls": [*known],
    }
    asked = say.ASKED_TWICE.model_copy(update={"model": f"openai:{MODEL}"})
    request = ask(say.GOAL, asked, say.ANSWERED, strategy="previous_response_id")

    found = conversation_state.scope(replace(request, provider_state=state))

    assert (found.begin, bool(found.reference)) == (begins, begins > 0)
