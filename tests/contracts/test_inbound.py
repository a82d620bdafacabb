"""What strangers send: a typo never passes as intent."""

from functools import reduce
from operator import getitem

import pytest
from pydantic import BaseModel, JsonValue, ValidationError

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.budget import Budget
from holdfast.contracts.model import ModelSettings
from holdfast.contracts.run import AgentSnapshot, RunInput
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ResolutionSignal,
    SteerSignal,
    SuspensionSignal,
)
from holdfast.contracts.tools import HostedTool
from holdfast.workflows import views
from holdfast.workflows.views import PageQuery
from tests.builders import a_call, a_state, an_agent

APPROVAL: JsonObject = {"request_id": "req-1", "decision": "approve", "approver": "alice"}
INBOUND: list[tuple[type[BaseModel], JsonObject]] = [
    (RunInput, {"agent": "it", "input": "go"}),
    (Budget, {"max_steps": 3}),
    (ApprovalSignal, APPROVAL),
    (AnswerSignal, {"request_id": "req-1", "text": "yes"}),
    (ResolutionSignal, {"request_id": "req-1", "action": "resume"}),
    (SteerSignal, {"text": "be brief"}),
    (SuspensionSignal, {}),
    (PageQuery, {"offset": 0, "limit": 10}),
    (ModelSettings, {"reasoning": "high"}),
    (HostedTool, {"name": "web_search"}),
]
IDS = [model.__name__ for model, _ in INBOUND]

THOROUGH = an_agent(
    hosted=(HostedTool(name="web_search"),), settings=ModelSettings(reasoning="high")
)


@pytest.mark.parametrize(("model", "valid"), INBOUND, ids=IDS)
def test_unknown_fields_are_refused(model: type[BaseModel], valid: JsonObject) -> None:
    """What comes from outside is valid as documented, and with one field more it isn't."""
    model.model_validate(valid)

    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({**valid, "max_step": 1})


def test_an_unknown_field_inside_is_refused_too() -> None:
    """A typo in a budget is found in the input of a run and in a resolution."""
    with pytest.raises(ValidationError, match=r"budget\.maxsteps"):
        RunInput.model_validate({"agent": "it", "input": "go", "budget": {"maxsteps": 3}})
    with pytest.raises(ValidationError, match=r"budget\.maxsteps"):
        ResolutionSignal.model_validate(
            {"request_id": "req-1", "action": "extend", "budget": {"maxsteps": 3}}
        )


@pytest.mark.parametrize(
    ("value", "place"),
    [
        pytest.param(a_call(), (), id="a call"),
        pytest.param(an_agent(), (), id="an agent"),
        pytest.param(an_agent(), ("budget",), id="the budget of an agent"),
        pytest.param(an_agent(), ("settings",), id="the settings of an agent"),
        pytest.param(THOROUGH.prefix, ("settings",), id="the settings of a prefix"),
        pytest.param(a_state(), ("brief",), id="the brief that a state carries"),
        pytest.param(views.usage(a_state()), ("budget",), id="the budget of a report"),
    ],
)
def test_values_between_our_own_parts_may_know_more(
    value: Contract, place: tuple[str, ...]
) -> None:
    """While a deployment rolls, an older worker reads what a newer one wrote."""
    written = value.model_dump(mode="json")
    reduce(getitem, place, written)["new_field"] = 1

    assert type(value).model_validate(written) == value


def test_a_hosted_tool_in_history_may_know_more() -> None:
    """It stands in a list, but is read like all the rest of an agent."""
    written = THOROUGH.model_dump(mode="json")
    written["hosted"][0]["new_field"] = 1

    assert AgentSnapshot.model_validate(written) == THOROUGH


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        pytest.param(RunInput, {"agent": ""}, id="no agent"),
        pytest.param(RunInput, {"agent": "a" * 101}, id="agent too long"),
        pytest.param(RunInput, {"input": ""}, id="no goal"),
        pytest.param(RunInput, {"input": "x" * 200_001}, id="goal too long"),
        pytest.param(RunInput, {"input": 5}, id="goal is no text"),
        pytest.param(RunInput, {"tenant": ""}, id="no tenant"),
        pytest.param(RunInput, {"tenant": None}, id="tenant is null"),
        pytest.param(RunInput, {"actor": "a" * 201}, id="actor too long"),
        pytest.param(RunInput, {"strategy": "chained"}, id="unknown strategy"),
        pytest.param(RunInput, {"metadata": []}, id="metadata is no object"),
        pytest.param(ApprovalSignal, {"decision": "approved"}, id="unknown decision"),
        pytest.param(ApprovalSignal, {"decision": True}, id="decision is no word"),
        pytest.param(ApprovalSignal, {"approver": ""}, id="nobody approves"),
        pytest.param(ApprovalSignal, {"request_id": None}, id="no request"),
        pytest.param(ApprovalSignal, {"reason": "x" * 20_001}, id="reason too long"),
        pytest.param(AnswerSignal, {"text": ""}, id="empty answer"),
        pytest.param(ResolutionSignal, {"action": "continue"}, id="unknown action"),
        pytest.param(SteerSignal, {"text": "x" * 20_001}, id="too many words"),
        pytest.param(PageQuery, {"offset": -1}, id="before the beginning"),
        pytest.param(PageQuery, {"limit": 0}, id="no items"),
    ],
)
def test_a_field_has_bounds(model: type[BaseModel], changes: JsonObject) -> None:
    """Every text that comes from outside has a length, every choice its words."""
    valid = dict(INBOUND)[model]

    with pytest.raises(ValidationError):
        model.model_validate({**valid, **changes})


@pytest.mark.parametrize("missing", ["agent", "input"])
def test_a_run_needs_an_agent_and_a_goal(missing: str) -> None:
    """Only `agent` and `input` are required of whoever starts a run."""
    brief: dict[str, JsonValue] = {"agent": "it", "input": "go"}

    given = RunInput.model_validate(brief)
    with pytest.raises(ValidationError, match=missing):
        RunInput.model_validate({key: brief[key] for key in brief if key != missing})

    assert (given.tenant, given.actor, given.strategy) == ("default", "anonymous", "stateless")


@pytest.mark.parametrize("missing", ["request_id", "decision", "approver"])
def test_an_approval_says_what_and_who(missing: str) -> None:
    """An approval without a request, a decision or a name is none."""
    rest = {key: APPROVAL[key] for key in APPROVAL if key != missing}

    with pytest.raises(ValidationError, match=missing):
        ApprovalSignal.model_validate(rest)
