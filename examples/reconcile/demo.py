"""The demo: a server, a worker, a run, and a person who approves, each a process of its own."""

import sys
import uuid

from examples import stage

APP = "examples.reconcile.app:app"
GOAL = "Reconcile orders.csv against payments.csv and send the report to finance@example.com"


def main() -> int:
    """Run the demo; 0 when the run completed."""
    run = f"demo-{uuid.uuid4().hex[:6]}"
    exit_code = stage.perform(APP, run, lambda: _play(run))
    if exit_code == 0:
        print("  the report: .holdfast/reports/, what was sent: .holdfast/outbox.jsonl")
    return exit_code


def _play(run: str) -> int:
    stage.tell("An agent reconciles orders.csv against payments.csv.")
    with stage.started("run", "reconciler", GOAL, "--id", run) as live:
        stage.tell("The run waits for a person. Somebody else looks at what it would send, ...")
        request = stage.await_request(run)
        stage.call("pending", run)
        stage.tell("... and approves it, from a terminal of their own.")
        words = ("--approver", "dana", "--reason", "figures checked")
        stage.call("approve", run, *request, *words)
        exit_code = live.wait(stage.PATIENCE)
    stage.tell("What happened, from the run's history alone:")
    stage.call("trace", run)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
