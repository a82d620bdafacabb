"""The same attacks on the sandbox of a worker that isn't root, where the tests run as root."""

import os
from pathlib import Path

import pytest

from tests.nobody import run_as_nobody


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_the_attacks_as_an_ordinary_user(everybodys: Path, sandbox_home: Path) -> None:
    """What holds for a worker that is root holds for one that isn't: a user namespace confines."""
    # RK-13 RK-15 RK-17
    attacked = run_as_nobody(
        everybodys,
        *("-m", "not server"),  # nobody has no Temporal; whole runs are tried as root
        *("tests/attacks/test_sandbox.py", "tests/attacks/test_exhaustion.py"),
        "tests/attacks/test_kernel_memory.py",
    )

    assert attacked.returncode == 0, attacked.stdout[-5000:] + attacked.stderr[-2000:]
    assert " passed" in attacked.stdout
