"""Attack: whoever may query a run wants an answer before its output guardrails let it out."""

import asyncio
from pathlib import Path
from typing import Unpack

import pytest
from pydantic import BaseModel
from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError

from holdfast import Agent, App, Risk, Tiers, tool
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails import Guardrail, GuardrailContext, guardrail, judged_by, passed, tripped
from holdfast.guardrails.builtin import secret_detection
from holdfast.guardrails.definition import GuardrailOptions
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.attacks.watchers import seen
from tests.running import Run, Runs
from tests.workflows.delegating import ask, desk
from tests.workflows.test_handoffs import TRANSFER
from tests.workflows.test_returning_handoffs import office
from tests.workflows.tiered import staffed

BAD, GOOD, ASIDE = "the plan is to sell", "no comment", "I will tell them to sell"


@tool(risk=Risk.READ_ONLY)
async def look() -> str:
    """Look at the market."""
    return "calm"


def held_up(go: Path, **terms: Unpack[GuardrailOptions]) -> Guardrail:
    """A guardrail that looks at an answer, and takes its time."""

    async def discreet(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Nobody is told to sell."""
        while not go.exists():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        return tripped("it tells them") if "sell" in subject.text else passed()

    return guardrail(layer="output", **terms)(discreet)


def app(go: Path) -> App:
    agent = Agent(
        name="it",
        instructions="Comment.",
        models=["scripted:it"],
        tools=(look,),
        guardrails=(held_up(go),),
    )
    replies: tuple[Reply, ...] = (calls(call("look"), text=ASIDE), say(BAD), say(GOOD))
    return App(agents=[agent], scripts={"it": replies})


def judged(go: Path) -> App:
    """An app in which another agent judges answers, and takes its time."""

    @tool(risk=Risk.READ_ONLY)
    async def ponder() -> str:
        """Wait for a sign."""
        while not go.exists():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        return "done"

    def says(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return calls(call("ponder"), text=f"they say {BAD}")
        bad = "sell" in turn.goal
        return say(GuardrailResult(tripwire_triggered=bad, reason="ours").model_dump_json())

    judge = Agent(name="judge", instructions="Judge.", models=["scripted:judge"], tools=(ponder,))
    agent = Agent(
        name="it",
        instructions="Comment.",
        models=["scripted:it"],
        guardrails=(judged_by("judge"),),
        output=Comment,
    )
    unfit = say(f'{{"words": "{BAD}", "tone": "{ASIDE}"}}')
    answers = iter((unfit, say(f'{{"words": "{BAD}", "tone": 1}}'), say(FIT)))
    return App(agents=[agent, judge], scripts={"it": lambda _: next(answers), "judge": says})


class Comment(BaseModel):
    """What is said to everybody."""

    words: str
    tone: int


FIT = '{"words":"no comment","tone":0}'


async def test_nobody_who_watches_reads_it_first(runs: Runs, tmp_path: Path) -> None:
    """Neither the run's screens and queries nor those of the judge's own run tell a candidate."""
    # SM-05
    go = tmp_path / "go"
    async with runs.working(judged(go)):
        run = await runs.start("it")
        part = f"{run.handle.id}.judged_by_judge-1"
        while not await is_at(runs, part, "ponder"):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        held = await seen(runs, run.handle.id) + await seen(runs, part)
        go.touch()
        result = await run.result()
        after = await seen(runs, run.handle.id) + await seen(runs, part)

    assert (result.status, result.answer) == ("completed", FIT)
    assert [said for said in (BAD, ASIDE) if said in held + after] == []
    assert f"judge: {part}" in held


async def test_nobody_who_watches_a_part_reads_it_first(runs: Runs, tmp_path: Path) -> None:
    """What a part has answered is no answer before the guardrails of the whole let it out."""
    # SM-05
    go = tmp_path / "go"
    app = staffed(
        {"coder": [calls(call("look", place="here"), text=ASIDE), say(BAD)]},
        tiers=Tiers(full="coder"),
        guardrails=[held_up(go, on_trip="block")],
    )
    async with runs.working(app):
        run = await runs.start("it")
        part = f"{run.handle.id}.1-full"
        while not await is_at(runs, run.handle.id, "discreet"):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        held = await seen(runs, run.handle.id) + await seen(runs, part)
        go.touch()
        result = await run.result()
        after = await seen(runs, run.handle.id) + await seen(runs, part)

    assert (result.status, result.answer) == ("blocked", None)
    assert [said for said in (BAD, ASIDE) if said in held + after] == []
    assert "1-full" in held


@pytest.mark.parametrize("by", ["task", "handoff"])
async def test_what_a_part_answers_is_told_no_sooner_than_the_answer_of_the_whole(
    runs: Runs, tmp_path: Path, by: str
) -> None:
    """The result of a call by which an agent did a part may be the answer that is looked at."""
    # SM-05
    go = tmp_path / "go"
    guard = held_up(go, on_trip="block")
    if by == "task":
        found = say(f'{{"facts": ["{BAD}"]}}')
        app = desk([ask("shares"), say(BAD)], [found], guardrails=[guard])
    else:
        app = office([TRANSFER, say(BAD)], [say(BAD)], guardrails=[guard])
    async with runs.working(app):
        run = await runs.start("desk" if by == "task" else "triage")
        while not await is_at(runs, run.handle.id, "discreet"):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        held = await seen(runs, run.handle.id)
        go.touch()
        result = await run.result()
        after = await seen(runs, run.handle.id)
        history = await run.handle.fetch_history()

    assert result.status == "blocked"
    assert BAD not in held + after
    assert "withheld" in held
    assert BAD in str(history.events)


async def is_at(runs: Runs, run_id: str, activity: str) -> bool:
    """Whether a run has come to an activity of this name."""
    try:
        execution = await runs.client.get_workflow_handle(run_id).describe()
    except RPCError:
        return False
    pending = execution.raw_description.pending_activities
    return any(activity in one.activity_type.name for one in pending)


async def test_what_is_told_of_a_failure_quotes_no_answer(runs: Runs) -> None:
    """A run that ends without an answer that fits doesn't say what didn't."""
    # SM-05
    agent = Agent(
        name="it",
        instructions="Comment.",
        models=["scripted:it"],
        guardrails=(secret_detection(),),
        output=Comment,
    )
    unfit = say(f'{{"words": "x", "tone": "{BAD}"}}')
    async with runs.working(App(agents=[agent], scripts={"it": (unfit,) * 10})):
        run = await runs.start("it")
        result = await run.result()
        told = await seen(runs, run.handle.id)

    assert result.stop is not None
    assert BAD not in result.stop.model_dump_json() + told


async def told(run: Run) -> str:
    """Everything that a run answers to whoever asks."""
    answers = (await run.status(), await run.transcript(), *(await run.pending()))
    return "\n".join(answer.model_dump_json() for answer in answers)


async def test_no_query_tells_an_answer_before_it_is_out(runs: Runs, tmp_path: Path) -> None:
    """Neither while guardrails look, nor after they blocked it; the model reads it all."""
    # SM-05
    go = tmp_path / "go"
    async with runs.working(app(go), cached_transcripts=0):
        run = await runs.start("it")
        while (status := await run.status()).step < 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        held = await told(run)
        guess = {"digest": "0" * 64}
        with pytest.raises(WorkflowQueryFailedError, match="not the digest of the call"):
            await run.handle.query("context", guess)
        go.touch()
        result = await run.result()
        after = await told(run)
        confirming = (status.transcript_digest, (await run.status()).transcript_digest)

    assert (result.status, result.answer) == ("completed", GOOD)
    assert confirming == (None, None)
    assert GOOD in after
    assert [said for said in (BAD, ASIDE) if said in held + after] == []
    assert held.count("[withheld: ") == 2
