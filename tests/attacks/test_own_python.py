"""Attack: a tool writes what Python looks for as it starts, above its program and beside it."""

import sys
from pathlib import Path

import pytest

from holdfast import ResourceScope, Risk, tool
from holdfast.contracts.errors import ToolDenied
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor
from tests.builders import admitted, an_invocation
from tests.tools.sample_tools import secret_of

PROGRAM = Path(sys.executable).resolve()
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
ARCHIVE = f"lib/python{VERSION.replace('.', '')}.zip"


@tool(risk=Risk.WRITE_LOCAL, scope=ResourceScope(kind="workspace", argument="path"))
async def pretend(path: str) -> str:
    """Pretend to write a file: where it isn't denied nothing is harmed."""
    return f"{path} is written"


@pytest.mark.parametrize(
    ("below", "path"),
    [
        *((above, ARCHIVE) for above in (PROGRAM.parents[1], *PROGRAM.parents[2:-1])),
        (PROGRAM.parent, ARCHIVE),
        (PROGRAM.parent, f"lib/python{VERSION}/os.py"),
        (PROGRAM.parents[1], f"{PROGRAM.parent.name}/{PROGRAM.name}._pth"),
        (PROGRAM.parents[1], f"{PROGRAM.parent.name}/pybuilddir.txt"),
        (PROGRAM.parents[1], f"{PROGRAM.parent.name}/Modules/Setup.local"),
    ],
)
async def test_no_path_leads_to_what_python_starts_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: Path, path: str
) -> None:
    """As in the home of a user who has a Python of their own, in which a worker is started."""
    monkeypatch.chdir(below)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path))
    asked = an_invocation(arguments={"path": path})

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(pretend, asked, lambda _: None, admitted)
