"""Attack: a model gets its words past the output guardrails by ending in another way."""

import asyncio
from pathlib import Path
from typing import get_args

import pytest
from structlog.testing import capture_logs

from holdfast import Agent, App, Tiers, Triggers
from holdfast.contracts.base import JsonObject
from holdfast.contracts.control import Backtracking, Fallback, Reaction
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.contracts.model import StopCause
from holdfast.contracts.transcript import Part
from holdfast.guardrails import GuardrailContext, guardrail, passed, tripped
from holdfast.guardrails.builtin import spec_compliance
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.attacks.watchers import seen
from tests.control.controlled import resolve
from tests.running import Run, Runs
from tests.sample import TOOLS
from tests.workflows.tiered import asked, staffed

BAD, ASIDE, PLAN = "the plan is to sell", "I will tell them to sell", "first sell it all"

STOPS: tuple[StopCause, ...] = get_args(StopCause)
CUT_SHORT = frozenset(STOPS) - {"end_turn", "tool_use", "pause"}


@guardrail(layer="output", on_trip="block")
async def discreet(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Nobody is told to sell."""
    return tripped("it tells them") if "sell" in subject.text else passed()


@guardrail(layer="output")
async def never(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Accept nothing, and quote nothing."""
    return tripped("no good")


def said(text: str) -> list[str]:
    """Which of the words that nobody may read are in a text."""
    return [words for words in (BAD, ASIDE, PLAN) if words in text]


def ending(stop: StopCause, reaction: Reaction) -> Agent:
    """An agent whose model says it, ends like this, and gives way to one that says it too."""
    return Agent(
        name=stop,
        instructions="Comment.",
        models=[f"scripted:{stop}", f"scripted:{stop}"],
        guardrails=(discreet,),
        escalates=reaction != "stop",
        fallback=Fallback(reactions=dict.fromkeys((*CUT_SHORT, "empty"), reaction)),
    )


async def settled(runs: Runs, run: Run) -> tuple[str, str]:
    """Where a run came to rest; it is aborted if it asks. With all that it told."""
    while not (waiting := await run.pending()) and not (await run.status()).stop:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)
    told = await seen(runs, run.handle.id)
    if waiting:
        await resolve(run, "abort")
    result = await run.result()
    after = await seen(runs, run.handle.id)
    return ("asked, " if waiting else "") + result.status, f"{told}{after}{result}"


@pytest.mark.parametrize("reaction", get_args(Reaction))
async def test_no_end_of_a_reply_tells_what_was_said(runs: Runs, reaction: Reaction) -> None:
    """However a reply ends: no query, screen, summary, result or log has its words."""
    # SM-05 GR-12
    scripts = {stop: (Reply(text=f"{BAD}!", stop=stop), *[say(BAD)] * 3) for stop in STOPS}
    app = App(agents=[ending(stop, reaction) for stop in STOPS], scripts=scripts)
    with capture_logs() as logs:
        async with runs.working(app):
            started = [await runs.start(stop) for stop in STOPS]
            ends = await asyncio.gather(*(settled(runs, run) for run in started))

    became = dict(zip(STOPS, (end for end, _ in ends), strict=True))
    assert said("\n".join(told for _, told in ends) + str(logs)) == []
    assert became["end_turn"] == became["pause"] == "blocked"
    if reaction == "stop":
        assert {became[stop] for stop in CUT_SHORT} == {"stopped"}
    if reaction == "ask":
        assert {became[stop] for stop in CUT_SHORT} == {"asked, stopped"}


async def test_no_approach_tells_what_was_said(runs: Runs) -> None:
    """Plans, words beside calls and answers of approaches that failed: the model alone reads."""
    # SM-05 BT-02 BT-04
    asked_again: list[str] = []

    def trying(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            asked_again.append(str(turn.transcript[-1]))
            return say(PLAN)
        if turn.transcript[-1].kind != "tool":
            return calls(call("look", place="here"), text=ASIDE)
        return say(BAD)

    agent = Agent(
        name="it",
        instructions="Comment.",
        models=["scripted:it"],
        tools=TOOLS,
        guardrails=(discreet,),
        acceptance=(never,),
        backtracking=Backtracking(max_backtracks=1),
        escalates=True,
    )
    with capture_logs() as logs:
        async with runs.working(App(agents=[agent], scripts={"it": trying})):
            run = await runs.start("it")
            end, told = await settled(runs, run)
            result = await run.result()

    assert end == "asked, stopped"
    assert said(told + str(logs)) == []
    assert [one.failure_reason for one in result.attempts] == [
        "acceptance checks failed: never: no good"
    ] * 2
    assert PLAN in asked_again[1]


async def test_no_failed_tier_tells_what_was_said(runs: Runs) -> None:
    """What a tier said that was cut short, and what a planner planned, was let out by nobody."""
    # SM-05
    app = staffed(
        {
            "coder": lambda _: Reply(text=BAD, stop="max_tokens"),
            "planner": [say(f'{{"subtasks": ["{BAD}"]}}')] * 2,
        },
        tiers=Tiers.model_validate(
            {"full": "coder", "decomposed": {"planner": "planner", "worker": "hand"}}
        ),
        guardrails=[discreet],
        escalates=True,
    )
    with capture_logs() as logs:
        async with runs.working(app):
            run = await runs.start("it")
            await asked(run)
            part = runs.client.get_workflow_handle(f"{run.handle.id}.1-full")
            theirs = await part.query("status")
            end, told = await settled(runs, run)

    assert end == "asked, stopped"
    assert said(str(theirs)) == []
    assert "model stopped: max_tokens" in str(theirs)
    assert said(told + str(logs)) == []
    assert "subtask 1" in told


async def test_no_objection_to_the_shape_of_an_answer_quotes_it(runs: Runs) -> None:
    """Neither its values nor its names: why it was blocked is said in words of the schema."""
    # SM-05 GR-25
    shape = spec_compliance(
        schema={"properties": {"to": {"type": "null"}}, "additionalProperties": False}
    )
    agent = Agent(name="it", instructions="Comment.", models=["scripted:it"], guardrails=(shape,))
    answer = say(f'{{"to": "{BAD}", "{ASIDE}": "{PLAN}"}}')
    with capture_logs() as logs:
        async with runs.working(App(agents=[agent], scripts={"it": [answer] * 3})):
            run = await runs.start("it")
            end, told = await settled(runs, run)

    assert end == "blocked"
    assert "properties/to/type" in told
    assert said(told + str(logs)) == []


async def test_what_was_said_on_the_way_to_an_answer_isnt_told_with_it(runs: Runs) -> None:
    """The guardrails have seen the answer, and not the pieces of the reply before it."""
    # SM-05
    parts = (
        Part(kind="reasoning", text=PLAN),
        Part(kind="text", text=ASIDE),
        Part(kind="hosted_call", name="web_search", text="rooms"),
        Part(kind="text", text="no comment"),
    )
    agent = Agent(
        name="it", instructions="Comment.", models=["scripted:it"], guardrails=(discreet,)
    )
    replies = (Reply(text="no comment", parts=parts),)
    async with runs.working(App(agents=[agent], scripts={"it": replies})):
        run = await runs.start("it")
        result = await run.result()
        told = await seen(runs, run.handle.id)

    assert result.answer == "no comment"
    assert "no comment" in told
    assert said(f"{told}{result}") == []


async def test_who_is_asked_because_of_the_time_reads_no_answer(
    runs: Runs, tmp_path: Path
) -> None:
    """Neither while its guardrails look, nor after they blocked it."""
    # SM-05 ES-12
    go = tmp_path / "go"

    @guardrail(layer="output", on_trip="block")
    async def slow(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Nobody is told to sell."""
        while not go.exists():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        return tripped("it tells them") if "sell" in subject.text else passed()

    agent = Agent(
        name="it",
        instructions="Comment.",
        models=["scripted:it"],
        guardrails=(slow,),
        triggers=Triggers(expected_time=0.3),
        escalates=True,
    )
    async with runs.working(App(agents=[agent], scripts={"it": [say(BAD)]})):
        run = await runs.start("it")
        while not (await run.pending() and await is_looking(run)):
            await let_on(run)  # a slow machine: they are asked before there is an answer
        held = await seen(runs, run.handle.id)
        go.touch()
        while await is_looking(run):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        blocked = await seen(runs, run.handle.id)
        while not (await run.status()).stop:
            await let_on(run)
        result = await run.result()
        after = await seen(runs, run.handle.id)

    assert result.status == "blocked"
    assert "Task taking much longer than expected" in held
    assert said(f"{held}{blocked}{after}{result}") == []


async def let_on(run: Run) -> None:
    """Let a run go on that asks how, unless its guardrail looks already."""
    looking = await is_looking(run)
    for request in () if looking else await run.pending():
        resolution: JsonObject = {"request_id": request.request_id, "action": "resume"}
        await run.signal("resolution", resolution)
    await asyncio.sleep(0.02)


async def is_looking(run: Run) -> bool:
    """Whether its guardrail has begun to look, and not ended."""
    found = await run.handle.describe()
    under_way = (one.activity_type.name for one in found.raw_description.pending_activities)
    return any("slow" in name for name in under_way)
