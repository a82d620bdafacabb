"""Who may do what: one ordered table of rules, and what no rule covers is denied."""

import pytest
from pydantic import JsonValue

from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Draft, ToolCall
from holdfast.contracts.decisions import Allow, AskUser, Caller, Deny, RunAsDraftOnly
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.policy.engine import DecisionFacts, decide
from holdfast.run.limits.loop_detection import fingerprint
from tests.builders import a_call, a_contract, a_record
from tests.policy.policies import a_policy, said, some_facts


def facts(*approvals: ApprovalRecord, **changes: object) -> DecisionFacts:
    return some_facts(approvals=approvals, **changes)


def caller(actor: str) -> Caller:
    return Caller(tenant="acme", actor=actor)


def looking(arguments: JsonObject) -> ToolCall:
    return ToolCall(call_id="c1", name="look", arguments=arguments)


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
        pytest.param("notes\0.txt", "deny", id="no name that there can be"),
        pytest.param("a/" * 256, "deny", id="deeper than any"),
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


APPROVED = a_call("send", text="hi", to="bob")


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
    contract = a_contract("send", risk="write_internal")

    decision = decide(call, contract, facts(a_record(a_call()), a_record(APPROVED)))

    assert decision.verdict == verdict


def test_an_allowed_call_names_who_approved_it() -> None:
    """The audit shows which request released a call, and by whom."""
    decision = decide(
        APPROVED, a_contract("send", risk="write_internal"), facts(a_record(APPROVED))
    )

    assert decision == Allow(rule="approved:req-1", reason="approved by alice")


def test_scope_comes_before_approval() -> None:
    """Nobody can approve a call into another tenant."""
    call = a_call("send", tenant="other")
    contract = a_contract(
        "send", risk="write_internal", resource_scope={"kind": "tenant", "argument": "tenant"}
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


def test_a_denial_says_what_to_do_instead() -> None:
    """A denied call is answered with safe next steps."""  # PF-18
    decision = decide(a_call("delete"), a_contract("delete", risk="destructive"), facts())

    assert isinstance(decision, Deny)
    assert decision.next_valid_actions == (
        "choose a tool with a lower risk class",
        "tell the user what you would have done and why",
    )


@pytest.mark.parametrize(
    ("arguments", "values", "verdict"),
    [
        pytest.param({}, {"tenant": "acme"}, "allow", id="own by default"),
        pytest.param({}, {"tenant": "other"}, "deny", id="foreign by default"),
        pytest.param({"tenant": "acme"}, {"tenant": "ACME"}, "deny", id="changed by the tool"),
    ],
)
def test_the_scope_is_that_of_the_values(
    arguments: JsonObject, values: JsonObject, verdict: str
) -> None:
    """What counts is what the tool will see, with its defaults, not what the model wrote."""
    contract = a_contract(resource_scope={"kind": "tenant", "argument": "tenant"})

    assert decide(looking(arguments), contract, facts(values=values)).verdict == verdict


def test_two_actors_two_decisions() -> None:
    """The same call under two actors gives two decisions, each with its own reason."""
    # PF-06
    policy = a_policy(
        "{id: clerks, effect: allow, match: {actors: [alice]}, reason: clerks may write}"
    )
    contract = a_contract("write", risk="write_internal")

    decisions = [
        decide(a_call("write"), contract, facts(caller=caller(actor)), policy)
        for actor in ("alice", "eve")
    ]

    assert [(decision.verdict, decision.rule, decision.reason) for decision in decisions] == [
        ("allow", "policy:clerks", "clerks may write"),
        ("approval_required", "risk:write_internal", "it changes internal records"),
    ]


def test_what_another_part_did_is_not_done_again() -> None:
    """An approval doesn't help: it is done. Another call, or one that only reads, is free."""
    # BY-11 NR-06
    policy = a_policy("{id: all, effect: allow, match: {risks: [write_internal]}}")
    contract = a_contract("send", risk="write_internal")
    done = (fingerprint(APPROVED),)

    same = decide(APPROVED, contract, facts(a_record(APPROVED), done=done), policy)
    other = decide(a_call("send", text="bye"), contract, facts(done=done), policy)

    assert isinstance(same, Deny)
    assert (same.type, same.rule) == ("non_idempotent_retry_blocked", "done-already")
    assert other.verdict == "allow"


@pytest.mark.parametrize(
    ("contract", "rule"),
    [
        (a_contract("send", risk="write_internal"), "lost-part"),
        (a_contract("send", risk="write_local", side_effect="local"), "lost-part"),
        (a_contract("send", risk="draft_only", undo="shred"), "lost-part"),
        (a_contract("send", risk="draft_only"), "policy:all"),
        (a_contract("send", risk="read_only"), "policy:all"),
        (
            a_contract("send", risk="write_local", side_effect="local", sandboxed=True),
            "policy:all",
        ),
        (
            a_contract("send", risk="write_local", side_effect="external", sandboxed=True),
            "lost-part",
        ),
        (
            a_contract(
                "send", risk="write_local", side_effect="local", sandboxed=True, undo="shred"
            ),
            "lost-part",
        ),
    ],
    ids=["write", "unboxed", "draft+", "draft", "read", "own workspace", "sandboxed", "undoable"],
)
def test_after_a_lost_part_a_person_allows_what_may_be_done_already(
    contract: ToolContract, rule: str
) -> None:
    """Nobody knows what it did: what the policy allows needs an approval, which releases it."""
    # BY-11 NR-06
    policy = a_policy("{id: all, effect: allow, match: {tools: [send]}}")

    seen = a_record(APPROVED, risk=contract.risk)
    before = decide(APPROVED, contract, facts(lost=True, sandbox=True), policy)
    after = decide(APPROVED, contract, facts(seen, lost=True, sandbox=True), policy)

    assert before.rule == rule
    assert (before.verdict == "approval_required") is (rule == "lost-part")
    assert after.verdict in {"allow", "run_in_sandbox"}


@pytest.mark.parametrize(("lists", "rule"), [("", "policy:all"), (", hosts: [a.b]", "lost-part")])
def test_what_may_ask_hosts_leaves_its_workspace(lists: str, rule: str) -> None:
    """After a lost part a person is asked about it, though its class keeps it in the sandbox."""
    # BY-11 NR-06
    policy = a_policy(f"{{id: all, effect: allow, match: {{tools: [send]{lists}}}}}")
    contract = a_contract("send", risk="process_execution", side_effect="local")

    assert decide(APPROVED, contract, facts(lost=True, sandbox=True), policy).rule == rule


def test_who_is_asked_anyway_is_told_of_a_lost_part() -> None:
    """Nobody approves what may be done already without a word about that."""
    decision = decide(APPROVED, a_contract("send", risk="write_internal"), facts(lost=True))

    assert decision.rule == "risk:write_internal"
    assert decision.reason == (
        "it changes internal records; a part of this work ended without saying what it did, "
        "or more may have happened than is kept: find out whether this happened already"
    )


def test_a_write_that_may_have_happened_is_not_repeated() -> None:
    """Whoever approves it and whatever the policy says: first it is found out what happened."""
    # BY-11 BY-75
    policy = a_policy("{id: all, effect: allow, match: {risks: [write_internal]}}")
    contract = a_contract("send", risk="write_internal")
    unresolved = (fingerprint(APPROVED),)

    same = decide(APPROVED, contract, facts(a_record(APPROVED), unresolved=unresolved), policy)
    again = APPROVED.model_copy(update={"call_id": "c2"})
    retried = decide(again, contract, facts(unresolved=unresolved), policy)
    other = decide(a_call("send", text="bye"), contract, facts(unresolved=unresolved), policy)

    assert isinstance(same, Deny)
    assert (same.type, same.rule) == ("non_idempotent_retry_blocked", "unresolved-write")
    assert same.next_valid_actions
    assert retried == same
    assert other.verdict == "allow"


DRAFT = Draft(draft_id="run-1/c1/draft", call_id="c1", tool="draft_mail", summary="a mail")


def test_a_draft_comes_before_the_approval() -> None:
    """What is sent is drafted first, then approved, then sent: in this order and no other."""
    # RK-07 BY-04 T-42
    contract = a_contract("send", risk="communication", draft="draft_mail")
    record = a_record(APPROVED, risk=Risk.COMMUNICATION)

    first = decide(APPROVED, contract, facts())
    hasty = decide(APPROVED, contract, facts(record))
    second = decide(APPROVED, contract, facts(draft=DRAFT))
    third = decide(APPROVED, contract, facts(record, draft=DRAFT))

    assert (
        first
        == hasty
        == RunAsDraftOnly(
            rule="risk:communication",
            reason="it reaches other people",
            draft="draft_mail",
            then="approval",
        )
    )
    assert [said(second), said(third)] == ["plain approval", "allow"]


def test_what_has_no_draft_is_not_sent() -> None:
    """Without a draft variant there is nothing to approve: the call is denied, never committed."""
    # PF-14 T-42
    decision = decide(APPROVED, a_contract("send", risk="communication"), facts())

    assert isinstance(decision, Deny)
    assert decision.rule == "no-draft"
    assert "draft" in decision.reason


@pytest.mark.parametrize(
    ("effect", "verdict", "rule"),
    [
        ("allow", "plain approval", "tool:approval"),
        ("sandbox", "plain approval", "tool:approval"),
        ("approve", "strong approval", "policy:r"),
        ("deny", "deny", "policy:r"),
        ("ask", "ask_user", "policy:r"),
    ],
)
def test_a_tool_that_wants_approval_gets_no_less(effect: str, verdict: str, rule: str) -> None:
    """No policy opens a tool that needs a person each time; what is stricter still holds."""
    approval = ", approval: {strong: true}" if effect == "approve" else ""
    policy = a_policy(f"{{id: r, effect: {effect}, match: {{tools: [look]}}{approval}}}")

    decision = decide(a_call(), a_contract(permission="approval"), facts(), policy)

    assert (said(decision), decision.rule) == (verdict, rule)


@pytest.mark.parametrize("risk", Risk)
def test_a_tool_that_wants_approval_is_never_free(risk: Risk) -> None:
    """By default such a tool waits for a person, or is denied where its class is."""
    verdict = decide(a_call(), a_contract(risk=risk, permission="approval"), facts()).verdict

    assert verdict in {"approval_required", "deny"}


def test_an_approved_call_of_the_sandbox_stays_in_it() -> None:
    """An approval releases the call into the sandbox, with what the rule grants."""
    policy = a_policy(
        "{id: r, effect: approve, match: {tools: [run], commands: [make], hosts: [pypi.org]}}"
    )
    call = a_call("run")
    contract = a_contract("run", risk="process_execution")

    decision = decide(call, contract, facts(a_record(call, risk=contract.risk)), policy)

    assert decision.model_dump() == {
        "verdict": "run_in_sandbox",
        "rule": "approved:req-1",
        "reason": "approved by alice",
        "grant": {"commands": ("make",), "hosts": ("pypi.org",)},
    }


def test_a_sandboxed_tool_runs_in_the_sandbox_whatever_its_class() -> None:
    """What declares itself sandboxed is never run on the worker itself."""
    contract = a_contract(sandboxed=True)

    with_one, without = (decide(a_call(), contract, facts(sandbox=has)) for has in (True, False))

    assert (with_one.verdict, with_one.rule) == ("run_in_sandbox", "risk:read_only")
    assert (without.verdict, without.rule) == ("deny", "no-sandbox")


def test_a_question_of_the_policy_names_the_call() -> None:
    """Where a rule asks a person, they read why, and what exactly the agent wants."""
    policy = a_policy("{id: r, effect: ask, reason: prices are secret, match: {tools: [look]}}")

    assert decide(a_call(place="vault"), a_contract(), facts(), policy) == AskUser(
        rule="policy:r",
        reason="prices are secret",
        question='prices are secret: what shall become of look({"place": "vault"})?',
    )
