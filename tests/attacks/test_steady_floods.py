"""Attacks by a flood that never ends: what must be judged comes faster than that is done."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio import activity
from temporalio.client import Client
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from holdfast import Agent, App, Budget
from holdfast.contracts.approvals import ApprovalRequest, JudgeInput
from holdfast.contracts.base import JsonObject
from holdfast.contracts.sessions.messages import OutcomeReport
from holdfast.contracts.signals import ApprovalSignal
from holdfast.contracts.state.run import RunState
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.workflows.payloads import data_converter
from tests.attacks.test_tokens import ALICE, claims, refund, trusting
from tests.memory.runs import MemoryRuns
from tests.memory.tasks import Habits
from tests.running import Run, Runs
from tests.sample import lines, scripted, told
from tests.sessions.talking import Talks

SIGNED = 12
"""Calls that wait for an approval each; history is long behind some of them."""

LONG = 70
"""Events of a history that is long."""

MOST = 3_000
"""Messages of a flood that lasts for longer than anybody waits."""

JUNK: JsonObject = {"request_id": "nope", "decision": "approve", "approver": "mallory"}


class Flood(ClientInterceptor, Interceptor):
    """
    Whenever a worker judges something two more come, while there are any.

    Nothing comes while a run would end: the test server may lose one whose end it has refused.
    """

    def __init__(self, client: Client) -> None:
        self.left: list[tuple[str, JsonObject]] = []
        self.judged: list[str] = []
        self.executions = set[str]()
        self._client = client

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Judging(next, self)

    async def go_on(self, run_id: str) -> None:
        """Have two more come."""
        coming, self.left = self.left[:2], self.left[2:]
        for name, words in coming:
            await self._client.get_workflow_handle(run_id).signal(name, words)

    async def note(self, given: JudgeInput) -> None:
        """Note what is judged, and in which execution."""
        said = (one.request_id for one in given.messages if isinstance(one, ApprovalSignal))
        self.judged += said
        self.executions.add(given.execution)
        await self.go_on(given.run_id)


class _Judging(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, flood: Flood) -> None:
        super().__init__(next)
        self._flood = flood

    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        if activity.info().activity_type == "judge" and isinstance(input.args[0], JudgeInput):
            await self._flood.note(input.args[0])
        return await super().execute_activity(input)


def flooding(runs: Runs) -> tuple[Runs, Flood]:
    """Return the same runs with a worker that is flooded."""
    flood, config = Flood(runs.client), runs.client.config()
    config["interceptors"] = [flood]
    return Runs(Client(**config), runs.environment), flood


def refunding(log: Path) -> App:
    """An app whose agent gives back money to many at once."""
    paid = (call("refund", log=str(log), amount=float(n)) for n in range(SIGNED))
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[refund],
        budget=Budget(max_steps=9),
        max_history_events=LONG,
    )
    return App(agents=[agent], scripts={"it": [calls(*paid), told]})


def signed(run: Run, request: ApprovalRequest) -> JsonObject:
    return {
        "request_id": request.request_id,
        "decision": "approve",
        "approver": "alice",
        "token": ALICE.token(claims(run, request)),
    }


async def test_a_steady_flood_holds_no_run_at_the_end_of_its_execution(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """
    It goes on in a new one, which hears first what came: each approval counts, in turn and once.

    It waited until nobody spoke, and what was approved waited with it.
    """
    # T-16 T-33 T-34
    log, (runs, flood) = tmp_path / "log", flooding(skipping_runs)
    trusting(runs, tmp_path, ALICE)
    async with runs.working(refunding(log)):
        run = await runs.start("it")
        requests = await run.asked(SIGNED)
        said = [signed(run, one) for one in requests if isinstance(one, ApprovalRequest)]
        flood.left = [("approval", one) for one in said for _ in range(2)]  # each is replayed
        await flood.go_on(run.handle.id)
        result = await run.result()
        status = await run.status()
        histories = await runs.histories(run)

    starts = [one.events[0].workflow_execution_started_event_attributes for one in histories]
    carried = [
        data_converter.payload_converter.from_payload(each.input.payloads[0], RunState).unheard
        for each in starts[1:]
    ]
    assert result.status == "completed"
    assert sorted(lines(log)) == sorted(f"refunded {float(n)}" for n in range(SIGNED))
    assert len(flood.executions) > 1
    assert flood.judged == [one.request_id for one in requests for _ in range(2)]
    assert status.refused_total == SIGNED
    assert any(carried)


def latest(turn: ScriptTurn) -> Reply:
    """Answer with the latest words."""
    return say(next(one.text for one in reversed(turn.transcript) if one.kind == "user"))


async def test_no_word_in_a_steady_flood_is_lost(runs: Runs) -> None:
    """A session goes on anew again and again: each message is answered, in its order and once."""
    # T-16 SE-01
    (flooded, flood), names = flooding(runs), [f"m-{n}" for n in range(8)]
    said: list[JsonObject] = [{"message_id": one, "text": one} for one in names]
    junk = [("approval", JUNK)] * 3
    talks = Talks(flooded)
    async with talks.working(scripted(latest, max_history_events=LONG)):
        talk = talks.talk()
        await talk.exchange("m", "m")
        flood.left = [each for one in said for each in (*junk, ("message", one))]
        await flood.go_on(talk.id)
        await talk.outcome(names[-1])
        words = [text for role, text in await talk.said() if role == "user"]
        refused = (await talk.ask("status"))["refused_total"]
        await talk.replayed()

    assert len(flood.executions) > 1
    assert words == ["m", *names]
    assert refused == 3 * len(names)


async def test_a_server_lets_a_session_close_in_a_steady_flood(runs: Runs) -> None:
    """It refuses an end behind which more has come once, and then takes no more until it is."""
    # T-16
    flooded, flood = flooding(runs)
    talks = Talks(flooded)
    async with talks.working(scripted(latest)):
        talk = talks.talk()
        await talk.exchange("m", "m")
        flood.left = [("approval", JUNK)] * MOST
        await flood.go_on(talk.id)
        totals = await talk.close()
        await talk.replayed()

    assert totals["messages"] == 1
    assert flood.left


async def speak(runs: MemoryRuns, run_id: str, said: Sequence[tuple[str, JsonObject]]) -> int:
    """Say one thing in each workflow task of a run; return how many until it was over."""
    for count, (name, words) in enumerate(said):
        run = runs.server.find(run_id)
        if run is None:
            return count
        done = len(run.tasks.records)
        run.signal(name, await data_converter.encode([words]))
        while run.closed is None and len(run.tasks.records) == done:  # noqa: ASYNC110 -- as it is
            await asyncio.sleep(0)
    return len(said)


@pytest.mark.parametrize("habits", [Habits(), Habits(divides=True, renews_after=3)])
async def test_who_decides_in_a_steady_flood_is_answered(home: Path, habits: Habits) -> None:
    """By the execution that took the update: none is carried on, nor is what came before it."""
    # T-16
    runs = MemoryRuns(habits)
    app = scripted([call("send", log="nowhere", text="hi"), told], max_history_events=LONG)
    async with runs.working(app):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        junk = [("approval", JUNK)] * MOST
        flood = asyncio.create_task(runs.thread.call(speak(runs, run.id, junk)))
        refused = [await run.decide(JUNK) for _ in range(5)]
        while run.executions < 2:
            await run.pause()
        lasts = not flood.done()
        rejected = {**JUNK, "request_id": request.request_id, "decision": "reject"}
        answer = await run.decide(rejected)
        result = await run.result()
        await flood
        await run.stories()
    await runs.close()

    assert lasts
    assert {one.code for one in refused} == {"unknown_request"}
    assert answer.accepted
    assert result.answer == "send denied"


@pytest.mark.parametrize("habits", [Habits(), Habits(divides=True, renews_after=3)])
async def test_a_steady_flood_keeps_no_session_from_closing(home: Path, habits: Habits) -> None:
    """What had come is heard, a message that came behind is answered, and then it is over."""
    # T-16 SE-06
    runs = MemoryRuns(habits)
    async with runs.working(scripted(latest), archive=f"file:{home / 'archive'}"):
        run = await runs.say("talk", {"agent": "it"}, {"message_id": "m-1", "text": "one"})
        await run.rest()
        late: JsonObject = {"message_id": "m-2", "text": "two"}
        junk, close = ("approval", JUNK), ("close", dict[str, JsonValue]())
        said = [*[junk] * 9, close, junk, ("message", late), junk, close, *[junk] * MOST]
        count = await runs.thread.call(speak(runs, run.id, said))
        answer = await run.query("outcome", OutcomeReport, {"message_id": "m-2"})
        over = await run.rest()
        await run.stories()
    await runs.close()

    assert over
    assert count < MOST
    assert answer.result is not None
    assert answer.result.answer == "two"
