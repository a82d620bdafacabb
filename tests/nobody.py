"""Running tests as an ordinary user, where they run as root."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = 65534
ROOT = Path(__file__).parents[1]


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


def run_as_nobody(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as nobody, who gets a *folder* that everybody may enter; skips where none can."""
    python = another_python()
    if python is None or not everybody_may_run(ROOT):
        pytest.skip("this Python, or this folder, is root's alone")
    os.chown(folder, NOBODY, NOBODY)
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    return subprocess.run(
        [
            *(str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x"),
            f"--basetemp={folder / 'tests'}",
            *arguments,
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
