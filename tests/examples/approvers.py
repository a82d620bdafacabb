"""People with keys, as `holdfast keys` makes and trusts them."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from holdfast import signing
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject
from holdfast.signing import OwnKey


@dataclass(frozen=True)
class Approver:
    """Somebody who signs."""

    key: OwnKey

    def signed(
        self,
        run_id: str,
        request: ApprovalRequest,
        decision: Literal["approve", "reject"] = "approve",
    ) -> JsonObject:
        """The signal with which they decide about a request."""
        token = signing.sign_decision(self.key, None, run_id, request, decision, datetime.now(UTC))
        return {
            "request_id": request.request_id,
            "decision": decision,
            "approver": self.key.name,
            "token": token,
        }


def trusted(home: Path, *names: str) -> list[Approver]:
    """Make keys whose signatures count for a worker with this home."""
    keys = [signing.make(home / "keys", name, None) for name in names]
    jwks = {"keys": [key.public for key in keys]}
    home.mkdir(parents=True, exist_ok=True)
    (home / "approvers.json").write_text(json.dumps(jwks), encoding="utf-8")
    return [Approver(key) for key in keys]
