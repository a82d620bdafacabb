"""Calls that are held by what isn't theirs: switches on who they work for, rules on drafts."""

import pytest

from holdfast.contracts.decisions import Deny, RunAsDraftOnly
from holdfast.contracts.switches import Switch
from holdfast.contracts.tools import Risk
from holdfast.policy.case import DraftVariant
from holdfast.policy.document import parse_policy
from holdfast.policy.engine import decide
from tests.builders import NOW, a_call, a_contract
from tests.policy.policies import a_policy, some_facts

HELD = Switch(kind="agent", name="desk", by="olga", reason="", at=NOW)


@pytest.mark.parametrize(
    ("path", "receiver", "held"),
    [
        (("desk",), None, True),
        (("desk", "clerk"), None, True),
        (("clerk",), None, False),
        ((), "desk", True),
        ((), "clerk", False),
    ],
)
def test_a_switch_on_an_agent_holds_who_works_for_it_and_who_hands_to_it(
    path: tuple[str, ...], receiver: str | None, *, held: bool
) -> None:
    """However far below it a call is made, and whatever the policy allows."""
    # BY-31
    contract = a_contract(receiver=receiver)
    facts = some_facts(switches=(HELD,), path=path)
    decision = decide(
        a_call(), contract, facts, a_policy("{id: all, effect: allow, match: {tools: [look]}}")
    )

    assert isinstance(decision, Deny) is held
    assert (decision.rule == "switch:agent:desk") is held


@pytest.mark.parametrize(
    ("effect", "rule"),
    [("sandbox", "policy:box"), ("forbid", "policy:box"), ("allow", "risk:communication")],
)
def test_a_draft_is_ruled_on_before_it_is_made(effect: str, rule: str) -> None:
    """Nobody is asked about a draft, so what its own call may not do it doesn't do either."""
    # PF-13 BY-05
    post = a_contract("post", risk=Risk.COMMUNICATION, draft="draft_post")
    draft = a_contract("draft_post", risk=Risk.DRAFT_ONLY)
    variant = DraftVariant(contract=draft, values={}, effect="")
    policy = a_policy(f"{{id: box, effect: {effect}, match: {{tools: [draft_post]}}}}")
    decision = decide(a_call("post"), post, some_facts(variant=variant), policy)

    assert isinstance(decision, RunAsDraftOnly if effect == "allow" else Deny)
    assert decision.rule == rule


def test_a_draft_that_is_there_is_not_told_as_what_it_was_made_for() -> None:
    """It was made before, and nobody approved it: what it was to become was never done."""
    # PF-13 BY-11
    post = a_contract("post", risk=Risk.COMMUNICATION, draft="draft_post")
    draft = a_contract("draft_post", risk=Risk.DRAFT_ONLY, undo="shred")
    facts = some_facts(variant=DraftVariant(draft, {}, "drafted"), done=("drafted",))
    decision = decide(a_call("post"), post, facts)

    assert isinstance(decision, Deny)
    assert decision.rule == "done-already"
    assert "never committed" in decision.next_valid_actions[0]


@pytest.mark.parametrize("behind", ["", "approve", "ask", "draft", "deny"])
@pytest.mark.parametrize("unsure", ['when: "args.size > 3"', "authority: autumn"])
def test_no_draft_leaves_the_sandbox_behind_a_rule_in_doubt(unsure: str, behind: str) -> None:
    """Nobody is asked about it, so whatever follows lets it run: not outside of the sandbox."""
    # BY-15 BY-05
    post = a_contract("post", risk=Risk.COMMUNICATION, draft="draft_post")
    draft = a_contract("draft_post", risk=Risk.DRAFT_ONLY)
    variant = DraftVariant(contract=draft, values={"size": 2**70}, effect="")
    rest = f"  - {{id: rest, effect: {behind}, match: {{risks: [draft_only]}}}}\n"
    policy = parse_policy(
        "version: 1\nauthorities: a.yaml\nrules:\n"
        f"  - {{id: box, effect: sandbox, match: {{tools: [draft_post]}}, {unsure}}}\n"
        f"{rest if behind else ''}"
    )
    decision = decide(a_call("post"), post, some_facts(variant=variant), policy)

    assert isinstance(decision, Deny)
    assert "no draft runs in the sandbox" in decision.reason


def test_a_draft_is_made_where_no_rule_keeps_it_in_the_sandbox() -> None:
    """One whose condition isn't true says nothing of it, nor one behind what decides."""
    # BY-05
    post = a_contract("post", risk=Risk.COMMUNICATION, draft="draft_post")
    draft = a_contract("draft_post", risk=Risk.DRAFT_ONLY)
    variant = DraftVariant(contract=draft, values={"size": 1}, effect="")
    policy = a_policy(
        '{id: box, effect: sandbox, match: {tools: [draft_post]}, when: "args.size > 3"}',
        "{id: rest, effect: approve, match: {risks: [draft_only]}}",
        "{id: late, effect: sandbox, match: {tools: [draft_post]}}",
    )
    decision = decide(a_call("post"), post, some_facts(variant=variant), policy)

    assert isinstance(decision, RunAsDraftOnly)
