"""The floor: the same activities in a bare Temporal loop, with nothing around them."""

from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

TIMEOUT = timedelta(seconds=10)


def record(number: str | int) -> str:
    """Return a text of 1,000 characters, as our tools return it too."""
    return f"Record {number} of one thousand characters. ".ljust(1000, "x")


@activity.defn
async def model(turn: int) -> dict[str, str | int]:
    """Stand for a model: a small reply."""
    return {"tool": "read_record", "number": turn}


@activity.defn
async def read_record(number: str | int) -> dict[str, str]:
    """Stand for a tool: a result of 1 kB."""
    return {"text": record(number)}


@workflow.defn
class RawLoop:
    """As many steps as its argument says, and the last call of the model that ends a run."""

    @workflow.run
    async def run(self, steps: int) -> str:
        """Take the steps."""
        for turn in range(1, steps + 1):
            call = await workflow.execute_activity(model, turn, start_to_close_timeout=TIMEOUT)
            await workflow.execute_activity(
                read_record, call["number"], start_to_close_timeout=TIMEOUT
            )
        await workflow.execute_activity(model, steps + 1, start_to_close_timeout=TIMEOUT)
        return "ok"


def build_raw_worker(client: Client, task_queue: str) -> Worker:
    """Put the floor's worker together, with all that the SDK does by default."""
    return Worker(
        client, task_queue=task_queue, workflows=[RawLoop], activities=[model, read_record]
    )
