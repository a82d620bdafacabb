"""Who may do what: one ordered table of rules, and what no rule covers is denied."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from contracts.approvals import ApprovalRecord
from contracts.base import JsonObject
from contracts.decisions import Allow, ApprovalRequired, AskUser, Decision, Deny
from contracts.tools import Risk, ToolCall
from policy.engine import Facts, decide
from policy.risk import DEFAULTS
from tests.builders import a_call, a_contract, a_record

DECISION: TypeAdapter[Decision] = TypeAdapter(Decision)


def facts(*approvals: ApprovalRecord) -> Facts:
    return Facts(tenant="acme", actor="alice", agent="it", approvals=approvals)


def looking(arguments: JsonObject) -> ToolCall:
    return ToolCall(call_id="c1", name="look", arguments=arguments)


@pytest.mark.parametrize(
    ("risk", "verdict"),
    [
        pytest.param("read_only", "allow", id="read_only"),  # RK-01
        pytest.param("search_only", "allow", id="search_only"),  # RK-02
        pytest.param("compute_only", "allow", id="compute_only"),  # RK-03
        pytest.param("draft_only", "allow", id="draft_only"),  # RK-04
        pytest.param("write_local", "allow", id="write_local"),  # RK-05
        pytest.param("write_internal", "approve plain", id="write_internal"),  # RK-06
        pytest.param("communication", "approve plain", id="communication"),  # RK-07
        pytest.param("write_external", "approve plain", id="write_external"),  # RK-08
        pytest.param("financial", "approve strong", id="financial"),  # RK-09
        pytest.param("destructive", "deny", id="destructive"),  # RK-10
        pytest.param("privileged_access", "approve strong", id="privileged_access"),  # RK-11
        pytest.param("identity_access", "approve strong", id="identity_access"),  # RK-12
        pytest.param("process_execution", "deny", id="process_execution"),  # RK-13
        pytest.param("network_open_world", "deny", id="network_open_world"),  # RK-14
    ],
)
def test_the_risk_class_decides(risk: str, verdict: str) -> None:
    """Without an approval each class has its own answer, and the decision names the class."""
    # PF-07
    decision = decide(a_call(), a_contract(risk=risk), facts())

    said = {
        "allow": "allow",
        "approval_required": f"approve {getattr(decision, 'strength', '')}",
        "deny": "deny",
    }
    assert said[decision.verdict] == verdict
    assert decision.rule == f"risk:{risk}"
    assert decision.reason


def test_every_risk_class_has_a_default() -> None:
    """No class is without an answer: a new one must say what it may do."""
    assert set(DEFAULTS) == set(Risk)


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        pytest.param({"tenant": "acme"}, "allow", id="own"),  # RK-01
        pytest.param({"tenant": "other"}, "deny", id="foreign"),  # PF-08
        pytest.param({"tenant": "ACME"}, "deny", id="other case"),
        pytest.param({"tenant": "acme "}, "deny", id="space"),
        pytest.param({"tenant": None}, "deny", id="null"),
        pytest.param({}, "deny", id="none named"),
        pytest.param({"tenant": ["acme"]}, "deny", id="list"),
        pytest.param({"tenant": {"name": "acme"}}, "deny", id="object"),
    ],
)
def test_a_call_stays_with_its_tenant(arguments: JsonObject, verdict: str) -> None:
    """The argument that names the tenant must be exactly the run's tenant."""
    contract = a_contract(resource_scope={"kind": "tenant", "argument": "tenant"})

    decision = decide(looking(arguments), contract, facts())

    assert decision.verdict == verdict
    if isinstance(decision, Deny):
        assert decision.rule == "tenant-scope"
        assert decision.next_valid_actions == ("use tenant='acme'",)


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        pytest.param("notes.txt", "allow", id="file"),  # RK-05
        pytest.param("a/b/c.txt", "allow", id="folder"),
        pytest.param("a/..b/c", "allow", id="dots in a name"),
        pytest.param("~/notes", "allow", id="tilde is a name"),
        pytest.param("/etc/passwd", "deny", id="absolute"),
        pytest.param("//etc/passwd", "deny", id="two slashes"),
        pytest.param("..", "deny", id="parent"),
        pytest.param("../x", "deny", id="beside"),
        pytest.param("a/../../x", "deny", id="out and back"),
        pytest.param("a/..", "deny", id="in and out"),
        pytest.param(["/etc/passwd"], "deny", id="list of absolute"),
        pytest.param(["../x"], "deny", id="list of beside"),
        pytest.param({"path": "../x"}, "deny", id="object"),
    ],
)
def test_a_path_stays_in_the_workspace(path: JsonValue, verdict: str) -> None:
    """A path that leads out of the workspace is denied, in whatever JSON it is wrapped."""
    contract = a_contract(
        risk="write_local", resource_scope={"kind": "workspace", "argument": "path"}
    )

    decision = decide(a_call("write", path=path), contract, facts())

    assert decision.verdict == verdict
    if isinstance(decision, Deny):
        assert decision.rule == "workspace-scope"
        assert decision.next_valid_actions


def strength_of(decision: Decision) -> str:
    return decision.strength if isinstance(decision, ApprovalRequired) else decision.verdict


APPROVED = a_call("send", text="hi", to="bob")


@pytest.mark.parametrize(
    ("risk", "approval", "released"),
    [
        ("communication", "plain", "allow"),
        ("communication", "strong", "allow"),
        ("write_internal", "plain", "allow"),
        ("write_external", "plain", "allow"),
        ("financial", "plain", "strong"),  # RK-09
        ("financial", "strong", "allow"),
        ("privileged_access", "plain", "strong"),  # RK-11
        ("privileged_access", "strong", "allow"),
        ("identity_access", "plain", "strong"),  # RK-12
        ("identity_access", "strong", "allow"),
        ("destructive", "strong", "deny"),  # RK-10
        ("process_execution", "strong", "deny"),
        ("network_open_world", "strong", "deny"),
    ],
)
def test_an_approval_releases_what_it_is_strong_enough_for(
    risk: str, approval: Literal["plain", "strong"], released: str
) -> None:
    """A weak approval never releases a strong class, and none releases what is forbidden."""
    contract = a_contract("send", risk=risk)

    decision = decide(APPROVED, contract, facts(a_record(APPROVED, approval)))

    assert strength_of(decision) == released


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        pytest.param(APPROVED, "allow", id="the same"),
        pytest.param(a_call("send", to="bob", text="hi"), "allow", id="other order of keys"),
        pytest.param(a_call("send", text="hi", to="eve"), "approval_required", id="value"),
        pytest.param(a_call("send", text="hi"), "approval_required", id="one less"),
        pytest.param(
            a_call("send", text="hi", to="bob", cc="eve"), "approval_required", id="one more"
        ),
        pytest.param(
            a_call("send", call_id="c2", text="hi", to="bob"),
            "approval_required",
            id="another call",
        ),
    ],
)
def test_an_approval_binds_to_one_call_and_its_arguments(call: ToolCall, verdict: str) -> None:
    """An approval releases the call that was shown, with the arguments that were shown."""
    # PF-09 T-17
    contract = a_contract("send", risk="communication")

    decision = decide(call, contract, facts(a_record(a_call()), a_record(APPROVED)))

    assert decision.verdict == verdict


def test_an_allowed_call_names_who_approved_it() -> None:
    """The audit shows which request released a call, and by whom."""
    decision = decide(
        APPROVED, a_contract("send", risk="communication"), facts(a_record(APPROVED))
    )

    assert decision == Allow(rule="approved:req-1", reason="approved by alice")


def test_scope_comes_before_approval() -> None:
    """Nobody can approve a call into another tenant."""
    call = a_call("send", tenant="other")
    contract = a_contract(
        "send", risk="communication", resource_scope={"kind": "tenant", "argument": "tenant"}
    )

    assert decide(call, contract, facts(a_record(call, "strong"))).rule == "tenant-scope"


def test_a_tool_that_asks_is_a_question() -> None:
    """The call of a tool that asks is no action: a person answers it in words."""
    contract = a_contract("ask_user", risk="compute_only", permission="ask_user")

    assert decide(a_call("ask_user", question="Which one?"), contract, facts()) == AskUser(
        rule="ask-user", reason="the agent asks a person", question="Which one?"
    )


def test_a_question_stays_in_its_scope_too() -> None:
    """What forbids stands before what asks."""
    contract = a_contract(
        permission="ask_user", resource_scope={"kind": "tenant", "argument": "tenant"}
    )

    assert decide(a_call(tenant="other"), contract, facts()).verdict == "deny"


@given(
    st.sampled_from(Risk),
    st.sampled_from([("none", None), ("tenant", "x"), ("workspace", "x")]),
    st.dictionaries(st.sampled_from(["x", "y"]), st.none() | st.integers() | st.text()),
)
def test_the_engine_is_total_and_structured(
    risk: Risk, scope: tuple[str, str | None], arguments: dict[str, JsonValue]
) -> None:
    """For any call there is a decision with a rule and a reason, and it is JSON."""  # PF-10
    kind, argument = scope
    contract = a_contract(risk=risk, resource_scope={"kind": kind, "argument": argument})

    decision = decide(looking(arguments), contract, facts())

    assert DECISION.validate_json(DECISION.dump_json(decision)) == decision
    assert decision.rule
    assert decision.reason
    assert not isinstance(decision, Allow) or DEFAULTS[risk].verdict == "allow"


def test_a_denial_says_what_to_do_instead() -> None:
    """A denied call is answered with safe next steps."""  # PF-18
    decision = decide(a_call("delete"), a_contract("delete", risk="destructive"), facts())

    assert isinstance(decision, Deny)
    assert decision.next_valid_actions == (
        "choose a tool with a lower risk class",
        "tell the user what you would have done and why",
    )
