"""The same attacks on the sandbox of a worker that isn't root, where the tests run as root."""

import os
import stat
import subprocess
import sys
import tempfile
from itertools import takewhile
from pathlib import Path

import pytest

NOBODY = 65534
ROOT = Path(__file__).parents[2]


def everybody_may_run(path: Path) -> bool:
    """Whether whoever isn't its owner may run a program, or enter a folder."""
    found = path.resolve()
    return found.exists() and all(
        part.stat().st_mode & stat.S_IXOTH for part in (found, *found.parents)
    )


def another_python() -> Path | None:
    """A Python of this version that isn't root's alone."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    known = (Path(sys.executable), Path("/usr/bin", name), Path("/usr/local/bin", name))
    return next((path for path in known if everybody_may_run(path)), None)


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
@pytest.mark.timeout(600)
def test_the_attacks_as_an_ordinary_user(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What holds for a worker that is root holds for one that isn't: a user namespace confines."""
    # RK-13 RK-15 RK-17
    python = another_python()
    if python is None or not everybody_may_run(ROOT):
        pytest.skip("this Python, or this folder, is root's alone")
    folder = tmp_path_factory.mktemp("nobody")
    shared = Path(tempfile.gettempdir())
    for parent in takewhile(lambda path: path != shared, (folder, *folder.parents)):
        parent.chmod(0o755)
    os.chown(folder, NOBODY, NOBODY)
    libraries = [path for path in sys.path if path.endswith("site-packages")]

    attacked = subprocess.run(
        [
            *(str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x"),
            f"--basetemp={folder / 'tests'}",
            *("tests/attacks/test_sandbox.py", "tests/attacks/test_exhaustion.py"),
        ],
        cwd=ROOT,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
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

    assert attacked.returncode == 0, attacked.stdout[-5000:] + attacked.stderr[-2000:]
    assert " passed" in attacked.stdout
