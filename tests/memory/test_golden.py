"""The same script on a server and in memory comes to the same, step by step."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from pydantic import JsonValue

from holdfast import App, Budget
from holdfast.contracts.budget import UsageReport
from holdfast.testing import call, calls, say
from tests.control.approaches import backtracking
from tests.control.controlled import broken, chained, used
from tests.control.guarded import on_word
from tests.histories import noted
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, AnyRuns, Runs
from tests.sample import IMPATIENT, lines, scripted, told
from tests.workflows.tiered import staffed

Drive: TypeAlias = Callable[[AnyRun], Awaitable[None]]

UNLIKE = re.compile(
    r"\b[0-9a-f]{16,}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d{4}-\d\d-\d\dT[\d:.]+Z"
)
"""Digests, executions and times, which no two runs have in common."""

UNTOLD = {"latency_ms", "waited", "waited_seconds", "seconds", "started_at", "took"}
"""Fields that say how long something took."""


async def wait(_: AnyRun) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Scene:
    """An app, what its run is told, and whether anything of it is written to a log."""

    app: Callable[[str], App]
    drive: Drive = wait
    goal: str = "go"


def plain(_: str) -> App:
    return scripted([call("add", a=2, b=3), lambda turn: say(str(turn.last("add")))])


def parallel(log: str) -> App:
    asked = [call("add", a=1, b=1), call("look", place="x"), call("read", log=log, text="r")]
    return scripted([calls(*asked, call("write", log=log, text="w")), told])


def sending(log: str) -> App:
    return scripted([call("send", log=log, text="hi"), told])


def drafting(log: str) -> App:
    return scripted([call("post", log=log, text="hi"), told])


def tripping(_: str) -> App:
    found = on_word("no_attic", "attic", "pre_execution")
    reply = calls(call("look", place="attic"), call("look", place="cellar"))
    return scripted([reply, told], guardrails=[found])


def blocking(_: str) -> App:
    return scripted([say("done")], guardrails=[on_word("no_go", "go", "input")])


def spending(_: str) -> App:
    app = [used(call("add", a=1, b=1), 40), used(call("add", a=1, b=2), 40), say("done")]
    return scripted(app, budget=Budget(max_steps=5, max_tokens=60))


def retrying(log: str) -> App:
    asked = calls(call("flaky", log=log, failures=2), call("hang"), call("find", name="x"))
    return chained([broken("overloaded"), asked, told], settings=IMPATIENT)


def falling_back(_: str) -> App:
    return chained([broken("unavailable")], [call("add", a=1, b=1), told])


def dividing(_: str) -> App:
    plan = '{"subtasks": ["one", "two"]}'
    return staffed({"planner": [say(plan)], "hand": [call("add", a=1, b=1), told]})


def waiting_then_more(_: str) -> App:
    return scripted([call("ask_user", question="Which?"), call("add", a=1, b=1), told])


def renewing(_: str) -> App:
    replies = [call("add", a=1, b=number) for number in range(6)]
    return scripted([*replies, told], max_history_events=20)


async def approve(run: AnyRun) -> None:
    await run.approve((await run.asked_for_approval()).request_id)


async def reject(run: AnyRun) -> None:
    asked = (await run.asked())[0].request_id
    said = await run.decide({"request_id": asked, "decision": "reject", "approver": "bob"})
    assert said.accepted


async def steer(run: AnyRun) -> None:
    """Say one thing after the other: what comes together is judged together, if it does."""
    request = (await run.asked())[0].request_id
    await run.signal("suspend", {})
    await run.status()  # which comes when the run has heard it
    await run.signal("steer", {"text": "mind the gap"})
    await run.status()
    await run.signal("answer", {"request_id": request, "text": "the blue one"})
    while (await run.status()).status != "suspended":
        await run.pause()
    await run.signal("nonsense", {})
    await run.refusals(1)
    await run.signal("resume", {})


SCENES: Mapping[str, Scene] = {
    "plain": Scene(plain),
    "parallel": Scene(parallel),
    "approval": Scene(sending, approve),
    "rejection": Scene(sending, reject),
    "draft": Scene(drafting, approve),
    "tripwire": Scene(tripping),
    "blocked goal": Scene(blocking),
    "budget": Scene(spending),
    "retries": Scene(retrying),
    "fallback": Scene(falling_back),
    "tiers": Scene(dividing),
    "people": Scene(waiting_then_more, steer),
    "backtracking": Scene(lambda _: backtracking(), goal="2"),
    "backtracking in many executions": Scene(
        lambda _: backtracking(max_history_events=1), goal="2"
    ),
    "many executions": Scene(renewing),
}


async def play(runs: AnyRuns, scene: Scene, log: Path) -> JsonValue:
    """Play a scene; return all that is to be alike of it, text by text."""
    async with runs.working(scene.app(str(log))):
        run = await runs.start("it", scene.goal)
        await scene.drive(run)
        result = await run.result()
        status, transcript = await run.status(), await run.transcript()
        used = await run.query("usage", UsageReport)
        stories = await runs.stories(run)
    seen = {
        "result": result.model_dump(mode="json"),
        "status": status.model_dump(mode="json"),
        "transcript": transcript.model_dump(mode="json"),
        "usage": used.model_dump(mode="json"),
        "activities": [[list(one) for one in noted(story)] for story in stories],
        "effects": [line.rpartition(" ")[2] for line in lines(log)],
    }
    text = json.dumps(seen).replace(str(log), "LOG").replace(status.run_id, "RUN")
    return alike(json.loads(text))


def alike(value: JsonValue) -> JsonValue:
    """Leave out how long things took, and in texts what no two runs have in common."""
    if isinstance(value, dict):
        return {
            UNLIKE.sub("…", name): alike(each)
            for name, each in value.items()
            if name not in UNTOLD
        }
    if isinstance(value, list):
        return [alike(each) for each in value]
    return UNLIKE.sub("…", value) if isinstance(value, str) else value


@pytest.mark.parametrize("scene", SCENES.values(), ids=list(SCENES))
async def test_memory_and_a_server_do_the_same(
    runs: Runs, memory_runs: MemoryRuns, scene: Scene, tmp_path: Path
) -> None:
    """Result, transcript, usage, effects, and every activity in its order, are the same."""
    log = tmp_path / "log"
    on_server = await play(runs, scene, log)
    log.unlink(missing_ok=True)

    assert await play(memory_runs, scene, log) == on_server
