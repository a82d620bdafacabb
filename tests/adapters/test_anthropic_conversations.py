"""What goes back to Anthropic Messages of what was said before."""

from dataclasses import replace

import pytest

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.model import ModelReply
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem, UserTurn
from tests.adapters import conversations as say
from tests.adapters.anthropic_talk import (
    NEWER,
    found,
    heard,
    kept,
    messages,
    programmed,
    read,
    result,
    results,
    searching,
    thinking,
)
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.anthropic import MODEL, WORDS, call, message, text

CITED: JsonObject = {
    **text("Köln is old."),
    "citations": [{"type": "web_search_result_location", "url": "https://koeln.example"}],
}
REDACTED: JsonObject = {"type": "redacted_thinking", "data": "c2VjcmV0"}
FROM_A_SERVER: JsonObject = {
    "type": "mcp_tool_use",
    "id": "mcptoolu_1",
    "name": "ask",
    "server_name": "wiki",
    "input": {"q": "Köln"},
}
FROM_A_SERVER_TOO: JsonObject = {
    "type": "mcp_tool_result",
    "tool_use_id": "mcptoolu_1",
    "is_error": False,
    "content": [{"type": "text", "text": "old"}],
}


async def went_on(
    provider: ProviderServer, *content: JsonObject, stop: str = "end_turn"
) -> tuple[ModelReply, list[JsonObject]]:
    """Let the model say *content* and ask it again; return what it was told that it said."""
    provider.answer(message(*content, stop=stop))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    reply = await adapter.respond(say.request(MODEL))
    follow_up = results(*reply.calls) if reply.calls else UserTurn(text="Sure?")
    request = replace(say.request(MODEL, say.GOAL, kept(reply), follow_up), turn=2)
    await adapter.respond(request)

    return reply, messages(*request.transcript)[1][1]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            [thinking("Hm."), text("I look."), call("c1", {"order_id": 4})], id="thought"
        ),
        pytest.param([thinking("", "b21pdHRlZA=="), call("c1", {})], id="thought, not shown"),
        pytest.param([REDACTED, call("c1", {}), thinking("Or?"), call("c2", {})], id="redacted"),
        pytest.param([searching(), found(), CITED, text(" So it is.")], id="searched"),
        pytest.param([FROM_A_SERVER, FROM_A_SERVER_TOO, text("old")], id="asked an MCP server"),
        pytest.param([{**call("c1", {}), "caller": {"type": "direct"}}], id="direct caller"),
        pytest.param([{**call("c1", {}), "toolset_name": "browser"}], id="member of a toolset"),
        pytest.param([programmed("c1")], id="called by code"),
        pytest.param([call("c1", {}), text("I wait.")], id="words behind a call"),
        pytest.param([{"type": "hologram", "edges": 12}, text("ok")], id="unknown"),
        pytest.param([{"type": "container_upload", "file_id": "f1"}, text("ok")], id="a file"),
    ],
)
async def test_what_it_said_goes_back_as_it_was(
    provider: ProviderServer, content: list[JsonObject]
) -> None:
    """Every block of a turn goes back to its model unchanged and in order."""
    _, said = await went_on(provider, *content)

    assert said == content


async def test_plain_turns_need_no_parts(provider: ProviderServer) -> None:
    """Words and then calls tell it all; nothing is kept twice."""
    uncited: JsonObject = {**text("Let me"), "citations": None}
    unnamed: JsonObject = {**call("c1", {}), "toolset_name": None}

    reply, said = await went_on(provider, uncited, text(" see."), unnamed)

    assert (reply.text, reply.parts) == ("Let me see.", ())
    assert said == [text("Let me see."), call("c1", {})]


async def test_renamed_calls_keep_their_place(provider: ProviderServer) -> None:
    """The id of a call is the one that the run gave it; its result has the same."""
    provider.answer(message(thinking("Hm."), call("c1", {}), stop="tool_use"))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    reply = await adapter.respond(say.request(MODEL))
    renamed = ToolCall(call_id="c1-2-1", name="find_order", arguments={})
    turn = kept(reply).model_copy(update={"calls": (renamed,)})
    await adapter.respond(say.request(MODEL, say.GOAL, turn, results(renamed)))

    assert messages(say.GOAL, turn, results(renamed))[1:] == [
        ("assistant", [thinking("Hm."), call("c1-2-1", {})]),
        ("user", [result("c1-2-1")]),
    ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([thinking("Hm."), text("Köln."), call("c1", {})], id="thinking"),
        pytest.param([searching(), found(), text("Köln."), call("c1", {})], id="search"),
        pytest.param(
            [text("Köln."), {**call("c1", {}), "caller": {"type": "direct"}}], id="extra fields"
        ),
    ],
)
async def test_another_model_gets_words_and_calls_only(
    provider: ProviderServer, content: list[JsonObject]
) -> None:
    """What only the model itself can read is dropped whole, never edited."""
    provider.answer(WORDS)
    turn = heard(*content, stop="tool_use")
    request = say.request(NEWER, say.GOAL, turn, results(*turn.calls))

    await AnthropicAdapter().respond(request)

    assert messages(*request.transcript, model=NEWER)[1] == (
        "assistant",
        [text("Köln."), call("c1", {})],
    )


async def test_malformed_arguments_go_both_ways(provider: ProviderServer) -> None:
    """Arguments that are no object stay text, and go back as the object that the API wants."""
    # AD-16
    provider.answer(WORDS)

    await AnthropicAdapter().respond(say.request(MODEL, say.GOAL, say.MALFORMED, say.REFUSED))

    assert messages(say.GOAL, say.MALFORMED, say.REFUSED)[1] == (
        "assistant",
        [call("c1", {})],
    )


def test_result_whose_call_was_pruned_is_left_out() -> None:
    """A model that paused may have its first words pruned; the API wants no result alone."""
    order = call("c1", {})
    went_on = heard(found(), text("Found."), order, stop="tool_use")
    answers = results(*went_on.calls)
    whole = (say.GOAL, heard(searching(), stop="pause_turn"), went_on, answers)

    assert messages(*whole)[1][1] == [searching(), found(), text("Found."), order]
    assert messages(say.GOAL, went_on, answers)[1][1] == [text("Found."), order]


@pytest.mark.parametrize("call_id", ["functions.find:0", "fc_1|Köln", ""])
async def test_ids_of_others_are_made_to_fit(provider: ProviderServer, call_id: str) -> None:
    """An id that the API refuses becomes one that it takes, the same for call and result."""
    provider.answer(WORDS)
    theirs = ToolCall(call_id=call_id, name="functions.find", arguments={})
    other = theirs.model_copy(update={"call_id": f"{call_id}!"})
    turn = AssistantTurn(model="openai:x", calls=(theirs, other))

    await AnthropicAdapter().respond(say.request(MODEL, say.GOAL, turn, results(theirs, other)))

    (_, called), (_, answered) = messages(say.GOAL, turn, results(theirs, other))[1:]
    assert [use["name"] for use in called] == ["functions_find", "functions_find"]
    assert [use["id"] for use in called] == [each["tool_use_id"] for each in answered]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([thinking("Hm."), searching()], id="in a search"),
        pytest.param([searching(), found(), text("There is more.")], id="between two"),
        pytest.param(
            [{"type": "compaction", "content": "We spoke of Köln."}, searching()], id="compacted"
        ),
    ],
)
async def test_paused_turn_goes_on(provider: ProviderServer, content: list[JsonObject]) -> None:
    """What a model said before it paused goes back unchanged, and nothing behind it."""
    # BY-49
    stop = "compaction" if content[0]["type"] == "compaction" else "pause_turn"
    provider.answer(message(*content, stop=stop))
    provider.answer(message(found(), text("In Köln.")))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    paused = await adapter.respond(say.request(MODEL))
    going_on = say.request(MODEL, say.GOAL, kept(paused))
    done = await adapter.respond(going_on)
    sure = UserTurn(text="Sure?")
    await adapter.respond(say.request(MODEL, say.GOAL, kept(paused), kept(done), sure))

    assert (paused.stop, paused.calls) == ("pause", ())
    assert messages(*going_on.transcript)[1:] == [("assistant", content)]
    assert messages(say.GOAL, kept(paused), kept(done), sure)[1:] == [
        ("assistant", [*content, found(), text("In Köln.")]),
        ("user", [text("Sure?")]),
    ]


GO_ON = ("user", [text("Go on.")])
OTHERS = AssistantTurn(model="openai:x", text="I was saying")


@pytest.mark.parametrize(
    ("turns", "model"),
    [
        pytest.param([OTHERS], MODEL, id="another provider's"),
        pytest.param([heard(searching(), text("I was saying"))], NEWER, id="another model's"),
        pytest.param([heard(text("I was saying"))], MODEL, id="words only"),
    ],
)
async def test_nobody_speaks_for_the_model(
    provider: ProviderServer, turns: list[TranscriptItem], model: str
) -> None:
    """A conversation that ends with the model's words goes on by a word of ours."""
    provider.answer(WORDS)

    await AnthropicAdapter().respond(say.request(model, say.GOAL, *turns))

    assert messages(say.GOAL, *turns, model=model)[1:] == [
        ("assistant", [text("I was saying")]),
        GO_ON,
    ]


async def test_words_wait_for_code_to_be_done(provider: ProviderServer) -> None:
    """
    Calls that code makes want their results and nothing else.

    What people say meanwhile goes out with the next message that may hold words, and stays there.
    """
    running: JsonObject = {**searching("srvtoolu_9"), "name": "code_execution"}
    container: JsonObject = {"id": "container_1", "expires_at": "2026-11-21T12:00:00Z"}
    provider.answer(message(running, programmed("c1"), stop="tool_use", container=container))
    provider.answer(message(call("c2", {}), stop="tool_use"))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    first = await adapter.respond(say.request(MODEL))
    amid = (say.GOAL, kept(first), results(*first.calls), say.STEERED)
    second = await adapter.respond(say.request(MODEL, *amid))
    later = (*amid, kept(second), results(*second.calls), UserTurn(text="And?"))
    third = await adapter.respond(say.request(MODEL, *later))

    assert messages(*amid)[2:] == [("user", [result("c1")])]
    assert second.notes == ("what was said last waits until a tool of anthropic's own is done",)
    assert messages(*later)[2:] == [
        ("user", [result("c1")]),
        ("assistant", [call("c2", {})]),
        ("user", [result("c2"), text("Hurry."), text("And?")]),
    ]
    assert third.notes == ()


async def test_words_wait_for_a_search_to_be_done(provider: ProviderServer) -> None:
    """What people say during a pause doesn't come between a hosted tool and its result."""
    provider.answer(message(searching(), stop="pause_turn"))
    provider.answer(message(found(), call("c1", {}), stop="tool_use"))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    first = await adapter.respond(say.request(MODEL))
    amid = (say.GOAL, kept(first), say.STEERED)
    second = await adapter.respond(say.request(MODEL, *amid))
    later = (*amid, kept(second), results(*second.calls))
    await adapter.respond(say.request(MODEL, *later))

    assert messages(*amid)[1:] == [("assistant", [searching()])]
    assert len(second.notes) == 1
    assert messages(*later)[1:] == [
        ("assistant", [searching(), found(), call("c1", {})]),
        ("user", [result("c1"), text("Hurry.")]),
    ]


async def test_hosted_call_beside_ours_may_be_open(provider: ProviderServer) -> None:
    """Its result comes in a later reply, once our own results are in."""
    provider.answer(message(searching(), call("c1", {}), stop="tool_use"))
    provider.answer(message(found(), text("In Köln.")))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    first = await adapter.respond(say.request(MODEL))
    amid = (say.GOAL, kept(first), results(*first.calls))
    second = await adapter.respond(say.request(MODEL, *amid))
    await adapter.respond(say.request(MODEL, *amid, kept(second), UserTurn(text="Sure?")))

    assert messages(*amid)[1:] == [
        ("assistant", [searching(), call("c1", {})]),
        ("user", [result("c1")]),
    ]


async def test_hosted_call_without_an_end_is_left_out(provider: ProviderServer) -> None:
    """Where another model went on in the middle of a search, nobody waits for its result."""
    provider.answer(message(text("I look."), searching(), stop="pause_turn"))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    paused = await adapter.respond(say.request(MODEL))
    switched = (UserTurn(text="Go on.", origin="notice"), OTHERS, UserTurn(text="And?"))
    await adapter.respond(say.request(MODEL, say.GOAL, kept(paused), *switched))

    assert messages(say.GOAL, kept(paused), *switched)[1] == ("assistant", [text("I look.")])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([text("I th"), thinking("Hm")], id="at the end"),
        pytest.param([thinking("Hm", ""), text("I th")], id="without its signature"),
    ],
)
async def test_half_a_thought_does_not_go_back(
    provider: ProviderServer, content: list[JsonObject]
) -> None:
    """The API refuses thinking that ends a message or bears no signature."""
    _, said = await went_on(provider, *content, stop="max_tokens")

    assert said == [text("I th")]


def test_silent_turn_is_none() -> None:
    """A turn of nothing but thinking says nothing that could go back."""
    assert messages(say.GOAL, heard(thinking("Hm")), say.STEERED) == [
        ("user", [text("Where are my orders?"), text("Hurry.")])
    ]


def test_notes_of_a_reply_name_what_is_unread() -> None:
    """A kind of block that nobody knows is told of once, whatever its number."""
    # T-27
    hologram: JsonObject = {"type": "hologram"}

    reply = read(hologram, text("ok"), hologram, {"type": "advisor_tool_use", "id": "a1"})

    assert reply.notes == (
        "anthropic sent a block of type 'hologram', which this release keeps unread",
        "anthropic sent a block of type 'advisor_tool_use', which this release keeps unread",
    )
    assert [part.kind for part in reply.parts] == ["other", "text", "other", "hosted_call"]
