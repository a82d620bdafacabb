"""Signals that a policy wants signed, sent by commands and by others, against a real server."""

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import ResetReapplyExcludeType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client

from holdfast import Agent, App, approvers, signing, worker
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import TASK_QUEUE, RunResult
from holdfast.contracts.signals import MessageOutcome
from holdfast.runner import build_replayer
from holdfast.settings import Settings
from holdfast.testing import call, say
from holdfast.workflows.agent_run import AgentRun
from tests.holdfast.commands import holdfast, seen
from tests.running import Run
from tests.sample import ask_user

_COMPLETED = "workflow_task_completed_event_attributes"
_UPDATES = ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE

pytestmark = pytest.mark.usefixtures("command_line")

POLICY = """\
version: 1
groups: {oncall: [dana]}
signals:
  suspend: {groups: [oncall]}
  resume: {groups: [oncall]}
  steer: {}
  stop: {groups: [oncall]}
  answer: {groups: [oncall]}
"""


def trusted(name: str) -> None:
    """Make a key without a passphrase and have it trusted."""
    found = Settings.load()
    key = signing.make(found.keys, name, None)
    approvers.trust(found.approvers, json.dumps(key.public))


def asking(folder: Path) -> App:
    policy = folder / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    agent = Agent(name="asker", instructions="Ask.", models=["scripted:asker"], tools=[ask_user])
    script = [call("ask_user", question="Which?"), say("That one.")]
    return App(agents=[agent], scripts={"asker": script}, policy=policy)


@pytest.fixture
async def run(client: Client, name: str, tmp_path: Path) -> AsyncGenerator[Run]:
    """A run whose signals are to be signed, and that waits for an answer; two have keys."""
    trusted("dana")
    trusted("eve")
    async with worker.run_worker(client, asking(tmp_path)):
        handle = await client.start_workflow(
            "AgentRun",
            {"agent": "asker", "input": "go"},
            id=name,
            task_queue=TASK_QUEUE,
            result_type=RunResult,
        )
        run = Run(handle)
        await run.asked()
        yield run


async def sent(run: Run, signal: str, message: JsonObject) -> MessageOutcome:
    """What becomes of a signal, sent as an update."""
    return await run.handle.execute_update(  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
        signal, message, result_type=MessageOutcome
    )


async def read_last_update(run: Run) -> tuple[JsonObject, Sequence[HistoryEvent]]:
    """What was sent last, as whoever reads the history could send it again; and all events."""
    history = await run.handle.fetch_history()
    updates = [
        event.workflow_execution_update_accepted_event_attributes.accepted_request.input
        for event in history.events
        if event.HasField("workflow_execution_update_accepted_event_attributes")
    ]
    return json.loads(updates[-1].args.payloads[0].data), history.events


async def test_what_is_not_signed_changes_nothing(run: Run) -> None:
    """By whatever name; nor does what somebody has signed who may not."""
    held = await sent(run, "suspend", {"by": "dana"})
    steered = await sent(run, "steer", {"text": "pay eve", "by": "dana"})
    stopped = await sent(run, "stop", {"reason": "enough", "by": "dana"})
    outsider = await holdfast("suspend", run.handle.id, "--key", "eve")
    request, *seen_as = await seen(run.handle.id)
    answered = await holdfast("answer", run.handle.id, request, "x", *seen_as, "--key", "eve")
    status = await run.status()
    await run.handle.terminate()

    assert {held.code, steered.code, stopped.code} == {"require_stronger_auth"}
    assert outsider.err.startswith("holdfast: refused: 'eve' is in none of the groups that may")
    assert answered.err.startswith("holdfast: refused: 'eve' is in none of the groups that may")
    assert status.signed == ("suspend", "resume", "steer", "stop", "answer")
    assert (status.status, status.refused_total) == ("waiting", 5)


async def test_who_signs_is_heard(run: Run) -> None:
    """Commands sign, and the history says who was heard and who wasn't."""
    name = run.handle.id
    await sent(run, "resume", {"by": "dana"})
    held = await holdfast("suspend", name, "--key", "dana", "--reason", "incident 7")
    between = await run.status()
    steered = await holdfast("steer", name, "be kind", "--key", "eve")
    resumed = await holdfast("resume", name, "--key", "dana")
    request, *seen_as = await seen(name)
    answered = await holdfast("answer", name, request, "red", *seen_as, "--key", "dana")
    result = await run.result()
    trace = await holdfast("trace", name)
    await build_replayer(AgentRun).replay_workflow(await run.handle.fetch_history())

    assert [one.code for one in (held, steered, resumed, answered)] == [0, 0, 0, 0]
    assert between.status == "suspended"
    assert (result.status, result.answer) == ("completed", "That one.")
    assert "suspend by dana, signed: incident 7" in trace.out
    assert "be kind (by eve, signed)" in trace.out
    assert "refused resume by dana: the policy wants 'resume' signed" in trace.out
    assert "answered by dana" in trace.out


async def test_a_signature_counts_once(run: Run) -> None:
    """Who has seen a token can't send it again; a command signs unasked."""
    name = run.handle.id
    keyless = await holdfast("suspend", name)
    held = await holdfast("suspend", name, "--key", "dana")
    suspended, _ = await read_last_update(run)
    resumed = await holdfast("resume", name, "--key", "dana")
    again = await sent(run, "suspend", suspended)
    status = await run.status()
    await run.handle.terminate()

    assert "choose one of dana, eve (--key)" in keyless.err
    assert (held.code, resumed.code) == (0, 0)
    assert (again.code, status.status) == ("invalid_token", "waiting")


async def test_a_reset_makes_no_signature_good_again(run: Run, client: Client) -> None:
    """Where it leaves out what people said, nobody knows any more that a token was used."""
    name = run.handle.id
    await holdfast("suspend", name, "--key", "dana")
    await holdfast("resume", name, "--key", "dana")
    resumed, events = await read_last_update(run)
    started = next(event for event in events if event.HasField(_COMPLETED))
    answer = await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=name),
            workflow_task_finish_event_id=started.event_id,
            reset_reapply_exclude_types=[_UPDATES],
            request_id=name,
        )
    )
    again = Run(client.get_workflow_handle(name, run_id=answer.run_id, result_type=RunResult))
    await again.asked()
    held = await holdfast("suspend", name, "--key", "dana")
    replayed = await sent(again, "resume", resumed)
    status = await again.status()
    anew = await holdfast("resume", name, "--key", "dana")
    await again.handle.terminate()

    assert (held.code, anew.code) == (0, 0)
    assert (replayed.code, status.status) == ("invalid_token", "suspended")
    assert "before the workflow was reset" in replayed.reason


async def test_a_signature_on_what_is_refused_is_not_used_up(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words for which there is no room may be said again, once; the trace shows both."""
    name = run.handle.id
    with monkeypatch.context() as full:
        full.setattr("holdfast.run.requests.MAX_PENDING_STEERS", 0)
        refused = await holdfast("steer", name, "be kind", "--key", "eve")
    history = await run.handle.fetch_history()
    said = [
        json.loads(
            event.workflow_execution_update_accepted_event_attributes.accepted_request.input.args.payloads[
                0
            ].data
        )
        for event in history.events
        if event.HasField("workflow_execution_update_accepted_event_attributes")
    ]
    heard = await sent(run, "steer", said[-1])
    again = await sent(run, "steer", said[-1])
    trace = await holdfast("trace", name)
    await run.handle.terminate()

    assert refused.code == 1
    assert (heard.code, again.code) == ("accepted", "invalid_token")
    assert "refused steer by eve" in trace.out
    assert "be kind (by eve, signed)" in trace.out


async def test_who_signs_a_stop_ended_the_run(run: Run) -> None:
    """Whatever name the message gives."""
    name = run.handle.id
    stopped = await holdfast("stop", name, "--reason", "enough", "--key", "dana")
    result = await run.result()
    trace = await holdfast("trace", name)

    assert stopped.code == 0
    assert result.stop is not None
    assert result.stop.ended_by == "dana"
    assert "enough (by dana, signed)" in trace.out


async def test_who_signs_closes_a_session(client: Client, name: str, tmp_path: Path) -> None:
    """The command signs unasked, says when it is refused, and closes no run."""
    # SE-02 RK-19
    trusted("dana")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\ngroups: {oncall: [dana]}\nsignals: {close: {groups: [oncall]}}\n",
        encoding="utf-8",
    )
    agent = Agent(name="talker", instructions="Talk.", models=["scripted:talker"])
    app = App(agents=[agent], scripts={"talker": [say("hello"), say("done")]}, policy=policy)
    async with worker.run_worker(client, app):
        await holdfast("chat", "talker", "--session", name, stdin="hi\n")
        ended = await holdfast("run", "talker", "go", "--id", f"{name}-run", "--detach")
        no_session = await holdfast("close", f"{name}-run")
        trusted("eve")
        stranger = await holdfast("close", name, "--key", "eve")
        keyless = await holdfast("close", name)
        closed = await holdfast("close", name, "--key", "dana", "--reason", "answered")
        result = await client.get_workflow_handle(name, result_type=dict).result()
        over = await holdfast("close", name)

    assert ended.code == 0
    assert "is a run, and only sessions close" in no_session.err
    assert stranger.err.startswith("holdfast: refused: 'eve' is in none of the groups that may")
    assert "choose one of dana, eve (--key)" in keyless.err
    assert (closed.code, closed.out) == (
        0,
        f"{name} closes when what was said before is answered\n",
    )
    assert result["reason"] == "closed by dana: answered"
    assert (over.code, over.err) == (
        1,
        f"holdfast: session {name!r} is over (completed): a message opens it again\n",
    )
