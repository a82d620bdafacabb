"""What each risk class may do when nobody has said otherwise."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from contracts.tools import Risk


class Default(NamedTuple):
    """The permission of a risk class, and why."""

    verdict: Literal["allow", "approve", "approve_strongly", "deny"]
    reason: str


_LOOK = Default("allow", "it changes nothing")
_STRONG = Default("approve_strongly", "money or access is at stake")
_SANDBOX = Default("deny", "it needs a sandbox, and this worker has none")

DEFAULTS: Mapping[Risk, Default] = {
    Risk.READ_ONLY: _LOOK,
    Risk.SEARCH_ONLY: _LOOK,
    Risk.COMPUTE_ONLY: _LOOK,
    Risk.DRAFT_ONLY: Default("allow", "a draft reaches nobody"),
    Risk.WRITE_LOCAL: Default("allow", "it writes only into the workspace"),
    Risk.WRITE_INTERNAL: Default("approve", "it changes internal records"),
    Risk.COMMUNICATION: Default("approve", "it reaches other people"),
    Risk.WRITE_EXTERNAL: Default("approve", "it changes something outside"),
    Risk.FINANCIAL: _STRONG,
    Risk.DESTRUCTIVE: Default("deny", "what it destroys can't be brought back"),
    Risk.PRIVILEGED_ACCESS: _STRONG,
    Risk.IDENTITY_ACCESS: _STRONG,
    Risk.PROCESS_EXECUTION: _SANDBOX,
    Risk.NETWORK_OPEN_WORLD: _SANDBOX,
}
