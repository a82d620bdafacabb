"""A run while a worker has it: its state, and the lines that it leaves in history."""

from temporalio import workflow

from activities.policy import PolicyActivities
from contracts.errors import InvalidInput
from contracts.run import AuditEvent
from contracts.state import RunState
from policy import budgets
from workflows import options, summaries


class LiveRun:
    """
    Holds the state of one run. Whoever changes it reads it after the last await, never before.

    A message may change the state during any await. A run that is `resting` waits for people or is
    suspended, and how long is not in its ledger yet.
    """

    def __init__(self) -> None:
        self._state: RunState | None = None
        self.resting = False

    @property
    def state(self) -> RunState:
        """The state; a run without one had no input that it could begin with."""
        if self._state is None:
            raise InvalidInput("this run never began: its input can't be used")
        return self._state

    @state.setter
    def state(self, fresh: RunState) -> None:
        self._state = fresh

    async def record(self, event: str, text: str) -> None:
        """Leave a line in history that people find at a glance; its summary is the first line."""
        line = text.strip().partition("\n")[0]
        await workflow.execute_local_activity_method(
            PolicyActivities.record,
            AuditEvent(run_id=self.state.run_id, event=event, text=text),
            **options.decision(summaries.shortened(f"{event}: {line}", summaries.LIMIT)),
        )

    def seconds_left(self) -> float | None:
        """Return what is left of the wall time, which doesn't count waits for people."""
        elapsed = workflow.now() - self.state.started_at
        return budgets.seconds_left(
            self.state.agent.budget, self.state.ledger, elapsed.total_seconds()
        )
