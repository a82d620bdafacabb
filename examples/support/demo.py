"""The demo: a refund that only a signed approval releases, and the books before and after."""

import sys
import uuid

from examples import stage
from examples.support import refunds
from examples.support.tools import kept

APP = "examples.support.app:app"
GOAL = "Order 1044 came broken, the customer wants 29.00 back"


def main() -> int:
    """Run the demo; 0 when the run completed."""
    run = f"refund-{uuid.uuid4().hex[:6]}"
    exit_code = stage.perform_with_key(APP, run, lambda: _play(run))
    if exit_code == 0:
        print(f"  the books: {kept()}")
    return exit_code


def _play(run: str) -> int:
    stage.tell("An agent of the support desk wants to refund 29.00.")
    with stage.started("run", "support", GOAL, "--id", run) as live:
        stage.tell("It is drafted and waits. Fiona looks at the draft, ...")
        request = stage.await_request(run)
        stage.call("pending", run)
        _show_books()
        stage.tell("... and approves this one refund with her key.")
        words = ("--key", "fiona", "--reason", "photo of the shards seen")
        stage.call("approve", run, *request, *words)
        exit_code = live.wait(stage.PATIENCE)
    stage.tell("What happened, from the run's history alone:")
    stage.call("trace", run)
    _show_books()
    return exit_code


def _show_books() -> None:
    paid = refunds.every(kept())
    stage.tell(f"Refunds in the books: {len(paid) or 'none'}")
    for refund in paid:
        print(f"  {refund.at}  order {refund.order_id}  {refund.amount} {refund.currency}")


if __name__ == "__main__":
    sys.exit(main())
