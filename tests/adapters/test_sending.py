"""The contract suite, second half: what every adapter sends."""

import json
from dataclasses import replace

import pytest

from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall, ToolResult
from holdfast.contracts.stops import Stop
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn
from holdfast.run import replies
from holdfast.run.transcript import halt
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect, Samples
from tests.adapters.provider_server import ProviderServer
from tests.builders import NOW, a_state


async def test_results_go_back_to_their_calls(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A strict server takes the turn that answers what it asked: each call once, in order."""
    # AD-05, AD-08, AD-21, PP-01, T-21
    provider.answer(samples.TWO_CALLS)
    provider.answer(samples.WORDS)

    first = await adapter.respond(say.request(samples.MODEL))
    asked = say.turn(f"{adapter.provider}:{samples.MODEL}", first)
    results = say.answered(asked)
    second = await adapter.respond(
        say.request(samples.MODEL, say.GOAL, asked, results, say.STEERED)
    )

    assert (second.text, second.calls) == ("In Köln.", ())
    sent = json.dumps(provider.requests[1].body)
    assert all(
        say.holds(provider.requests[1].body, adapter.build_tool_result(result))
        for result in results.results
    )
    assert sent.index("result of call_1") < sent.index("result of call_2") < sent.index("Hurry.")


async def test_aborted_turn_can_be_gone_on_from(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A run that was ended between its calls leaves a transcript that a strict server takes."""
    # SM-04, T-21
    provider.answer(samples.TWO_CALLS)
    provider.answer(samples.WORDS)
    model = f"{adapter.provider}:{samples.MODEL}"
    first = await adapter.respond(say.request(samples.MODEL))
    asked = replies.after_model(
        a_state(models=[model]), first.model_copy(update={"model": model}), NOW
    )

    aborted = halt(asked, Stop(reason="cancelled by dana", detail="", next_safe_action=""), NOW)
    second = await adapter.respond(
        say.request(samples.MODEL, *aborted.conversation.items, say.STEERED)
    )

    assert [item.kind for item in aborted.conversation.items] == ["user", "assistant", "tool"]
    assert (second.text, second.calls) == ("In Köln.", ())
    assert json.dumps(provider.requests[1].body).count("cancelled by dana") == 2


async def test_malformed_calls_go_back(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, dialect: Dialect
) -> None:
    """A strict server takes a call whose arguments made no sense, with what was said of it."""
    # AD-16
    provider.answer(samples.MALFORMED)
    provider.answer(samples.WORDS)
    provider.answer(samples.WORDS)

    asked = say.turn(dialect.model, await adapter.respond(say.request(samples.MODEL)))
    for turn, results in ((asked, say.answered(asked)), (say.MALFORMED, say.REFUSED)):
        reply = await adapter.respond(say.request(samples.MODEL, say.GOAL, turn, results))
        assert reply.text == "In Köln."

    ours, other = (json.dumps(received.body) for received in provider.requests[1:])
    assert "result of call_1" in ours
    assert "no JSON object" in other


async def test_a_pause_is_gone_on_from(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, dialect: Dialect
) -> None:
    """A model that isn't done is asked again with what it said, and nothing else."""
    # LP-08
    if samples.PAUSED is None:
        return
    provider.answer(samples.PAUSED)
    provider.answer(samples.WORDS)

    paused = say.turn(dialect.model, await adapter.respond(say.request(samples.MODEL)))
    reply = await adapter.respond(say.request(samples.MODEL, say.GOAL, paused))

    assert reply.text == "In Köln."
    assert paused.text in json.dumps(provider.requests[1].body)


def test_marks_go_back_to_their_model_alone(
    adapter: ProviderAdapter, samples: Samples, dialect: Dialect
) -> None:
    """What a provider puts beside words and calls it sees again as it was; no other does."""
    # T-25
    said = adapter.parse_response(samples.MARKED)
    own, others = (say.turn(model, said) for model in (dialect.model, "other:model"))

    back, away = (
        adapter.build_request(say.request(samples.MODEL, say.GOAL, turn, *results))
        for turn in (own, others)
        for results in [(say.answered(turn), say.STEERED) if turn.calls else (say.STEERED,)]
    )

    assert say.holds(back, samples.MARK)
    assert not say.holds(away, samples.MARK)


async def test_thoughts_go_back_whole_or_not_at_all(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """Reasoning goes back unchanged to the model that it came from, if the API takes it."""
    # T-25; facts B.19
    provider.answer(samples.REASONING)
    provider.answer(samples.WORDS)

    reply = await adapter.respond(say.request(samples.MODEL))
    thought = say.turn(f"{adapter.provider}:{samples.MODEL}", reply)
    second = await adapter.respond(
        say.request(samples.MODEL, say.GOAL, thought, say.answered(thought))
    )

    assert [part.kind for part in reply.parts] == ["reasoning", "call"]
    assert "Two orders." in reply.parts[0].model_dump_json()
    if samples.REASONED is None:
        assert "Two orders." not in json.dumps(provider.requests[1].body)
        assert [note for note in second.notes if "reasoning" in note]
    else:
        assert say.holds(provider.requests[1].body, samples.REASONED)


def test_thoughts_of_another_model_stay_away(adapter: ProviderAdapter, samples: Samples) -> None:
    """What only the model understands that wrote it is shown to no other."""
    # AD-04, T-25
    reply = adapter.parse_response(samples.REASONING)
    thought = say.turn("other:model", reply)

    sent = json.dumps(
        adapter.build_request(say.request(samples.MODEL, say.GOAL, thought, say.answered(thought)))
    )

    assert "result of call_1" in sent
    assert "Two orders." not in sent


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(("c1", "c2"), id="plain"),
        pytest.param(("functions.find:0", "functions.find:1"), id="punctuation"),
        pytest.param(("a.b", "a:b"), id="alike but for what isn't allowed"),
        pytest.param(("é" * 9, "ö" * 9), id="letters from elsewhere"),
        pytest.param(("x" * 99 + "1", "x" * 99 + "2"), id="long"),
    ],
)
async def test_turns_of_another_provider_are_understood(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, ids: tuple[str, str]
) -> None:
    """A run that changes its model in the middle sends the new one everything there was."""
    # AD-04, LP-09
    calls = tuple(ToolCall(call_id=name, name="find_order", arguments={}) for name in ids)
    asked = AssistantTurn(model="other:model", text="Let me see.", calls=calls)
    provider.answer(samples.WORDS)

    reply = await adapter.respond(
        say.request(samples.MODEL, say.GOAL, asked, say.answered(asked), say.STEERED)
    )

    assert reply.text == "In Köln."
    sent = json.dumps(provider.requests[0].body, ensure_ascii=False)
    assert sent.count(f"result of {ids[0]}") == sent.count(f"result of {ids[1]}") == 1


@pytest.mark.parametrize("name", ["functions.find_order", "mcp.shop.find", "über", "", "x" * 99])
async def test_names_that_no_api_takes_are_made_to_fit(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, name: str
) -> None:
    """A model may make up a name that its own API refuses to hear again; the run goes on."""
    made_up = ToolCall(call_id="c1", name=name, arguments={})
    asked = AssistantTurn(model=f"{adapter.provider}:{samples.MODEL}", calls=(made_up,))
    provider.answer(samples.WORDS)

    reply = await adapter.respond(say.request(samples.MODEL, say.GOAL, asked, say.answered(asked)))

    assert reply.text == "In Köln."


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param(say.FOUND, say.FOUND_TEXT, id="success"),
        pytest.param(say.NOT_FOUND, say.NOT_FOUND_TEXT, id="failure"),
    ],
)
def test_result_keeps_its_call_id(adapter: ProviderAdapter, result: ToolResult, text: str) -> None:
    """A result names its call in the provider's own field, and says the same to every model."""
    # AD-08, AD-14, AD-17
    rendered = adapter.build_tool_result(result)

    assert result.call_id in rendered.values()
    assert any(text in part.values() for part in say.objects(rendered))


def test_schema_is_the_same_for_every_model(adapter: ProviderAdapter, samples: Samples) -> None:
    """A tool's schema reaches every provider as it is."""
    # AD-06, TC-01
    tools = adapter.build_request(say.request(samples.MODEL))["tools"]

    assert say.ORDER_SCHEMA in say.objects(tools)


async def test_strategy_is_followed_or_missed_aloud(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A provider that can't keep the conversation says so; one that can keeps what names it."""
    # PP-02, AD-10
    provider.answer(samples.WORDS)
    asked = replace(say.request(samples.MODEL), strategy="previous_response_id")

    reply = await adapter.respond(asked)

    assert bool(reply.provider_state) is not any("conversation" in note for note in reply.notes)


async def test_hosted_tool_that_nobody_has_is_missed_aloud(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A tool that this provider doesn't run itself is left out, and the run is told."""
    # PP-02
    provider.answer(samples.WORDS)
    prefix = say.PREFIX.model_copy(update={"hosted": (HostedTool(name="hologram"),)})

    reply = await adapter.respond(say.request(samples.MODEL, prefix=prefix))

    assert "hologram" not in json.dumps(provider.requests[0].body)
    assert [note for note in reply.notes if "hologram" in note]


def test_state_grows(adapter: ProviderAdapter) -> None:
    """What a provider wants to see again adds up; what was there before isn't touched."""
    # PS-06, T-25
    before: JsonObject = {"a": 1, "b": 1}

    assert adapter.merge_state(before, {"b": 2}) == {"a": 1, "b": 2}
    assert before == {"a": 1, "b": 1}
