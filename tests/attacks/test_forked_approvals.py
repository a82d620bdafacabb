"""What people approved of a run, shown to runs that go on from it, or that have its id later."""

from pathlib import Path

import pytest

from holdfast import App
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, calls
from tests.attacks.test_tokens import ALICE, claims, refunding, send, trusting
from tests.running import Run, Runs
from tests.sample import lines, told
from tests.workflows.test_retries import first_then

BEHIND: dict[str, JsonObject] = {"retried": {}, "turn 1": {"turn": 1}, "turn 2": {"turn": 2}}


async def goes_on(runs: Runs, run: Run, how: str) -> Run:
    """Start what goes on from a run, for somebody else; or what has its id."""
    if how == "of its id":
        given: JsonObject = {"agent": "it", "input": "AGAIN", "actor": "eve"}
        await runs.client.start_workflow(
            "AgentRun", given, id=run.handle.id, task_queue=runs.queue
        )
        return Run(runs.client.get_workflow_handle(run.handle.id))
    of: JsonObject = {"run_id": run.handle.id, "first_execution_run_id": run.first_execution}
    return await runs.start_with(
        {"agent": "it", "actor": "eve", "retry_of": {**of, **BEHIND[how]}}
    )


@pytest.mark.parametrize("how", [*BEHIND, "of its id"])
async def test_no_approval_of_a_run_releases_anything_in_another(
    runs: Runs, tmp_path: Path, how: str
) -> None:
    """Neither one that was used nor one that never was, by whatever id, nor those behind it."""
    # RK-19 NR-06
    log, amounts = tmp_path / "log", (29.0, 30.0)
    trusting(runs, tmp_path, ALICE)
    first, other = (call("refund", log=str(log), amount=one) for one in amounts)
    notice = "AGAIN" if how == "of its id" else "What was approved in it is approved no more"
    app = refunding(log)
    script = first_then([first, other, told], [calls(first, other), told, told], notice=notice)
    async with runs.working(App(agents=app.agents, scripts={"it": script})):
        run = await runs.start("it", actor="dana")
        used = await run.asked_for_approval()
        spent = ALICE.token(claims(run, used))
        assert (await send(run, used, spent)).accepted
        unused: ApprovalRequest = await run.asked_for_approval()
        kept = ALICE.token(claims(run, unused))
        before = lines(log)
        await run.handle.terminate()

        again = await goes_on(runs, run, how)
        asked = [one for one in await again.asked() if isinstance(one, ApprovalRequest)]
        answers = [
            (await send(again, one.model_copy(update=named), token)).code
            for one in asked
            for token in (spent, kept)
            for named in ({}, {"request_id": used.request_id}, {"request_id": unused.request_id})
        ]
        seen: JsonObject = {"decision": "approve", "approver": "alice", "digest": unused.digest}
        seen_code = (await again.decide({"request_id": asked[-1].request_id, **seen})).code
        mine = ALICE.token({**claims(again, asked[-1]), "sub": "dana"})
        mine_code = (await send(again, asked[-1], mine)).code
        after = lines(log)
        await again.handle.terminate()

    assert [one.arguments["amount"] for one in asked] == (
        [29.0, 30.0] if how == "of its id" else [30.0]
    )
    assert set(answers) <= {"invalid_token", "unknown_request"}
    assert (seen_code, mine_code) == ("changed", "invalid_token")
    assert before == after == ["refunded 29.0"]
