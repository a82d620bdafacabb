"""Everything is imported under one name, so an app's own modules may be called anything."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.shape.tree import ROOT, module, product

pytestmark = pytest.mark.slow

ROOMS = (
    "activities",
    "adapters",
    "contracts",
    "guardrails",
    "policy",
    "run",
    "tools",
    "workflows",
    "worker",
)
MODULES = (*ROOMS, "settings")

OWN = """
from contracts import NAME as a
from settings import NAME as b
from policy import NAME as c
from tools.search import search
from workflows import NAME as d
from activities import NAME as e
from adapters import NAME as f
from worker import NAME as g

from holdfast import Agent, App
from holdfast.testing import say

assert (a, b, c, d, e, f, g) == ("contracts", "settings", "policy", "workflows", "activities",
                                 "adapters", "worker")
agent = Agent(name="it", instructions="Look.", models=["scripted:it"], tools=[search])
app = App(agents=[agent], scripts={"it": [say("found")]})
"""

SEARCH = """
from holdfast import Risk, tool

@tool(risk=Risk.READ_ONLY)
def search(text: str) -> str:
    "Look through the shop."
    return text
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a wheel of this repository was unpacked to."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a folder with an app whose modules are called as ours are."""
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(f"NAME = {name!r}\n")
    (tmp_path / "tools.py").unlink()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").touch()
    (tmp_path / "tools" / "search.py").write_text(SEARCH)
    (tmp_path / "shop.py").write_text(OWN)
    return tmp_path


def holdfast(folder: Path, path: Path) -> str:
    """Run `holdfast tools shop:app` in a folder; return what it prints."""
    environment = {"PYTHONPATH": str(path), "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "holdfast.cli.main", "tools", "shop:app"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_app_beside_a_checkout(shop: Path) -> None:
    """An app may have modules of our rooms' names, where Holdfast is installed from a checkout."""
    assert "search" in holdfast(shop, ROOT)


def test_an_app_beside_a_wheel(shop: Path, wheel: Path) -> None:
    """The same where it is installed from a wheel."""
    assert "search" in holdfast(shop, wheel)


def test_a_wheel_holds_one_name(wheel: Path) -> None:
    """A wheel puts nothing but `holdfast` onto everybody's path, and every module below it."""
    top = {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"}
    packed = {
        ".".join(path.relative_to(wheel).with_suffix("").parts).removesuffix(".__init__")
        for path in (wheel / "holdfast").rglob("*.py")
    }

    assert top == {"holdfast"}
    assert packed == {module(path) for path in product()}
    assert (wheel / "holdfast" / "py.typed").is_file()


def test_no_module_has_two_names() -> None:
    """With the repository on the path, a room by its short name is refused with one line."""
    program = (
        "import importlib, sys\n"
        "for room in sys.argv[1:]:\n"
        "    try: importlib.import_module(room)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *ROOMS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    own = "; a folder {0}/ of your own has an __init__.py"
    assert done.stdout.splitlines() == [
        f"import it as holdfast.{room}{'' if room == 'worker' else own.format(room)}"
        for room in ROOMS
    ]


def test_a_contract_loads_no_platform() -> None:
    """Who needs a contract doesn't load Temporal, a provider's library, or the command line."""
    program = "import sys, holdfast.contracts.run; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "holdfast.contracts.run" in loaded
    assert not {"temporalio", "openai", "anthropic", "typer", "holdfast.app"} & set(loaded)


@pytest.mark.parametrize("package", ["", ".guardrails", ".tools", ".testing"])
def test_a_package_offers_what_it_lists(package: str) -> None:
    """Every name that it says can be imported, and one that isn't there is named."""
    name = f"holdfast{package}"
    program = (
        f"import {name} as it\n"
        "assert set(it.__all__) == set(dir(it)), set(it.__all__) ^ set(dir(it))\n"
        "for name in it.__all__: getattr(it, name)\n"
    )
    wrong = subprocess.run(
        [sys.executable, "-c", f"{program}from {name} import Agentt"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"cannot import name 'Agentt' from '{name}'" in wrong.stderr
