"""The pages have every argument, variable and field that somebody looks up there."""

import ast
import re
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import BaseModel

from holdfast import ChatServer, Fallback, ModelSettings, Triggers
from holdfast.adapters.scripted import ScriptTurn
from holdfast.contracts.budget import Limits
from holdfast.tools import ask_user
from holdfast.tools.tool import ToolOptions
from holdfast.workflows.execution.search_attributes import NAME, PENDING, RESOURCES, STATUS, TENANT
from holdfast.workflows.inbound.messages import SIGNALS
from tests.shape.tree import ROOT, product

DOCS = ROOT / "docs"


class Documented(NamedTuple):
    """What somebody gives, and the page with a row for each part of it."""

    page: str
    names: frozenset[str]


def fields_of(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(model.model_fields)


ARGUMENTS = {
    "@tool": Documented("tools.md", frozenset({"risk", *ToolOptions.__annotations__})),
    "ScriptTurn": Documented(
        "adapters.md",
        frozenset({field.name for field in fields(ScriptTurn)} | {"goal", "results"}),
    ),
    "Fallback": Documented("control.md", fields_of(Fallback)),
    "Triggers": Documented("control.md", fields_of(Triggers)),
    "ChatServer": Documented("adapters.md", fields_of(ChatServer)),
    "ModelSettings": Documented("adapters.md", fields_of(ModelSettings)),
}


def page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(text: str) -> set[str]:
    """What stands in code in the first cells of all tables of a text."""
    cells = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_every_argument_has_its_row(what: str) -> None:
    """Whoever reads the page knows all that can be said."""
    documented = ARGUMENTS[what]

    assert documented.names - first_cells(page(documented.page)) == set()


def test_what_ask_user_takes_is_told() -> None:
    """The tool that asks has one argument, which the page names with it."""
    properties = ask_user.contract.input_schema["properties"]
    assert isinstance(properties, dict)

    assert f"`ask_user({', '.join(properties)})`" in page("tools.md")


def signal_rows() -> dict[str, set[tuple[str, bool]]]:
    """The fields of each signal as the page has them, and whether each may be left out."""
    section = page("plain_client.md").partition("## What a signal says")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[a-z`, ]+`) \| `\{([^}]*)\}`", section, re.MULTILINE)
    return {
        name: {(field, bool(mark)) for field, mark in re.findall(r'"([a-z_]+)"(\?)?', said)}
        for names, said in rows
        for name in re.findall(r"`([a-z]+)`", names)
    }


def test_every_limit_of_a_budget_is_there() -> None:
    """The row of the input has each, and none that there isn't."""
    (row,) = re.findall(r"^\| `budget` \| (.*) \|$", page("plain_client.md"), re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", row)) == set(Limits.model_fields)


WORDS = {"approve", "reject", "resume", "abort", "extend"}
"""What a field of a signal may say, which the page quotes as it does its fields."""


def test_every_field_of_every_signal_is_there() -> None:
    """With a mark where it may be left out, and none that there isn't."""
    told = {
        name: {one for one in rows if one[0] not in WORDS} for name, rows in signal_rows().items()
    }

    assert told == {
        name: {(field, not info.is_required()) for field, info in model.model_fields.items()}
        for name, model in SIGNALS.items()
    }


def test_every_search_attribute_can_be_looked_for() -> None:
    """The queries of the page use each of them."""
    queries = page("plain_client.md").partition("## Lists of runs")[2]

    names = {key.name for key in (NAME, TENANT, STATUS, PENDING, RESOURCES)}
    assert {name for name in names if name not in queries} == set()


def read_variables() -> set[str]:
    """The names in the only file that reads the environment, and beginnings of such names."""
    tree = product()[Path("holdfast/settings.py")]
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if re.fullmatch(r"(HOLDFAST|XDG)_[A-Z_]+", text)}


def test_every_variable_that_is_read_is_in_the_table() -> None:
    """One that ends with _ begins those of secrets; nothing is told of that isn't read."""
    section = page("operations.md").partition("## Variables of the environment")[2]
    told = first_cells(section.partition("\n## ")[0])
    own = {name for name in told if name.startswith(("HOLDFAST_", "XDG_"))}
    read = read_variables()

    assert read
    assert {name for name in read if not any(one.startswith(name) for one in own)} == set()
    assert {
        name for name in own if name not in read and not name.startswith("HOLDFAST_SECRET_")
    } == set()


def test_what_a_page_shows_of_another_language_is_the_example() -> None:
    """Each function of TypeScript stands in the file that was tried, and so do its commands."""
    whole = (ROOT / "examples" / "typescript" / "run.ts").read_text(encoding="utf-8")
    shown = re.findall(r"```ts\n(.*?)\n```", page("plain_client.md"), re.DOTALL)
    readme = (ROOT / "examples" / "typescript" / "README.md").read_text(encoding="utf-8")

    assert shown
    functions = [one for text in shown for one in re.split(r"\n\n(?=export )", text)]
    assert [one for one in functions if one not in whole] == []
    commands = set(re.findall(r"node out/run\.js (\w+)", readme))
    assert commands == set(re.findall(r'case "(\w+)":', whole))
