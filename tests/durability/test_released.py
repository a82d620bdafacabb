"""Runs that an earlier release began are understood by this one."""

from pathlib import Path

import pytest

from holdfast import histories
from holdfast.runner import replayer
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun

RELEASED = sorted((Path(__file__).parent / "released").glob("*.json"))


def test_there_is_something_to_replay() -> None:
    """Each release leaves the histories of a run with everything in it."""
    assert RELEASED


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
async def test_runs_of_earlier_releases_replay(path: Path) -> None:
    """Today's code takes the same steps over an old history, and reads the state it carries."""
    # AD-03 AD-20 BY-50
    for history in histories.read(path):
        await replayer(AgentRun).replay_workflow(history)


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_runs_of_earlier_releases_are_read(path: Path) -> None:
    """The trace of an old run says what it said then."""
    # AD-20
    trace = read_trace(histories.read(path))

    assert (trace.status, len(trace.turns)) == ("completed", 5)
    assert trace.result is not None
    assert trace.result.answer == "All done."
    assert [call.result is not None for call in trace.calls] == [True] * len(trace.calls)
    assert trace.usage.total_tokens == 10
