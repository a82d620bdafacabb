"""What an agent begins with that goes on with a run: nothing that counted for the sender alone."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import pytest

from holdfast import Agent, App, Backtracking, Handoff
from holdfast.contracts.stops import Stop
from holdfast.guardrails import Guardrail
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from tests.control.approaches import good, round_of
from tests.control.controlled import broken
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, TOOLS
from tests.workflows.test_handoffs import TRANSFER


def relay(
    triage: Script,
    billing: Script,
    *,
    first: Script = (),
    ours: Sequence[Guardrail] = (),
    theirs: Sequence[Guardrail] = (),
    back: Backtracking | None = None,
) -> App:
    """An app whose agent `triage`, with two models, may hand its run over to `billing`."""
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:first", "scripted:triage"] if first else ["scripted:triage"],
                settings=IMPATIENT,
                tools=TOOLS,
                handoffs=[Handoff("billing", when="money questions")],
                guardrails=ours,
                max_output_retries=1,
                acceptance=[good] if back else [],
                backtracking=back,
            ),
            Agent(
                name="billing",
                instructions="Answer what is about money.",
                models=["scripted:billing", "scripted:spare"],
                settings=IMPATIENT,
                tools=TOOLS,
                guardrails=theirs,
                max_output_retries=1,
            ),
        ],
        scripts={
            "triage": triage,
            "first": first,
            "billing": billing,
            "spare": [say("spare")] * 9,
        },
    )


async def ended(memory_runs: MemoryRuns, app: App) -> tuple[str, str | None, Stop | None]:
    """Run it to its end, for a goal with a word that some don't take."""
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "bad news")
        result = await run.result()
        await run.story()
    return result.status, result.answer, result.stop


@pytest.mark.parametrize("mode", ["blocking", "parallel"])
async def test_its_guardrails_look_at_all_that_was_said(
    memory_runs: MemoryRuns, mode: Literal["blocking", "parallel"]
) -> None:
    """What passed the sender's, before and beside its turns, has to pass those of the receiver."""
    # HO-09
    never = on_word("no_bad", "bad", "input", mode=mode, on_trip="block")
    calm = on_word("calm", "shouting", "input", mode=mode, on_trip="block")
    app = relay([TRANSFER], lambda _: say("It is charged."), ours=[calm], theirs=[never])

    status, answer, _ = await ended(memory_runs, app)

    assert (status, answer) == ("blocked", None)


async def test_its_own_first_model_answers(memory_runs: MemoryRuns) -> None:
    """However many models of the sender had failed."""
    # HO-09

    def failing(_: ScriptTurn) -> Reply:
        return broken("unavailable")

    app = relay([TRANSFER], lambda _: say("It is charged."), first=failing)

    assert (await ended(memory_runs, app))[:2] == ("completed", "It is charged.")


async def test_it_says_otherwise_as_often_as_anybody(memory_runs: MemoryRuns) -> None:
    """The tries that an output guardrail leaves an answer aren't used up by the sender."""
    # HO-09

    def rude(turn: ScriptTurn) -> Reply:
        return say("bad" if turn.number == 3 else "It is charged.")

    never = on_word("no_bad", "bad", "output", on_trip="retry")
    app = relay([say("bad"), TRANSFER], rude, ours=[never], theirs=[never])

    assert (await ended(memory_runs, app))[:2] == ("completed", "It is charged.")


async def test_it_goes_back_to_no_place_of_the_senders(memory_runs: MemoryRuns) -> None:
    """Where the sender had planned and could go back, one that can't ends at its own end."""
    # HO-09

    def planning(turn: ScriptTurn) -> Reply:
        return say("hand it over") if turn.without_tools else TRANSFER

    def circling(_: ScriptTurn) -> Reply:
        return call("look", place="here")

    app = relay(planning, circling, back=Backtracking())

    status, _, stop = await ended(memory_runs, app)

    assert stop is not None
    assert (status, stop.reason) == ("stopped", "loop detected: same tool, same args")


async def test_nobody_goes_on_with_an_approach_that_has_failed(memory_runs: MemoryRuns) -> None:
    """Where calls of the turn that hands over end an approach, the sender plans another."""
    # HO-09
    failing = [call("made_up", number=number) for number in range(5)]

    def planning(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say(f"approach {round_of(turn)}")
        return calls(TRANSFER, *failing) if round_of(turn) == 1 else TRANSFER

    app = relay(planning, lambda _: say("It is charged."), back=Backtracking())
    async with memory_runs.working(app), asyncio.timeout(30):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        await run.story()

    assert (result.status, result.answer) == ("completed", "It is charged.")
    assert [one.number for one in result.attempts] == [1]
    assert result.attempts[0].failure_reason.endswith("5 calls failed in a row")
