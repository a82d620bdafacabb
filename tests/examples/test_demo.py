"""The demo as `make demo` runs it: processes, a person, and the right discrepancies."""

import json
from pathlib import Path

import pytest

from examples.reconcile.app import app
from examples.reconcile.tools import Drafted
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.run import RunResult
from tests.examples.demos import play
from tests.running import Run, Runs
from tests.sample import lines

pytestmark = pytest.mark.slow

COUNTS = (
    "32 discrepancies (9 missing payment, 4 unknown order, 6 duplicate payment, "
    "1 duplicate order, 8 amount differs, 4 currency differs); 273 orders agree"
)


async def test_the_demo_ends_well(tmp_path: Path) -> None:
    """It stops at the approval, somebody else approves, and it prints answer, trace, address."""
    # TS-13 OB-05
    said = await play("examples.reconcile.demo", tmp_path)
    (sent,) = lines(tmp_path / ".holdfast" / "outbox.jsonl")
    (report,) = (tmp_path / ".holdfast" / "reports").iterdir()

    assert said.count(COUNTS) == 2
    assert "approved by dana" in said
    assert "/namespaces/default/workflows/demo-" in said
    assert json.loads(sent)["to"] == "finance@example.com"
    assert report.read_text(encoding="utf-8").count("SO-") >= 28


@pytest.fixture
async def reconciling(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.chdir(tmp_path)
    return runs


async def finished(run: Run, request: ApprovalRequest, decision: str) -> RunResult:
    """Decide about the report and return the result."""
    await run.signal(
        "approval", {"request_id": request.request_id, "decision": decision, "approver": "dana"}
    )
    return await run.result()


@pytest.mark.parametrize(
    ("decision", "sent", "words"),
    [("approve", 1, "It was sent to finance@example.com"), ("reject", 0, "It was not sent")],
)
async def test_the_report_is_sent_only_when_somebody_approves(
    reconciling: Runs, tmp_path: Path, decision: str, sent: int, words: str
) -> None:
    """The discrepancies are found either way; what was drafted is sent only after an approval."""
    # RK-07 BY-05
    async with reconciling.working(app):
        run = await reconciling.start("reconciler", "Reconcile.")
        request = await run.asked_for_approval()
        drafted = Drafted.model_validate(request.preview)
        result = await finished(run, request, decision)

    assert (request.approval_type, drafted.to) == ("commit", "finance@example.com")
    assert sum(drafted.discrepancies.values()) == 32
    assert result.answer is not None
    assert COUNTS in result.answer
    assert words in result.answer
    assert len(lines(tmp_path / ".holdfast" / "outbox.jsonl")) == sent
