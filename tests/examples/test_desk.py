"""The support desk: four agents, two people, one refund, one parcel."""

from pathlib import Path

import pytest

from examples.desk.app import app
from holdfast.contracts.approvals import ApprovalRequest
from tests.examples.demos import play
from tests.memory.runs import MemoryRuns
from tests.workflows.test_relayed_requests import relayed

GOAL = "Order 1044 came broken, the customer wants 29.00 back, and a new one"


@pytest.mark.slow
async def test_the_demo_ends_well(tmp_path: Path) -> None:
    """Two people decide, one of them about a run that works for this one; both things happen."""
    # TS-13 GF-02
    said = await play("examples.desk.demo", tmp_path)

    assert "approved 3-shipping/req-1 of desk-" in said
    assert "is on its way. 29.00 was refunded." in said
    assert "prepare load_case ok" in said
    assert "nobody knows" not in said
    assert "history-service" not in said  # what parts tell their run is for no person
    assert len(list((tmp_path / ".holdfast" / "parcels").iterdir())) == 1


async def test_each_agent_does_its_own_part(
    memory_runs: MemoryRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parcel is decided through the root, and without a signature no money moves."""
    # GF-02 HO-09
    monkeypatch.chdir(tmp_path)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", GOAL)
        (parcel,) = await relayed(run)
        sent = await run.decide(
            {"request_id": parcel.request_id, "decision": "approve", "approver": "wes"}
        )
        while not (waiting := [one for one in await run.pending() if not one.run_id]):
            await run.pause()
        (refund,) = waiting
        unsigned = await run.decide(
            {"request_id": refund.request_id, "decision": "approve", "approver": "fiona"}
        )
        await run.decide(
            {
                "request_id": refund.request_id,
                "decision": "reject",
                "approver": "farid",
                "reason": "no photo",
            }
        )
        result = await run.result()
        status, parts = await run.status(), await run.parts()

    assert isinstance(refund, ApprovalRequest)
    assert sent.accepted
    assert unsigned.code == "require_stronger_auth"
    assert (status.agent, refund.tool) == ("billing", "issue_refund")
    assert parts == ["1-researcher", "2-researcher", "3-shipping"]
    assert result.answer is not None
    assert "is on its way. There was no refund: rejected by farid: no photo" in result.answer
