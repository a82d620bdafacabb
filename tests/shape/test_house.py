"""What the documentation and the contracts say of the code is so."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from typing import get_args, get_type_hints

import pytest
from pydantic import BaseModel

from holdfast.contracts import errors
from holdfast.contracts.state.run import RunState
from tests.shape.tree import ROOT, files, module, product

HOUSE = ROOT.parent / "shared" / "house.py"

STILL_OVER: set[str] = set()
"""Goals of the new plan that the house hasn't reached; one that it reaches leaves this list."""


def test_errors_are_in_their_tree() -> None:
    """The docstring of contracts/errors.py shows every exception that the module defines."""
    defined = {
        name
        for name, thing in inspect.getmembers(errors, inspect.isclass)
        if issubclass(thing, Exception) and thing.__module__ == errors.__name__
    }

    assert defined == defined & set(re.findall(r"\w+", errors.__doc__ or ""))


@pytest.mark.slow
def test_contracts_are_frozen() -> None:
    """Nobody changes a contract once it is made."""
    modules = [module(path) for path in product() if path.parts[0] == "contracts"]
    models = {
        thing
        for name in modules
        for _, thing in inspect.getmembers(importlib.import_module(name), inspect.isclass)
        if issubclass(thing, BaseModel) and thing.__module__ == name
    }

    assert models
    assert {model.__name__ for model in models if not model.model_config.get("frozen")} == set()


def _changes(contract: type[BaseModel]) -> dict[str, object] | None:
    """What its `with_` takes, by name; null where it has none of its own."""
    method = vars(contract).get("with_")
    if method is None:
        return None
    hints = get_type_hints(method, include_extras=True)
    hints.pop("return")
    packed = hints.pop("changes", None)
    return hints if packed is None else get_type_hints(*get_args(packed), include_extras=True)


@pytest.mark.slow
def test_what_changes_of_a_contract_has_the_types_of_its_fields() -> None:
    """Pyright checks each change of a state by types that are those of the state."""
    contracts = {
        thing
        for path in product()
        if path.parts[0] == "contracts"
        for _, thing in inspect.getmembers(importlib.import_module(module(path)), inspect.isclass)
        if issubclass(thing, BaseModel)
    }
    changes = {one: found for one in contracts if (found := _changes(one)) is not None}

    assert RunState in changes
    assert [
        f"{contract.__name__}.{name}"
        for contract, found in changes.items()
        for name, kind in found.items()
        if get_type_hints(contract, include_extras=True).get(name) != kind
    ] == []


def test_readme_maps_every_folder() -> None:
    """The README's folder map and the top-level folders are the same."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(
        r"^## Where things are$.*?^```\w*$(.*?)^```$", readme, re.MULTILINE | re.DOTALL
    )
    assert block, "README.md has no fenced block under '## Where things are'"
    folders = {path.parts[0] for path in files() if len(path.parts) > 1}

    mapped = set(re.findall(r"(?<!\S)(\w+)/(?!\S)", block[1]))

    assert mapped == {folder for folder in folders if not folder.startswith(".")}


def test_every_room_has_its_types_checked() -> None:
    """Pyright follows no link that it isn't told of."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    linked = {
        f"holdfast/{path.name}" for path in (ROOT / "holdfast").iterdir() if path.is_symlink()
    }

    assert linked
    assert linked <= set(settings["tool"]["pyright"]["include"])


@pytest.mark.slow
def test_every_library_is_declared() -> None:
    """What comes with a library of somebody else's may go with its next release."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {name.replace("-", "_") for name in settings["project"]["dependencies"]}
    sources = packages_distributions()
    imported = {name for tree in product().values() for name in _imports(tree)}
    used = {
        source.lower().replace("-", "_")
        for name in imported - sys.stdlib_module_names - {"holdfast"}
        for source in sources.get(name, [name])
    }

    assert used - declared == set()


def _imports(tree: ast.Module) -> Iterator[str]:
    """Return the libraries that a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.slow
def test_import_has_no_effect() -> None:
    """Every module imports in a fresh process without an environment, and says nothing."""
    modules = [module(path) for path in product() if path.stem != "__main__"]
    program = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"

    imported = subprocess.run(
        [sys.executable, "-c", program, *modules],
        cwd=ROOT,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )

    assert imported.stdout + imported.stderr == ""


def test_no_module_imports_itself_by_another() -> None:
    """So each can be the first that a process imports: a circle is found by who begins in it."""
    ours = {module(path): tree for path, tree in product().items()}

    circles = TopologicalSorter(
        {name: {*_first_imports(tree, ours)} - {name} for name, tree in ours.items()}
    )

    circles.prepare()  # raises CycleError, with the circle


def _first_imports(tree: ast.Module, ours: Collection[str]) -> Iterator[str]:
    """Return the modules of ours that are imported with a module."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in ours)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in ours:
            whole = node.module
            named = (f"{whole}.{each.name}" for each in node.names)
            yield from (name if name in ours else whole for name in named)


@pytest.mark.skipif(not HOUSE.exists(), reason="the figures are counted where the house is built")
@pytest.mark.slow
def test_figures_of_the_house() -> None:
    """The house keeps its own figures: those that it has reached, it never leaves again."""
    figures = subprocess.run(
        [sys.executable, HOUSE], cwd=ROOT, capture_output=True, text=True, check=False
    )

    over = re.findall(r"^over +(.+?): ", figures.stdout, re.MULTILINE)
    assert set(over) == STILL_OVER, figures.stdout + figures.stderr
