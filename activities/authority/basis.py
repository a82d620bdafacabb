"""What a worker decides by, and runs calls by."""

from functools import lru_cache
from typing import NamedTuple

from holdfast.contracts.base import digest
from holdfast.policy.rules import Authority, Policy
from holdfast.tools.tool import Tool

BASIS_CHARS = 16
"""Digits; it stands in history twice for each call."""


class Basis(NamedTuple):
    """What a worker decides by, beside the tools; `authorities` are those that stand."""

    app: str
    policy: Policy
    environment: str
    authorities: tuple[Authority, ...] = ()

    def digest(self, tool: Tool, *, for_another: bool = False) -> str:
        """
        Return what is the same for workers that decide alike about the calls of a tool.

        What runs *for another* call, as a draft does, rests on what that rests on: on any of them.
        """
        contract = tool.contract
        rules = self.policy.find_candidates(contract.name, contract.risk, contract.draft)
        named = (one for one in self.authorities if for_another or one.name in rules.authorities)
        standing = sorted(map(_describe, named))
        return _reckon_digest(self.policy.digest, self.environment, tool.digest, *standing)


@lru_cache(maxsize=1_000)
def _reckon_digest(*rests_on: str) -> str:
    """Reckon it once for all calls of a tool, until something of what they rest on changes."""
    return digest([*rests_on])[:BASIS_CHARS]


def _describe(authority: Authority) -> str:
    """Write all of it, also what somebody changed without another version."""
    return digest(
        [
            authority.name,
            authority.version,
            authority.expires.isoformat(),
            [*sorted(authority.agents)],
            [*sorted(authority.tenants)],
            [*sorted(authority.actors)],
        ]
    )
