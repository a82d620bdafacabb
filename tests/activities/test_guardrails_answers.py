"""Built-in guardrails of an answer: each trips, passes, and knows what isn't its."""

import pytest
from temporalio.exceptions import ApplicationError

from holdfast.activities.guardrails import FAILED
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin import (
    secret_detection,
    spec_compliance,
    static_analysis,
)
from holdfast.guardrails.definition import GuardrailContext, guardrail
from tests.activities.looking import answer, goal, left, looked, outcome

KEY = "AKIAQ7XJ2M5RTPLK9WZB"


PRICES: JsonObject = {
    "openapi": "3.0.3",
    "components": {
        "schemas": {
            "Price": {
                "type": "object",
                "required": ["amount", "at"],
                "properties": {
                    "amount": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "at": {"type": "string", "format": "date-time"},
                    "note": {"type": "string", "nullable": True},
                    "currency": {"$ref": "#/components/schemas/Currency"},
                },
            },
            "Currency": {"type": "string", "enum": ["EUR", "USD"]},
        }
    },
}


def python(code: str) -> Subject:
    return answer(f"Here:\n```python\n{code}\n```\n")


@pytest.mark.parametrize(
    ("code", "expected", "rule"),
    [
        pytest.param("x = eval(input())", "tripped", "S307", id="eval"),
        pytest.param("exec(open('a').read())", "tripped", "S102", id="exec"),
        pytest.param("import os\nos.system('ls ' + x)", "tripped", "S605", id="a shell"),
        pytest.param(
            "import subprocess\nsubprocess.run(c, shell=True)", "tripped", "S602", id="as a shell"
        ),
        pytest.param("password = 'correct horse'", "tripped", "S105", id="a password"),
        pytest.param("def f(:\n    pass", "tripped", "invalid-syntax", id="no Python"),
        pytest.param("x = eval(y)  # noqa", "tripped", "S307", id="noqa"),
        pytest.param("# ruff: noqa\nx = eval(y)", "tripped", "S307", id="noqa for the file"),
        pytest.param("import os\nx = 1", "passed", "F401", id="a minor flaw"),
        pytest.param("def f():\n    return 1", "passed", "", id="clean"),
    ],
)
async def test_static_analysis(code: str, expected: str, rule: str) -> None:
    """Critical flaws trip, whatever the code says of itself; others pass."""  # GR-06, GR-23
    verdict = await looked(static_analysis(), python(code))

    assert outcome(verdict) == expected
    assert rule in verdict.reason
    assert bool(verdict.constraints) == (expected == "tripped")


async def test_code_with_more_flaws_than_are_read_is_not_let_through() -> None:
    """Ruff would write hundreds of megabytes about it, which nobody has to keep."""  # GR-06
    verdict = await looked(static_analysis(), python("a;" * 5_000))

    assert outcome(verdict) == "tripped"
    assert "Ruff finds more than 1,000,000 bytes of flaws" in verdict.reason


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(f"x = '{{}}'.format({'1,' * 120_000})", id="much memory"),
        pytest.param(f"x = {'not ' * 100_000}y", id="deep"),
    ],
)
async def test_code_that_is_made_for_it_takes_ruff_no_memory_of_others(code: str) -> None:
    """Ruff would take a gigabyte of a machine whose workers serve all; nor is it asked again."""
    # GR-06
    verdict = await looked(static_analysis(), python(code))

    assert outcome(verdict) == "tripped"
    assert "more code, or deeper, than Ruff gets through (256 MB, 5 s)" in verdict.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no code at all", "not applicable"),
        ("```js\neval(x)\n```", "not applicable"),
        ("```\n$ make run\n```", "not applicable"),
        ("```\nx = eval(y)\n```", "tripped"),
        ("```py\nx = 1\n```\n```\n$ ls\n```", "passed"),
    ],
)
async def test_static_analysis_where_it_applies(text: str, expected: str) -> None:
    """What isn't Python was never looked at, and that is what is recorded."""  # T-41
    assert outcome(await looked(static_analysis(), answer(text))) == expected


async def test_static_analysis_by_other_rules() -> None:
    """An app may say itself what is critical."""
    guardrail = static_analysis(critical=("F401",))

    assert outcome(await looked(guardrail, python("import os"))) == "tripped"
    assert outcome(await looked(guardrail, python("x = eval(y)"))) == "passed"


async def test_static_analysis_of_very_much() -> None:
    """More blocks than are looked at are no pass."""
    block = "```py\nx = 1\n```\n"

    assert outcome(await looked(static_analysis(), answer(block * 51))) == "tripped"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"the key is {KEY}", "aws key AKIA…"),
        ("AKIA1234567890ABCDEF", "aws key AKIA…"),
        ("ghp_9kQ2vXw7RtLm4NzB8sYc1HdJf6PgAe3UoKi5", "github token ghp_…"),
        ("xoxb-2314567890-abcdefGHIJKL", "slack token xoxb…"),
        ("sk_live_9kQ2vXw7RtLm4NzB8sYc1HdJ", "stripe key sk_l…"),
        ("sk-ant-api03-9kQ2vXw7RtLm4NzB8sYc1HdJ", "api key sk-a…"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----", "private key"),
        ("postgres://me:Xk29sLq0z@db/x", "password"),
        ("api_key = '9kQ2vXw7RtLm4NzB8sYc'", "secret value"),
        (f"{KEY[:8]}\u200b{KEY[8:]}", "aws key AKIA…"),
    ],
)
async def test_secret_detection(text: str, said: str) -> None:
    """Credentials trip by their kind; only what all of it begin with is shown."""  # GR-24
    verdict = await looked(secret_detection(), answer(text))

    assert outcome(verdict) == "tripped"
    assert said in verdict.reason
    assert outcome(await looked(secret_detection(), answer(data={"a": [text]}))) == "tripped"


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "Authorization: Bearer <token>",
        "postgres://user:password@localhost/db",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "the key stands in the vault",
        KEY,
    ],
)
async def test_documented_keys_are_no_secrets(text: str) -> None:
    """Keys that documentation shows pass, and those that the app allows."""  # GR-24
    guardrail = secret_detection(allow=(KEY,))

    assert outcome(await looked(guardrail, answer(text))) == "passed"


async def test_secret_detection_of_nothing() -> None:
    """Without words there is nothing to find."""
    assert outcome(await looked(secret_detection(), answer())) == "not applicable"


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        pytest.param(answer('{"amount": 1, "at": "2026-03-01T12:00:00Z"}'), "passed", id="fits"),
        pytest.param(
            answer('```json\n{"amount": 1, "at": "2026-03-01T12:00:00Z"}\n```'),
            "passed",
            id="fenced",
        ),
        pytest.param(
            answer("see", {"amount": 0.1, "at": "2026-03-01T12:00:00Z", "note": None}),
            "passed",
            id="data, and a null",
        ),
        pytest.param(answer('{"amount": 1}'), "tripped", id="a field is missing"),
        pytest.param(
            answer(data={"amount": 0, "at": "2026-03-01T12:00:00Z"}), "tripped", id="not above 0"
        ),
        pytest.param(answer(data={"amount": 1, "at": "today"}), "tripped", id="no time"),
        pytest.param(
            answer(data={"amount": 1, "at": "2026-03-01T12:00:00Z", "currency": "DM"}),
            "tripped",
            id="a referenced component",
        ),
        pytest.param(answer("it costs 1"), "tripped", id="no JSON"),
        pytest.param(answer(""), "tripped", id="nothing"),
        pytest.param(answer('{"amount": NaN, "at": ""}'), "tripped", id="no number"),
        pytest.param(goal("{}"), "not applicable", id="a goal"),
    ],
)
async def test_spec_compliance(subject: Subject, expected: str) -> None:
    """An answer is JSON in the shape of a component, or it trips."""  # GR-25
    guardrail = spec_compliance(openapi=PRICES, component="Price")

    assert outcome(await looked(guardrail, subject)) == expected


async def test_spec_compliance_with_a_schema() -> None:
    """A JSON Schema does as well; what it objects to goes back to the model, and only there."""
    guardrail = spec_compliance(
        schema={"required": ["id"], "properties": {"to": {"type": "null"}}}
    )

    verdict = await looked(guardrail, answer('{"to": "sell"}'))

    assert verdict.reason == "the answer doesn't fit: required id; properties/to/type"
    assert verdict.constraints == (
        '"id" is a required property',
        'to: "sell" is not of type "null"',
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give either schema, or openapi and component"),
        ({"schema": {}, "component": "A"}, "give either"),
        ({"schema": {"$ref": "https://example.com/a.json"}}, "is outside of the document"),
        ({"schema": {"$ref": "#/nowhere"}}, "its schema can't be used"),
        ({"schema": {"type": "no type"}}, "its schema can't be used"),
        ({"openapi": PRICES, "component": "Cost"}, "(it has: Currency, Price)"),
    ],
)
def test_a_shape_that_cant_be_used_is_refused(given: dict[str, JsonObject], said: str) -> None:
    """Whatever is wrong is said when the app is defined, on one line; nothing is fetched."""
    with pytest.raises(AppError) as raised:
        spec_compliance(**given)  # pyright: ignore[reportArgumentType] -- rows of a table

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


class Unsayable(Exception):
    """An error whose stack can't be told, and that counts who asks for it."""

    asked = 0

    @property
    def __notes__(self) -> list[str]:  # pyright: ignore[reportIncompatibleVariableOverride] -- as user code does
        Unsayable.asked += 1
        raise RuntimeError("no notes")


@guardrail(layer="output")
async def lost_for_words(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Raise what nobody can describe."""
    raise Unsayable("no verdict")


async def test_an_error_that_cant_be_described_may_quote_an_answer() -> None:
    """It says that the guardrail can't decide, and its cause stays behind."""
    with pytest.raises(ApplicationError) as raised:
        await looked(lost_for_words, answer("sell everything"), unreleased=["answer"])
    raised_about_a_goal = await left(lost_for_words, goal("sell everything"))

    words = "guardrail 'lost_for_words' can't decide: no verdict"
    assert (raised.value.message, raised.value.type) == (words, FAILED)
    assert raised.value.__cause__ is None
    assert (raised_about_a_goal.message, raised_about_a_goal.type) == (words, FAILED)


async def test_who_quotes_no_answer_has_no_stack_looked_through() -> None:
    """A goal may be quoted: whoever logs the error tells its stack, once."""
    Unsayable.asked = 0
    with pytest.raises(ApplicationError) as raised:
        await looked(lost_for_words, goal("sell everything"), unreleased=["answer"])

    assert isinstance(raised.value.__cause__, Unsayable)
    assert Unsayable.asked == 0
