"""What a tool knows about the call that it serves."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue

from contracts.tools import ToolInvocation


@dataclass(frozen=True)
class ToolContext:
    """
    The call that a tool serves; a tool that wants it has a parameter of this type.

    `idempotency_key` is the same for every attempt of this call and for no other call: hand it to
    whatever the tool changes, so that a repeated attempt changes nothing twice.
    """

    tenant: str
    actor: str
    agent: str
    run_id: str
    call_id: str
    idempotency_key: str
    _secret: Callable[[str], str]
    _heartbeat: Callable[[JsonValue], None]

    @classmethod
    def of(
        cls,
        invocation: ToolInvocation,
        secret: Callable[[str], str],
        heartbeat: Callable[[JsonValue], None],
    ) -> "ToolContext":
        """Build the context of one call."""
        return cls(
            tenant=invocation.tenant,
            actor=invocation.actor,
            agent=invocation.agent,
            run_id=invocation.run_id,
            call_id=invocation.call_id,
            idempotency_key=invocation.idempotency_key,
            _secret=secret,
            _heartbeat=heartbeat,
        )

    def secret(self, name: str) -> str:
        """Return a secret of the worker; it never was in a prompt or in history."""
        return self._secret(name)

    def heartbeat(self, progress: JsonValue = None) -> None:
        """Report progress. That the tool is alive is reported without it."""
        self._heartbeat(progress)
