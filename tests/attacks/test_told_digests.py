"""Attack: what one query tells is given to another as proof that its reader knows history."""

import asyncio
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle, WorkflowQueryFailedError

from holdfast import Agent, App, Risk, tool
from holdfast.client import Run
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from holdfast.run.gates import digest_subject
from holdfast.testing import call, calls, say
from tests.control.guarded import on_word
from tests.running import Runs
from tests.sample import scripted
from tests.sessions.talking import Talks

PIN, ASIDE = "the code is 170342", "I will tell them the code"
PLAIN = ("status", "usage", "transcript", "pending", "prefix", "carryover", "session")
PROVEN = ("context", "carryover", "archive")
DIGEST = re.compile(r"[0-9a-f]{16,}")


@tool(risk=Risk.READ_ONLY)
async def look_up() -> str:
    """Look up what there is."""
    return "found"


@pytest.fixture
def talks(runs: Runs, tmp_path: Path) -> Talks:
    return Talks(runs, f"file:{tmp_path / 'archive'}")


def guarded(go: Path) -> App:
    @guardrail(layer="output", on_trip="block")
    async def discreet(_: Subject, __: GuardrailContext) -> GuardrailResult:
        """Nobody is told a code."""
        while not go.exists():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        return tripped("it tells them")

    agent = Agent(
        name="it",
        instructions="Answer.",
        models=["scripted:it"],
        tools=(look_up,),
        guardrails=(discreet,),
    )
    return App(agents=[agent], scripts={"it": [calls(call("look_up"), text=ASIDE), say(PIN)]})


async def told_by(handle: WorkflowHandle[Any, Any]) -> str:
    """What each query tells who asks with nothing, or with any digest that one of them told."""
    told = {name: await ask(handle, name) for name in PLAIN}
    told["outcome"] = await ask(handle, "outcome", {"message_id": "m-1"})
    told["archive"] = await ask(handle, "archive", {"beginning": "f" * 64})
    assert told["carryover"]
    digests = sorted(set(DIGEST.findall(str(told))))
    proven = [await ask(handle, name, {"digest": one}) for one in digests for name in PROVEN]
    return json.dumps([told, proven])


async def ask(handle: WorkflowHandle[Any, Any], name: str, *given: dict[str, str]) -> object:
    with suppress(WorkflowQueryFailedError):
        return await handle.query(name, args=given)
    return None


async def test_no_answer_proves_who_reads_it(runs: Runs, tmp_path: Path) -> None:
    """While guardrails look at the answer of a run, and when they have blocked it."""
    # SM-05
    go = tmp_path / "go"
    async with runs.working(guarded(go)):
        run = await runs.start("it")
        while (await run.status()).step < 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        looking = await told_by(run.handle)
        go.touch()
        blocked = await run.result()
        after = await told_by(run.handle)

    assert blocked.status == "blocked"
    assert [one for one in (PIN, ASIDE) if one in looking + after] == []


async def test_nor_do_those_of_a_session(talks: Talks, tmp_path: Path) -> None:
    """While guardrails look, between two messages, and when it is closed."""
    # SM-05 SE-05
    go = tmp_path / "go"
    async with talks.working(guarded(go)):
        talk = talks.talk()
        await talk.say("m-1", "What is the code?")
        while (await talk.ask("status"))["step"] != 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        looking = await told_by(talk.handle)
        go.touch()
        await talk.result("m-1")
        idle = await told_by(talk.handle)
        await talk.close()
        closed = await told_by(talk.handle)

    assert [one for one in (PIN, ASIDE) if one in looking + idle + closed] == []


async def test_a_blocked_answer_cannot_be_guessed(runs: Runs, tmp_path: Path) -> None:
    """Nothing that is told of a blocked run follows from its answer, as one of a million may."""
    # SM-05
    go = tmp_path / "go"
    go.touch()
    async with runs.working(guarded(go)):
        run = await runs.start("it")
        result = await run.result()
        told = await told_by(run.handle) + result.model_dump_json()

    guess = digest_subject(Subject(kind="answer", text=PIN))
    assert "guardrail discreet" in told
    assert guess[:16] not in told


async def test_no_warning_tells_what_a_blocked_answer_is_guessed_by(runs: Runs) -> None:
    """One guardrail warns of an answer that another one blocks; who watches reads of both."""
    # SM-05
    warns = on_word("careful", "code", "output", on_trip="warn")
    blocks = on_word("discreet", "code", "output", on_trip="block")
    async with runs.working(scripted([say(PIN)], guardrails=[warns, blocks])):
        run = await runs.start("it")
        result = await run.result()
        watched = Run(runs.client, run.handle.id)
        told = [str(event) async for event in watched.events()]

    assert result.status == "blocked"
    assert "careful" in str(told)
    assert digest_subject(Subject(kind="answer", text=PIN))[:16] not in str(told)
