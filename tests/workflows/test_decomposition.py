"""A goal in parts: which plans can be used, and how the answers become one."""

import pytest
from pydantic import JsonValue

from holdfast.contracts.control import Candidate
from holdfast.run import tiers


def a_plan(text: str, output: JsonValue = None) -> Candidate:
    return Candidate(text=text, output=output)


@pytest.mark.parametrize(
    "answer",
    [
        a_plan('{"subtasks": ["cut", "sew"]}'),
        a_plan('```json\n{"subtasks": ["cut", "sew"]}\n```'),
        a_plan('\n```\n{"subtasks": [" cut ", "sew"], "why": "two hands"}\n```\n'),
        a_plan("cut, then sew", {"subtasks": ["cut", "sew"]}),
    ],
    ids=["plain", "fenced", "with more", "declared shape"],
)
def test_a_plan_is_json_or_data(answer: Candidate) -> None:
    """A plan is the data where the planner declares a shape, else the JSON of its answer."""
    # FB-11
    assert tiers.parse_plan(answer, 2) == ("cut", "sew")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (a_plan("first cut, then sew"), "it is no plan: the argument: Invalid JSON"),
        (a_plan('{"subtasks": []}'), "it is no plan: subtasks: Tuple should have at least 1"),
        (a_plan('{"subtasks": ["cut", "  "]}'), "it is no plan: subtasks.1: String should have"),
        (a_plan('{"subtasks": ["cut", 2]}'), "it is no plan: subtasks.1: Input should be"),
        (a_plan('{"steps": ["cut"]}'), "it is no plan: subtasks: Field required"),
        (a_plan('{"subtasks": ["cut"]}', ["cut"]), "it is no plan: the argument: Input should"),
        (a_plan('{"subtasks": ["a", "b", "c"]}'), "it has 3 subtasks, and may have 2"),
    ],
    ids=["prose", "empty", "blank", "number", "other field", "list", "too many"],
)
def test_what_is_no_plan_says_why(answer: Candidate, why: str) -> None:
    """A plan that can't be read, has nothing to do or too much, is one line that says so."""
    # FB-11
    found = tiers.parse_plan(answer, 2)

    assert isinstance(found, str)
    assert found.startswith(why)
    assert "\n" not in found


def test_answers_are_combined_in_the_order_of_the_plan() -> None:
    """Each part is numbered and named; its answer follows."""
    # FB-11
    answers = [a_plan("in two"), a_plan("done\nwell")]

    assert tiers.combine(["cut", "sew"], answers) == Candidate(
        text="1. cut\n\nin two\n\n2. sew\n\ndone\nwell"
    )


def test_data_of_parts_is_a_list() -> None:
    """Where a worker answers with data, the whole is a list with an entry for each part."""
    answers = [a_plan("in two", {"pieces": 2}), a_plan("no data")]

    assert tiers.combine(["cut", "sew"], answers).output == [{"pieces": 2}, None]


def test_a_planner_is_told_how_many_parts_there_may_be() -> None:
    """The planner is told the limit and the form; a worker its part, and the whole."""
    planner = tiers.render_plan_prompt("make a coat", 3)
    worker = tiers.render_subtask_prompt("cut", "make a coat")

    assert "3 at most" in planner
    assert '{"subtasks": ["...", "..."]}' in planner
    assert planner.endswith("make a coat")
    assert worker.splitlines()[1] == "cut"
    assert worker.endswith("make a coat")


@pytest.mark.parametrize("text", ["```" + "\n" * 200_000 + "x", "``` \n" * 50_000, "`" * 200_000])
def test_no_plan_takes_long_to_read(text: str) -> None:
    """Whatever a planner writes around its JSON, or instead of it, is read once."""
    assert str(tiers.parse_plan(Candidate(text=text), 3)).startswith("it is no plan: ")
