"""Who wants a write twice that happened, or may have: the model of a run, or one that judges."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Budget, ResourceScope, Risk, Tiers, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.guardrails import Layer
from holdfast.guardrails import judged_by
from holdfast.run import turns
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from tests.control.controlled import replayed
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import TOOLS, lines, note, scripted, told
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import child, staffed, written

ALLOWED = "{id: ok, effect: allow, match: {tools: [send, fail_outside]}}"
PASSED = say(json.dumps({"tripwire_triggered": False}))
TRIPPED = say(json.dumps({"tripwire_triggered": True, "reason": "no"}))


def lost_refund(log: Path, number: int) -> Reply:
    return call("fail_outside", log=str(log), why=f"refund {number}")


@pytest.mark.parametrize("others", [2, 3])
async def test_no_number_of_lost_writes_has_one_repeated(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """What is kept by name is denied; what was pushed out by others needs a person."""
    # NR-06
    monkeypatch.setattr(turns, "KEEP_LAST_UNRESOLVED_CALLS", 3)
    log, works = tmp_path / "log", call("add", a=1, b=2)
    first, *fill = (lost_refund(log, number) for number in range(1, 2 + others))
    script = [calls(first, works), calls(*fill, works), calls(first, works), told]
    async with runs.working(scripted(script, policy=policy(tmp_path, ALLOWED))):
        run = await runs.start("it")
        if others == 3:
            request = await run.asked_for_approval()
            assert "more may have happened than is kept" in request.reason
            await run.signal(
                "approval",
                {"request_id": request.request_id, "decision": "reject", "approver": "alice"},
            )
        await run.result()
        denied = [one for one in await run.results() if isinstance(one, ToolFailure)][-1]
        await replayed(runs, run)

    assert denied.status == "denied"
    assert lines(log).count("changed refund 1") == 1


@tool(risk=Risk.WRITE_EXTERNAL, scope=ResourceScope(kind="host", argument="url"))
async def follow(log: str, url: str, method: str) -> str:
    """Follow a link by which somebody is paid, and lose the answer."""
    note(log, f"paid by {method}")
    raise ConnectionError("the line went dead")


@pytest.mark.parametrize("tiers", [1, 2])
async def test_a_write_is_no_request_that_only_asks(
    memory_runs: MemoryRuns, tmp_path: Path, tiers: int
) -> None:
    """What its model calls its method makes no declared write one that may be repeated."""
    # BY-11 NR-06
    log = tmp_path / "log"
    again = call("follow", log=str(log), url="https://pay.example/1", method="GET")
    rules = policy(
        tmp_path, "{id: ok, effect: allow, match: {tools: [follow], hosts: [pay.example]}}"
    )
    app = (
        scripted([again, again, told], tools=[follow], policy=rules)
        if tiers == 1
        else staffed(
            {"coder": [again], "clerk": [again, told]},
            tiers=Tiers(full="coder", simplified="clerk"),
            tools=(follow,),
            policy=rules,
        )
    )
    async with memory_runs.working(app):
        await (await memory_runs.start("it")).result()

    assert lines(log) == ["paid by GET"]


def judged(
    folder: Path, it: Script, critic: Script, *, layer: Layer = "output", **agent: object
) -> App:
    """An app whose agent `it` answers to a critic; both have the same tools."""
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Do it.",
                models=["scripted:it"],
                tools=TOOLS,
                guardrails=(judged_by("critic", layer=layer),),
                **agent,  # pyright: ignore[reportArgumentType] -- whatever a test overrides
            ),
            Agent(
                name="critic", instructions="Judge it.", models=["scripted:critic"], tools=TOOLS
            ),
        ],
        scripts={"it": it, "critic": critic},
        policy=policy(folder, ALLOWED),
    )


def held_back(does: Reply) -> Script:
    """Answer, do something when the answer is held back, and answer again."""

    def it(turn: ScriptTurn) -> Reply:
        said = sum(one.kind == "assistant" for one in turn.transcript)
        return (say("a1"), does, say("a2"))[said]

    return it


class Critic:
    """Does something, or may have, and then objects to the first answer."""

    def __init__(self, does: Reply) -> None:
        self.does = does
        self.refused: list[str] = []

    def __call__(self, turn: ScriptTurn) -> Reply:
        if not turn.results:
            return self.does
        self.refused += [one.type for one in turn.results if isinstance(one, ToolFailure)]
        return TRIPPED if "a1" in turn.goal else PASSED


@pytest.mark.parametrize("tool", ["send", "fail_outside"])
async def test_nobody_repeats_what_a_judge_did(
    memory_runs: MemoryRuns, tmp_path: Path, tool: str
) -> None:
    """Neither the run that it judges, nor the judge of the next answer."""
    # NR-06 BY-11
    log = tmp_path / "log"
    said = "text" if tool == "send" else "why"
    write = call(tool, **{"log": str(log), said: "pay 100"})
    critic = Critic(write)
    async with memory_runs.working(judged(tmp_path, held_back(write), critic)):
        run = await memory_runs.start("it")
        await run.result()
        (refused,) = await run.results()
        await memory_runs.stories(run)

    assert isinstance(refused, ToolFailure)
    assert (refused.status, refused.type) == ("denied", "non_idempotent_retry_blocked")
    assert critic.refused[-1] == "non_idempotent_retry_blocked"
    assert len(lines(log)) == 1


@pytest.mark.parametrize("tool", ["send", "fail_outside"])
async def test_what_the_judge_of_a_call_did_is_not_done_by_the_call(
    memory_runs: MemoryRuns, tmp_path: Path, tool: str
) -> None:
    """The call was allowed before its judge made the same one, and let it pass."""
    # NR-06 BY-11
    log = tmp_path / "log"
    said = "text" if tool == "send" else "why"
    write = call(tool, **{"log": str(log), said: "pay 100"})
    app = judged(tmp_path, [write, say("done")], [write, PASSED], layer="pre_execution")
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()
        refused = await run.failure()
        await memory_runs.stories(run)

    assert (refused.status, refused.type) == ("denied", "non_idempotent_retry_blocked")
    assert len(lines(log)) == 1


async def test_after_a_lost_judge_a_person_is_asked(runs: Runs, tmp_path: Path) -> None:
    """Nobody knows what it did, so the run that it judged changes nothing unasked."""
    # NR-06 BY-11
    log, held = tmp_path / "log", tmp_path / "held"
    write = call("send", log=str(log), text="pay 100")
    app = judged(
        tmp_path,
        held_back(write),
        [write, call("hold", log=str(held)), PASSED],
        budget=Budget(max_steps=30, max_tokens=10_000),
        escalates=True,
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(held)
        await child(runs, run, "judged_by_critic-1").handle.terminate()
        Path(f"{held}.go").touch()
        await extended(run)
        request = await run.asked_for_approval()

    assert request.rule == "lost-part"
    assert len(lines(log)) == 1


async def extended(run: AnyRun) -> None:
    """Let a run go on that lost its budget with its judge; it has decided when this returns."""
    (escalation,) = await run.asked()
    more: dict[str, JsonValue] = {"max_steps": 100, "max_tokens": 1_000_000}
    await run.signal(
        "resolution",
        {"request_id": escalation.request_id, "action": "extend", "budget": more},
    )
    while escalation in await run.pending():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)
