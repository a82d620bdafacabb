"""What each risk class may do when nobody has said otherwise."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.tools import Risk


class DefaultPermission(NamedTuple):
    """The permission of a risk class, why, and what an approval takes if it needs one."""

    effect: Literal["allow", "approve", "deny"]
    reason: str
    requirement: Requirement = Requirement()


_STRONG = Requirement(strength="strong")
_LOOK = DefaultPermission("allow", "it changes nothing")
_AT_STAKE = DefaultPermission("approve", "money or access is at stake", _STRONG)

DEFAULT_PERMISSIONS: Mapping[Risk, DefaultPermission] = {
    Risk.READ_ONLY: _LOOK,
    Risk.SEARCH_ONLY: _LOOK,
    Risk.COMPUTE_ONLY: _LOOK,
    Risk.DRAFT_ONLY: DefaultPermission("allow", "a draft reaches nobody"),
    Risk.WRITE_LOCAL: DefaultPermission(
        "allow", "its scope or the sandbox keeps it in the workspace"
    ),
    Risk.WRITE_INTERNAL: DefaultPermission("approve", "it changes internal records"),
    Risk.COMMUNICATION: DefaultPermission("approve", "it reaches other people"),
    Risk.WRITE_EXTERNAL: DefaultPermission("approve", "it changes something outside"),
    Risk.FINANCIAL: _AT_STAKE,
    Risk.DESTRUCTIVE: DefaultPermission("deny", "what it destroys can't be brought back"),
    Risk.PRIVILEGED_ACCESS: _AT_STAKE,
    Risk.IDENTITY_ACCESS: _AT_STAKE,
    Risk.PROCESS_EXECUTION: DefaultPermission(
        "deny", "it runs programs, and no policy rule lists it"
    ),
    Risk.NETWORK_OPEN_WORLD: DefaultPermission(
        "deny", "it asks any host, and no policy rule lists it"
    ),
    Risk.SECURITY_SENSITIVE: DefaultPermission(
        "approve", "the security of others depends on it", _STRONG
    ),
    Risk.PRIVILEGED_ADMIN: DefaultPermission(
        "approve",
        "it changes what everybody may do",
        Requirement(strength="strong", count=2),
    ),
}

NEEDS_DRAFT = frozenset({Risk.COMMUNICATION, Risk.WRITE_EXTERNAL})
"""Classes of which a person approves a draft, never bare arguments."""
