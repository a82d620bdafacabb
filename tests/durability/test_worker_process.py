"""A worker as it is deployed: a process of its own, whose main script is the worker."""

import sys
from pathlib import Path

import pytest

from tests.durability import processes
from tests.running import Run

pytestmark = pytest.mark.slow

APP = "tests.durability.forking:app"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(("worker.py",), id="as the image runs it"),
        pytest.param(("-m", "holdfast.worker"), id="as a module"),
        pytest.param(("-m", "holdfast.cli.main", "worker"), id="as a command"),
    ],
)
async def test_a_synchronous_tool_runs_below_it(script: tuple[str, ...], tmp_path: Path) -> None:
    """Where a tool's process runs the worker's script again it refuses nothing: it has begun."""
    async with processes.deployed(APP, tmp_path, script) as deployed:
        handle = await processes.start(deployed.client, "clerk", "Look up 7.", "looked-up")
        await handle.result()
        found = await Run(handle).success()

    assert found.data == "entry 7"


SHOP = """
from holdfast import Agent, App
from holdfast.testing import call, say
from settings import NAME
from tools.search import search

agent = Agent(name=NAME, instructions="Look.", models=["scripted:it"], tools=[search])
app = App(agents=[agent], scripts={"it": [call("search", text="tea"), say("found")]})
"""

SEARCH = """
from holdfast import Risk, tool
from settings import NAME

@tool(risk=Risk.READ_ONLY)
def search(text: str) -> str:
    "Look through the shop."
    return f"{NAME} has {text}"
"""


@pytest.mark.timeout(120)
async def test_the_command_serves_an_app_of_somebodys_own(tmp_path: Path) -> None:
    """In a folder outside the repository, whose modules have names that ours have too."""
    shop = tmp_path / "shop"
    (shop / "tools").mkdir(parents=True)
    (shop / "app.py").write_text(SHOP, encoding="utf-8")
    (shop / "settings.py").write_text("NAME = 'clerk'\n", encoding="utf-8")
    (shop / "tools" / "__init__.py").touch()
    (shop / "tools" / "search.py").write_text(SEARCH, encoding="utf-8")
    command = (str(Path(sys.executable).with_name("holdfast")), "worker")
    async with processes.deployed("app:app", tmp_path, command, beside=shop) as deployed:
        handle = await processes.start(deployed.client, "clerk", "Is there tea?", "looked-through")
        result = await handle.result()
        found = await Run(handle).success()

    assert (result.status, result.answer) == ("completed", "found")
    assert found.data == "clerk has tea"
