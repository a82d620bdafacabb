"""Sessions that are ended from outside between two executions: nothing is forgotten."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError

from holdfast import App, Risk, Tiers, tool
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import on_word
from tests.running import Runs
from tests.sample import lines, note, scripted
from tests.sessions.talking import Talk, Talks
from tests.workflows.test_permissions import policy
from tests.workflows.test_retries import BROKEN
from tests.workflows.tiered import staffed

FREE = "{id: free, effect: allow, match: {tools: [book]}}"


@tool(risk=Risk.WRITE_INTERNAL)
async def book(log: str, place: str) -> str:
    """Book a place for somebody."""
    note(log, f"booked {place}")
    return "booked"


def booking(folder: Path, **agent: object) -> App:
    """An agent that books what each message names, and goes on in a new execution behind it."""

    def obey(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        if last.kind == "tool":
            return say(last.results[0].status)
        assert last.kind == "user"
        return call("book", log=str(folder / "log"), place=last.text)

    rules = policy(folder, FREE)
    return scripted(obey, tools=[book], policy=rules, max_history_events=1, **agent)


async def is_continued(talk: Talk, client_runs: Runs) -> tuple[str, str]:
    """Wait until a session has gone on behind its answer; return both executions."""
    while True:
        query = f"WorkflowId = '{talk.id}' AND ExecutionStatus = 'ContinuedAsNew'"
        listed = [one.run_id async for one in client_runs.client.list_workflows(query)]
        latest = await talk.handle.describe()
        asked = await talk.ask("status")
        if listed and latest.run_id not in listed and asked["status"] == "idle":
            return listed[0], latest.run_id
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("archived", [False, True], ids=["no archive", "an archive"])
async def test_where_words_are_withheld_a_session_that_is_ended_forgets_nothing(
    runs: Runs, tmp_path: Path, *, archived: bool
) -> None:
    """Of an execution that has asked no model yet its input says what one was shown before."""
    # SE-04 SE-06
    guard = on_word("no_bad", "bad", "output")
    talks = Talks(runs, f"file:{tmp_path / 'archive'}" if archived else None)
    async with talks.working(booking(tmp_path, guardrails=[guard])):
        talk = talks.talk()
        await talk.exchange("m-1", "Rome")
        await talk.close()
        await talk.exchange("m-2", "Oslo")
        await is_continued(talk, runs)
        await talk.handle.terminate()
        again = await talk.exchange("m-3", "Oslo")

        assert again == "denied"
        assert [words for _, words in await talk.said()][:4] == ["Rome", "ok", "Oslo", "ok"]
    assert lines(tmp_path / "log") == ["booked Rome", "booked Oslo"]


async def test_what_nobody_has_of_a_session_is_read_from_the_execution_before_it(
    runs: Runs, tmp_path: Path
) -> None:
    """As where it was ended before a worker took what it had gone on in."""
    # SE-04
    talks = Talks(runs)
    async with talks.working(booking(tmp_path)):
        talk = talks.talk()
        await talk.exchange("m-1", "Rome")
        _, latest = await is_continued(talk, runs)
        await talk.handle.terminate()
        gone = WorkflowExecution(workflow_id=talk.id, run_id=latest)
        await runs.client.workflow_service.delete_workflow_execution(
            DeleteWorkflowExecutionRequest(namespace="default", workflow_execution=gone)
        )
        await is_gone(talk, latest, runs)
        again = await talk.exchange("m-2", "Rome")

    assert again == "denied"
    assert lines(tmp_path / "log") == ["booked Rome"]


async def is_gone(talk: Talk, execution: str, runs: Runs) -> None:
    """Wait until the server has deleted an execution."""
    handle = runs.client.get_workflow_handle(talk.id, run_id=execution)
    with suppress(RPCError):
        while await handle.describe():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)


def tiered(folder: Path) -> App:
    """An agent that has another one book what each message names, and withholds what that says."""

    def obey(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        if last.kind == "tool":
            return say(last.results[0].status)
        place = [one for one in re.findall(r"\w+", turn.goal) if one in {"Rome", "Oslo"}][-1]
        return call("book", log=str(folder / "log"), place=place)

    guards = [on_word("no_bad", "bad", "output")]
    rules = policy(folder, FREE)
    only = Tiers(full="coder")
    return staffed({"coder": obey}, tiers=only, guardrails=guards, tools=[book], policy=rules)


@pytest.mark.parametrize("archived", [False, True], ids=["no archive", "an archive"])
async def test_a_session_that_asks_no_model_itself_forgets_nothing(
    runs: Runs, tmp_path: Path, *, archived: bool
) -> None:
    """Where other agents do the work nobody reads in its history what a model was shown."""
    # SE-04 SE-06 FB-11
    talks = Talks(runs, f"file:{tmp_path / 'archive'}" if archived else None)
    async with talks.working(tiered(tmp_path)):
        talk = talks.talk()
        await talk.exchange("m-1", "Rome")
        if archived:
            await talk.close()
            await talk.exchange("m-2", "Oslo")
        await talk.handle.terminate()
        stranger = talks.talk(talk.id, tenant="evil")
        await stranger.say("e-1", "mine")
        with pytest.raises(WorkflowFailureError):
            await stranger.handle.result()
        again = await talk.exchange("m-3", "Oslo" if archived else "Rome")
        said = [words for _, words in await talk.said()]

    assert again == "denied"
    assert said[:2] == ["Rome", "ok"]
    assert lines(tmp_path / "log") == ["booked Rome", "booked Oslo"][: 1 + archived]


async def test_a_session_whose_first_model_failed_opens_again(runs: Runs) -> None:
    """More stands in it since than that was shown, which proves nothing then."""
    # SE-04

    def obey(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        return BROKEN if last.kind == "user" and last.text == "break" else say("ok")

    talks = Talks(runs)
    app = scripted(obey, guardrails=[on_word("no_bad", "bad", "output")])
    async with talks.working(app):
        talk = talks.talk()
        await talk.say("m-1", "break")
        broken = await talk.result("m-1")
        await talk.handle.terminate()
        again = await talk.exchange("m-2", "two")
        said = [words for _, words in await talk.said()]

    assert broken["status"] == "failed"
    assert again == "ok"
    assert said == ["break", "", "two", "ok"]
