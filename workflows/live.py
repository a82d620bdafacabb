"""A run while a worker has it: its state, and the lines that it leaves in history."""

from temporalio import workflow

from activities.policy import PolicyActivities
from contracts.budget import Budget
from contracts.errors import InvalidInput
from contracts.run import AuditEvent, Stop
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

    async def record_end(self) -> None:
        """Leave a line about the end of the run, if it has one with a reason."""
        if self.state.outcome is not None and self.state.stop is not None:
            await self.record(self.state.outcome, self.state.stop.reason)

    def elapsed(self) -> float:
        """Return the seconds since the run began, waiting for people included."""
        return (workflow.now() - self.state.started_at).total_seconds()

    def remaining(self) -> Budget | Stop:
        """Return what a run that this one starts may use, or why none may be."""
        return budgets.remaining(self.state.agent.budget, self.state.ledger, self.elapsed())

    def seconds_left(self) -> float | None:
        """Return what is left of the wall time, which doesn't count waits for people."""
        return budgets.seconds_left(self.state.agent.budget, self.state.ledger, self.elapsed())
