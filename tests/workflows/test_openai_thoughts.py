"""Sealed thoughts of OpenAI's models in whole runs: what goes back, in which order, to whom."""

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Handoff, ModelSettings
from holdfast.adapters.wire import as_list, as_object
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import Strategy
from tests.adapters.provider_server import ProviderServer
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import add, flood
from tests.workflows.provider_words import GPT, function_call, message, openai, reasoning

MINI = "openai:gpt-5-mini"
NEAR = 330_000
"""Tokens: 80 % of the window of the model, and some."""
GONE: JsonObject = {"error": {"code": "model_not_found", "message": "no such model"}}

strategies = pytest.mark.parametrize(
    "strategy", ["stateless", "previous_response_id", "conversation"]
)


def thinks(number: int, *items: JsonObject, tokens: int = 100) -> JsonObject:
    """A response with a thought of its number before what came of it."""
    usage: JsonObject = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
    thought = reasoning(f"thought {number}")
    return {**openai(thought, *items), "id": f"resp_{number}", "usage": usage}


def says(number: int, words: str) -> JsonObject:
    return openai(message(words) | {"id": f"msg_{number}"}) | {"id": f"resp_{number}"}


def sent(provider: ProviderServer, place: int = -1) -> list[str]:
    """What the input of a request is made of: ids of thoughts and calls, else who speaks."""
    asked = [one.body for one in provider.requests if one.path.endswith("/responses")][place]
    return [_name(one) for one in as_list(asked["input"])]


def _name(item: JsonValue) -> str:
    match item:
        case {"type": "reasoning", "id": name, "encrypted_content": sealed}:
            assert sealed == str(name).replace("rs_", "sealed ")
            return str(name)
        case {"type": "function_call_output", "call_id": name}:
            return f"output of {name}"
        case {"type": "function_call", "call_id": name}:
            return str(name)
        case _:
            return str(as_object(item).get("role"))


def an_app(*models: str, **settings: object) -> App:
    fields: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": models or (GPT,),
        "tools": [add, flood],
        "settings": ModelSettings(patience=0, reasoning="low"),
        **settings,
    }
    return App(agents=[Agent(**fields)])  # pyright: ignore[reportArgumentType] -- as a test wants


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_each_thought_stands_before_what_came_of_it(
    memory_runs: MemoryRuns, provider: ProviderServer, events: int
) -> None:
    """Sealed and unchanged, through all turns and executions, without anything of a worker's."""
    # BY-48
    two = (function_call("b", a=1, b=2), function_call("c", a=3, b=4))
    provider.answer(thinks(1, function_call("a", a=1, b=1)))
    provider.answer(thinks(2, *two))
    provider.answer(says(3, "done"))
    async with memory_runs.working(an_app(max_history_events=events), cached_transcripts=0):
        result = await (await memory_runs.start("it")).result()

    assert result.answer == "done"
    assert sent(provider) == [
        *("user", "rs_thought 1", "a", "output of a"),
        *("rs_thought 2", "b", "c", "output of b", "output of c"),
    ]


@strategies
async def test_another_model_takes_over_and_gives_back(
    memory_runs: MemoryRuns, provider: ProviderServer, strategy: Strategy
) -> None:
    """Neither sees thoughts of the other; its own it sees again when it is asked once more."""
    # BY-48 T-25
    provider.answer(thinks(1, function_call("a", a=1, b=1)))
    provider.answer(GONE, 404)
    provider.answer(thinks(2, function_call("b", a=1, b=2)))
    provider.answer(GONE, 404)
    provider.answer(says(3, "done"))
    async with memory_runs.working(an_app(GPT, MINI, GPT)):
        result = await (await memory_runs.start("it", strategy=strategy)).result()

    assert (result.answer, result.model) == ("done", GPT)
    assert sent(provider, 2) == ["user", "a", "output of a"]
    assert sent(provider) == ["user", "rs_thought 1", "a", "output of a", "b", "output of b"]


@pytest.mark.parametrize(
    ("receiver", "thought"),
    [pytest.param(GPT, ["rs_thought 1"], id="same"), pytest.param(MINI, [], id="another")],
)
@strategies
async def test_whom_a_run_is_handed_to_sees_the_thoughts_of_its_model(
    memory_runs: MemoryRuns,
    provider: ProviderServer,
    strategy: Strategy,
    receiver: str,
    thought: list[str],
) -> None:
    """A handoff leaves no call without its thought; another model gets the call alone."""
    # BY-48 HO-09
    provider.answer(thinks(1, function_call("t", "transfer_to_other", goal="add it")))
    provider.answer(says(2, "done"))
    described = ModelSettings(patience=0, reasoning="low")
    sender = Agent(
        name="it",
        instructions="Hand it over.",
        models=[GPT],
        settings=described,
        handoffs=[Handoff("other", when="always")],
    )
    other = Agent(name="other", instructions="Add it.", models=[receiver], settings=described)
    async with memory_runs.working(App(agents=[sender, other])):
        result = await (await memory_runs.start("it", strategy=strategy)).result()

    assert result.answer == "done"
    assert sent(provider) == ["user", *thought, "t", "output of t", "user"]


@strategies
async def test_a_summary_takes_thoughts_with_their_turns(
    memory_runs: MemoryRuns, provider: ProviderServer, strategy: Strategy
) -> None:
    """What is summed up goes whole; what stays keeps its thought, and a chain is begun anew."""
    # BY-48 BY-22 T-23
    for number in range(1, 5):
        asked = function_call(f"c{number}", "flood", characters=900 + number)
        words = [message(f"Step {number}. " * 100) | {"id": f"msg_{number}"}] if number < 3 else []
        provider.answer(thinks(number, *words, asked, tokens=NEAR if number > 2 else 100))
    provider.answer(says(5, "All is well so far."))
    provider.answer(says(6, "done"))
    async with memory_runs.working(an_app()):
        result = await (await memory_runs.start("it", strategy=strategy)).result()

    assert (result.answer, result.steps) == ("done", 6)
    assert sent(provider)[-3:] == ["rs_thought 4", "c4", "output of c4"]
    assert not {"rs_thought 1", "c1", "output of c1"} & {*sent(provider)}
    last = provider.requests[-1].body
    assert "previous_response_id" not in last


@strategies
async def test_a_fork_begins_with_the_thoughts_before_its_turn(
    runs: Runs, provider: ProviderServer, strategy: Strategy
) -> None:
    """They go back as they came; nothing refers to what the provider keeps of the first run."""
    # BY-48 T-23
    provider.answer(thinks(1, function_call("a", a=1, b=1)))
    provider.answer(thinks(2, function_call("b", a=1, b=2)))
    provider.answer(says(3, "done"))
    provider.answer(says(4, "otherwise"))
    async with runs.working(an_app()):
        run = await runs.start("it", strategy=strategy)
        await run.result()
        of: JsonObject = {"run_id": run.handle.id, "turn": 2}
        fork = await runs.start_with({"agent": "it", "retry_of": of, "actor": "dana"})
        result = await fork.result()

    assert result.answer == "otherwise"
    assert sent(provider)[:4] == ["user", "rs_thought 1", "a", "output of a"]
    assert not {"rs_thought 2", "b"} & {*sent(provider)}
    before, last = (str(one.body.get("conversation")) for one in provider.requests[-3::2])
    assert "previous_response_id" not in provider.requests[-1].body
    assert strategy != "conversation" or before != last
