"""What a tool knows about the call that it serves."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from holdfast.contracts.bounds import MAX_JSON_DEPTH, MAX_PROGRESS_BYTES
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import HoldfastError
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest, request
from holdfast.tools.large_json import is_readable_json

_UNREADABLE = (
    f"a report is left out: nested more than {MAX_JSON_DEPTH} deep, too large, or not to be read"
)

SecretSource = Callable[[str], str]
Heartbeat = Callable[[JsonValue], None]
Admission = Callable[[], Awaitable[None]]
"""Asked when all is ready for a call, before it begins; raises ToolDenied where it may not."""

HttpSender = Callable[[HttpRequest], HttpAnswer]


def refuse_network(_: HttpRequest) -> NoReturn:
    """Refuse to ask anybody: outside the sandbox a tool has the network itself."""
    raise HoldfastError(
        "ctx.http works only in the sandbox: declare the tool with sandboxed=True, or use an HTTP "
        "library of your own"
    )


@dataclass(frozen=True)
class ToolContext:
    """
    The call that a tool serves; a tool that wants it has a parameter of this type.

    `idempotency_key` is the same for every attempt of this call and for no other call: hand it to
    whatever the tool changes, so that a repeated attempt changes nothing twice. `draft_id` is
    that of the approved draft which this call commits. `done` is what the call answered that a
    tool takes back which undoes it; such a tool has a key of its own for that.
    """

    tenant: str
    actor: str
    agent: str
    run_id: str
    call_id: str
    idempotency_key: str
    draft_id: str | None
    done: JsonValue
    _secret: SecretSource
    _heartbeat: Heartbeat
    _ask: HttpSender

    @classmethod
    def of(
        cls,
        invocation: ToolInvocation,
        secret: SecretSource,
        heartbeat: Heartbeat,
        ask: HttpSender = refuse_network,
    ) -> "ToolContext":
        """Build the context of one call."""
        return cls(
            tenant=invocation.tenant,
            actor=invocation.actor,
            agent=invocation.agent,
            run_id=invocation.run_id,
            call_id=invocation.call_id,
            idempotency_key=invocation.idempotency_key,
            draft_id=invocation.draft_id,
            done=invocation.done,
            _secret=secret,
            _heartbeat=heartbeat,
            _ask=ask,
        )

    def secret(self, name: str) -> str:
        """Return a secret of the worker; it never was in a prompt or in history."""
        return self._secret(name)

    def heartbeat(self, progress: JsonValue = None) -> None:
        """
        Report progress. That the tool is alive is reported without it.

        Of what JSON has no word for, its own words are told.
        """
        self._heartbeat(as_report(progress))

    def http(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | str | None = None,
    ) -> HttpAnswer:
        """
        Ask a host that this call may ask: the only way out of the sandbox.

        Waits for the answer, and follows no redirect. Raises ToolError where the host isn't
        granted or doesn't answer, and AnswerLost where something may have been done all the same.
        """
        return self._ask(request(method, url, headers, body))


def as_report(progress: object) -> JsonValue:
    """Return a copy that any process can hand on to another, or why it is left out."""
    try:
        content = to_json(progress, serialize_unknown=True)
    except ValueError:
        return _UNREADABLE
    if len(content) > MAX_PROGRESS_BYTES:
        return f"a report of {len(content):,} bytes is left out: {MAX_PROGRESS_BYTES:,} is most"
    return from_json(content) if is_readable_json(content) else _UNREADABLE
