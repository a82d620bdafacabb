"""Pages on control and guardrails say what the code does, and every named test is there."""

import ast
import re
import string
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from holdfast.contracts.budget import Limits
from holdfast.contracts.control import Backtracking, Triggers
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.stops import StopReason
from holdfast.guardrails.builtin import BUILTIN
from holdfast.guardrails.definition import ON_TRIP
from holdfast.guardrails.detectors.destruction import REASON
from holdfast.run.limits.fallback import DEFAULT_REACTIONS
from holdfast.run.limits.triggers import TRIGGER_RESPONSES
from holdfast.run.steps import PRECEDENCE
from tests.shape.tree import ROOT, files, parsed

DOCS = ROOT / "docs"
CONTROL = (DOCS / "control.md").read_text(encoding="utf-8")
GUARDRAILS = (DOCS / "guardrails.md").read_text(encoding="utf-8")
APPROVALS = (DOCS / "approvals.md").read_text(encoding="utf-8")
REFUSALS = APPROVALS.partition("## What is refused, in one word")[2].partition("\n## ")[0]
OPERATIONS = (DOCS / "operations.md").read_text(encoding="utf-8")
SECURITY = (DOCS / "security.md").read_text(encoding="utf-8")
ATTACKS = (DOCS / "attacks.md").read_text(encoding="utf-8")

TABLE = CONTROL.partition("## Every stop, pause and escalation")[2].partition("\n## ")[0]

TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
FILE = re.compile(r"`([\w/]+/test_\w+\.py)`")
OF_ITS_OWN = {"", "the same", "—"}
"""Cells that say nothing which the one before them doesn't."""

DECIDES = {"each", "left_to", "escalates"}
"""How a test says that it goes through the columns."""


def rows() -> list[list[str]]:
    """The rows of the table that say something, without its head and its headings."""
    lines = [line for line in TABLE.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return [row for row in cells if any(row[1:])]


@cache
def functions_of(path: str) -> Mapping[str, ast.AST]:
    assert Path("tests", path) in files(), f"there is no file tests/{path}"
    return {
        node.name: node
        for node in ast.walk(parsed(Path("tests", path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def words_of(path: str, name: str) -> set[str]:
    """Every name in a test, its decorators and parameters."""
    nodes = list(ast.walk(functions_of(path)[name]))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.arg for node in nodes if isinstance(node, ast.arg)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [CONTROL, GUARDRAILS, SECURITY, ATTACKS],
    ids=["control", "guardrails", "security", "attacks"],
)
def test_named_tests_are_there(page: str) -> None:
    """A test that a page names exists."""
    named = TEST.findall(page)

    assert named
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


@pytest.mark.parametrize("page", [SECURITY, ATTACKS], ids=["security", "attacks"])
def test_named_files_are_there(page: str) -> None:
    """So does a file, where all of it shows something."""
    named = FILE.findall(page)

    assert named
    assert [path for path in named if Path("tests", path) not in files()] == []


def test_each_row_has_four_cells_and_a_test() -> None:
    """Nothing is claimed that no test shows."""
    assert len(rows()) >= 40
    assert [row for row in rows() if len(row) != 5 or not TEST.search(row[4])] == []


def test_a_row_with_several_ends_is_tested_in_each() -> None:
    """Where the columns differ, one of the tests goes through them, or each has its own."""
    lacking = [
        row[0]
        for row in rows()
        if (ends := sum(cell not in OF_ITS_OWN for cell in row[1:4])) > 1
        if (named := TEST.findall(row[4]))
        if len(named) < ends
        if not any(DECIDES & words_of(path, name) for path, name in named)
    ]

    assert lacking == []


def test_every_limit_trigger_and_kind_of_failure_is_in_the_table() -> None:
    """A limit, a trigger or a kind of failure that is added has a row, or fails here."""
    fields = {*Limits.model_fields, *Triggers.model_fields, *Backtracking.model_fields}

    assert {name for name in (*fields, *DEFAULT_REACTIONS) if f"`{name}`" not in TABLE} == {
        "sensitive_domains"  # it has a row, by what it does
    }


def test_every_word_for_a_refusal_is_explained() -> None:
    """A message that is refused says so in one word, which the page on approvals has."""
    words = {code for code in get_args(OutcomeCode) if code != "accepted"}

    assert {word for word in words if f"`{word}`" not in REFUSALS} == set()


def test_reasons_are_to_the_letter() -> None:
    """People and programs look for exactly these words."""
    reasons = {*(asking.reason for asking in TRIGGER_RESPONSES.values()), REASON}
    parsed = (string.Formatter().parse(reason.words) for reason in StopReason)
    pieces = {text.strip() for parts in parsed for text, *_ in parts}

    assert {text for text in reasons | pieces if text not in CONTROL} == set()


def test_the_night_shift_reads_of_reasons_that_there_are() -> None:
    """Whatever its table says that a run says, one can say; each trigger that pauses has a row."""
    table = OPERATIONS.partition("| it says | look at | then |\n")[2].partition("\n\n")[0]
    told = re.findall(r"`([^`]+)`", " ".join(row.split(" | ")[0] for row in table.splitlines()))
    pauses = [one.reason for one in TRIGGER_RESPONSES.values() if one.action != "require_approval"]
    said = [*(reason.words for reason in StopReason), *pauses]

    meant = {
        words: [one for one in said if all(piece in one for piece in words.split(" ..."))]
        for words in (words.replace(": ...", ":") for words in told)
    }
    assert [words for words, found in meant.items() if not found] == [
        *("guardrail:NAME", "... can't decide:")  # a guardrail's, no run's
    ]
    assert set(pauses) - {one for found in meant.values() for one in found} == set()


def test_defaults_are_those_of_the_code() -> None:
    """What an agent has that says nothing is on the page."""
    triggers, limits, again = Triggers(), Limits(), Backtracking()

    assert f"`max_retries` ({triggers.max_retries})" in TABLE
    assert f"`token_share` ({triggers.token_share})" in TABLE
    assert f"`min_confidence` ({triggers.min_confidence})" in TABLE
    assert f"`loop_repeat_threshold` ({limits.loop_repeat_threshold})" in TABLE
    assert f"`max_consecutive_failures` ({limits.max_consecutive_failures})" in TABLE
    assert f"`revisions` ({again.revisions})" in TABLE


def test_every_layer_and_what_its_tripwires_do_is_in_the_table() -> None:
    """Each `on_trip` of each layer has a row; the first is the default."""
    for layer, on_trips in ON_TRIP.items():
        for place, on_trip in enumerate(on_trips):
            told = f"`{on_trip}`{' (default)' if place == 0 else ''}"
            assert re.search(rf"\| (\w+ or )?{layer}( or \w+)?, {re.escape(told)} ", TABLE), told


def test_reactions_stand_where_they_lead() -> None:
    """The kinds that move on to the next model are in one row, those that stop in two."""
    models = TABLE.partition("| **Models** |")[2].partition("| **Parts")[0]
    by_cell = {row[0]: row[1] for row in rows() if row[0] in models}
    for kind, default in DEFAULT_REACTIONS.items():
        told = {cell: end for cell, end in by_cell.items() if f"`{kind}`" in cell}
        assert len(set(told.values())) == 1, f"{kind} leads to one end, and has the rows {told}"
        leads_on = any("next model" in end for end in told.values())
        assert leads_on == (default.reaction == "next_model"), kind


def test_built_in_guardrails_are_listed() -> None:
    """Each one that comes with Holdfast has its row, by the function that makes it."""
    made = {make.__name__ for make in BUILTIN.values()}

    assert {name for name in made if f"| `{name}" not in GUARDRAILS} == set()


@pytest.mark.parametrize("page", [CONTROL, GUARDRAILS], ids=["control", "guardrails"])
def test_code_on_the_page_runs(page: str) -> None:
    """What is shown can be used as it is."""
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)

    assert blocks
    for block in blocks:
        exec(compile(block, "docs", "exec"), {"__name__": "docs"})  # noqa: S102 -- our own page


def test_what_comes_first_is_told_as_it_is_decided() -> None:
    """A row for each rule, in their order; behind them the model is asked."""
    told = CONTROL.partition("## Which comes first")[2].partition("\n## ")[0]
    rules = re.findall(r"^\| (\d+) \| (?:`(\w+)`)? ?\|", told, re.MULTILINE)

    names = [*(rule.__name__ for rule in PRECEDENCE), ""]
    assert rules == [(str(number), name) for number, name in enumerate(names, start=1)]
