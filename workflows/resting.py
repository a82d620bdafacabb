"""A run at rest: it waits for people, or is suspended, and nothing of it is under way."""

from collections.abc import Generator
from contextlib import contextmanager

from temporalio import workflow

from holdfast.run import gates, tool_calls, turns
from holdfast.workflows import attributes
from holdfast.workflows.run_context import RunContext, ends_if_cancelled


@contextmanager
def at_rest(run: RunContext) -> Generator[None]:
    """Rest while the block lasts: that is no work, and what was allowed before is decided anew."""
    began = workflow.now()
    run.resting = True
    attributes.show(run)
    yield
    waited = turns.waited(run.state, workflow.now() - began)
    run.state = gates.reopened(tool_calls.reopened(waited))
    run.resting = False
    attributes.show(run)


async def may_begin(run: RunContext) -> None:
    """
    Hold what a step is about to begin while the run is suspended, and for good if it is cancelled.

    A run that is over isn't held: what it has to take back it still takes back.
    """
    if _is_held(run):
        with at_rest(run):
            await workflow.wait_condition(lambda: not _is_held(run))
    ends_if_cancelled()


def _is_held(run: RunContext) -> bool:
    return run.state.suspended and run.state.outcome is None
