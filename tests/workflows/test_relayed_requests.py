"""Requests of sub-agents: shown by the run that they work for, and decided through it."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Budget, SubAgent
from holdfast.contracts.approvals import ApprovalRequest, PendingPage, Question, Request
from holdfast.contracts.signals import MessageOutcome
from holdfast.testing import Reply, Script, call, say
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.sample import IMPATIENT, TOOLS, lines
from tests.workflows.delegating import FOUND, Findings, ask, desk
from tests.workflows.delegating import Question as Task


def sending(log: Path) -> Script:
    """Send a letter, which takes an approval, and then answer."""
    return [call("send", log=str(log), text="hello"), FOUND]


async def relayed(run: MemoryRun, count: int = 1) -> tuple[Request, ...]:
    """Wait until a run shows so many requests of those that work for it."""
    while len(found := [one for one in await run.pending() if one.run_id]) < count:
        await run.pause()
    return tuple(found)


async def test_a_plain_client_approves_the_call_of_a_subagent_through_the_root(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The root shows the request whole; `decide` answers what the part makes of it."""
    # BY-52
    log = tmp_path / "log"
    async with memory_runs.working(desk([ask("tides"), say("It is so.")], sending(log))):
        run = await memory_runs.start("desk")
        (request,) = await relayed(run)
        part = run.part("1-researcher")
        (own,) = await part.pending()
        status = await run.status()
        page = await run.query("pending", PendingPage, {"offset": 0})
        outcome = await run.decide(
            {"request_id": request.request_id, "decision": "approve", "approver": "dana"}
        )
        result = await run.result()
        await run.story()
        await part.story()

    assert isinstance(request, ApprovalRequest)
    assert isinstance(own, ApprovalRequest)
    assert (request.request_id, request.run_id) == ("1-researcher/req-1", part.id)
    assert (request.arguments, request.digest) == (own.arguments, own.digest)
    assert "1-researcher/req-1" in status.waits_for[0]
    assert page.items == (request,)
    assert outcome == MessageOutcome(
        accepted=True, request_id="1-researcher/req-1", reason="accepted"
    )
    assert result.status == "completed"
    assert len(lines(log)) == 1


async def test_a_question_of_a_subagent_is_answered_through_the_root(
    memory_runs: MemoryRuns,
) -> None:
    """Signals go the same way as updates do."""
    script: Script = [call("ask_user", question="Which one?"), FOUND]
    async with memory_runs.working(desk([ask("tides"), say("It is so.")], script)):
        run = await memory_runs.start("desk")
        (question,) = await relayed(run)
        await run.signal("answer", {"request_id": question.request_id, "text": "blue"})
        result = await run.result()
        answer = await run.part("1-researcher").success()

    assert isinstance(question, Question)
    assert result.status == "completed"
    assert answer.data == {"answer": "blue"}


async def test_what_a_part_refuses_the_root_refuses(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The part judges: who asked for the work doesn't approve it there either."""
    log = tmp_path / "log"
    async with memory_runs.working(desk([ask("tides"), say("It is so.")], sending(log))):
        run = await memory_runs.start("desk", actor="bob")
        (request,) = await relayed(run)
        about: dict[str, JsonValue] = {"request_id": request.request_id, "decision": "approve"}
        own = await run.decide({**about, "approver": "bob"})
        stale = await run.decide({**about, "approver": "dana", "digest": "0" * 64})
        unknown = await run.decide({**about, "request_id": "1-researcher/req-9", "approver": "d"})
        nobody = await run.decide({**about, "request_id": "7-x/req-1", "approver": "dana"})
        refusals = await run.refusals(4)
        await run.decide({**about, "decision": "reject", "approver": "dana", "reason": "no"})
        await run.result()

    assert [one.code for one in (own, stale, unknown, nobody)] == [
        "self_approval",
        "changed",
        "unknown_request",
        "unknown_request",
    ]
    assert own.request_id == "1-researcher/req-1"
    assert len(refusals) == 4
    assert lines(log) == []


async def test_each_answer_reaches_the_part_that_asks(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Two parts have a request of one name each: what is decided of one leaves the other."""
    log = tmp_path / "log"
    async with memory_runs.working(desk([ask("tides", "winds"), say("It is so.")], sending(log))):
        run = await memory_runs.start("desk")
        asked = await relayed(run, 2)
        for request, decision in zip(asked, ("approve", "reject"), strict=True):
            await run.decide(
                {"request_id": request.request_id, "decision": decision, "approver": "dana"}
            )
        await run.result()
        ends = [(await run.part(f"{n}-researcher").results())[0].status for n in (1, 2)]

    assert {one.request_id for one in asked} == {"1-researcher/req-1", "2-researcher/req-1"}
    assert sorted(ends) == ["denied", "ok"]
    assert len(lines(log)) == 1


@pytest.mark.parametrize("run_id", ["run-1", "r" * 110, "r" * 125], ids=len)
async def test_requests_come_up_from_any_depth(
    memory_runs: MemoryRuns, tmp_path: Path, run_id: str
) -> None:
    """What waits below a part is shown with the way to it, and what is said goes all the way."""
    log = tmp_path / "log"
    async with memory_runs.working(deep(sending(log))):
        run = await memory_runs.start_with({"agent": "desk", "input": "go"}, run_id=run_id)
        (request,) = await relayed(run)
        (asking,) = await memory_runs.find(request.run_id).pending()
        outcome = await run.decide(
            {"request_id": request.request_id, "decision": "approve", "approver": "dana"}
        )
        result = await run.result()
        await run.story()

    assert request.request_id == "1-clerk/1-researcher/req-1"
    assert (request.own_id, request.digest) == (asking.request_id, asking.digest)
    assert (outcome.accepted, outcome.request_id) == (True, request.request_id)
    assert result.status == "completed"
    assert len(lines(log)) == 1


@pytest.mark.parametrize("left_out", [True, False])
async def test_a_request_that_is_made_up_releases_nothing(
    memory_runs: MemoryRuns, tmp_path: Path, left_out: bool
) -> None:
    """Who signals the root in the name of a part shows people a lie, which approves nothing."""
    log = tmp_path / "log"
    async with memory_runs.working(desk([ask("tides"), say("It is so.")], sending(log))):
        run = await memory_runs.start("desk")
        (request,) = await relayed(run)
        lie = request.model_dump(mode="json") | {"request_id": "req-1", "tool": "harmless"}
        lie |= {"left_out": "too large"} if left_out else {}
        lie.pop("digest")
        await run.signal("requests", {"run_id": f"{run.id}.1-researcher", "requests": [lie]})
        outcome = await run.decide(
            {"request_id": request.request_id, "decision": "approve", "approver": "dana"}
        )
        await run.signal("stop", {"reason": "enough"})
        await run.result()

    assert (outcome.accepted, outcome.code) == (False, "changed")
    assert lines(log) == []


async def test_only_runs_that_work_for_a_run_are_heard(memory_runs: MemoryRuns) -> None:
    """A stranger's requests aren't shown, and a run of nobody takes nothing that is forwarded."""
    async with memory_runs.working(desk([call("ask_user", question="Which?"), say("So.")])):
        run = await memory_runs.start("desk")
        await run.asked()
        await run.signal("requests", {"run_id": f"{run.id}.1-x", "requests": []})
        await run.signal(
            "forwarded",
            {
                "forward_id": "f",
                "signal": "answer",
                "message": {"request_id": "req-1"},
            },
        )
        refusals = await run.refusals(2)
        waiting = await run.pending()
        await run.signal("stop", {"reason": "enough"})
        await run.result()

    assert refusals == [f"no run '{run.id}.1-x' works for this one", "this run works for no other"]
    assert len(waiting) == 1


def deep(script: Script) -> App:
    """An app whose agent `desk` has a clerk work for it, who has a researcher."""

    def agent(name: str, *subagents: SubAgent) -> Agent:
        return Agent(
            name=name,
            instructions="Do it.",
            models=[f"scripted:{name}"],
            settings=IMPATIENT,
            tools=TOOLS,
            subagents=subagents,
            budget=Budget(max_steps=60),
        )

    def give(to: str) -> Reply:
        return call(f"delegate_to_{to}", topic="tides")

    return App(
        agents=[
            agent("desk", SubAgent("clerk", input=Task, output=Findings)),
            agent("clerk", SubAgent("researcher", input=Task, output=Findings)),
            agent("researcher"),
        ],
        scripts={
            "desk": [give("clerk"), say("It is so.")],
            "clerk": [give("researcher"), FOUND],
            "researcher": script,
        },
    )
