"""Of dozens of tools a turn is sent a few: what was looked for, what was used, what fits."""

from time import process_time

import pytest

from holdfast import Agent, App, AppError, Risk, Tool, tool
from holdfast.activities.model import ModelActivities
from holdfast.activities.transcripts import Transcripts
from holdfast.adapters.scripted import ScriptedAdapter
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.contracts.transcript import AssistantTurn, UserTurn
from holdfast.run import turns
from holdfast.run.limits.tool_choice import choose_tools, rank_tools
from holdfast.run.transcript import append_items
from holdfast.testing import Reply, Script, call, say
from holdfast.tools import find_tools
from holdfast.tools.redaction import Redactor
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from tests.asking import in_run
from tests.builders import a_call, a_contract, a_state
from tests.running import Runs
from tests.sample import told
from tests.workflows.test_provider_state import ThisRun

MOST = 6


def a_tool(number: int) -> Tool:
    """One of many, that looks after one thing."""

    async def work() -> str:
        return f"done {number}"

    work.__name__ = f"look_after_thing{number:02}"
    work.__doc__ = f"Look after thing{number:02} in the house."
    return tool(risk=Risk.COMPUTE_ONLY, local=True, timeout=5)(work)


MANY = [a_tool(number) for number in range(59)]


def an_app(script: Script, *tools: Tool, most: int | None = MOST) -> App:
    """An app with sixty tools, if nothing else is said."""
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=tools or [*MANY, find_tools],
        tools_per_turn=most,
    )
    return App(agents=[agent], scripts={"it": script})


async def test_a_turn_is_sent_so_many_tools(runs: Runs) -> None:
    """Of sixty; it can find others, and one that it wasn't sent is unknown until then."""
    # GF-03 NR-08
    script: Script = [
        call("look_after_thing41"),
        call("find_tools", words="thing41"),
        call("look_after_thing41"),
        told,
    ]
    async with runs.working(an_app(script)):
        run = await runs.start("it", "look after thing07")
        result = await run.result()
        first, _, third = await run.results()
        trace = read_trace([await run.handle.fetch_history()])

    sent = [turn.tools for turn in trace.turns]
    spans = [one for one in span_tree(trace).spans if one.type == "generation"]
    hashes = {str(one.attributes["tools_hash"]) for one in spans}
    assert [len(names) for names in sent] == [MOST] * 4
    assert "find_tools" in sent[0]
    assert "look_after_thing07" in sent[0]
    assert ("look_after_thing41" in sent[0], "look_after_thing41" in sent[2]) == (False, True)
    assert isinstance(first, ToolFailure)
    assert (first.type, third.status) == ("unknown_tool", "ok")
    assert result.answer == "look_after_thing41 ok"
    assert len(hashes) == len({*sent})


class Listening(ScriptedAdapter):
    """A model that remembers which tools it was sent."""

    sent: tuple[str, ...] = ()

    async def respond(self, request: ModelRequest) -> ModelReply:
        self.sent = tuple(one.name for one in request.prefix.tools)
        return await super().respond(request)


async def test_a_model_gets_the_schemas_of_these_alone() -> None:
    """What isn't chosen isn't sent; without a choice all are."""  # GF-03
    tools = (a_contract("look"), a_contract("send"))
    state = a_state(tools=tools)
    agent = state.agent.with_(prefix_digest=state.agent.prefix.digest)
    asked = turns.build_model_call(state.with_(agent=agent), "scripted:it")
    model = Listening({"it": [Reply(text="done")]})
    activities = ModelActivities(
        {"scripted": model},
        Transcripts(ThisRun(state.with_(agent=agent))),
        {},
        Redactor(frozenset[str]),
    )

    await in_run(state.run_id).run(
        activities.call_model, asked.model_copy(update={"tools": ("send",)})
    )
    narrowed = model.sent
    await in_run(state.run_id).run(activities.call_model, asked)

    assert (narrowed, model.sent) == (("send",), ("look", "send"))


CONTRACTS = (
    a_contract("find_tools"),
    *(a_contract(f"tool_{letter * 3}", description=f"Mind {letter * 4}.") for letter in "abcdef"),
)


def test_what_was_used_last_stays() -> None:
    """Then what fits who spoke last; the rest by name. The same state has the same choice."""
    # GF-03
    state = a_state("mind cccc", tools=CONTRACTS, tools_per_turn=3)
    used = append_items(state, AssistantTurn(model="m", calls=(a_call("tool_fff"),)))
    looked = append_items(
        used, AssistantTurn(model="m", calls=(a_call("find_tools", words="mind eeee"),))
    )
    steered = append_items(state, UserTurn(text="no, dddd", origin="steer"))

    again = append_items(
        looked, AssistantTurn(model="m", calls=(a_call("find_tools", words="bbbb"),))
    )

    assert choose_tools(state) == ("find_tools", "tool_aaa", "tool_ccc")
    assert choose_tools(used) == ("find_tools", "tool_ccc", "tool_fff")
    assert choose_tools(looked)[1:] == ("tool_aaa", "tool_eee")
    assert choose_tools(again)[1:] == ("tool_bbb", "tool_eee")
    assert choose_tools(steered)[1:] == ("tool_ccc", "tool_ddd")
    assert choose_tools(a_state(tools=CONTRACTS, tools_per_turn=len(CONTRACTS))) == ()
    assert choose_tools(a_state(tools=CONTRACTS)) == ()


def test_a_tool_that_must_be_called_is_sent() -> None:
    """Whatever was said, looked for and called: where settings ask for one tool it is there."""
    # GF-03
    settings = {"tool_choice": "tool_eee"}
    state = a_state("mind cccc", tools=CONTRACTS, tools_per_turn=2, settings=settings)
    used = append_items(state, AssistantTurn(model="m", calls=(a_call("tool_fff"),)))

    assert choose_tools(used) == ("find_tools", "tool_eee")


def test_no_number_of_searches_holds_a_worker_up() -> None:
    """A model may look for two hundred things in a reply: the latest few say what it is sent."""
    # GF-03
    words = " ".join(f"word{number}" for number in range(60))
    tools = [a_contract(f"tool_{number:03}", description=words) for number in range(300)]
    calls = tuple(a_call("find_tools", words=f"nothing {number}") for number in range(200))
    turns = [AssistantTurn(model="m", calls=calls) for _ in range(10)]
    state = a_state(tools=(a_contract("find_tools"), *tools), tools_per_turn=20)
    began = process_time()

    chosen = choose_tools(append_items(state, *turns))

    assert len(chosen) == 20
    assert process_time() - began < 2


def test_a_name_counts_for_more_than_a_description() -> None:
    """However a word is written; what has none of the words isn't found."""  # GF-03
    tools = (
        a_contract("cancel_order", description="Stop what was bought."),
        a_contract("list_orders", description="Tell what was bought, and what was cancelled."),
        a_contract("greet", description="Say hello."),
    )

    assert rank_tools(tools, "Cancel an ORDER") == ["cancel_order", "list_orders"]
    assert rank_tools(tools, "bought") == ["cancel_order", "list_orders"]
    assert rank_tools(tools, "weather") == []


@pytest.mark.parametrize(
    ("tools", "most", "why"),
    [
        pytest.param(MANY, 6, "give it holdfast.tools.find_tools", id="nothing that finds"),
        pytest.param([*MANY, find_tools], 1, "its tools_per_turn is 2 at least", id="too few"),
    ],
)
def test_a_choice_that_cant_work_is_refused(tools: list[Tool], most: int, why: str) -> None:
    """A tool that no turn is ever sent would be none."""  # GF-03
    with pytest.raises(AppError, match=why):
        an_app([say("done")], *tools, most=most)
