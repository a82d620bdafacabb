"""Policies and facts for tests, written as a policy file has them."""

from holdfast.contracts.decisions import (
    ApprovalRequired,
    Caller,
    Decision,
    RunAsDraftOnly,
)
from holdfast.policy.document import parse_policy
from holdfast.policy.engine import DecisionFacts
from holdfast.policy.rules import Policy
from holdfast.policy.trust import Issuer, TrustedIssuer
from tests.builders import NOW, a_proof


def a_policy(*rules: str, groups: str = "{}", issuers: str = "[]") -> Policy:
    """A policy of rules in YAML, one a line."""
    lines = ["version: 1", f"groups: {groups}", f"issuers: {issuers}"]
    listed = ["rules:", *(f"  - {rule}" for rule in rules if rule)]
    return parse_policy("\n".join([*lines, *(listed if len(listed) > 1 else [])]))


VOUCHING = TrustedIssuer(Issuer(issuer=a_proof().issuer, jwks=f"{a_proof().issuer}/keys"), ())
"""The provider that proofs are from, if nothing else is said."""


def some_facts(**changes: object) -> DecisionFacts:
    """A run of agent `it` for alice of acme, on a worker with a sandbox."""
    facts = DecisionFacts(
        caller=Caller(tenant="acme", actor="bob"), agent="it", now=NOW, sandbox=True
    )
    return facts._replace(**{"issuers": (VOUCHING,), **changes})


def said(decision: Decision) -> str:
    """The verdict in short, with what tells approvals and drafts apart."""
    match decision:
        case ApprovalRequired(strength=strength, count=count):
            return f"{strength} approval" + (f" by {count}" if count > 1 else "")
        case RunAsDraftOnly(then=then):
            return "draft" if then == "result" else "draft first"
        case _:
            return decision.verdict
