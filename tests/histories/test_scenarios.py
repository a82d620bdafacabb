"""The scenarios whose histories are stored can still be played: so they can be renewed."""

from pathlib import Path

import pytest

from tests.histories.claims import Story, unfounded
from tests.histories.playing import play
from tests.histories.scenarios import SCENARIOS
from tests.running import Runs

IN_SANDBOX = ["project"]


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - IN_SANDBOX))
async def test_scenarios_show_what_they_are_for(runs: Runs, tmp_path: Path, name: str) -> None:
    """Played today, each has in its histories what the stored ones are kept for."""
    chains = await play(SCENARIOS[name], runs.client, tmp_path)

    assert unfounded(name, Story(chains)) == []


@pytest.mark.usefixtures("sandboxed")
@pytest.mark.parametrize("name", IN_SANDBOX)
async def test_so_do_those_in_the_sandbox(runs: Runs, tmp_path: Path, name: str) -> None:
    """The same, where the machine has what they need."""
    chains = await play(SCENARIOS[name], runs.client, tmp_path)

    assert unfounded(name, Story(chains)) == []
