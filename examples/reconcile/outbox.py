"""The demo's post: a file with one JSON line for each message that went out."""

import fcntl
import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from holdfast import ToolError


class Sent(BaseModel):
    """One message that went out. The digest says which text of the report it carried."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    idempotency_key: str
    to: str
    subject: str
    report: str
    body_sha256: str


def deliver(outbox: Path, message: Sent) -> Sent:
    """
    Append the message, once for each idempotency key.

    Raises ToolError where another went out under the key: after a reset one may come with it.
    """
    outbox.parent.mkdir(parents=True, exist_ok=True)
    with outbox.open("a+", encoding="utf-8") as file:
        # Another attempt of the same call may be at it in another process.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        for line in file:
            earlier = Sent.model_validate_json(line)
            if earlier.idempotency_key == message.idempotency_key:
                return _match(earlier, message)
        file.write(message.model_dump_json() + "\n")
        file.flush()
        os.fsync(file.fileno())
    return message


def _match(earlier: Sent, message: Sent) -> Sent:
    if earlier != message:
        raise ToolError(
            "conflict",
            f"another message was sent under this key: {earlier.subject!r} to {earlier.to}",
            next_valid_actions=("ask for it in a new call",),
        )
    return earlier
