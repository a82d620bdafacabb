"""Authority of those who work for others: tokens and answers of one count for no other."""

import json
from datetime import UTC, datetime
from pathlib import Path

from temporalio.client import WorkflowExecutionStatus

from holdfast import approvers, signing
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject
from holdfast.run.delegation.handoffs import MAX_HANDOFFS, find_refusal
from holdfast.settings import Settings
from holdfast.testing import Script, call, say
from tests.builders import a_call, asked_for
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines
from tests.workflows.delegating import FOUND, ask, desk, holding
from tests.workflows.test_permissions import policy
from tests.workflows.test_relayed_requests import relayed
from tests.workflows.tiered import child, written


async def test_a_token_for_one_task_releases_nothing_of_another(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Both ask for the same call, by the same name, with the same arguments."""
    # BY-52 RK-19
    log = tmp_path / "log"
    key = signing.make(tmp_path / "keys", "dana", None)
    approvers.trust(Settings.load().approvers, json.dumps(key.public))
    strong = policy(
        tmp_path, "{id: r, effect: approve, match: {tools: [send]}, approval: {strong: true}}"
    )
    send: Script = [call("send", log=str(log), text="hello"), FOUND]
    app = desk([ask("tides", "winds"), say("So.")], send, policy=strong)
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        asked = {one.request_id: one for one in await relayed(run, 2)}
        first, second = asked["1-researcher/req-1"], asked["2-researcher/req-1"]
        assert isinstance(first, ApprovalRequest)
        now = datetime.now(UTC)
        token = signing.sign_decision(
            key, None, run.part("1-researcher").id, first, "approve", now
        )
        said: JsonObject = {"decision": "approve", "approver": "dana", "token": token}
        other = await run.decide({**said, "request_id": second.request_id})
        direct = await run.part("2-researcher").decide({**said, "request_id": "req-1"})
        before = lines(log)
        own = await run.decide({**said, "request_id": first.request_id})
        while not lines(log):
            await run.pause()
        await run.cancel()

    assert (other.accepted, direct.accepted, own.accepted) == (False, False, True)
    assert before == []
    assert len(lines(log)) == 1


async def test_an_answer_for_a_task_that_asks_nothing_reaches_no_other(
    memory_runs: MemoryRuns,
) -> None:
    """Neither one that isn't there, nor one whose question is answered, nor the run itself."""
    # BY-52
    asks: Script = [call("ask_user", question="Which one?"), FOUND]
    async with memory_runs.working(desk([ask("tides"), say("So.")], asks)):
        run = await memory_runs.start("desk")
        await relayed(run)
        for name in ("2-researcher/req-1", "req-1", "1-researcher/req-2"):
            await run.signal("answer", {"request_id": name, "text": "red"})
        reasons = await run.refusals(3)
        await run.signal("answer", {"request_id": "1-researcher/req-1", "text": "blue"})
        await run.result()
        answer = await run.part("1-researcher").success()

    assert all("no request" in reason for reason in reasons)
    assert answer.data == {"answer": "blue"}


async def test_no_task_outlives_a_run_that_was_terminated(runs: Runs, tmp_path: Path) -> None:
    """Nobody tells the run anything any more; the server cancels what works for it."""
    # BY-52 T-50
    log = tmp_path / "log"
    async with runs.working(desk([ask("tides", "winds"), say("So.")], holding(log))):
        run = await runs.start("desk")
        await written(log, 2)
        await run.handle.terminate("by hand")
        parts = [child(runs, run, f"{number}-researcher").handle for number in (1, 2)]
        ends: list[WorkflowExecutionStatus | None] = []
        while len(ends) < len(parts):
            found = [(await part.describe()).status for part in parts]
            ends = [one for one in found if one is not WorkflowExecutionStatus.RUNNING]
            await run.pause()

    assert ends == [WorkflowExecutionStatus.CANCELED] * 2


def test_nobody_hands_over_without_end() -> None:
    """Words that differ each time make no loop: the number of handoffs is bound all the same."""
    # HO-09
    state = asked_for(a_call("transfer_to_billing", goal="once more"))
    (asked,) = state.calls

    refused = find_refusal(state.with_parts(handoffs=MAX_HANDOFFS), asked)

    assert find_refusal(state.with_parts(handoffs=MAX_HANDOFFS - 1), asked) is None
    assert refused is not None
    assert (refused.status, refused.reason) == (
        "denied",
        "the run was handed over 20 times, and no more may be",
    )
