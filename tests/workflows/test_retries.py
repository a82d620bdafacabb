"""A run that ended without an answer is tried again: in a new run that knows what it did."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from holdfast import App, Budget, Tiers
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.guardrails import passed
from holdfast.run.parts import UNKNOWN_EFFECT
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, fail, say
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun
from tests.control.guarded import looking
from tests.running import Run, Runs
from tests.sample import lines, scripted, told
from tests.workflows.tiered import staffed, written

BROKEN = fail(ModelRejected("no wool", kind="auth"))


def first_then(first: Script, again: Script, *, notice: str = "tries it again") -> Script:
    """A script that goes otherwise in the run that tries another one again, or is its fork."""

    def script(turn: ScriptTurn) -> Reply:
        noticed = any(notice in one.text for one in said(turn))
        chosen = again if noticed else first
        if callable(chosen):
            return chosen(turn)
        reply = chosen[turn.number - 1]
        return reply(turn) if callable(reply) else reply

    return script


def said(turn: ScriptTurn) -> list[UserTurn]:
    return [item for item in turn.transcript if isinstance(item, UserTurn)]


async def retried(runs: Runs, run: Run, agent: str = "it", **more: JsonValue) -> Run:
    """Start what any client can: an agent, and the run that it is to try again."""
    return await runs.start_with({"agent": agent, "retry_of": run.handle.id, **more})


async def refusal(run: Run) -> str:
    """Why a run never began."""
    with pytest.raises(WorkflowFailureError) as ended:
        await run.result()
    assert isinstance(ended.value.cause, ApplicationError)
    return ended.value.cause.message


async def replays(run: Run) -> None:
    await build_replayer(AgentRun).replay_workflow(await run.handle.fetch_history())


async def test_a_retry_goes_on_where_the_run_stopped(runs: Runs) -> None:
    """It has the goal and all that was said, has its own id, and names the run before it."""
    script = first_then(
        [call("add", a=1, b=2), BROKEN], lambda turn: say(f"it is {turn.last('add')}")
    )
    async with runs.working(scripted(script)):
        run = await runs.start(
            "it", "add them", tenant="acme", metadata={"ticket": 7}, budget={"max_steps": 9}
        )
        before = await run.result()
        again = await retried(runs, run, tenant="acme", actor="dana")
        result = await again.result()
        status, page = await again.status(), await again.transcript()
        trace = read_trace([await again.handle.fetch_history()])
        await replays(again)

    assert before.status == "failed"
    assert (result.status, result.answer) == ("completed", "it is 3")
    assert [item.kind for item in page.items] == ["user", "assistant", "tool", "user", "assistant"]
    assert status.retry_of is not None
    assert status.retry_of.run_id == run.handle.id
    assert status.retry_of.first_execution_run_id == run.first_execution
    assert (status.actor, status.tenant, status.budget.max_steps) == ("dana", "acme", 9)
    assert trace.goal == "add them"
    assert trace.brief is not None
    assert trace.brief.retry_of == status.retry_of
    assert trace.brief.metadata == {"ticket": 7}


async def test_a_retry_may_have_another_budget(runs: Runs) -> None:
    """What it says of its budget differs from what the run before was started with."""
    script = first_then([call("add", a=1, b=2), call("add", a=2, b=2)], [say("done")])
    async with runs.working(scripted(script)):
        run = await runs.start("it", budget={"max_steps": 1, "max_tool_calls": 5})
        before = await run.result()
        again = await retried(runs, run, budget={"max_steps": 3})
        result = await again.result()
        status = await again.status()

    assert (before.status, result.status) == ("stopped", "completed")
    assert (status.budget.max_steps, status.budget.max_tool_calls) == (3, 5)
    assert result.steps == 1


@pytest.mark.parametrize(
    ("tool", "after", "told_of"),
    [
        ("write", ["begin x", "end x"], "Done already for this goal"),
        ("write_slowly", ["written"], "Nobody knows whether this happened"),
    ],
)
async def test_what_a_run_did_is_told_and_not_repeated(
    runs: Runs, tmp_path: Path, tool: str, after: list[str], told_of: str
) -> None:
    """Neither what it did nor what it may have done happens a second time."""
    # NR-06 BY-11
    log = tmp_path / "log"
    arguments = {"log": str(log), "text": "x"} if tool == "write" else {"log": str(log)}
    words: list[str] = []

    def again(turn: ScriptTurn) -> Reply:
        words.append(said(turn)[-1].text)
        return told(turn) if turn.number > 1 else call(tool, **arguments)

    async with runs.working(scripted(first_then([call(tool, **arguments), BROKEN], again))):
        run = await runs.start("it")
        await run.result()
        retry = await retried(runs, run)
        result = await retry.result()
        twice = await (await retried(runs, run)).result()
        refused = (await retry.results())[-1]

    assert lines(log) == after
    assert result.answer == twice.answer == f"{tool} denied"
    assert isinstance(refused, ToolFailure)
    assert refused.type == "non_idempotent_retry_blocked"
    assert told_of in words[0]
    assert f"{tool}(" in words[0]
    assert (result.effects, result.unresolved) == ((), ())


@pytest.mark.parametrize("end", ["cancel", "terminate"])
async def test_calls_that_were_under_way_have_a_result(
    runs: Runs, tmp_path: Path, end: str
) -> None:
    """One that had begun may have happened; one that hadn't did not, and may be asked for."""
    # NR-06 T-44
    log = str(tmp_path / "log")
    fresh = calls(
        call("write_slowly", log=log), call("write", log=f"{log}-2", text="y"), text="both"
    )

    def again(turn: ScriptTurn) -> Reply:
        return told(turn) if turn.number > 1 else fresh

    async with runs.working(scripted(first_then([fresh], again))):
        run = await runs.start("it")
        await written(Path(log))
        await (run.handle.cancel() if end == "cancel" else run.handle.terminate())
        with pytest.raises(WorkflowFailureError):
            await run.result()
        retry = await retried(runs, run)
        result = await retry.result()
        page = await retry.transcript()
        await replays(retry)
    turns = [item for item in page.items if isinstance(item, ToolTurn)]

    assert [one.status for one in turns[0].results] == ["outcome_unknown", "aborted"]
    assert result.answer == "write_slowly denied; write ok"
    assert lines(log) == ["written"]
    assert lines(f"{log}-2") == ["begin y", "end y"]


async def test_approvals_stay_behind(runs: Runs, tmp_path: Path) -> None:
    """What waited is asked about anew, and nobody for whom it was tried may approve it."""
    # BY-16
    log = str(tmp_path / "log")
    fresh = call("send", log=log, text="hi")
    async with runs.working(scripted(first_then([fresh], [fresh, told]))):
        run = await runs.start("it", actor="alice")
        await run.asked_for_approval()
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        retry = await retried(runs, run, actor="bob")
        request = await retry.asked_for_approval()
        for one in ("alice", "bob", "Alice "):
            outcome = await retry.decide(
                {"request_id": request.request_id, "decision": "approve", "approver": one}
            )
            assert outcome.code == "self_approval"
        third = await retried(runs, run, actor="carol")
        await third.asked_for_approval()
        await retry.approve(request.request_id, approver="carol")
        result = await retry.result()
        await third.handle.terminate()

    assert result.answer == "send ok"
    (line,) = lines(log)
    assert line.startswith(f"{retry.first_execution}/")


async def test_four_eyes_see_every_actor_of_a_chain(runs: Runs, tmp_path: Path) -> None:
    """However often it was tried, none of those who tried may approve."""
    log = str(tmp_path / "log")
    fresh = call("send", log=log, text="hi")
    async with runs.working(scripted(first_then([BROKEN], [fresh, told]))):
        run = await runs.start("it", actor="alice")
        await run.result()
        second = await retried(runs, run, actor="bob")
        await second.asked()
        await second.handle.terminate()
        third = await retried(runs, second, actor="carol")
        request = await third.asked_for_approval()
        codes = [
            (
                await third.decide(
                    {"request_id": request.request_id, "decision": "approve", "approver": one}
                )
            ).code
            for one in ("alice", "bob", "carol")
        ]
        await third.handle.terminate()

    assert codes == ["self_approval"] * 3


async def test_a_part_that_was_lost_may_have_done_anything(runs: Runs, tmp_path: Path) -> None:
    """Nobody knows what the parts of a run did that was terminated: a person is asked."""
    # NR-06
    log, held = tmp_path / "log", tmp_path / "held"

    def coder(turn: ScriptTurn) -> Reply:
        if turn.results:
            return told(turn)
        if "tries it again" in turn.goal:
            return call("write", log=str(log), text="x")
        return call("hold", log=str(held))

    async with runs.working(staffed({"coder": coder}, tiers=Tiers(full="coder"))):
        run = await runs.start("it")
        await written(held)
        await run.handle.terminate()
        Path(f"{held}.go").touch()
        retry = await retried(runs, run)
        child = Run(runs.client.get_workflow_handle(f"{retry.handle.id}.1-full"))
        while (await retry.status()).in_flight == ():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        (request,) = await child.asked()
        await retry.handle.terminate()

    assert request.reason.startswith("a part of this work ended without saying what it did")
    assert lines(log) == []


REFUSED = [
    pytest.param({"agent": "other"}, "is one of agent 'it', and not of 'other'", id="agent"),
    pytest.param({"tenant": "acme"}, "of tenant 'acme'", id="tenant"),
    pytest.param({"input": "go on"}, "the run that is tried again says input", id="goal"),
    pytest.param(
        {"known": [UNKNOWN_EFFECT.model_dump()]},
        "the run that is tried again says known",
        id="effects",
    ),
    pytest.param({"retry_of": "nobody"}, "there is no run 'nobody'", id="no run"),
    pytest.param(
        {"retry_of": {"run_id": "RUN", "first_execution_run_id": "0190"}},
        "another run has the id",
        id="another run",
    ),
]


@pytest.mark.parametrize(("more", "why"), REFUSED)
async def test_what_may_not_be_tried_again(
    runs: Runs, more: dict[str, JsonValue], why: str
) -> None:
    """A run of somebody else, or with more than a retry may say, never begins."""
    async with runs.working(scripted([BROKEN])):
        run = await runs.start("it")
        await run.result()
        given = {"agent": "it", "retry_of": run.handle.id, **more}
        if isinstance(earlier := given["retry_of"], dict):
            given["retry_of"] = {**earlier, "run_id": run.handle.id}
        again = await runs.start_with(given)
        assert why in await refusal(again)


async def test_no_part_is_tried_again(runs: Runs) -> None:
    """Its whole is: by itself it would have neither the ceiling nor the reviewers of that."""
    # BY-52
    async with runs.working(staffed({"coder": [BROKEN]}, tiers=Tiers(full="coder"))):
        run = await runs.start("it")
        await run.result()
        part = Run(runs.client.get_workflow_handle(f"{run.handle.id}.1-full"))
        again = await refusal(await retried(runs, part, "coder"))

    assert again.endswith("is a part of another run: retry that one")


async def test_only_what_ended_without_an_answer_is_tried_again(runs: Runs) -> None:
    """Neither what has its answer nor what still goes on."""
    async with runs.working(scripted(lambda turn: say("done"))):
        run = await runs.start("it")
        await run.result()
        completed = await refusal(await retried(runs, run))
    async with runs.working(scripted([call("ask_user", question="?")])):
        run = await runs.start("it")
        await run.asked()
        running = await refusal(await retried(runs, run))
        await run.handle.terminate()

    assert "is completed, and only what was stopped" in completed
    assert "goes on: it can be tried again once it is over" in running


async def test_a_run_that_never_began_left_nothing(runs: Runs) -> None:
    """Nobody can say what it was to do; one that tried another again names that."""
    async with runs.working(scripted([BROKEN])):
        run = await runs.start_with({"agent": "it"})
        await refusal(run)
        again = await retried(runs, run)
        unreadable = await refusal(again)
        further = await refusal(await retried(runs, again))

    assert unreadable.startswith(f"run {run.handle.id!r} can't say what it did: this run never")
    assert f"it never began: retry {run.handle.id!r} itself" in further


async def test_what_models_said_stays_withheld(runs: Runs) -> None:
    """Where output guardrails look a query tells no words of a model, and a retry has them all."""
    heard: list[str] = []

    def again(turn: ScriptTurn) -> Reply:
        heard.extend(item.text for item in turn.transcript if isinstance(item, AssistantTurn))
        return say("done")

    first = [calls(call("look", place="here"), text="the secret word"), BROKEN]
    app = scripted(
        first_then(first, again), guardrails=[looking("clean", "output", lambda _: passed())]
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        told_to_all = str(await run.handle.query("carryover"))
        guessed = str(await run.handle.query("carryover", {"digest": ""}))
        retry = await retried(runs, run)
        result = await retry.result()
        twice = str(await retry.handle.query("carryover"))

    assert result.answer == "done"
    assert heard == ["the secret word"]
    assert "secret" not in told_to_all + guessed + twice


def app_of_large_results(again: Script) -> App:
    large = [call("flood", characters=19_000 + number) for number in range(60)]
    return scripted(
        first_then([*large, BROKEN], again),
        budget=Budget(max_steps=100),
        max_context_bytes=2_000_000,
    )


async def test_a_large_transcript_is_carried_as_far_as_it_fits(runs: Runs) -> None:
    """The latest stays whole, older results are stubs; what is sent has its bound."""
    async with runs.working(app_of_large_results([say("done")])):
        run = await runs.start("it", "flood it")
        before = await run.result()
        retry = await retried(runs, run)
        result = await retry.result()
        first = (await retry.transcript()).items[0]
        events = (await retry.handle.fetch_history()).events

    assert (before.status, result.status) == ("failed", "completed")
    assert isinstance(first, UserTurn)
    assert first.text == "flood it"
    assert max(event.ByteSize() for event in events) < 1_000_000
