"""What the activity `authorize` rules: known tool, valid arguments, then the engine."""

import pytest
from pydantic import Field

from activities.policy import PolicyActivities
from contracts.approvals import ApprovalRecord
from contracts.base import JsonObject, digest
from contracts.decisions import AuthorizeCalls, Decided, Refused, Ruling
from contracts.tools import AnyCall, ResourceScope, Risk, ToolCall
from tests.builders import a_call, a_malformed_call, a_record
from tools.registry import ToolRegistry
from tools.tool import tool


@tool(risk=Risk.READ_ONLY)
async def look(place: str, times: int = Field(default=1, ge=1, le=9)) -> str:
    """Look at a place and say what is there."""
    return place * times


@tool(risk=Risk.READ_ONLY, scope=ResourceScope(kind="tenant", argument="tenant"))
async def account(tenant: str) -> str:
    """Read the account of a tenant."""
    return tenant


@tool(risk=Risk.COMMUNICATION)
async def send(text: str) -> str:
    """Send a text to other people."""
    return text


ACTIVITIES = PolicyActivities(ToolRegistry([look, account, send]))
VISIBLE = ("look", "account", "send")


async def ruled(
    *calls: AnyCall,
    approvals: tuple[ApprovalRecord, ...] = (),
    visible: tuple[str, ...] = VISIBLE,
) -> tuple[Ruling, ...]:
    rulings = await ACTIVITIES.authorize(
        AuthorizeCalls(
            run_id="run-1",
            agent="it",
            tenant="acme",
            actor="alice",
            calls=calls,
            approvals=approvals,
            visible_tools=visible,
        )
    )
    return rulings.rulings


def looking(arguments: JsonObject) -> ToolCall:
    return ToolCall(call_id="c1", name="look", arguments=arguments)


@pytest.mark.parametrize("name", ["nope", "authorize", "call_model", "approve", "LOOK", ""])
async def test_a_name_that_is_no_tool_is_unknown(name: str) -> None:
    """The name is looked up, never executed: only a registered tool is one."""  # LP-03 HG-14
    (ruling,) = await ruled(a_call(name))

    assert isinstance(ruling, Refused)
    assert (ruling.type, ruling.tool) == ("unknown_tool", name)
    assert ruling.reason == f"no tool {name!r} (known: look, account, send)"
    assert ruling.next_valid_actions


async def test_a_tool_of_another_agent_is_unknown() -> None:
    """A run only has the tools that it began with, whatever the worker has."""
    (ruling,) = await ruled(a_call("send", text="hi"), visible=("look",))

    assert isinstance(ruling, Refused)
    assert ruling.reason == "no tool 'send' (known: look)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({}, '"place"', id="missing"),  # PF-04
        pytest.param({"place": "attic", "plaec": 1}, "'plaec'", id="unknown"),  # PF-03
        pytest.param({"place": 7}, "place: ", id="wrong type"),  # HG-16
        pytest.param({"place": "attic", "times": 0}, "times: ", id="too small"),
        pytest.param({"place": "attic", "times": 10}, "times: ", id="too large"),
    ],
)
async def test_invalid_arguments_reach_no_engine(arguments: JsonObject, words: str) -> None:
    """What doesn't fit the schema gets no decision but a refusal that names the argument."""
    # PF-02 PF-05
    (ruling,) = await ruled(looking(arguments))

    assert isinstance(ruling, Refused)
    assert ruling.type == "invalid_arguments"
    assert words in ruling.reason
    assert ruling.next_valid_actions == ("correct the arguments and call again",)


async def test_arguments_that_are_no_object_are_invalid() -> None:
    """Text instead of an object is told to the model, and harms nothing."""  # HG-16
    (ruling,) = await ruled(a_malformed_call("look"))

    assert isinstance(ruling, Refused)
    assert (ruling.type, ruling.reason) == (
        "invalid_arguments",
        "the arguments are no JSON object",
    )


async def test_a_decision_says_what_it_is_about() -> None:
    """The record of a decision has call, tool, digest of the arguments, risk class and scope."""
    # PF-10 TC-05
    (ruling,) = await ruled(a_call("account", tenant="other"))

    assert isinstance(ruling, Decided)
    assert (ruling.call_id, ruling.tool, ruling.risk) == ("c1", "account", "read_only")
    assert ruling.arguments_digest == digest({"tenant": "other"})
    assert ruling.scope == "tenant:other"
    assert ruling.decision.verdict == "deny"


async def test_each_call_gets_one_ruling_in_order() -> None:
    """All calls of a turn are ruled upon at once, each on its own."""
    rulings = await ruled(
        a_call("look", call_id="c1", place="attic"),
        a_call("send", call_id="c2", text="hi"),
        a_call("nope", call_id="c3"),
        a_malformed_call("look", call_id="c4"),
    )

    assert [ruling.call_id for ruling in rulings] == ["c1", "c2", "c3", "c4"]
    assert [
        ruling.decision.verdict if isinstance(ruling, Decided) else ruling.type
        for ruling in rulings
    ] == ["allow", "approval_required", "unknown_tool", "invalid_arguments"]


async def test_an_approval_reaches_the_engine() -> None:
    """After an approval of exactly this call, and of no other, it may run."""  # PF-09
    call = a_call("send", text="hi")

    (before,) = await ruled(call)
    (after,) = await ruled(call, approvals=(a_record(call),))
    (other,) = await ruled(call, approvals=(a_record(a_call("send", text="bye")),))

    verdicts = [
        ruling.decision.verdict for ruling in (before, after, other) if isinstance(ruling, Decided)
    ]
    assert verdicts == ["approval_required", "allow", "approval_required"]
