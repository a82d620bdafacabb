"""Attack: a tool writes the script by which its worker is started, which has no suffix."""

import asyncio
import sys
from pathlib import Path

SERVING = """\
import asyncio
from pathlib import Path

from holdfast.contracts.errors import ToolDenied
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor
from tests.attacks.test_own_state import save
from tests.builders import admitted, an_invocation
from tests.tools.sample_tools import secret_of

place = WorkerExecutor(secret_of, FileArtifacts(Path("home")))
for path in ("notes", "serve"):
    asked = an_invocation(arguments={"path": path})
    try:
        asyncio.run(place.run(save, asked, lambda _: None, admitted))
        print("written", flush=True)
    except ToolDenied as error:
        print(error.reason, flush=True)
"""


async def test_no_path_leads_to_the_script_that_serves(tmp_path: Path) -> None:
    """Whatever it is called: with a first line of its own a program needs no suffix."""
    (tmp_path / "serve").write_text(SERVING, encoding="utf-8")
    root = Path(__file__).parents[2]
    serving = await asyncio.create_subprocess_exec(
        *(sys.executable, "serve"),
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin"},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await serving.communicate()

    first, second = said.decode().splitlines()
    assert first == "written"
    assert second == "path 'serve' leads to what the worker itself goes by"
    assert (tmp_path / "serve").read_text(encoding="utf-8") == SERVING
