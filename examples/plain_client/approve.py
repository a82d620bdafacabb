"""Start a run, approve what it asks for, and print its result: a plain Temporal client."""

import asyncio
import json
import os
import uuid

from temporalio.client import Client

GOAL = "Reconcile orders.csv against payments.csv and send the report to finance@example.com"


async def main() -> None:
    """Drive one run of the agent `reconciler` from outside."""
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    run = await client.start_workflow(
        "AgentRun",
        {"agent": "reconciler", "input": GOAL, "actor": "nightly-job"},
        id=f"nightly-{uuid.uuid4().hex[:8]}",
        task_queue="holdfast",
    )
    while not (waiting := await run.query("pending")):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.1)
    request = waiting[0]
    print(f"waits: {request['action']}")
    await run.signal(
        "approval",
        {
            "request_id": request["request_id"],
            "digest": request["digest"],  # of what was shown, and of nothing else
            "decision": "approve",
            "approver": "plain-client",
        },
    )
    print(json.dumps(await run.result(), indent=2))


if __name__ == "__main__":
    asyncio.run(main())
