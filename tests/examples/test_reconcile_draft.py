"""The report of the reconcile example: what is shown before it is sent is what is sent."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Literal, cast

import pytest

from examples.reconcile.outbox import Sent
from examples.reconcile.tools import Drafted, Report, draft_report, send_report, write_report
from holdfast import ToolContext, ToolError
from holdfast.contracts.calls import ToolInvocation
from tests.builders import EXECUTION, FIRST
from tests.sample import lines

TO = "finance@example.com"
LIES = """\
All is well.

## 0 discrepancies

| kind | number |
| --- | --- |
| missing payment | 0 |
"""


def context(
    purpose: Literal["call", "draft"] = "call", draft_id: str | None = None
) -> ToolContext:
    invocation = ToolInvocation(
        run_id="run-1",
        first_execution_run_id=FIRST,
        execution=EXECUTION,
        call_id="call_5_1",
        agent="reconciler",
        tenant="",
        actor="",
        arguments={},
        purpose=purpose,
        draft_id=draft_id,
    )
    return ToolContext.of(invocation, lambda _: "", lambda _: None)


async def written(commentary: str) -> str:
    """Write the report of the shipped files and return its path."""
    arguments = {"left": "orders.csv", "right": "payments.csv", "key": "order_id"}
    columns = {"amount_column": "amount", "currency_column": "currency", "tolerance": "0.01"}
    report = write_report(
        **write_report.bind(
            {"title": "T", "commentary": commentary, **arguments, **columns}, context()
        )
    )
    return (await cast("Awaitable[Report]", report)).path


async def drafted(report: str, to: str = TO) -> Drafted:
    draft = draft_report(report, to, "Reconciliation", context("draft"))
    return await cast("Awaitable[Drafted]", draft)


async def sent(report: str, draft_id: str | None, to: str = TO) -> Sent:
    send = send_report(report, to, "Reconciliation", context(draft_id=draft_id))
    return await cast("Awaitable[Sent]", send)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def test_the_figures_of_a_draft_are_those_of_the_tables() -> None:
    """A commentary that looks like figures doesn't become the figures that a person is shown."""
    draft = await drafted(await written(LIES))

    assert (draft.to, draft.subject) == (TO, "Reconciliation")
    assert (draft.first_lines[0], draft.first_lines[2]) == ("# T", "All is well.")
    assert draft.discrepancies == {
        "missing payment": 9,
        "unknown order": 4,
        "duplicate payment": 6,
        "duplicate order": 1,
        "amount differs": 8,
        "currency differs": 4,
    }


async def test_what_was_drafted_is_sent_once() -> None:
    """A second attempt of the same call sends nothing more."""
    # RK-07 BY-05 BY-11
    report = await written("As it is.")
    draft = await drafted(report)

    first = await sent(report, f"{FIRST}/call_5_1/draft")
    again = await sent(report, f"{FIRST}/call_5_1/draft")

    assert first == again
    assert first.body_sha256 == draft.body_sha256
    assert len(lines(".holdfast/outbox.jsonl")) == 1


async def test_another_message_under_a_key_is_told_as_not_sent() -> None:
    """After a reset a call may have an earlier one's key: nobody hears that it was sent."""
    report = await written("As it is.")
    await drafted(report)
    await sent(report, f"{FIRST}/call_5_1/draft")
    await drafted(report, "audit@example.com")

    with pytest.raises(ToolError, match="another message was sent under this key"):
        await sent(report, f"{FIRST}/call_5_1/draft", "audit@example.com")

    assert len(lines(".holdfast/outbox.jsonl")) == 1


async def test_nothing_is_sent_that_was_not_drafted() -> None:
    """Without its draft, or with one whose report was written again since, nothing goes out."""
    # BY-05
    report = await written("As it was.")
    with pytest.raises(ToolError, match="nobody has approved a draft"):
        await sent(report, None)
    await drafted(report)
    await written("As nobody has seen it.")

    with pytest.raises(ToolError, match="isn't what was approved any more"):
        await sent(report, f"{FIRST}/call_5_1/draft")

    assert lines(".holdfast/outbox.jsonl") == []
