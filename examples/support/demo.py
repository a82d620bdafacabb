"""The demo: a refund that only a signed approval releases, and the books before and after."""

import os
import sys
import tempfile
import uuid
from pathlib import Path

from examples import stage
from examples.support import refunds
from examples.support.tools import kept

APP = "examples.support.app:app"
GOAL = "Order 1044 came broken, the customer wants 29.00 back"


def main() -> int:
    """Run the demo; 0 when the run completed."""
    run = f"refund-{uuid.uuid4().hex[:6]}"
    # Books of its own, so that there is something left to refund.
    os.environ["SUPPORT_BOOKS"] = f".holdfast/books/{run}.db"
    # A key of its own, and nobody else's signature counts: nothing of it stays.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOLDFAST_KEYS"] = str(Path(folder, "keys"))
        os.environ["HOLDFAST_APPROVERS"] = str(Path(folder, "approvers.json"))
        exit_code = stage.perform(APP, run, lambda: _play(run, Path(folder)))
    if exit_code == 0:
        print(f"  the books: {kept()}")
    return exit_code


def _play(run: str, folder: Path) -> int:
    stage.tell("Fiona of finance makes a key, and the desk trusts its public part.")
    stage.write(folder / "fiona.json", "keys", "new", "fiona", "--no-passphrase")
    stage.call("keys", "trust", str(folder / "fiona.json"))
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
