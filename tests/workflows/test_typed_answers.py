"""Tools that ask people, with any arguments and result: what is shown, and which answers fit."""

from collections.abc import Callable
from typing import Literal

import pytest
from pydantic import BaseModel, JsonValue

from holdfast import AppError, Risk, Tool, tool
from holdfast.contracts.approvals import Question
from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools.values.answers import describe_fitting, find_answer_flaw
from tests.builders import LATER, NOW
from tests.memory.runs import MemoryRuns
from tests.sample import scripted


class Slot(BaseModel):
    """When something is to happen."""

    day: str
    hour: int


@tool(risk=Risk.COMPUTE_ONLY, permission="ask_user")
async def confirm(prompt: str, amount: float, attempts: int = 3) -> bool:
    """Ask a person whether an amount is right."""
    raise AssertionError


@tool(risk=Risk.COMPUTE_ONLY, permission="ask_user", question="what")
async def choose(what: str, why: str) -> Literal["red", "blue"]:
    """Ask a person which colour they want."""
    raise AssertionError


@tool(risk=Risk.COMPUTE_ONLY, permission="ask_user")
async def plan(question: str, notes: str) -> Slot | None:
    """Ask a person when something is to happen."""
    raise AssertionError


def asked_by(made: Tool) -> Question:
    """A question of a tool, as a run asks it."""
    return Question(
        request_id="req-1",
        reason="the agent asks a person",
        requested_at=NOW,
        expires_at=LATER,
        call_id="c1",
        question="Well?",
        tool=made.contract.name,
        answer_schema=made.contract.answer_schema,
    )


@pytest.mark.parametrize(
    ("made", "question"), [(confirm, "prompt"), (choose, "what"), (plan, "question")]
)
def test_the_question_is_found_by_a_rule(made: Tool, question: str) -> None:
    """It is what the tool names, else `question`, else the only argument that is text."""
    assert made.contract.question == question


async def ask_two(first: str, second: str) -> str:
    """Ask a person about two things."""
    return first + second


async def ask_amount(amount: float) -> str:
    """Ask a person about an amount."""
    return str(amount)


@pytest.mark.parametrize(
    ("function", "terms", "flaw"),
    [
        pytest.param(
            ask_two,
            {"permission": "ask_user"},
            "it asks people, and nothing says what: name the argument that asks, as in "
            "@tool(question=...) (its arguments that are text: first, second)",
            id="two texts",
        ),
        pytest.param(
            ask_amount,
            {"permission": "ask_user"},
            "it asks people, and nothing says what: name the argument that asks, as in "
            "@tool(question=...) (its arguments that are text: none)",
            id="no text",
        ),
        pytest.param(
            ask_amount,
            {"permission": "ask_user", "question": "amount"},
            "its question 'amount' is none of its arguments that are text (none)",
            id="no words",
        ),
        pytest.param(
            ask_two,
            {"permission": "ask_user", "question": "third"},
            "its question 'third' is none of its arguments that are text (first, second)",
            id="no such argument",
        ),
        pytest.param(
            ask_two,
            {"question": "first"},
            "only a tool with permission='ask_user' has a question",
            id="a tool that asks nobody",
        ),
    ],
)
def test_a_question_that_cant_be_known_is_refused(
    function: Callable[..., object], terms: dict[str, str], flaw: str
) -> None:
    """Where the tool is defined, with one line that says what to write."""
    with pytest.raises(AppError) as refused:
        tool(risk=Risk.COMPUTE_ONLY, **terms)(function)  # pyright: ignore[reportArgumentType] -- whatever a test gives

    assert str(refused.value) == f"tool {function.__name__!r}: {flaw}"


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (confirm, "true"),
        (confirm, " false\n"),
        (choose, "red"),
        (plan, '{"day": "Monday", "hour": 9}'),
        (plan, "null"),
    ],
)
def test_answers_that_fit(made: Tool, text: str) -> None:
    """Words where the tool returns words, and JSON where it returns anything else."""
    assert find_answer_flaw(asked_by(made), text) is None


@pytest.mark.parametrize(
    ("made", "text", "flaw"),
    [
        pytest.param(confirm, "yes", "the answer is no JSON; write true or false", id="words"),
        pytest.param(
            confirm,
            '"yes"',
            'the answer doesn\'t fit: "yes" is not of type "boolean"; write true or false',
            id="another type",
        ),
        pytest.param(confirm, "NaN", "the answer is no JSON; write true or false", id="no JSON"),
        pytest.param(
            confirm, "[" * 19_000, "the answer is no JSON; write true or false", id="too deep"
        ),
        pytest.param(
            choose,
            "green",
            'the answer doesn\'t fit: "green" is not one of "red" or "blue"; '
            "write one of red, blue",
            id="another word",
        ),
    ],
)
def test_answers_that_dont_fit(made: Tool, text: str, flaw: str) -> None:
    """One line says why, and what fits."""
    assert find_answer_flaw(asked_by(made), text) == flaw


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer"}, "a whole number"),
        ({"enum": [1, 2]}, "one of 1, 2"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "words or null"),
        (
            {"type": "object", "properties": {"day": {}, "hour": {}}},
            'an object, as in {"day": ..., "hour": ...}',
        ),
        ({"$ref": "#/$defs/it"}, "JSON that fits the `answer_schema` of the request"),
    ],
)
def test_what_fits_is_said_in_a_few_words(schema: JsonObject, said: str) -> None:
    """People read it who don't know the schema."""
    assert describe_fitting(schema) == said


@pytest.mark.parametrize(
    ("called", "wrong", "right", "value"),
    [
        pytest.param(
            call("confirm", prompt="Right?", amount=29.5), "yes", "true", True, id="truth"
        ),
        pytest.param(
            call("plan", question="When?", notes="soon"),
            "tomorrow",
            '{"day": "Monday", "hour": 9}',
            {"day": "Monday", "hour": 9},
            id="object",
        ),
        pytest.param(
            call("choose", what="Which?", why="it is due"), "green", "blue", "blue", id="word"
        ),
    ],
)
async def test_a_wrong_answer_is_refused_and_the_request_stays_open(
    memory_runs: MemoryRuns, called: Reply, wrong: str, right: str, value: JsonValue
) -> None:
    """Every argument is shown; the answer that fits is the result, as what the tool returns."""
    # PF-16
    seen: list[JsonValue] = []

    def end(turn: ScriptTurn) -> Reply:
        seen.append(turn.last(called.calls[0][0]))
        return say("done")

    async with memory_runs.working(scripted([called, end], tools=[confirm, choose, plan])):
        run = await memory_runs.start("it")
        (question,) = await run.asked()
        await run.signal("answer", {"request_id": "req-1", "text": wrong})
        (refusal,) = await run.refusals(1)
        still = await run.pending()
        await run.signal("answer", {"request_id": "req-1", "text": right})
        result = await run.result()

    assert isinstance(question, Question)
    assert question.question.endswith("?")
    assert question.arguments
    assert "write " in refusal
    assert still == (question,)
    assert result.answer == "done"
    assert seen == [{"answer": value}]
