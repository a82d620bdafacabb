"""The same of the workspaces of a worker that isn't root, where the tests run as root."""

import os
from pathlib import Path

import pytest

from tests.nobody import run_as_nobody


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_workspaces_of_an_ordinary_user(everybodys: Path) -> None:
    """What is filled, kept and restored is the same for a worker that may read only its own."""
    # BT-05
    ran = run_as_nobody(
        everybodys,
        "--deselect=tests/tools/test_workspaces.py::test_ten_thousand_files",  # about time
        *("tests/tools/test_workspaces.py", "tests/tools/test_hostile_workspaces.py"),
        "tests/attacks/test_workspaces.py",
    )

    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert " passed" in ran.stdout
