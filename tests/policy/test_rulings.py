"""What the activity `authorize` rules: known tool, valid arguments, then the engine."""

import asyncio
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from holdfast.activities.policy import Keyring, PolicyActivities, PolicyEnvironment
from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import AnyCall, Draft, ToolCall
from holdfast.contracts.decisions import AuthorizeCalls, Decided, Refused, Ruling, Rulings
from holdfast.contracts.switches import Switch
from holdfast.contracts.tools import ResourceScope, Risk
from holdfast.policy.rules import NO_POLICY, Policy
from holdfast.policy.signatures import KeyClaim, thumbprint
from holdfast.policy.trust import LOCAL_ISSUER, TrustedIssuer
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.tool import tool
from tests.asking import in_run
from tests.builders import EXECUTION, NOW, a_call, a_malformed_call, a_proof, a_record
from tests.policy.policies import a_policy
from tests.tokens import PROVIDER, a_provider, a_signer, people


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


@tool(risk=Risk.READ_ONLY)
async def look(place: str, times: int = Field(default=1, ge=1, le=9)) -> str:
    """Look at a place and say what is there."""
    return place * times


@tool(risk=Risk.READ_ONLY, scope=ResourceScope(kind="tenant", argument="tenant"))
async def account(tenant: str = "acme") -> str:
    """Read the account of a tenant."""
    return tenant


@tool(risk=Risk.WRITE_INTERNAL)
async def send(text: str) -> str:
    """Send a text to other people."""
    return text


@tool(risk=Risk.READ_ONLY)
async def quote(amount: Decimal, pieces: Annotated[int, AfterValidator(_even)] = 2) -> str:
    """Say what would be paid in pieces."""
    return f"{amount} in {pieces}"


@tool(risk=Risk.FINANCIAL, draft="quote")
async def pay(amount: Decimal, pieces: Annotated[int, AfterValidator(_even)] = 2) -> str:
    """Pay an amount of money in pieces."""
    return f"{amount} in {pieces}"


REGISTRY = ToolRegistry([look, account, send, quote, pay])
VISIBLE = ("look", "account", "send", "pay")


class NoKeys:
    """Nobody's signature counts."""

    async def find_issuers(self, claims: AbstractSet[KeyClaim]) -> tuple[TrustedIssuer, ...]:
        return ()


class Trusting:
    """Trusts these issuers, whose keys are read where something is said to be signed by one."""

    def __init__(self, *issuers: TrustedIssuer) -> None:
        self._issuers = issuers

    async def find_issuers(self, claims: AbstractSet[KeyClaim]) -> tuple[TrustedIssuer, ...]:
        named = {claim.issuer for claim in claims}
        return tuple(
            one if one.issuer.issuer in named else one._replace(keys=()) for one in self._issuers
        )


NO_KEYS = NoKeys()


class Switches:
    """A kill switch that is set as the test wants it."""

    def __init__(self, *switches: Switch) -> None:
        self._switches = switches

    async def current(self) -> tuple[Switch, ...]:
        return self._switches


async def authorized(
    *calls: AnyCall,
    policy: Policy = NO_POLICY,
    environment: str = "",
    switches: tuple[Switch, ...] = (),
    keyring: Keyring = NO_KEYS,
    **changes: object,
) -> Rulings:
    policy_environment = PolicyEnvironment(policy, environment, has_sandbox=True)
    activities = PolicyActivities(REGISTRY, policy_environment, keyring, Switches(*switches))
    fields: dict[str, object] = {
        "run_id": "run-1",
        "agent": "it",
        "caller": {"tenant": "acme", "actor": "bob"},
        "calls": calls,
        "visible_tools": VISIBLE,
        "now": NOW,
        "execution": EXECUTION,
    }
    asked = AuthorizeCalls.model_validate({**fields, **changes})
    return await in_run(asked.run_id).run(activities.authorize, asked)


async def ruled(
    *calls: AnyCall,
    approvals: tuple[ApprovalRecord, ...] = (),
    visible: tuple[str, ...] = VISIBLE,
) -> tuple[Ruling, ...]:
    rulings = await authorized(*calls, approvals=approvals, visible_tools=visible)
    return rulings.rulings


def looking(arguments: JsonObject) -> ToolCall:
    return ToolCall(call_id="c1", name="look", arguments=arguments)


@pytest.mark.parametrize("name", ["nope", "authorize", "call_model", "approve", "LOOK", ""])
async def test_a_name_that_is_no_tool_is_unknown(name: str) -> None:
    """The name is looked up, never executed: only a registered tool is one."""  # LP-03 HG-14
    (ruling,) = await ruled(a_call(name))

    assert isinstance(ruling, Refused)
    assert (ruling.type, ruling.tool) == ("unknown_tool", name)
    assert ruling.reason == f"no tool {name!r} (known: look, account, send, pay)"
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


async def rule_of(call: AnyCall, **changes: object) -> str:
    """The rule that decides about a call."""
    answer = await authorized(call, **changes)  # pyright: ignore[reportArgumentType] -- whatever a test says
    (ruling,) = answer.rulings
    assert isinstance(ruling, Decided)
    return ruling.decision.rule


async def test_the_engine_sees_what_the_tool_will_see() -> None:
    """Defaults that the model left out count, and a decimal in text is a number."""
    policy = a_policy(
        "{id: small, effect: allow, match: {tools: [pay]}, when: args.amount <= 20.0 "
        "&& args.pieces == 2}"
    )

    rules = [
        await rule_of(a_call("pay", amount=amount), policy=policy)
        for amount in ("19.99", 20, "20.01", "20.00000000000000000001")
    ]
    own = await rule_of(a_call("account"))

    assert rules == ["policy:small", "policy:small", "risk:financial", "risk:financial"]
    assert own == "risk:read_only"


async def test_what_the_tool_would_refuse_is_invalid() -> None:
    """Where a type is stricter than its schema, nobody is asked to approve what can't run."""
    # PF-02
    answer = await authorized(a_call("pay", amount=1, pieces=3))

    (ruling,) = answer.rulings
    assert isinstance(ruling, Refused)
    assert ruling.type == "invalid_arguments"
    assert "must be even" in ruling.reason


async def test_rulings_name_the_policy_that_made_them() -> None:
    """History holds with every decision which policy it was, by its digest."""
    policy = a_policy("{id: r, effect: deny}")

    with_one = await authorized(a_call("look", place="attic"), policy=policy)
    without = await authorized(a_call("look", place="attic"))

    assert with_one.policy == policy.digest
    assert without.policy == ""
    assert "policy" not in without.model_dump()


async def test_facts_of_the_run_reach_the_engine() -> None:
    """Environment, kill switch, drafts and unresolved writes: the decision depends on each."""
    call = a_call("pay", amount=1)
    off = Switch(kind="tool", name="pay", by="ops", reason="", at=NOW)
    draft = Draft(draft_id="d", call_id="c1", tool="quote", summary="it would pay")
    live = a_policy("{id: live, effect: forbid, match: {environments: [production]}}")

    first = await authorized(call)
    drafted = await authorized(call, drafts=(draft,))
    other = await authorized(call, drafts=(draft.model_copy(update={"call_id": "c2"}),))

    verdicts = [
        ruling.decision.verdict
        for answer in (first, drafted, other)
        for ruling in answer.rulings
        if isinstance(ruling, Decided)
    ]
    assert verdicts == ["run_as_draft_only", "approval_required", "run_as_draft_only"]
    assert await rule_of(call, switches=(off,)) == "switch:tool:pay"
    (paid,) = first.rulings
    assert isinstance(paid, Decided)
    assert await rule_of(call, unresolved=(paid.effect,)) == "unresolved-write"
    assert await rule_of(call, done=(paid.effect,)) == "done-already"
    assert (paid.filled, paid.canonical) == ({"pieces": 2}, None)
    assert paid.arguments_digest == digest({"amount": 1, "pieces": 2})
    assert await rule_of(call, policy=live, environment="production") == "policy:live"
    assert await rule_of(call, policy=live, environment="staging") == "risk:financial"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(a_call("n" * 700_000), id="name"),
        pytest.param(a_call("look", place={"a": "x" * 1_100_000}), id="argument"),
        pytest.param(a_call("look", "c1", **{"x" * 1_100_000: 1}), id="argument's name"),
    ],
)
async def test_a_ruling_is_short_whatever_was_asked(call: AnyCall) -> None:
    """It is kept in history, where a payload has a limit that no model may reach."""
    (ruling,) = await ruled(call)

    assert len(ruling.model_dump_json()) < 5_000


ISSUERS = {
    "own": people(a_signer()),
    "own, revoked": people(),
    "own, another key": people(a_signer(kid="key-2")),
    "own, replaced under its name": people(a_signer("ES256")),
    "own, under another name": people(replace(a_signer(), kid="key-2")),
    "own, another owner": people(a_signer(subject="bob")),
    "provider": a_provider(),
    "provider, with a file": a_provider(a_signer(), jwks="keys.json"),
    "provider, withdrawn": a_provider(jwks="keys.json"),
    "provider, another key": a_provider(a_signer(kid="key-2"), jwks="keys.json"),
    "provider, replaced under its name": a_provider(a_signer("RS256"), jwks="keys.json"),
    "provider, another one": a_provider(a_signer(), issuer="https://id.example.org"),
}


@pytest.mark.parametrize(
    ("issuer", "trusted", "verdict"),
    [
        (LOCAL_ISSUER, "own", "allow"),
        (LOCAL_ISSUER, "own, revoked", "approval_required"),
        (LOCAL_ISSUER, "own, another key", "approval_required"),
        (LOCAL_ISSUER, "own, replaced under its name", "approval_required"),
        (LOCAL_ISSUER, "own, under another name", "allow"),
        (LOCAL_ISSUER, "own, another owner", "approval_required"),
        (LOCAL_ISSUER, "provider", "approval_required"),
        (PROVIDER, "provider", "allow"),
        (PROVIDER, "provider, with a file", "allow"),
        (PROVIDER, "provider, withdrawn", "approval_required"),
        (PROVIDER, "provider, another key", "approval_required"),
        (PROVIDER, "provider, replaced under its name", "approval_required"),
        (PROVIDER, "provider, another one", "approval_required"),
        (PROVIDER, "own", "approval_required"),
    ],
)
async def test_a_signature_counts_while_its_key_does(
    issuer: str, trusted: str, verdict: str
) -> None:
    """What was signed with a key that isn't trusted any more has to be approved anew."""
    # RK-19 BY-15
    call = a_call("send", text="hi")
    policy = Policy(issuers=(ISSUERS[trusted].issuer,))
    proof = a_proof(issuer=issuer, key="key-1", thumbprint=thumbprint(a_signer().public))

    answer = await authorized(
        call,
        approvals=(a_record(call, "strong", proof=proof),),
        keyring=Trusting(ISSUERS[trusted]),
        policy=policy if trusted.startswith("provider") else NO_POLICY,
    )

    (ruling,) = answer.rulings
    assert isinstance(ruling, Decided)
    assert ruling.decision.verdict == verdict


async def test_a_worker_has_time_for_others_between_two_calls() -> None:
    """Many calls that each take a moment don't keep heartbeats of other runs waiting."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await ruled(*(a_call("nope") for _ in range(200)))
    beside.cancel()

    assert turns >= 200
