"""A deliberately incompatible change of the run: it opens with another activity."""

from datetime import timedelta

from pydantic import JsonValue
from temporalio import workflow


@workflow.defn(name="AgentRun")
class ChangedRun:
    """A run whose first command differs from the one in history."""

    @workflow.run
    async def run(self, *arguments: JsonValue) -> int:
        """Start something else than every recorded run did."""
        await workflow.execute_activity(
            "something_else", start_to_close_timeout=timedelta(seconds=1)
        )
        return len(arguments)
