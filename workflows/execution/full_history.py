"""Stopping a run whose history is nearly full, before the server ends it without a result."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from temporalio import workflow

from holdfast.run.inbound import controls
from holdfast.workflows.run_context import RunContext

PASSED_MARKS = "holdfast_passed_marks"


class Mark(NamedTuple):
    """
    How many bytes or events an execution may have; its patch says in history that it has more.

    A run that is about to go on in a new execution one mark `spares`: it may be kept waiting.
    """

    patch: str
    size: int
    events: int
    spares: bool


MARKS = (
    Mark("history-full", 40_000_000, 45_000, spares=True),
    Mark("history-brimful", 48_000_000, 50_000, spares=False),
)
"""The server ends an execution of 50 MB, or 51,200 events."""

WHY = "the server ends an execution of 50 MB, or 51,200 events, and this one has nearly as much"


async def watch_history(run: RunContext, mark: Mark, goes_on: Callable[[], bool]) -> None:
    """Stop what the run is at once its history is beyond a mark, unless it *goes on* anew now."""
    await workflow.wait_condition(lambda: _is_beyond(mark) and workflow.patched(mark.patch))
    while True:
        await workflow.wait_condition(
            lambda: not (run.state.is_over or (mark.spares and goes_on()))
        )
        run.state = controls.stop_for_full_history(run.state, WHY, workflow.now())


def _is_beyond(mark: Mark) -> bool:
    """
    Whether history has more than a mark, as who runs workflows says.

    A replay knows another size of a task that was divided: it goes by what history says itself.
    """
    ours = cast("Mapping[str, Callable[[], set[str]]]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType] -- of any functions
    return PASSED_MARKS in ours and mark.patch in ours[PASSED_MARKS]()
