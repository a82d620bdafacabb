"""The demo: one case, four agents, and two people who each decide about one thing."""

import sys
import time
import uuid

from examples import stage
from examples.desk.tools import find_parcels
from examples.support.tools import kept

APP = "examples.desk.app:app"
GOAL = "Order 1044 came broken, the customer wants 29.00 back, and a new one"


def main() -> int:
    """Run the demo; 0 when the run completed."""
    run = f"desk-{uuid.uuid4().hex[:6]}"
    exit_code = stage.perform_with_key(APP, run, lambda: _play(run))
    if exit_code == 0:
        print(f"  the books: {kept()}, the parcels: {find_parcels()}/")
    return exit_code


def _play(run: str) -> int:
    stage.tell("Triage has a researcher answer two questions side by side, then shipping begins.")
    with stage.started("run", "triage", GOAL, "--id", run) as live:
        stage.tell("Shipping works in a run of its own; what it asks waits in this one too, ...")
        parcel = _await_request(run, of_part=True)
        stage.call("pending", run)
        stage.tell("... where Wes of the warehouse decides it.")
        stage.call("approve", run, *parcel, "--approver", "wes", "--reason", "in stock")
        stage.tell("Triage hands over to billing, which goes on in its place and asks finance.")
        refund = _await_request(run, of_part=False)
        stage.call("pending", run)
        words = ("--key", "fiona", "--reason", "photo of the shards seen")
        stage.call("approve", run, *refund, *words)
        exit_code = live.wait(stage.PATIENCE)
    stage.tell("What happened, from the run's history alone:")
    stage.call("trace", run)
    return exit_code


def _await_request(run: str, *, of_part: bool) -> tuple[str, str, str]:
    """Wait for a request of the run itself, or of a run that works for it."""
    deadline = time.monotonic() + stage.PATIENCE
    while time.monotonic() < deadline:
        request = stage.await_request(run)
        if ("/" in request[0]) is of_part:
            return request
        time.sleep(0.5)
    raise stage.DemoFailed(f"run {run} never asked for it; see 'holdfast trace {run}'")


if __name__ == "__main__":
    sys.exit(main())
