"""The same of the workspaces of a worker that isn't root, where the tests run as root."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.attacks.test_ordinary_user import NOBODY, ROOT, another_python, everybody_may_run


@pytest.fixture
def everybodys() -> Generator[Path]:
    """A folder that isn't below those of this session, which pytest closes to others."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_workspaces_of_an_ordinary_user(everybodys: Path) -> None:
    """What is filled, kept and restored is the same for a worker that may read only its own."""
    # BT-05
    python = another_python()
    if python is None or not everybody_may_run(ROOT):
        pytest.skip("this Python, or this folder, is root's alone")
    os.chown(everybodys, NOBODY, NOBODY)
    libraries = [path for path in sys.path if path.endswith("site-packages")]

    ran = subprocess.run(
        [
            *(str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x"),
            f"--basetemp={everybodys / 'tests'}",
            "--confcutdir=tests/tools",
            *("tests/tools/test_workspaces.py", "tests/tools/test_hostile_workspaces.py"),
            "tests/attacks/test_workspaces.py",
        ],
        cwd=ROOT,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(everybodys),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *libraries]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOLDFAST_TEST_SANDBOX": "required",
        },
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert " passed" in ran.stdout
