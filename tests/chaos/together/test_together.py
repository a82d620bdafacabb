"""Everything at once, at random: what holds of each run holds where all of it meets."""

from pathlib import Path

import pytest

from holdfast import settings
from tests.chaos.together.book import POLICY
from tests.chaos.together.features import find_features
from tests.chaos.together.playing import played
from tests.chaos.together.referee import complaints
from tests.chaos.together.scene import Seen
from tests.chaos.together.scripts import Drama, draw
from tests.chaos.together.shrinking import shrink

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLES = int(settings.variable("HOLDFAST_TEST_EXAMPLES") or "40")
"""How many are played; thousands take an hour."""

FIRST = int(settings.variable("HOLDFAST_TEST_SEED") or "0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a policy, and a home for workers."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return tmp_path


async def play(drama: Drama, folder: Path) -> Seen:
    """Play an example in a folder of its own."""
    own = folder / str(len(list(folder.iterdir())))
    own.mkdir()
    (own / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return await played(drama, own)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + EXAMPLES))
async def test_whatever_happens_at_once(folder: Path, seed: int) -> None:
    """
    Tiers, handoffs, parts, sessions, guardrails, reviews, undo, lost answers, people and kills.

    Nothing runs unapproved, twice, switched off or beyond a limit; nothing withheld is told; what
    a result says is what tools saw; each run ends, or says for what it waits; all of it replays.
    """
    # BY-52 SE-06 HO-09 GR-12 T-49 LP-02
    drama = draw(seed)
    seen = await play(drama, folder)
    found = complaints(seen)
    if found:
        rules = {one.partition(":")[0] for one in found}

        async def fails(smaller: Drama) -> bool:
            again = complaints(await play(smaller, folder))
            return any(one.partition(":")[0] in rules for one in again)

        met = ", ".join(sorted(find_features(seen)))
        pytest.fail(f"{found} where {met} met, and so it is with {await shrink(drama, fails)}")
