"""The support desk: four agents, two people, one refund, one parcel."""

from collections.abc import Awaitable
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest

from examples.desk.app import app
from examples.desk.tools import find_parcels, send_parcel
from examples.support import refunds
from examples.support.tools import kept
from holdfast import ToolContext
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.calls import ToolInvocation
from tests.examples.approvers import trusted
from tests.examples.demos import play
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sessions.talking import Talks
from tests.workflows.test_relayed_requests import relayed

GOAL = "Order 1044 came broken, the customer wants 29.00 back, and a new one"


@pytest.mark.slow
async def test_the_demo_ends_well(tmp_path: Path) -> None:
    """Two people decide, one of them about a run that works for this one; both things happen."""
    # TS-13 GF-02
    said = await play("examples.desk.demo", tmp_path)

    assert "desk: Order 1044 was for: teapot, blue. Who gets something broken" in said
    assert "approved 3-shipping/req-1 of desk-" in said
    assert "messages  4, of which 0 wait" in said
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


SAME_MOMENT = ("01a22be2-c1f6-7d0f-9538-39845dd270fb", "01a22be2-c1f7-7b6e-8d1c-0f4a9e2b7c55")
"""The first executions of two runs, as a server names them that start side by side."""


async def sent(invocation: ToolInvocation) -> str:
    context = ToolContext.of(invocation, lambda _: "", lambda _: None)
    return await cast("Awaitable[str]", send_parcel(1044, context))


async def test_each_approved_parcel_is_sent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call has a parcel of its own, of one order and one run too; a further attempt none."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path))
    called = [
        ToolInvocation(
            run_id="run-1",
            first_execution_run_id=first,
            call_id=call_id,
            agent="shipping",
            tenant="",
            actor="",
            arguments={"order_id": 1044},
        )
        for first in SAME_MOMENT
        for call_id in ("call_1_1", "call_1_2")
    ]

    numbers = [await sent(one) for one in called]
    again = [await sent(one) for one in called]

    assert again == numbers
    assert sorted(path.stem for path in find_parcels().iterdir()) == sorted(set(numbers))
    assert len(set(numbers)) == len(called)


async def test_the_desk_talks(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four messages: asked about, sent, refunded by who took over, and told what was done."""
    # HO-09 GF-02 SE-01
    monkeypatch.chdir(tmp_path)
    fiona, _ = trusted(tmp_path / "home", "fiona", "farid")
    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    async with talks.working(app):
        talk = talks.talk(agent="triage", actor="ada")
        told = await talk.exchange("m-1", "Order 1044 came broken. What can I expect?")
        await talk.say("m-2", "Then send me a new one, please.")
        parcel = str((await talk.asked())["request_id"])
        verdicts = [await talk.decide(parcel, who) for who in ("ada", "wes")]
        sent = await talk.answer("m-2")
        await talk.say("m-3", "And I want the 29.00 back.")
        await talk.asked()
        (refund,) = await talk.handle.query("pending", result_type=list[ApprovalRequest])
        unsigned = await talk.decide(refund.request_id, "fiona")
        await talk.signal("approval", fiona.signed(talk.id, refund))
        paid = await talk.answer("m-3")
        last = await talk.exchange("m-4", "Thank you. What have you done for me?")
        said = [one.agent for one in (await talk.conversation()).items if one.role != "user"]
        assert await talk.replayed() == 1
        totals = await talk.close()

    assert str(told).startswith("Order 1044 was for: teapot, blue. Who gets something broken")
    assert (parcel, verdicts) == ("3-shipping/req-1", ["self_approval", "accepted"])
    assert str(sent).endswith("is on its way.")
    assert (refund.tool, unsigned) == ("issue_refund", "require_stronger_auth")
    assert paid == last == f"{sent} 29.00 was refunded."
    assert said == ["triage", "triage", "billing", "billing"]
    assert [(one.order_id, one.amount) for one in refunds.every(kept())] == [
        (1044, Decimal("29.00"))
    ]
    assert len(list((tmp_path / "home" / "parcels").iterdir())) == 1
    assert (totals["messages"], totals["archived"]) == (4, True)
