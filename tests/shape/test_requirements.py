"""docs/requirements.md and the tests that cite its rows are of one mind."""

import re
from itertools import pairwise

from tests.shape.requirements import PAGE, ROW, cited, current

PAGE_TEXT = PAGE.read_text(encoding="utf-8")
ROWS = {row["id"]: row for row in ROW.finditer(PAGE_TEXT)}


def test_every_requirement_that_a_test_cites_has_a_row() -> None:
    """Nobody has to guess what a tag means."""
    assert {id_: paths for id_, paths in cited().items() if id_ not in ROWS} == {}


def test_every_row_has_a_test() -> None:
    """What no test shows isn't promised."""
    assert ROWS
    assert set(ROWS) - set(cited()) == set()


def test_every_row_names_its_tests() -> None:
    """If this fails: `python -m tests.shape.requirements` writes them anew."""
    lines = zip(PAGE_TEXT.splitlines(), current(PAGE_TEXT).splitlines(), strict=True)

    assert [new for old, new in lines if old != new] == []


def test_rows_stand_in_their_area_in_order() -> None:
    """A row is found by its letters, then by its number, and is there once."""
    for section in PAGE_TEXT.split("\n## ")[1:]:
        heading, *_ = section.splitlines()
        ids = [row["id"] for row in ROW.finditer(section)]
        area = re.search(r"\(([A-Z]+)\)$", heading)

        assert area, heading
        assert {id_.split("-")[0] for id_ in ids} == {area[1]}, heading
        assert [pair for pair in pairwise(ids) if pair[0] >= pair[1]] == []
