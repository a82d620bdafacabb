"""What a tool knows about the call that it serves."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import NoReturn

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json, to_json

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_JSON_DEPTH, MAX_PROGRESS_BYTES
from holdfast.contracts.calls import (
    MAX_CUSTOM_SPANS,
    MAX_SPAN_NAME_CHARS,
    CustomSpan,
    ToolInvocation,
)
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import clip_chars
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest, request
from holdfast.tools.large_json import is_readable_json

_UNREADABLE = (
    f"a report is left out: nested more than {MAX_JSON_DEPTH} deep, too large, or not to be read"
)

MAX_SPAN_DATA_BYTES = 500
"""Bytes of JSON that a span may say of what was done."""

_SPAN = "holdfast.span"
"""What a report has that is a span: tools tell their worker nothing else meanwhile."""

SecretSource = Callable[[str], str]
Heartbeat = Callable[[JsonValue], None]
Admission = Callable[[], Awaitable[None]]
"""Asked when all is ready for a call, before it begins; raises ToolDenied where it may not."""

KeptSource = Callable[[str], bytes]
"""Gives the whole of a result that the run has kept; raises OSError where there is none."""

HttpSender = Callable[[HttpRequest], HttpAnswer]


def refuse_network(_: HttpRequest) -> NoReturn:
    """Refuse to ask anybody: outside the sandbox a tool has the network itself."""
    raise HoldfastError(
        "ctx.http works only in the sandbox: declare the tool with sandboxed=True, or use an HTTP "
        "library of your own"
    )


def refuse_kept(_: str) -> NoReturn:
    """Know of no earlier result: only a tool that runs in the worker itself may read them."""
    raise FileNotFoundError("results are kept by the worker")


@dataclass(frozen=True)
class ToolContext:
    """
    The call that a tool serves; a tool that wants it has a parameter of this type.

    `idempotency_key` is the same for every attempt of this call and for no other call: hand it to
    whatever the tool changes, so that a repeated attempt changes nothing twice. After a reset of
    the workflow another call may have it, if its model gave it the same id: refuse what asks for
    something else under it. `first_execution_run_id` is the run's and no other's: name by it what
    is kept for the run. `run_id` is a name that somebody chose, and a later run may have it.
    `draft_id` is that of the approved draft which this call commits, or of the one that it takes
    back. `done` is what was answered that a tool takes back which undoes it; such a tool has a key
    of its own for that, and another one where it takes back a draft of the same call. `kept` gives
    the whole of an earlier result to the tool that reads on in it.
    """

    tenant: str
    actor: str
    agent: str
    run_id: str
    first_execution_run_id: str
    call_id: str
    idempotency_key: str
    draft_id: str | None
    done: JsonValue
    kept: KeptSource
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
        kept: KeptSource = refuse_kept,
    ) -> "ToolContext":
        """Build the context of one call."""
        return cls(
            tenant=invocation.tenant,
            actor=invocation.actor,
            agent=invocation.agent,
            run_id=invocation.run_id,
            first_execution_run_id=invocation.first_execution_run_id,
            call_id=invocation.call_id,
            idempotency_key=invocation.idempotency_key,
            draft_id=invocation.draft_id,
            done=invocation.done,
            kept=kept,
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

    def span(self, name: str, **data: JsonValue) -> AbstractContextManager[None]:
        """
        Have the block stand in history and in the trace as a span of its own, below the call's.

        *data* says on what it worked (500 bytes of JSON). An exception that leaves the block names
        it and goes on. A call has 50 spans; one that raises anything but ToolError has none.
        """
        return SpanTimer(name, data, lambda span: self._heartbeat(_report_span(span)))

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


class SpanTimer:
    """Times a block, and has what it was kept, however it ends."""

    def __init__(
        self, name: str, data: Mapping[str, JsonValue], keep: Callable[[CustomSpan], None]
    ) -> None:
        self._name = clip_chars(name, MAX_SPAN_NAME_CHARS)
        self._data = _fit_data(data)
        self._keep = keep
        self._began = datetime.now(UTC)

    def __enter__(self) -> None:
        self._began = datetime.now(UTC)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._keep(
            CustomSpan(
                name=self._name,
                started_at=self._began,
                ended_at=max(self._began, datetime.now(UTC)),
                data=self._data,
                error=clip_chars(kind.__name__, MAX_SPAN_NAME_CHARS) if kind else "",
            )
        )


def _fit_data(data: Mapping[str, JsonValue]) -> JsonObject:
    shown = as_report(dict(data))
    if not isinstance(shown, dict):
        return {"left_out": shown}
    if (size := len(to_json(shown))) > MAX_SPAN_DATA_BYTES:
        return {"left_out": f"{size:,} bytes: {MAX_SPAN_DATA_BYTES} is most"}
    return shown


def _report_span(span: CustomSpan) -> JsonValue:
    return {_SPAN: span.model_dump(mode="json")}


class SpanLog:
    """The spans of one call, in the order in which they ended; none where it *withholds* them."""

    def __init__(self, *, withholds: bool = False) -> None:
        self._room = 0 if withholds else MAX_CUSTOM_SPANS
        self.kept: tuple[CustomSpan, ...] = ()

    def add(self, span: CustomSpan) -> None:
        """Keep a span, while there is room."""
        if len(self.kept) < self._room:
            self.kept = (*self.kept, span)

    def take(self, report: JsonValue) -> bool:
        """
        Keep what a tool reports if that is a span; whether it is one.

        Code in a sandbox may report what no `SpanTimer` writes: that is none.
        """
        if not isinstance(report, dict) or report.keys() != {_SPAN}:
            return False
        try:
            span = CustomSpan.model_validate(report[_SPAN])
        except ValidationError:
            return False
        if len(to_json(span.data)) > MAX_SPAN_DATA_BYTES or span.guardrail:
            return False
        self.add(span)
        return True


def as_report(progress: object) -> JsonValue:
    """Return a copy that any process can hand on to another, or why it is left out."""
    try:
        content = to_json(progress, serialize_unknown=True)
    except ValueError:
        return _UNREADABLE
    if len(content) > MAX_PROGRESS_BYTES:
        return f"a report of {len(content):,} bytes is left out: {MAX_PROGRESS_BYTES:,} is most"
    return from_json(content) if is_readable_json(content) else _UNREADABLE
