"""Whether a call may be taken back is ruled on with the call, as the undo's own call would be."""

from datetime import timedelta

import pytest
from pydantic import JsonValue

from holdfast.contracts.calls import fingerprint_effect
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.tools import ResourceScope, Risk
from holdfast.policy.allowlists import is_safe_request
from holdfast.policy.case import CallContext
from holdfast.policy.trust import TrustedIssuer
from holdfast.policy.undoing import matches_shown_undo, rule_on
from tests.builders import NOW, a_call, a_contract, a_record
from tests.policy.policies import VOUCHING, a_policy, some_facts
from tests.tokens import people

FORBID = "{id: never, effect: forbid, match: {tools: [purge]}}"
DENY = "{id: never, effect: deny, match: {tools: [purge]}}"
ASK = "{id: ask, effect: ask, match: {tools: [purge]}}"
BOX = "{id: box, effect: sandbox, match: {tools: [purge]}}"
ALLOW = "{id: freely, effect: allow, match: {tools: [purge]}}"
SIGNED = "{id: signed, effect: approve, match: {tools: [purge]}, approval: {strong: true}}"
TWO = "{id: two, effect: approve, match: {tools: [purge]}, approval: {count: 2}}"
SOON = "{id: soon, effect: approve, match: {tools: [purge]}, approval: {valid_for: 5m}}"
WAY_BACK = "{id: back, effect: approve, match: {tools: [purge]}, approval: {recovery: the backup}}"
OTHER_WAY = (
    "{id: back, effect: approve, match: {tools: [purge]}, approval: {recovery: a new backup}}"
)
IN_FINANCE = (
    "{id: signed, effect: approve, match: {tools: [purge]}, "
    "approval: {strong: true, groups: [finance]}}"
)
CALL = a_call("create", record="7")
ACT = a_contract("create", risk=Risk.WRITE_INTERNAL)
PURGE = a_contract("purge", risk=Risk.WRITE_LOCAL, resource_scope=ResourceScope())
WITHDRAWN = VOUCHING._replace(issuer=VOUCHING.issuer.model_copy(update={"jwks": "keys.json"}))


def shown(
    verdict: str = "approval_required", risk: Risk = Risk.WRITE_INTERNAL, **changes: str
) -> UndoRuling:
    """What a request showed of the undo."""
    fields = {"tool": "purge", "rule": "r", "reason": "so", **changes}
    return UndoRuling.model_validate({**fields, "verdict": verdict, "risk": risk})


def ruled(
    risk: Risk, *rules: str, approvals: tuple[object, ...] = (), scope: str = "none"
) -> tuple[str, str]:
    """Rule on `purge` as the undo of `create`."""
    facts = some_facts(approvals=approvals)
    argument = None if scope == "none" else "record"
    contract = a_contract("purge", risk=risk, resource_scope={"kind": scope, "argument": argument})
    undo = CallContext(CALL.model_copy(update={"name": "purge"}), contract, facts)
    ruling = rule_on(undo, CallContext(CALL, ACT, facts), a_policy(*rules))
    return ruling.verdict, ruling.rule


PLAIN = a_record(CALL, undo=shown())
STRONG = a_record(CALL, "strong", undo=shown())
MONEY = shown(risk=Risk.FINANCIAL)


@pytest.mark.parametrize(
    ("risk", "rules", "came_to"),
    [
        pytest.param(Risk.WRITE_LOCAL, (), ("allow", "risk:write_local"), id="free by its class"),
        pytest.param(Risk.DRAFT_ONLY, (FORBID,), ("deny", "policy:never"), id="forbidden"),
        pytest.param(Risk.DRAFT_ONLY, (DENY,), ("deny", "policy:never"), id="denied"),
        pytest.param(Risk.WRITE_INTERNAL, (ALLOW,), ("allow", "policy:freely"), id="let go"),
        pytest.param(Risk.WRITE_INTERNAL, (ASK,), ("deny", "policy:ask"), id="asked about"),
        pytest.param(Risk.WRITE_INTERNAL, (BOX,), ("deny", "policy:box"), id="only in a sandbox"),
        pytest.param(
            Risk.DESTRUCTIVE, (), ("deny", "risk:destructive"), id="destructive by default"
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (),
            ("approval_required", "risk:write_internal"),
            id="of a class that takes an approval, which nobody gave",
        ),
    ],
)
def test_an_undo_is_ruled_on_as_a_call(
    risk: Risk, rules: tuple[str, ...], came_to: tuple[str, str]
) -> None:
    """What no call of the undo might do, nor does the undo; what needs people needs them."""
    # PF-01 RK-10
    assert ruled(risk, *rules) == came_to


@pytest.mark.parametrize(
    ("risk", "rules", "approvals", "came_to"),
    [
        pytest.param(Risk.WRITE_INTERNAL, (), (PLAIN,), "allow", id="plain"),
        pytest.param(
            Risk.WRITE_EXTERNAL,
            (),
            (a_record(CALL, undo=shown(risk=Risk.WRITE_EXTERNAL)),),
            "allow",
            id="of what is drafted",
        ),
        pytest.param(
            Risk.FINANCIAL,
            (),
            (a_record(CALL, undo=MONEY),),
            "approval_required",
            id="plain for money",
        ),
        pytest.param(
            Risk.FINANCIAL,
            (),
            (a_record(CALL, "strong", undo=MONEY),),
            "allow",
            id="strong for money",
        ),
        pytest.param(Risk.WRITE_INTERNAL, (SIGNED,), (PLAIN,), "approval_required", id="unsigned"),
        pytest.param(Risk.WRITE_INTERNAL, (SIGNED,), (STRONG,), "allow", id="signed"),
        pytest.param(Risk.WRITE_INTERNAL, (TWO,), (PLAIN,), "approval_required", id="one of two"),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (TWO,),
            (PLAIN, a_record(CALL, undo=shown(), approver="bea")),
            "allow",
            id="two",
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (SOON,),
            (a_record(CALL, undo=shown(), at=NOW - timedelta(minutes=6)),),
            "approval_required",
            id="lapsed",
        ),
        pytest.param(
            Risk.DESTRUCTIVE,
            (WAY_BACK,),
            (a_record(CALL, undo=shown(risk=Risk.DESTRUCTIVE, recovery="the backup")),),
            "allow",
            id="with the way back that was shown",
        ),
        pytest.param(
            Risk.DESTRUCTIVE,
            (OTHER_WAY,),
            (a_record(CALL, undo=shown(risk=Risk.DESTRUCTIVE, recovery="the backup")),),
            "approval_required",
            id="with another way back",
        ),
        pytest.param(
            Risk.WRITE_INTERNAL, (), (a_record(CALL),), "approval_required", id="undo not shown"
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (),
            (a_record(CALL, undo=shown("deny")),),
            "approval_required",
            id="shown as denied",
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (),
            (a_record(CALL, undo=shown("allow", Risk.READ_ONLY)),),
            "approval_required",
            id="shown as a read",
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (),
            (a_record(CALL, undo=shown("allow")),),
            "approval_required",
            id="shown as free",
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (),
            (a_record(CALL, undo=shown(tool="archive")),),
            "approval_required",
            id="another undo shown",
        ),
        pytest.param(
            Risk.WRITE_INTERNAL,
            (),
            (a_record(a_call("create", record="8"), undo=shown()),),
            "approval_required",
            id="of another call",
        ),
        pytest.param(Risk.WRITE_INTERNAL, (FORBID,), (STRONG,), "deny", id="of what is forbidden"),
    ],
)
def test_who_approves_a_call_approves_its_undo(
    risk: Risk, rules: tuple[str, ...], approvals: tuple[object, ...], came_to: str
) -> None:
    """Approvals of the call count for an undo that they showed, by what the undo takes itself."""
    # PF-01 RK-10
    assert ruled(risk, *rules, approvals=approvals)[0] == came_to


@pytest.mark.parametrize(
    ("members", "issuers", "came_to"),
    [
        pytest.param("alice", (VOUCHING,), "allow", id="as it was"),
        pytest.param("carol", (VOUCHING,), "approval_required", id="its giver left the group"),
        pytest.param("alice", (), "approval_required", id="its issuer isn't named any more"),
        pytest.param("alice", (people(),), "approval_required", id="another issuer is"),
        pytest.param("alice", (WITHDRAWN,), "approval_required", id="its key isn't in the file"),
    ],
)
def test_an_approval_counts_for_an_undo_while_its_giver_may_give_it(
    members: str, issuers: tuple[TrustedIssuer, ...], came_to: str
) -> None:
    """Whatever takes an approval of a call away takes that of its undo."""
    # RK-19 BY-15 PF-09
    seen = shown(risk=Risk.WRITE_LOCAL)
    record = a_record(CALL, "strong", undo=seen, groups=("finance",))
    facts = some_facts(approvals=(record,), issuers=issuers)
    undo = CallContext(CALL.model_copy(update={"name": "purge"}), PURGE, facts)

    ruling = rule_on(
        undo,
        CallContext(CALL, ACT, facts),
        a_policy(IN_FINANCE, groups=f"{{finance: [{members}]}}"),
    )

    assert ruling.verdict == came_to


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        pytest.param(shown(), shown(rule="other", reason="other"), True, id="by another rule"),
        pytest.param(shown("deny"), shown("deny"), True, id="denied then and now"),
        pytest.param(None, None, True, id="never had one"),
        pytest.param(shown(), shown(tool="archive"), False, id="another tool"),
        pytest.param(shown(), shown(risk=Risk.DESTRUCTIVE), False, id="another class"),
        pytest.param(shown("allow"), shown(), False, id="freely then"),
        pytest.param(shown(), shown("deny"), False, id="denied now"),
        pytest.param(shown(), None, False, id="gone"),
        pytest.param(None, shown(), False, id="new"),
        pytest.param(shown(), shown(recovery="the backup"), False, id="another way back"),
        pytest.param(shown(recovery="the backup"), shown(), True, id="needs no way back now"),
    ],
)
def test_an_approval_counts_as_long_as_it_would_show_the_same(
    before: UndoRuling | None, now: UndoRuling | None, *, same: bool
) -> None:
    """Who approves a call decides about what would take it back: tool, class, whether it may."""
    # PF-01
    assert matches_shown_undo(a_record(CALL, undo=before), now) is same


def test_an_undo_stays_within_its_scope() -> None:
    """Nobody can approve that an undo reaches into another tenant."""
    assert ruled(Risk.WRITE_LOCAL, scope="tenant") == ("deny", "tenant-scope")


def test_an_undo_that_may_have_happened_is_not_repeated() -> None:
    """The model may have called the undo by itself: an unknown outcome blocks that call too."""
    cut_off = fingerprint_effect("purge", CALL.arguments)
    facts = some_facts(unresolved=(cut_off,))
    undo = CallContext(CALL.model_copy(update={"name": "purge"}), PURGE, facts)

    ruling = rule_on(undo, CallContext(CALL, ACT, facts), a_policy())

    assert (ruling.verdict, ruling.rule) == ("deny", "unresolved-write")


@pytest.mark.parametrize(
    ("risk", "arguments", "asks"),
    [
        (Risk.NETWORK_OPEN_WORLD, {"url": "https://a.example/x", "method": "GET"}, True),
        (Risk.NETWORK_OPEN_WORLD, {"url": "https://a.example/x", "method": "head"}, True),
        (Risk.NETWORK_OPEN_WORLD, {"url": "https://a.example/x", "method": "POST"}, False),
        (Risk.NETWORK_OPEN_WORLD, {"url": "https://a.example/x"}, False),
        (Risk.WRITE_EXTERNAL, {"url": "https://a.example/x", "method": "GET"}, False),
        (Risk.FINANCIAL, {"url": "https://a.example/x", "method": "GET"}, False),
    ],
)
def test_what_only_asks_may_be_done_again(
    risk: Risk, arguments: dict[str, JsonValue], *, asks: bool
) -> None:
    """A request that changes nothing is no effect that another part could repeat."""
    # NR-06
    contract = a_contract(
        "http_request",
        risk=risk,
        resource_scope={"kind": "host", "argument": "url"},
    )
    case = CallContext(
        a_call("http_request").model_copy(update={"arguments": arguments}), contract, some_facts()
    )

    assert is_safe_request(case) is asks
