"""A disk that fails in the middle of what is done with a workspace: nothing is half there."""

from functools import partial
from pathlib import Path

import pytest

from holdfast.tools import safe_walk
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.workspaces import Workspaces
from tests.tools.dying import failures
from tests.tools.test_workspaces import planted

RUN = "run-1"
BEFORE = {"AGENTS.md": "# Test", "src/app.py": "print(1)"}
AFTER = {"src/app.py": "broken", "more/files.py": "x"}


@pytest.mark.slow
@pytest.mark.parametrize("lasting", [True, False], ids=["for good", "once"])
def test_a_workspace_that_cant_be_restored_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, lasting: bool
) -> None:
    """At whatever step the disk fails, and is full then: what is told to stand stands."""
    # BT-05
    home = tmp_path / "home"
    workspaces = Workspaces(home)
    workspaces.fill(RUN, planted(tmp_path / "project", BEFORE))
    snapshot = workspaces.snapshot(RUN)
    planted(workspaces.ensure(RUN), AFTER)
    dead = workspaces.digest(RUN)
    restore = partial(Workspaces.restore, run=RUN, digest=snapshot.digest)
    failed = 0
    for _ in failures(home, restore, lasting=lasting):
        failed += 1
        with monkeypatch.context() as full:
            full.setattr(safe_walk, "BOUNDS", BOUNDS._replace(free_disk=10**18))
            with pytest.raises(OSError, match="nearly full"):
                workspaces.restore(RUN, snapshot.digest)

        assert workspaces.digest(RUN) in {dead, snapshot.digest}
        workspaces.restore(RUN, snapshot.digest)

        assert workspaces.digest(RUN) == snapshot.digest
        assert [path.name for path in (home / "workspaces").iterdir()] == [as_file_name(RUN)]
        planted(workspaces.ensure(RUN), AFTER)
    assert failed > 20
