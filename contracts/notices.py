"""Telling somebody outside that a run waits for a person."""

from datetime import datetime
from typing import Literal

from holdfast.contracts.base import Contract


class Notice(Contract):
    """Input of the activity `notify`: a request that waits, without arguments or secrets."""

    run_id: str
    first_execution_run_id: str
    agent: str
    tenant: str
    request_id: str
    kind: Literal["approval", "review", "question", "escalation"]
    reason: str
    requested_at: datetime
    expires_at: datetime
