"""The transcript costs the same at any length, and what the model sees is what history holds."""

import asyncio

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowFailureError, WorkflowHistory
from temporalio.common import RetryPolicy

from holdfast import Budget, Risk, tool
from holdfast.activities.transcripts import Transcripts
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.errors import TranscriptMismatch
from holdfast.contracts.model import ModelCall, Prefix
from holdfast.contracts.transcript import (
    ReplyReference,
    ToolTurn,
    TranscriptDigest,
    TranscriptItem,
    TranscriptPage,
    UserTurn,
)
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.attacks.test_crumbs import turns as turns_of_others
from tests.histories import names
from tests.running import Runs
from tests.sample import scripted


def worker(steps: int) -> tuple[list[int], Script]:
    """Return a script of so many steps of 1 kB each, and the transcript sizes that it saw."""
    seen: list[int] = []

    def script(turn: ScriptTurn) -> Reply:
        seen.append(len(turn.transcript))
        if turn.number > steps:
            return say("done")
        return call("flood", characters=900 + turn.number % 7)

    return seen, script


def size(history: WorkflowHistory) -> int:
    """Bytes of a history."""
    return sum(event.ByteSize() for event in history.events)


@pytest.mark.parametrize(
    ("cached", "most"), [(0, 6200), (256, 4900)], ids=["cache off", "cache on"]
)
async def test_history_per_step_is_flat(runs: Runs, cached: int, most: int) -> None:
    """
    Each further step adds as many bytes as the ones before it, with and without the cache.

    With it those of a result of 1 kB stand in history once.
    """
    # SS-01
    sizes: dict[int, int] = {}
    for steps in (10, 20, 40):
        seen, script = worker(steps)
        app = scripted(script, budget=Budget(max_steps=100))
        async with runs.working(app, cached_transcripts=cached):
            run = await runs.start("it")
            await run.result()
            sizes[steps] = size(await run.handle.fetch_history())
        assert seen == [1 + 2 * turn for turn in range(steps + 1)]

    early, late = (sizes[20] - sizes[10]) / 10, (sizes[40] - sizes[20]) / 20
    assert abs(late / early - 1) < 0.02
    assert late < most


async def test_it_holds_with_two_workers(runs: Runs) -> None:
    """With several workers each model call still gets exactly the transcript of the run."""
    seen, script = worker(20)
    app = scripted(script, budget=Budget(max_steps=100))
    second = await runs.another_client()
    async with runs.working(app), runs.working(app, client=second):
        started = [await runs.start("it") for _ in range(4)]
        results = await asyncio.gather(*(run.result() for run in started))

    assert {result.status for result in results} == {"completed"}
    assert sorted(seen) == sorted([1 + 2 * turn for turn in range(21)] * 4)


async def test_an_approval_survives_its_worker(runs: Runs) -> None:
    """A run that waits can be answered while no worker is there, and goes on with the next one."""
    # SS-07
    app = scripted([call("send", log="/dev/null", text="x"), say("sent")])
    async with runs.working(app):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    await run.approve(request.request_id)
    async with runs.working(app):
        result = await run.result()

    assert result.answer == "sent"


async def test_a_run_goes_on_in_new_executions(runs: Runs) -> None:
    """Continuing as new after every turn changes nothing: goal, counters, approvals, requests."""
    # T-34 PS-24
    goals: set[str] = set()

    def script(turn: ScriptTurn) -> Reply:
        goals.add(turn.goal)
        if turn.number == 2:
            return call("send", log="/dev/null", text="x")
        return call("add", a=turn.number, b=1) if turn.number < 6 else say("done")

    async with runs.working(scripted(script, max_history_events=1)):
        run = await runs.start("it", "the goal")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        result = await run.result()
        last = await run.handle.describe()
        usage = await run.handle.query("usage")

    assert (result.status, result.steps, usage["tool_calls"]) == ("completed", 6, 5)
    assert goals == {"the goal"}
    assert last.raw_description.workflow_execution_info.first_run_id != last.run_id


async def test_a_used_approval_is_used_up_in_the_next_execution(runs: Runs) -> None:
    """Said again behind the cut it is refused, and the same call asks anew."""
    # T-34
    send = call("send", log="/dev/null", text="x")
    script = [send, call("add", a=1, b=1), send, say("sent twice")]

    async with runs.working(scripted(script, max_history_events=1)):
        run = await runs.start("it")
        first = await run.asked_for_approval()
        await run.approve(first.request_id)
        begun = await run.handle.describe()
        while (second := await run.asked_for_approval()).request_id == first.request_id:
            await run.pause()
        again = await run.decide(
            {
                "request_id": first.request_id,
                "digest": first.digest,
                "decision": "approve",
                "approver": "alice",
            }
        )
        waiting = await run.pending()
        await run.approve(second.request_id)
        result = await run.result()
        last = await run.handle.describe()

    assert (again.accepted, again.code) == (False, "closed")
    assert [one.request_id for one in waiting] == [second.request_id]
    assert (result.answer, last.run_id != begun.run_id) == ("sent twice", True)


async def test_loops_are_found_across_executions(runs: Runs) -> None:
    """Counters are carried over, so a loop can't hide behind continue-as-new."""
    # HG-01
    app = scripted(lambda _: call("add", a=1, b=1), max_history_events=1)
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()

    assert result.stop is not None
    assert result.stop.reason == "loop detected: same tool, same args"
    assert result.steps == 3


async def test_nobody_hands_a_run_its_state(runs: Runs) -> None:
    """A stranger's state, with approvals in it, is no input."""
    async with runs.working(scripted([say("no")])):
        run = await runs.start_with({"run_id": "x", "input": {}, "agent": {}, "calls": []})
        with pytest.raises(WorkflowFailureError):
            await run.result()


async def test_no_retry_policy_turns_an_input_into_a_state(runs: Runs) -> None:
    """A second attempt would look like a run that goes on, so a start with retries is refused."""
    async with runs.working(scripted([say("no")])):
        with pytest.raises(WorkflowFailureError) as failure:
            await runs.client.execute_workflow(
                "AgentRun",
                {"run_id": "x", "calls": []},
                id=f"retried-{runs.queue}",
                task_queue=runs.queue,
                retry_policy=RetryPolicy(maximum_attempts=2),
            )

    assert "without retry policy" in str(failure.value.cause)


async def test_cancelling_ends_run_and_tool(runs: Runs) -> None:
    """A cancelled run ends as cancelled, and so does the tool that was under way."""
    app = scripted([call("wait_long"), say("never")], tools=[wait_long])
    async with runs.working(app):
        run = await runs.start("it")
        while "wait_long" not in names(await run.handle.fetch_history()):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        status = (await run.handle.describe()).status

    assert status is not None
    assert status.name == "CANCELED"
    assert ended == ["cancelled"]


ended: list[str] = []


@tool(risk=Risk.DRAFT_ONLY)
async def wait_long() -> str:
    """Wait for ever, and note how it ended."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise
    return "never"


class Reader:
    """A run that is asked; keeps what it was asked for."""

    def __init__(self, items: tuple[TranscriptItem, ...]) -> None:
        self.items = items
        self.asked: list[int] = []

    async def prefix(self) -> Prefix:
        return Prefix(instructions="run-1", tools=())

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        self.asked.append(offset)
        page = self.items[offset : offset + min(limit, 2)]
        return TranscriptPage(items=page, total=len(self.items), next_offset=None)


def turns(count: int) -> tuple[TranscriptItem, ...]:
    """So many different items."""
    return tuple(UserTurn(text=f"item {number}") for number in range(count))


def model_call(items: tuple[TranscriptItem, ...], base: int) -> ModelCall:
    """A call whose transcript is *items*, of which the first *base* were seen before."""
    seen = TranscriptDigest().extend(items[:base])
    return ModelCall(
        run_id="run-1",
        turn=1,
        model="scripted:x",
        prefix="",
        origin="",
        base=seen,
        items=items[base:],
        head=seen.extend(items[base:]),
        max_context_bytes=1000,
    )


async def test_a_miss_asks_the_run_in_pages() -> None:
    """What isn't held is asked of the run, page by page, and nothing more than that."""
    reader = Reader(turns(7))
    held = Transcripts(reader)

    assert await held.transcript(model_call(turns(7), base=5), "e1") == turns(7)
    assert reader.asked == [0, 2, 4, 6]


async def test_large_results_are_digested_beside_the_loop() -> None:
    """A worker that sees a turn of a megabyte for the first time goes on with all other runs."""
    rows: list[JsonValue] = [[number] for number in range(100_000)]
    result = ToolSuccess(call_id="c1", name="look", summary="rows", data=rows)
    items: tuple[TranscriptItem, ...] = (*turns(1), ToolTurn(results=(result,)))
    call = model_call(items, base=1)
    held = Transcripts(Reader(items))
    async with turns_of_others() as had:
        assert await held.transcript(call, "e1") == items

        assert had() >= 30


async def test_what_history_has_is_left_by_the_run_or_asked_of_it() -> None:
    """A call may name its new items: a process without the run asks for those, and no others."""
    reader = Reader(turns(5))
    held, elsewhere = Transcripts(reader), Transcripts(reader)
    named = model_call(turns(5), base=3).with_(items=(ReplyReference(digest="d"), turns(5)[4]))
    await elsewhere.transcript(model_call(turns(3), base=0), "e1")

    held.hold("run-1", "e1", named.head, turns(5))

    assert await held.transcript(named, "e1") == turns(5)
    assert reader.asked == []
    assert await elsewhere.transcript(named, "e1") == turns(5)
    assert reader.asked == [3]


async def test_what_a_run_left_is_that_executions_alone() -> None:
    """Whoever takes the id of a run, or goes on with it, gets nothing of what it left."""
    reader = Reader(turns(2))
    held = Transcripts(reader)
    named = model_call(turns(2), base=1).with_(items=(ReplyReference(digest="d"),))
    held.hold("run-1", "e1", named.head, (UserTurn(text="of e1"), turns(2)[1]))

    assert await held.transcript(named, "e2") == turns(2)
    assert reader.asked == [0]


async def test_a_hit_asks_nobody() -> None:
    """What was seen before is held, and a repeated attempt finds it too."""
    reader = Reader(())
    held = Transcripts(reader)
    await held.transcript(model_call(turns(3), base=0), "e1")

    assert await held.transcript(model_call(turns(5), base=3), "e1") == turns(5)
    assert await held.transcript(model_call(turns(5), base=3), "e1") == turns(5)
    assert reader.asked == []


async def test_the_next_execution_takes_the_place_of_the_last() -> None:
    """A session that is cut again and again holds one transcript, and each only its own."""
    reader = Reader(turns(4))
    held = Transcripts(reader, capacity=2)
    other = model_call(turns(2), base=0).model_copy(update={"run_id": "run-2"})
    await held.transcript(other, "e0")
    for cut in range(1, 5):
        await held.transcript(model_call(turns(3), base=0), f"e{cut}")
    again = model_call(turns(3), base=2).model_copy(update={"run_id": "run-2"})
    assert await held.transcript(again, "e0") == turns(3)
    assert reader.asked == []
    assert await held.transcript(model_call(turns(4), base=3), "e1") == turns(4)
    assert reader.asked == [0, 2]


async def test_a_wrong_transcript_fails_loudly_and_is_asked_again() -> None:
    """Where the digest differs nothing is sent to a model; the next attempt asks the run."""
    reader = Reader((UserTurn(text="forged"), *turns(4)[1:]))
    held = Transcripts(reader)

    with pytest.raises(TranscriptMismatch, match="another digest"):
        await held.transcript(model_call(turns(4), base=3), "e1")
    reader.items = turns(4)

    assert await held.transcript(model_call(turns(4), base=3), "e1") == turns(4)
