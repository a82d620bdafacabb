"""What an agent is given for its control is what it has to be, or one line says what to write."""

import pytest

from holdfast.contracts.errors import AppError
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    passed,
    secret_detection,
)
from holdfast.testing import say
from tests.sample import scripted


async def unmarked(_: Subject, __: GuardrailContext) -> GuardrailResult:
    return passed()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"guardrails": [unmarked]}, "write @guardrail", id="plain function"),
        pytest.param({"guardrails": [secret_detection]}, "secret_detection", id="not called"),
        pytest.param({"acceptance": secret_detection()}, "must be a list", id="no list"),
        pytest.param({"fallback": None}, "must be a Fallback", id="no fallback"),
        pytest.param({"triggers": None}, "must be a Triggers", id="no triggers"),
    ],
)
def test_what_is_no_control_is_refused(given: dict[str, object], words: str) -> None:
    """Whatever stands in the place of a guardrail or a rule ends in one line."""
    with pytest.raises(AppError, match=words) as refused:
        scripted([say("hi")], policy=None, **given)

    assert "\n" not in str(refused.value)
