"""Whatever a worker doesn't have in memory leaves places to the runs that it has."""

import asyncio

from holdfast import Agent, App
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
)
from holdfast.serving.slots import MAX_OF_A_KIND, MAX_TASKS
from holdfast.testing import call, say
from holdfast.tools import ask_user
from tests.running import Runs


async def test_runs_in_memory_go_on_however_many_others_begin(runs: Runs) -> None:
    """More runs than there are places begin at once, and each waits for a local activity."""
    # BY-64
    looking, go = 0, asyncio.Event()

    @guardrail(layer="input", local=True)
    async def slow(_: Subject, __: GuardrailContext) -> GuardrailResult:
        nonlocal looking
        looking += 1
        try:
            await go.wait()
        finally:
            looking -= 1
        return passed()

    asks = Agent(name="asks", instructions="Ask.", models=["scripted:asks"], tools=[ask_user])
    waits = Agent(name="waits", instructions="Go.", models=["scripted:waits"], guardrails=[slow])
    scripts = {"asks": [call("ask_user", question="?"), say("thanks")], "waits": [say("done")]}
    async with runs.working(App(agents=[asks, waits], scripts=scripts)):
        known = await runs.start("asks")
        (question,) = await known.asked()
        others = [await runs.start("waits") for _ in range(MAX_TASKS + 10)]
        while looking < MAX_OF_A_KIND:
            await known.pause()
        for _ in range(50):  # until no more of them would begin
            await known.pause()
        await known.signal("answer", {"request_id": question.request_id, "text": "yes"})
        answer = (await known.result()).answer
        held = looking
        go.set()
        answers = {(await one.result()).answer for one in others}

    assert answer == "thanks"
    assert 0 < held <= MAX_OF_A_KIND
    assert answers == {"done"}
