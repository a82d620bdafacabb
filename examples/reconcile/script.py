"""The model of a run without a provider's key: each reply follows from what the tools said."""

from pydantic import JsonValue

from examples.reconcile.discrepancies import Comparison
from examples.reconcile.outbox import Sent
from examples.reconcile.report import words
from examples.reconcile.tables import Page
from examples.reconcile.tools import Files, Report
from holdfast.testing import Reply, ScriptTurn, call, calls, say

RECIPIENT = "finance@example.com"
COMPARED: dict[str, JsonValue] = {
    "left": "orders.csv",
    "right": "payments.csv",
    "key": "order_id",
    "amount_column": "amount",
    "currency_column": "currency",
    "tolerance": "0.01",
}


def reconcile(turn: ScriptTurn) -> Reply:
    """List, read, compare, write, send; a refusal by tool or person ends it with the reason."""
    for result in turn.results:
        if result.status != "ok":
            return say(_refused(turn, result.name, result.reason))
    return _next(turn)


def _next(turn: ScriptTurn) -> Reply:
    match turn.number:
        case 1:
            return call("list_files")
        case 2:
            files = Files.model_validate(turn.last("list_files"))
            return calls(*(call("read_table", file=name) for name in files.names))
        case 3:
            pages = [Page.model_validate(ok.data) for ok in turn.results if ok.status == "ok"]
            return calls(call("compare_tables", **COMPARED), text=_overview(pages))
        case 4:
            return call(
                "write_report",
                title="Orders against payments",
                commentary=_commentary(_comparison(turn)),
                **COMPARED,
            )
        case 5:
            report = Report.model_validate(turn.last("write_report"))
            subject = f"Reconciliation: {report.discrepancies} discrepancies"
            return call("send_report", report=report.path, to=RECIPIENT, subject=subject)
        case _:
            sent = Sent.model_validate(turn.last("send_report"))
            return say(f"{_findings(turn)} It was sent to {sent.to}.")


def _comparison(turn: ScriptTurn) -> Comparison:
    return Comparison.model_validate(turn.last("compare_tables"))


def _overview(pages: list[Page]) -> str:
    sizes = (f"{page.table} has {page.total_rows} rows on {page.pages} pages" for page in pages)
    return f"{'; '.join(sizes)}. Both keep order_id, currency and amount: I compare all rows."


def _commentary(found: Comparison) -> str:
    outstanding = ", ".join(f"{total.outstanding:f} {total.currency}" for total in found.totals)
    return f"Over all rows is outstanding: {outstanding}. Each discrepancy needs a person's look."


def _findings(turn: ScriptTurn) -> str:
    found, report = _comparison(turn), Report.model_validate(turn.last("write_report"))
    kinds = (f"{number} {words(kind)}" for kind, number in found.counts.items() if number)
    return (
        f"{found.orders} order rows against {found.payments} payments: "
        f"{len(found.discrepancies)} discrepancies ({', '.join(kinds)}); "
        f"{found.agreeing} orders agree. The report is {report.path}."
    )


def _refused(turn: ScriptTurn, tool: str, reason: str) -> str:
    if tool == "send_report":
        return f"{_findings(turn)} It was not sent: {reason}"
    return f"I stopped at {tool}, nothing was sent: {reason}"
