"""What a contract of a tool must say, and what of it a model sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.tools import Risk, ToolContract
from tests.builders import FIRST, LOOK, a_contract, an_agent, an_invocation

FIELDS = [
    *("name", "description", "input_schema", "output_schema", "risk", "side_effect"),
    *("resource_scope", "permission", "timeout", "max_result_chars", "retry", "audit"),
    *("error_format", "local", "pollable", "draft", "expected_result", "rollback"),
]
ADDED = [
    *("reconcile", "sandboxed", "undo", "question", "receiver", "must_succeed"),
    *("max_items", "max_snippet_chars", "shows"),
]
"""Since release 0.1, whose histories lack them."""


def test_these_are_the_fields_of_a_contract() -> None:
    """A contract of a tool has these fields and no others."""
    assert list(ToolContract.model_fields) == [*FIELDS, *ADDED]


@pytest.mark.parametrize("field", FIELDS)
def test_a_contract_without_one_of_its_fields_is_none(field: str) -> None:
    """No field of a contract has a default that somebody could forget."""  # BY-01 TC-04
    said = LOOK.model_dump()
    del said[field]

    with pytest.raises(ValidationError, match=field):
        ToolContract.model_validate(said)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"name": "look at"}, id="space in the name"),
        pytest.param({"name": "../look"}, id="path in the name"),
        pytest.param({"name": "guardrail:look"}, id="colon in the name"),
        pytest.param({"name": "l" * 65}, id="name too long"),
        pytest.param({"name": ""}, id="no name"),
        pytest.param({"risk": "harmless"}, id="unknown risk"),
        pytest.param({"risk": None}, id="unclassified"),  # TC-05
        pytest.param({"timeout": 0}, id="no time"),
        pytest.param({"max_result_chars": 0}, id="no result"),
        pytest.param({"retry": {"max_retries": -1, "backoff": 1}}, id="negative retries"),
        pytest.param({"retry": {"max_retries": 1, "backoff": 0}}, id="no wait"),
    ],
)
def test_a_contract_that_cant_be_kept_is_refused(changes: dict[str, object]) -> None:
    """A name, a risk class, limits: each must be one that the runtime can keep."""
    with pytest.raises(ValidationError):
        a_contract(**changes)


def test_risk_classes_stand_in_the_order_of_what_is_at_stake() -> None:
    """Of the classes of several tools the last counts, so a new one has its place among them."""
    assert list(Risk) == [
        *("read_only", "search_only", "compute_only", "draft_only", "write_local"),
        *("write_internal", "communication", "write_external", "financial", "destructive"),
        *("privileged_access", "identity_access", "process_execution", "network_open_world"),
        *("security_sensitive", "privileged_admin"),
    ]


def test_only_looking_and_computing_may_run_twice() -> None:
    """Three classes change nothing; only their calls are repeated or run at once."""
    harmless = {risk for risk in Risk if risk.changes_nothing}

    assert harmless == {Risk.READ_ONLY, Risk.SEARCH_ONLY, Risk.COMPUTE_ONLY}


def test_a_model_sees_name_description_and_arguments() -> None:
    """Nothing else of a contract is in what a model is told."""  # LP-05 TC-01
    agent = an_agent(settings={}, tools=(LOOK,))

    assert agent.prefix.model_dump() == {
        "instructions": "Do as you are told.",
        "tools": (
            {
                "name": "look",
                "description": "Look at a place and say what is there.",
                "input_schema": {
                    "type": "object",
                    "properties": {"place": {"type": "string"}},
                    "required": [],
                    "additionalProperties": False,
                },
            },
        ),
    }


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"instructions": "Do as you like."}, id="instructions"),
        pytest.param({"tools": ()}, id="tools"),
        pytest.param({"tools": (a_contract(description="Look around here."),)}, id="description"),
    ],
)
def test_the_prefix_digest_names_what_the_model_is_told(changes: dict[str, object]) -> None:
    """Whatever changes for the model changes the name of its prefix."""
    told = an_agent(tools=(LOOK,))

    assert an_agent(**{"tools": (LOOK,), **changes}).prefix.digest != told.prefix.digest
    assert an_agent(tools=(a_contract(timeout=1),)).prefix.digest == told.prefix.digest


def test_an_agent_knows_its_tools_only() -> None:
    """A run finds the contracts of its own tools by name, and no others."""
    agent: AgentSnapshot = an_agent(tools=(LOOK,))

    assert agent.find_tool("look") == LOOK
    assert agent.find_tool("call_model") is None


def test_the_idempotency_key_names_run_and_call() -> None:
    """A key is the same for every attempt of a call, and the name of a run has no part in it."""
    assert an_invocation(run_id="run-1").idempotency_key == f"{FIRST}/c1"
    assert an_invocation(run_id="run-2").idempotency_key == f"{FIRST}/c1"
    assert an_invocation(call_id="c2").idempotency_key == f"{FIRST}/c2"


WORDS = st.text(alphabet="c1/%:draftundo", max_size=9)
PURPOSES = st.sampled_from(["call", "draft", "undo"])


@given(st.tuples(WORDS, PURPOSES), st.tuples(WORDS, PURPOSES))
def test_two_calls_never_share_a_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Whatever a model calls its calls, none has the key of another, nor of another's draft."""
    keys = [
        an_invocation(call_id=call, purpose=purpose).idempotency_key
        for call, purpose in (one, other)
    ]

    assert (keys[0] == keys[1]) == (one == other)
