"""Messages from outside become a value, whatever arrives."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Budget
from holdfast.contracts.delegation.relayed import (
    ForwardedSignal,
    RequestsSignal,
    VerdictSignal,
)
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    HeldSignal,
    MessageOutcome,
    ResolutionSignal,
    SteerSignal,
    StopSignal,
    SuspensionSignal,
)
from holdfast.workflows.inbound.messages import (
    SESSION_SIGNALS,
    SIGNALS,
    UnreadableMessage,
    read,
    read_run_input,
)

APPROVAL = {"request_id": "req-1", "decision": "approve", "approver": "alice"}
FORWARDED = MessageOutcome(accepted=True, request_id="req-1", reason="accepted")
BRIEF: JsonObject = {"agent": "it", "input": "go"}
LONGEST_LINE = 2000
"""Characters. A refused message is kept in the run's state and shown by a query."""


def raw(content: bytes) -> RawValue:
    return RawValue(Payload(metadata={"encoding": b"json/plain"}, data=content))


def sent(value: object) -> RawValue:
    return raw(json.dumps(value).encode())


def refusal(name: str, *payloads: RawValue) -> str:
    said = read(name, payloads)
    assert isinstance(said, UnreadableMessage)
    return said.reason


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        pytest.param(
            "approval",
            APPROVAL,
            ApprovalSignal(request_id="req-1", decision="approve", approver="alice"),
            id="approval",
        ),
        pytest.param(
            "answer",
            {"request_id": "req-1", "text": "yes"},
            AnswerSignal(request_id="req-1", text="yes"),
            id="answer",
        ),
        pytest.param(
            "resolution",
            {"request_id": "req-1", "action": "extend", "budget": {"max_steps": 30}},
            ResolutionSignal(request_id="req-1", action="extend", budget=Budget(max_steps=30)),
            id="resolution",
        ),
        pytest.param("steer", {"text": "be brief"}, SteerSignal(text="be brief"), id="steer"),
        pytest.param("suspend", {}, SuspensionSignal(), id="suspend"),
        pytest.param("resume", {}, SuspensionSignal(), id="resume"),
        pytest.param("stop", {"reason": "no"}, StopSignal(reason="no"), id="stop"),
        pytest.param("held", {"run_id": "r.1"}, HeldSignal(run_id="r.1"), id="held"),
        pytest.param(
            "requests",
            {"run_id": "r.1", "requests": []},
            RequestsSignal(run_id="r.1", requests=()),
            id="requests",
        ),
        pytest.param(
            "forwarded",
            {"forward_id": "f", "signal": "answer", "message": {"text": "7"}},
            ForwardedSignal(forward_id="f", signal="answer", message={"text": "7"}),
            id="forwarded",
        ),
        pytest.param(
            "verdict",
            {"forward_id": "f", "outcome": FORWARDED.model_dump(mode="json")},
            VerdictSignal(forward_id="f", outcome=FORWARDED),
            id="verdict",
        ),
    ],
)
def test_a_signal_is_read_by_its_name(name: str, value: object, expected: object) -> None:
    """Each signal takes one JSON object of its own shape."""
    assert read(name, [sent(value)]) == expected


def test_these_are_the_signals() -> None:
    """A run takes eleven signals, four of them from other runs; each has its test above."""
    people = ["approval", "answer", "resolution", "steer", "suspend", "resume", "stop"]
    assert list(SIGNALS) == [*people, "held", "requests", "forwarded", "verdict"]


@pytest.mark.parametrize("name", ["suspend", "resume"])
@pytest.mark.parametrize("payloads", [[], [raw(b"")], [raw(b"{}")]], ids=["no", "nil", "empty"])
def test_a_signal_that_says_all_by_its_name_needs_no_argument(
    name: str, payloads: list[RawValue]
) -> None:
    """`suspend` and `resume` come without an argument, with null or with an empty object."""
    assert read(name, payloads) == SuspensionSignal()


@pytest.mark.parametrize("name", ["approval", "answer", "resolution", "steer", "stop"])
def test_any_other_signal_takes_one_argument(name: str) -> None:
    """No argument is too few, two are too many."""
    assert refusal(name) == f"{name!r} takes one JSON object, not 0 arguments"
    assert refusal(name, sent({}), sent({})) == f"{name!r} takes one JSON object, not 2 arguments"


def test_even_an_empty_signal_takes_no_two_arguments() -> None:
    """What nobody can mean is refused."""
    assert refusal("suspend", sent({}), sent({})).endswith("not 2 arguments")


def test_an_unknown_signal_is_told_the_known_ones() -> None:
    """A typo in the name of a signal is answered with the names."""
    assert refusal("approve", sent(APPROVAL)) == (
        "no signal 'approve' (known: approval, answer, resolution, steer, suspend, resume, stop, "
        "held, requests, forwarded, verdict)"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"yes", "Invalid JSON", id="no JSON"),
        pytest.param(b'{"request_id": ', "Invalid JSON", id="cut off"),
        pytest.param(b"\xff\xfe\x00", "Invalid JSON", id="no text"),
        pytest.param(b'{"approver": "\\ud800"}', "Invalid JSON", id="half a character"),
        pytest.param(b"[" * 500, "Invalid JSON", id="too deep"),
        pytest.param(b"", "request_id: Field required", id="null"),
        pytest.param(b"null", "the argument: ", id="JSON null"),
        pytest.param(b'"approve"', "the argument: ", id="text"),
        pytest.param(b"[1, 2]", "the argument: ", id="list"),
        pytest.param(b"1e999", "the argument: ", id="number"),
        pytest.param(b"{}", "approver: Field required", id="empty object"),
    ],
)
def test_garbage_is_refused_with_a_reason(content: bytes, words: str) -> None:
    """Whatever bytes arrive, the run says what is wrong with them."""
    # T-17
    assert words in refusal("approval", raw(content))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"decision": "reject", %b', id="of its own"),
        pytest.param(b'{"\\u0064ecision": "reject", %b', id="written otherwise"),
    ],
)
def test_what_is_said_twice_is_refused(content: bytes) -> None:
    """Whoever wrote or showed it may go by the first of two fields, and a run by the last."""
    # T-17
    said = content % json.dumps(APPROVAL).encode()[1:]
    assert refusal("approval", raw(said)) == ("'approval': 'decision' stands in it more than once")
    metadata = b'{"message_id": "m", "text": "x", "metadata": {"a": 1, "b": {"c": 1, "c": 2}}}'
    assert read("message", [raw(metadata)], SESSION_SIGNALS) == UnreadableMessage(
        "'message': 'c' stands in it more than once"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"decision": "maybe"}, "decision: ", id="unknown decision"),
        pytest.param({"approved": True}, "approved: Extra inputs", id="unknown field"),
        pytest.param({"request_id": 1}, "request_id: ", id="number for text"),
        pytest.param({"approver": ""}, "approver: ", id="nobody"),
        pytest.param({"token": {"jwt": "x"}}, "token: ", id="object for text"),
    ],
)
def test_the_reason_names_the_field(changes: dict[str, JsonValue], words: str) -> None:
    """Whoever sent a wrong message reads which field is wrong."""
    assert words in refusal("approval", sent({**APPROVAL, **changes}))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({f"key {number}": 1 for number in range(1000)}, id="many fields"),
        pytest.param({"k" * 100_000: 1}, id="long field"),
        pytest.param({"a\nb\tc": 1}, id="lines in a field"),
        pytest.param({**APPROVAL, "decision": "x" * 100_000}, id="long value"),
        pytest.param({**APPROVAL, "decision": "x\ny"}, id="lines in a value"),
    ],
)
def test_a_reason_is_one_short_line(content: dict[str, JsonValue]) -> None:
    """A stranger can't fill the state of a run, nor forge lines of its log, by a wrong message."""
    reason = refusal("approval", sent(content))

    assert len(reason.splitlines()) == 1
    assert len(reason) < LONGEST_LINE


def test_a_reason_is_short_even_for_a_long_name() -> None:
    """The same holds for the name of a signal, of which a server lets 1,000 characters pass."""
    assert len(refusal("x" * 1000, sent({}))) < LONGEST_LINE


@given(st.sampled_from([*SIGNALS, "nope"]), st.lists(st.binary(), max_size=2))
def test_reading_never_fails(name: str, contents: list[bytes]) -> None:
    """Reading is total: bytes become a message or garbage, and nothing is raised."""
    # T-10
    said = read(name, [raw(content) for content in contents])

    assert isinstance(said, UnreadableMessage) or said == SIGNALS[name].model_validate(
        said.model_dump()
    )


def test_the_smallest_input_of_a_run() -> None:
    """`agent` and `input` are enough."""
    given = read_run_input([BRIEF])

    assert (given.agent, given.input, given.budget) == ("it", "go", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "AgentRun takes one JSON object, not 0 arguments", id="none"),
        pytest.param([BRIEF, BRIEF], "AgentRun takes one JSON object, not 2 arguments", id="two"),
        pytest.param(["go"], "AgentRun can't use this input: the argument: ", id="text"),
        pytest.param([None], "AgentRun can't use this input: the argument: ", id="null"),
        pytest.param(
            [{"agent": "it"}], "AgentRun can't use this input: input: Field required", id="no goal"
        ),
        pytest.param(
            [{**BRIEF, "budgets": 1}],
            "AgentRun can't use this input: budgets: Extra inputs are not permitted",
            id="typo",
        ),
        pytest.param(
            [{**BRIEF, "budget": {"max_steps": 0}}],
            "AgentRun can't use this input: budget.max_steps: ",
            id="no steps",
        ),  # PI-01
    ],
)
def test_an_input_that_cant_be_used_is_explained(arguments: list[JsonValue], message: str) -> None:
    """A run that can't begin says on one line what to change."""
    with pytest.raises(InvalidInput) as raised:
        read_run_input(arguments)

    assert str(raised.value).startswith(message)
    assert len(str(raised.value).splitlines()) == 1


def test_the_explanation_is_one_short_line() -> None:
    """Whatever the fields are called."""
    with pytest.raises(InvalidInput) as raised:
        read_run_input([{**BRIEF, "k\n" * 50_000: 1}])

    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < LONGEST_LINE


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"action": "extend"}, "extend takes a budget with the limits to raise"),
        ({"action": "extend", "budget": {}}, "extend takes a budget with the limits to raise"),
        ({"action": "resume", "budget": {"max_steps": 9}}, "resume changes no limit"),
        ({"action": "abort", "budget": {}}, "abort changes no limit"),
    ],
)
def test_nothing_but_extend_takes_a_budget_and_it_takes_one(more: JsonObject, said: str) -> None:
    """Whoever believes that limits were raised is told that they weren't."""
    assert said in refusal("resolution", sent({"request_id": "req-1", **more}))
