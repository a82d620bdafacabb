"""Routes: another of an agent's models is asked for some turns, by what is recorded of the run."""

import pytest

from holdfast import Agent, App, AppError, Budget, Risk, Route, ToolError, tool
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.transcript import AssistantTurn
from holdfast.run import fallbacks, replies, turns
from holdfast.run.limits import routing
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from holdfast.trace.reader import read_trace
from holdfast.workflows.views import status
from tests.builders import (
    NOW,
    a_call,
    a_failure,
    a_reply,
    a_state,
    a_success,
    allowed,
    an_attempt,
    ruled_upon,
)
from tests.memory.runs import MemoryRuns
from tests.running import Runs

SMALL, MEDIUM, LARGE = "scripted:small", "scripted:medium", "scripted:large"


@tool(risk=Risk.READ_ONLY)
async def look_up(order: int) -> str:
    """Look an order up."""
    raise ToolError("not_found", f"there is no order {order}")


@tool(risk=Risk.READ_ONLY)
async def read_contract(name: str) -> str:
    """Read a contract."""
    return f"contract {name}"


def looking(turn: ScriptTurn) -> Reply:
    return call("look_up", order=turn.number)


def reading(turn: ScriptTurn) -> Reply:
    return call("read_contract", name="a") if turn.number == 1 else say("small")


def gone(_: ScriptTurn) -> Reply:
    raise ModelRejected("no such model", kind="not_found")


def desk(*routes: Route, small: Script, large: Script) -> App:
    agent = Agent(
        name="it",
        instructions="Work.",
        models=[SMALL, LARGE],
        routes=routes,
        tools=[look_up, read_contract],
    )
    return App(agents=[agent], scripts={"small": small, "large": large})


def test_the_status_names_the_model_that_a_route_has_asked() -> None:
    """Who asks a run hears which model is asked next, not which the chain would have."""
    # AD-04
    first = a_state(models=(SMALL, LARGE), routes=(Route(model=LARGE, from_turn=2),))
    second = replies.after_model(first, a_reply(a_call()), NOW)
    over = second.with_(phase=Ended(outcome="stopped"))

    assert [status(one).model for one in (first, second, over)] == [SMALL, LARGE, "scripted:it"]


async def test_a_stronger_model_takes_over_where_calls_fail(memory_runs: MemoryRuns) -> None:
    """After so many failures in a row the other model is asked, within what the agent allows."""
    # AD-04 BY-61
    app = desk(Route(model=LARGE, after_failures=2), small=looking, large=lambda _: say("large"))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.answer, result.model, result.steps) == ("large", LARGE, 3)


@pytest.mark.parametrize(
    ("results", "model"),
    [
        pytest.param("--", SMALL, id="two failures"),
        pytest.param("---", MEDIUM, id="three"),
        pytest.param("-+-+-", MEDIUM, id="three, not in a row"),
        pytest.param("----", LARGE, id="four"),
        pytest.param("----++++", LARGE, id="four calls went well"),
        pytest.param("----+++++", SMALL, id="five"),
        pytest.param("----+++-+++++", SMALL, id="five in a row"),
        pytest.param("---+++++--", SMALL, id="counted anew"),
    ],
)
def test_the_more_fails_the_stronger_the_model(results: str, model: str) -> None:
    """Up where calls fail, to the next and to the strongest; down once five in a row did not."""
    # BY-61
    state = a_state(
        models=(SMALL, MEDIUM, LARGE),
        routes=(Route(model=LARGE, after_failures=4), Route(model=MEDIUM, after_failures=3)),
    )
    for number, result in enumerate(results):
        asked = a_call(call_id=f"c{number}", n=number)
        state = replies.after_model(state, a_reply(asked), NOW)
        state = turns.close_turn_if_complete(ruled_upon(state, (allowed(asked),), NOW), NOW)
        ended = a_success(asked) if result == "+" else a_failure(asked)
        state = turns.after_tools(state, (ended,), NOW)

    assert routing.choose_model(state) == model


async def test_a_person_is_asked_where_the_strongest_fails_too(memory_runs: MemoryRuns) -> None:
    """Three calls of the small model, one of the next, two of the strongest, and then a person."""
    # BY-61
    upward = (Route(model=LARGE, after_failures=4), Route(model=MEDIUM, after_failures=3))
    agent = Agent(
        name="it",
        instructions="Work.",
        models=[SMALL, MEDIUM, LARGE],
        routes=upward,
        tools=[look_up],
        budget=Budget(max_consecutive_failures=6),
        escalates=True,
    )
    scripts: dict[str, Script] = dict.fromkeys(("small", "medium", "large"), looking)
    async with memory_runs.working(App(agents=[agent], scripts=scripts)):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        page = await run.transcript()
        await run.cancel()

    asked = [one.model for one in page.items if isinstance(one, AssistantTurn)]
    assert asked == [SMALL] * 3 + [MEDIUM] + [LARGE] * 2
    assert request.kind == "escalation"


async def test_what_was_called_says_who_goes_on(runs: Runs) -> None:
    """A turn behind a call of one tool is another model's; the next is the first one's again."""

    # AD-04
    def large(turn: ScriptTurn) -> Reply:
        return call("look_up", order=turn.number)

    app = desk(Route(model=LARGE, after_tools=("read_contract",)), small=reading, large=large)
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        trace = read_trace([await run.handle.fetch_history()])

    assert (result.answer, result.model, result.steps) == ("small", SMALL, 3)
    assert [turn.model for turn in trace.turns] == [SMALL, LARGE, SMALL]


async def test_where_the_routed_model_fails_the_chain_is_asked(memory_runs: MemoryRuns) -> None:
    """A route is a wish: the run goes on with the model whose turn it was."""
    # AD-04 FB-05
    app = desk(Route(model=LARGE), small=lambda _: say("small"), large=gone)
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert (result.answer, result.model) == ("small", SMALL)


async def test_a_start_keeps_the_routes_to_its_models(memory_runs: MemoryRuns) -> None:
    """What a start doesn't name isn't asked, by no route either."""
    # AD-04
    app = desk(Route(model=LARGE), small=lambda _: say("small"), large=lambda _: say("large"))
    async with memory_runs.working(app):
        both = await (await memory_runs.start("it")).result()
        one = await (await memory_runs.start("it", models=[SMALL])).result()

    assert (both.answer, one.answer) == ("large", "small")


def test_a_route_holds_from_its_turn_on() -> None:
    """All that it says must hold; before its turn the first model is asked."""
    # AD-04
    state = a_state(models=(SMALL, LARGE), routes=({"model": LARGE, "from_turn": 2},))
    later = replies.after_model(state, a_reply(model=SMALL, stop="pause", text="so"), NOW)

    assert routing.choose_model(state) == SMALL
    assert routing.choose_model(later) == LARGE
    unknown = state.with_(agent=state.agent.with_(models=(SMALL,)))
    assert routing.choose_model(unknown) == SMALL


def test_no_model_is_sent_what_was_kept_before_another_spoke() -> None:
    """A conversation that its provider keeps has a gap then, and is told anew."""
    # AD-04 T-25
    state = a_state(models=(SMALL, LARGE), routes=({"model": LARGE, "from_turn": 2},))
    reply = a_reply(model=SMALL, stop="pause", text="so", provider_state={"id": 1})
    spoken = replies.after_model(state, reply, NOW)

    assert turns.build_model_call(spoken, SMALL).provider_state == {"scripted": {"id": 1}}
    assert turns.build_model_call(spoken, LARGE).provider_state == {}
    assert isinstance(spoken.conversation.items[-1], AssistantTurn)


def test_a_routed_failure_moves_no_chain() -> None:
    """The model whose turn it was has done nothing wrong, and stays the one that is asked."""
    # AD-04
    state = a_state(models=(SMALL, LARGE), routes=({"model": LARGE},))
    attempt = an_attempt().model_copy(update={"model": LARGE, "turn": 1})

    after = fallbacks.after_failure(state, attempt, a_reply().usage, NOW)

    assert (after.chain.model_index, after.outcome) == (0, None)
    assert routing.choose_model(after) == SMALL


def test_a_route_is_left_for_two_turns_where_its_model_fails() -> None:
    """Then it is tried again; that another model failed says nothing of it."""
    # AD-04 FB-05
    state = a_state(models=(SMALL, LARGE), routes=({"model": LARGE},))
    failed = an_attempt().model_copy(update={"model": LARGE, "turn": 1})
    other = failed.model_copy(update={"model": SMALL})
    left = state.with_chain(attempts=(failed,))
    so = a_reply(model=SMALL, stop="pause", text="so")
    second = replies.after_model(left, so, NOW)
    third = replies.after_model(second, so, NOW)

    assert [routing.choose_model(one) for one in (left, second, third)] == [SMALL, SMALL, LARGE]
    assert routing.choose_model(state.with_chain(attempts=(other,))) == LARGE


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (Route(model="scripted:huge"), "its routes name 'scripted:huge', which is no model of it"),
        (
            Route(model=SMALL, after_tools=("fly",)),
            "its routes name 'fly', which is no tool of it",
        ),
    ],
)
def test_a_route_to_nowhere_is_refused(route: Route, said: str) -> None:
    """Whoever mistypes a model or a tool is told when the app is made."""
    # AD-04
    with pytest.raises(AppError, match=said):
        desk(route, small=[say("a")], large=[say("b")])
