"""Attack: a tool writes the script by which its worker is started, or what that starts."""

import asyncio
import sys
from pathlib import Path

SERVING = """\
import asyncio
import sys
from pathlib import Path

from holdfast.contracts.errors import ToolDenied
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor
from tests.attacks.test_own_state import save
from tests.builders import admitted, an_invocation
from tests.tools.sample_tools import secret_of

place = WorkerExecutor(secret_of, FileArtifacts(Path("home")))
for path in sys.argv[1:]:
    asked = an_invocation(arguments={"path": path})
    try:
        asyncio.run(place.run(save, asked, lambda _: None, admitted))
        print("written", flush=True)
    except ToolDenied as error:
        print(error.reason, flush=True)
"""

WARMING = """\
import asyncio
import os
import sys

from holdfast.tools.execution import execute
from holdfast.tools.process import warm_up
from tests.builders import admitted, an_invocation
from tests.tools.sample_tools import secret_of

if __name__ == "__main__":
    sys.path.append(os.getcwd())
    from shop import tell

    warm_up(["shop"])
    asked = an_invocation(arguments={})
    print(asyncio.run(execute(tell, asked, secret_of, lambda _: None, admitted)).decode())
    print(os.environ.get("PYTHONSAFEPATH"))
"""

SHOP = """\
import os

from holdfast import Risk, tool

IMPORTER = os.getpid()


@tool(risk=Risk.READ_ONLY)
def tell() -> list[str]:
    \"\"\"Tell by whom this was imported, and how Python is to start.\"\"\"
    by_server = IMPORTER == os.getppid()
    return [str(by_server), str(os.environ.get("PYTHONSAFEPATH"))]
"""

PLANTED = """\
from pathlib import Path

Path("planted").touch()
raise ImportError
"""


async def serve(script: Path, here: Path, *paths: str) -> list[str]:
    """What comes of calls of a worker with such paths, in a working directory."""
    return await run(script, SERVING, here, *paths)


async def run(script: Path, text: str, here: Path, *arguments: str) -> list[str]:
    """What such a script says, in a working directory."""
    script.write_text(text, encoding="utf-8")
    serving = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), *arguments),
        cwd=here,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin"},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await serving.communicate()
    return said.decode().splitlines()


async def test_no_path_leads_to_the_script_that_serves(tmp_path: Path) -> None:
    """Whatever it is called: with a first line of its own a program needs no suffix."""
    script = tmp_path / "serve"

    assert await serve(script, tmp_path, "notes", "serve") == [
        "written",
        "path 'serve' leads to what the worker itself goes by",
    ]
    assert script.read_text(encoding="utf-8") == SERVING


async def test_no_path_leads_to_modules_of_what_a_worker_starts(tmp_path: Path) -> None:
    """The process that tools are forked from looks here first, wherever the script lies."""
    here, app = tmp_path / "empty", tmp_path / "app"
    here.mkdir()
    app.mkdir()
    paths = ("notes", "selectors.py", "selectors/__init__.py", "x.dist-info/entry_points.txt")

    written, *denied = await serve(app / "serve.py", here, *paths)

    assert written == "written"
    assert denied == [f"path {one!r} leads to what the worker itself goes by" for one in paths[1:]]
    assert [one.name for one in here.iterdir()] == ["notes"]


async def test_what_a_worker_starts_has_no_modules_of_the_working_directory_first(
    tmp_path: Path,
) -> None:
    """Whoever put them there: the app is found there, once, and tools start Python as ever."""
    here, app = tmp_path / "here", tmp_path / "app"
    for folder in (here / "selectors", app):
        folder.mkdir(parents=True)
    (here / "selectors" / "__init__.py").write_text(PLANTED, encoding="utf-8")
    (here / "signal.py").write_text(PLANTED, encoding="utf-8")
    (here / "shop.py").write_text(SHOP, encoding="utf-8")

    said = await run(app / "serve.py", WARMING, here)

    assert said == ['["True","None"]', "None"]
    assert not (here / "planted").exists()
