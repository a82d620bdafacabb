"""The scenarios whose histories are stored can still be played: so they can be renewed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.trace.reader import read_trace
from tests.histories import stored
from tests.histories.claims import Story, unfounded
from tests.histories.golden import OURS, workflow_type
from tests.histories.playing import Chain, play
from tests.histories.scenarios import SCENARIOS
from tests.running import Runs

IN_SANDBOX = ["project"]


def decided(chains: Sequence[Chain]) -> list[tuple[str, ...]]:
    """What was decided about each call, by which rule and why, and how each run ended."""
    found: list[tuple[str, ...]] = []
    for trace in (read_trace(one) for one in chains if workflow_type(one) in OURS):
        found += [
            (trace.run_id, made.call.name, ruled.verdict, ruled.rule, ruled.reason)
            for made in trace.calls
            for ruled in made.rulings
        ]
        stop = trace.result.stop if trace.result else None
        found.append((trace.run_id, trace.status, stop.reason if stop else ""))
    return found


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - IN_SANDBOX))
async def test_scenarios_show_what_they_are_for(runs: Runs, tmp_path: Path, name: str) -> None:
    """Played today, each has in its histories what the stored ones are kept for."""
    # OB-06
    chains = await play(SCENARIOS[name], runs.client, tmp_path)
    before = stored.unpack(stored.history_file(name).read_bytes())

    assert unfounded(name, Story(chains)) == []
    assert decided(chains) == decided(before)


@pytest.mark.usefixtures("sandboxed")
@pytest.mark.parametrize("name", IN_SANDBOX)
async def test_so_do_those_in_the_sandbox(runs: Runs, tmp_path: Path, name: str) -> None:
    """The same, where the machine has what they need."""
    chains = await play(SCENARIOS[name], runs.client, tmp_path)

    assert unfounded(name, Story(chains)) == []
