"""What strangers send that has very many flaws: a workflow task that names them all never ends."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, cast

import pytest
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from holdfast import Risk, tool
from holdfast.contracts.base import Contract
from holdfast.contracts.calls import ToolFailure, ToolResult, ToolSuccess
from holdfast.contracts.delegation.relayed import RequestsSignal
from holdfast.contracts.effects import Effect
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.guardrails import GuardrailVerdicts
from holdfast.contracts.model import ModelReply
from holdfast.contracts.run import RunInput
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import ToolContract
from holdfast.workflows.inbound import messages

MANY: list[JsonValue] = [{} for _ in range(1_000)]
NUMBERS: list[JsonValue] = [1] * 1_000
NOTHING: list[JsonValue] = [{"kind": "approval"} for _ in range(1_000)]

Reader: TypeAlias = Callable[[str], object]
"""Reads JSON as a run does."""

a_signal = RequestsSignal.model_validate_json
verdicts = GuardrailVerdicts.model_validate_json
a_run = RunInput.model_validate_json
a_session = SessionInput.model_validate_json
a_reply = ModelReply.model_validate_json
a_result = TypeAdapter[ToolSuccess | ToolFailure](ToolResult).validate_json


def asking(kind: str, **fields: JsonValue) -> JsonValue:
    """What a part says that it waits for."""
    return {"run_id": "run-1.1", "requests": [{"kind": kind, **fields}]}


SENT: list[tuple[Reader, JsonValue]] = [
    (a_signal, {"run_id": "run-1.1", "requests": MANY}),
    (a_signal, {"run_id": "run-1.1", "requests": NOTHING}),
    (a_signal, asking("approval", approvals=MANY, lapsed=MANY, groups=NUMBERS)),
    (a_signal, asking("approval", grant={"commands": NUMBERS, "hosts": NUMBERS})),
    (a_signal, asking("review", approvals=MANY, objections=NUMBERS, calls=NUMBERS)),
    (a_signal, asking("review", methods=NUMBERS, escalate_to=NUMBERS)),
    (a_signal, asking("escalation", attempts=MANY, approaches=MANY)),
    (verdicts, {"verdicts": MANY, "spans": MANY}),
    (a_reply, {"parts": MANY, "calls": MANY, "notes": NUMBERS, "objections": NUMBERS}),
    (a_run, {"agent": "it", "input": "x", "models": NUMBERS, "known": MANY}),
    (a_run, {"agent": "it", "input": "x", "ceiling": {"without_tools": NUMBERS}}),
    (
        a_session,
        {"agent": "it", "session_id": "s", "models": NUMBERS, "sensitive_domains": NUMBERS},
    ),
    (a_result, {"status": "ok", "spans": MANY}),
    (a_result, {"status": "error", "next_valid_actions": NUMBERS, "spans": MANY}),
]


def find_flaws(read: Reader, sent: JsonValue) -> ValidationError:
    """Return what is wrong with it."""
    with pytest.raises(ValidationError) as error:
        read(json.dumps(sent))
    return error.value


@pytest.mark.parametrize(("read", "sent"), SENT)
def test_of_each_list_the_first_flaw_is_enough(read: Reader, sent: JsonValue) -> None:
    """One of 144 kB had 384,000, and took seven seconds and half a gigabyte, for ever again."""
    assert find_flaws(read, sent).error_count() < 100


def test_what_lacks_much_is_read_once() -> None:
    """Each field that a request lacks had all of it made anew."""
    found = find_flaws(a_signal, asking("approval", preview=MANY)).errors()
    missing = [id(one["input"]) for one in found if one["type"] == "missing"]
    assert len(missing) > 5
    assert len(set(missing)) == 1


@pytest.mark.parametrize("kind", [RunInput, Effect, RunState, ModelReply, ToolContract])
def test_no_collection_of_a_contract_looks_for_more(kind: type[Contract]) -> None:
    """Nobody who writes a contract has to think of it."""
    found = list(find_collections(kind.__pydantic_core_schema__))
    assert found
    assert all(found)


def find_collections(schema: object) -> Iterator[bool]:
    """Say of each collection in a core schema of pydantic's whether its first flaw is its last."""
    if isinstance(schema, dict):
        parts = cast("dict[str, object]", schema)
        if str(parts.get("ref")).startswith("pydantic.types.JsonValue"):  # takes anything
            return
        if parts.get("type") in ("list", "tuple", "set", "frozenset", "dict"):
            yield bool(parts.get("fail_fast"))
        for name, part in parts.items():
            if name not in ("metadata", "serialization"):
                yield from find_collections(part)
    elif isinstance(schema, list | tuple):
        for part in cast("Iterable[object]", schema):
            yield from find_collections(part)


class Row(BaseModel):
    """What an upstream should have said."""

    a: int
    b: int


class Page(BaseModel):
    """Many of it."""

    rows: list[Row]


@tool(risk=Risk.READ_ONLY)
async def fetch_page() -> dict[str, list[Page]]:
    """Fetch what an upstream says."""
    raise AssertionError("nobody calls it")


def test_of_a_result_the_first_flaw_is_enough() -> None:
    """200,000 rows that lacked all they should have kept all runs waiting for seconds."""
    with pytest.raises(ValidationError) as error:
        fetch_page.json({"pages": [{"rows": MANY}] * 10})
    assert error.value.error_count() == 2


def test_such_a_start_is_refused_in_a_few_words() -> None:
    """440,000 wrong models were described one by one: five seconds for a start, for all runs."""
    fields: dict[str, JsonValue] = {f"field{number}": 0 for number in range(2_000)}
    with pytest.raises(InvalidInput) as error:
        messages.read_run_input([{"agent": "it", "input": "x", "models": NUMBERS}])
    assert str(error.value).endswith("input: models.0: Input should be a valid string")
    with pytest.raises(InvalidInput) as error:
        messages.read_run_input([{"agent": "it", "input": "x", **fields}])
    assert str(error.value).endswith("this input: 2,000 fields are wrong or unknown")


def test_such_a_message_is_refused_in_a_few_words() -> None:
    """It says which field is wrong, as ever."""
    asked: JsonValue = [{"kind": "question"} for _ in range(1_000)]
    data = json.dumps({"run_id": "run-1.1", "requests": asked}).encode()
    sent = RawValue(Payload(metadata={"encoding": b"json/plain"}, data=data))
    refused = messages.read("requests", (sent,))
    assert isinstance(refused, messages.UnreadableMessage)
    assert refused.reason.startswith("'requests': requests.0.question.request_id: Field required;")
