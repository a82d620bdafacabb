"""What a part tells its whole of its requests, each time that people decide one of them."""

from holdfast import Budget, SubAgent
from holdfast.contracts.approvals import Request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import size
from holdfast.contracts.calls import ToolFailure
from holdfast.run.delegation.relayed import (
    MAX_RELAYED_BYTES,
    MIN_RELAYED_BYTES,
    TOLD_BYTES,
    find_room,
    select_shown,
)
from holdfast.testing import Reply, Script, call, calls, say
from holdfast.workflows.delegation.room import MAX_PARTS_BYTES
from tests.builders import a_request
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.workflows.delegating import FOUND, Findings, Question, ask, desk
from tests.workflows.test_relayed_requests import relayed

COUNT = 200
LAST = 3
NO: JsonObject = {"decision": "reject", "approver": "dana"}
ASKS = SubAgent("researcher", input=Question, output=Findings)


def many(words: str, count: int = COUNT) -> Reply:
    """Ask for as many writes, each of which people decide."""
    return calls(*(call("send", log=f"{number}", text=words) for number in range(count)))


def told(runs: MemoryRuns, run: MemoryRun) -> list[int]:
    """How many bytes of requests a run has heard each time."""
    records = [each for one in runs.server.executions[run.id] for each in one.tasks.records]
    heard = [act for record in records for act, _ in record.heard]
    signals = [job.signal_workflow for act in heard for job in act.jobs]
    return [len(one.input[0].data) for one in signals if one.signal_name == "requests"]


async def test_decisions_one_by_one_fill_no_whole(memory_runs: MemoryRuns) -> None:
    """Each has the part tell again what still waits; people decide there to the end."""
    # BY-52 T-33
    script: Script = [many("x" * 300), FOUND]
    budget = Budget(max_steps=20, max_consecutive_failures=COUNT + 1)
    app = desk([ask("tides"), say("It is so.")], script, subagents=[ASKS], budget=budget)
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await relayed(run)
        part = run.part("1-researcher")
        for request in (await part.pending())[:-LAST]:
            memory_runs.tell_soon(part.id, "approval", {"request_id": request.request_id, **NO})
            await run.rest()
        for _ in range(LAST):
            (request, *_) = await relayed(run)
            about: JsonObject = {"request_id": request.request_id, "digest": request.digest}
            await run.decide({**about, **NO})
        result = await run.result()
        bytes_told = told(memory_runs, run)
        await run.story()

    assert result.status == "completed"
    assert len(bytes_told) >= COUNT
    assert sum(bytes_told) < TOLD_BYTES + len(bytes_told) * MIN_RELAYED_BYTES


async def test_no_part_begins_where_others_have_told_too_much(memory_runs: MemoryRuns) -> None:
    """What they ask counts with what they answer: their whole goes on nowhere else meanwhile."""
    # T-33
    waits: Script = [call("ask_user", question="Which one?"), FOUND]
    app = desk([ask("a", "b", "c", "d", "e"), say("So.")], waits, subagents=[ASKS])
    asked = a_request(arguments={"text": "x" * 140_000}).model_dump(mode="json")
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        found = await relayed(run, 4)
        said: JsonObject = {"run_id": found[0].run_id, "requests": [asked]}
        for _ in range(MAX_PARTS_BYTES // 140_000 + 1):
            memory_runs.tell_soon(run.id, "requests", said)
        await run.rest()
        for one in found:
            answer: JsonObject = {"request_id": "req-1", "text": "blue"}
            await memory_runs.find(one.run_id).signal("answer", answer)
        await run.result()
        results = await run.results()
        await run.story()

    assert [one.status for one in results] == ["ok"] * 4 + ["error"]
    assert isinstance(results[4], ToolFailure)
    assert "others have answered and asked so much" in results[4].reason


def test_however_often_something_is_told_the_sum_is_bounded() -> None:
    """The first times there is room for all of it, and later for ever less."""
    rooms, sent = list[int](), 0
    for _ in range(5_000):
        rooms.append(find_room(sent))
        sent += rooms[-1]

    assert rooms[0] == MAX_RELAYED_BYTES
    assert rooms == sorted(rooms, reverse=True)
    assert rooms[-1] == MIN_RELAYED_BYTES
    assert sent < TOLD_BYTES + len(rooms) * MIN_RELAYED_BYTES


def test_the_first_request_is_shown_however_little_room_there_is() -> None:
    """Its outline says which run shows it whole: people see that something waits."""
    large: tuple[Request, ...] = (a_request(arguments={"text": "x" * 9_000}), a_request("req-2"))
    (shown,) = select_shown(large, "run-1.1-researcher", room=10)

    assert shown.request_id == "req-1"
    assert shown.left_out == "too large to be shown here: see run run-1.1-researcher"
    assert size(shown) < MIN_RELAYED_BYTES
