"""What people read of a request, one class for each kind: all its words stand here. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRequest,
    Escalation,
    Question,
    Request,
    Review,
)
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import MAX_LINE_CHARS, escape_invisible, one_line, shorten
from holdfast.run.summaries import quote_words, render_code
from holdfast.run.texts.details import (
    describe_conditions,
    describe_grant,
    describe_undo,
    describe_usage,
    render_approach,
    render_arguments,
    render_attempt,
    render_draft,
    stack_values,
)
from holdfast.tools.values.answers import describe_fitting

MAX_DETAILED_REQUESTS = 50
"""So many requests are shown beside a run."""

_DIGEST_CHARS = 64
_DIGEST_PREFIX_CHARS = 16
_DIGEST = Pattern(":[0-9a-f]{64}$")

Details: TypeAlias = Iterator[tuple[str, str]]
"""Names and values, in the order in which they are read; without a name it goes on."""


class Reply(NamedTuple):
    """The command that answers a request, and what stands behind run and request in it."""

    command: str
    rest: str


_APPROVE = Reply("approve", "   (or: reject)")


class RequestText(Protocol):
    """
    What is shown of a request.

    `question` is what a person is asked, `line` what an auditor reads of it, `markdown` what
    Temporal's UI shows. `wait` says what a run waits for, and `notice` why somebody is needed:
    both in nobody's words but our own, because they leave the house. `details` are all that a
    person needs to judge it.
    """

    @property
    def question(self) -> str: ...
    @property
    def line(self) -> str: ...
    @property
    def markdown(self) -> str: ...
    @property
    def wait(self) -> str: ...
    @property
    def notice(self) -> str: ...
    @property
    def reply(self) -> Reply: ...
    @property
    def details(self) -> Details: ...


def describe(request: Request) -> RequestText:
    """Return what is shown of a request."""
    match request:
        case ApprovalRequest():
            return _ApprovalText(request)
        case Review():
            return _ReviewText(request)
        case Question():
            return _QuestionText(request)
        case Escalation():
            return _EscalationText(request)


def request_line(request: Request) -> str:
    """Write what a request waits for."""
    return shorten(f"{request.request_id} · {describe(request).line}")


def requests_line(requests: tuple[Request, ...]) -> str:
    """
    Write on one line what all the requests wait for.

    Nothing but the end of a request has a semicolon: whoever reads the line could take what a
    model asks or a tool says for another request.
    """
    shown = requests[:MAX_LINE_CHARS]  # each has a character at least
    parts = (request_line(request).replace(";", ",") for request in shown)
    return shorten("; ".join(parts))


def escalation_line(request: Approvable) -> str:
    """Write to whom a request goes that nobody decided in time."""
    groups = " or ".join(request.escalate_to)
    name = subject_line(request.subject) if isinstance(request, Review) else request.tool
    return shorten(f"{request.request_id} · {name}: now {groups} may decide too")


def run_details(summary: str, requests: tuple[Request, ...], *, regulated: bool = False) -> str:
    """
    Write what a run is and waits for, as the Markdown that the UI shows as current details.

    Of a *regulated* one no request is quoted. Of very many the first are shown: it is written anew
    whenever that changes.
    """
    shown = quote_words(summary)
    if not requests:
        return shown
    lines = [
        escape_invisible(
            f"- `{request.request_id}`: "
            f"{f'{request.kind}.' if regulated else describe(request).markdown} "
            f"Until {request.expires_at:%Y-%m-%d %H:%M} UTC."
        )
        for request in requests[:MAX_DETAILED_REQUESTS]
    ]
    if (left := len(requests) - MAX_DETAILED_REQUESTS) > 0:
        lines.append(f"- and {left:,} more")
    return f"{shown}\n\n**Waits for a person**\n\n" + "\n".join(lines)


def subject_line(subject: str) -> str:
    """Write what is reviewed: `domain:payments`, or a guardrail with the beginning of a digest."""
    shown = _DIGEST.sub(lambda found: found.groups[0][: len(":") + _DIGEST_PREFIX_CHARS], subject)
    return one_line(shown)


def approval_line(tool: str, risk: str) -> str:
    """Write that a call waits for an approval."""
    return f"{tool}: approval_required ({risk})"


def review_line(subject: str, reason: str) -> str:
    """Write what is reviewed, and why."""
    return f"review of {subject_line(subject)}: {reason}"


def question_line(question: str) -> str:
    """Write what is asked."""
    return f"question: {question}"


def halt_line(reason: str) -> str:
    """Write why a run waits for somebody to say how it goes on."""
    return f"escalated: {reason}"


@dataclass(frozen=True)
class _ApprovalText:
    request: ApprovalRequest

    @property
    def question(self) -> str:
        return f"approve {self.request.tool}?"

    @property
    def line(self) -> str:
        return approval_line(self.request.tool, self.request.risk)

    @property
    def markdown(self) -> str:
        reason = quote_words(self.request.reason)
        return f"approve {render_code(self.request.action)}? {reason} ({self.request.risk})."

    @property
    def wait(self) -> str:
        return f"approval of {self.request.tool} ({self.request.risk})"

    @property
    def notice(self) -> str:
        return f"a call of {self.request.tool} needs approval ({self.request.risk})"

    @property
    def reply(self) -> Reply:
        return _APPROVE

    @property
    def details(self) -> Details:
        """Show what will be done, with every argument, and the draft of it as it stands."""
        request = self.request
        policy = f" of policy {request.policy}" if request.policy else ""
        yield "action", request.action
        yield from render_arguments(request.arguments)
        yield from render_draft(request.preview)
        yield "risk", f"{request.risk}: {request.reason} (rule {request.rule}{policy})"
        yield "scope", "" if request.scope == "none" else request.scope
        yield "expected", request.expected_result
        yield "rollback", request.rollback
        yield "sandbox", describe_grant(request.grant)
        yield "undo", describe_undo(request.undo)
        yield "recovery", request.recovery
        yield "for", request.requester
        yield from describe_conditions(request)


@dataclass(frozen=True)
class _ReviewText:
    request: Review

    @property
    def question(self) -> str:
        return f"approve {subject_line(self.request.subject)}? {self.request.reason}"

    @property
    def line(self) -> str:
        reason = WITHHELD if self.request.quotes else self.request.reason
        return review_line(self.request.subject, reason)

    @property
    def markdown(self) -> str:
        request = self.request
        return (
            f"approve {quote_words(subject_line(request.subject))}? "
            f"{quote_words(request.reason)}: {quote_words(request.text)}."
        )

    @property
    def wait(self) -> str:
        return f"review of {subject_line(self.request.subject)}"

    @property
    def notice(self) -> str:
        subject = self.request.subject
        named, _, digest = subject.rpartition(":")
        return f"a review of {subject if len(digest) < _DIGEST_CHARS else named}"

    @property
    def reply(self) -> Reply:
        return _APPROVE

    @property
    def details(self) -> Details:
        """Show what is approved as it stands: what is left out would be approved unseen."""
        request = self.request
        yield "asks", request.action
        yield "reason", request.reason
        yield "what", request.subject
        yield "text", request.text
        yield "call", request.call_id
        yield "recovery", request.recovery
        yield "for", request.requester
        yield from describe_conditions(request)


@dataclass(frozen=True)
class _QuestionText:
    request: Question

    @property
    def question(self) -> str:
        return self.request.question or f"{self.request.tool} asks"

    @property
    def line(self) -> str:
        return question_line(self.request.question)

    @property
    def markdown(self) -> str:
        return quote_words(self.request.question)

    @property
    def wait(self) -> str:
        return "answer to a question"

    @property
    def notice(self) -> str:
        return "the agent asks a question"

    @property
    def reply(self) -> Reply:
        return Reply("answer", ' "..."')

    @property
    def details(self) -> Details:
        """Show all that the call says beside its question, and which answers fit."""
        yield "why", self.request.reason
        yield "tool", self.request.tool
        yield from render_arguments(self.request.arguments)
        if self.request.answer_schema is not None:
            yield "answer", describe_fitting(self.request.answer_schema)


@dataclass(frozen=True)
class _EscalationText:
    request: Escalation

    @property
    def question(self) -> str:
        return self.line

    @property
    def line(self) -> str:
        return halt_line(self.request.reason)

    @property
    def markdown(self) -> str:
        return f"{quote_words(f'{self.request.reason}; {self.request.detail}', 1_000)}."

    @property
    def wait(self) -> str:
        return "how to go on"

    @property
    def notice(self) -> str:
        return self.request.reason.partition(":")[0]

    @property
    def reply(self) -> Reply:
        return Reply("resolve", " resume   (or: abort, extend)")

    @property
    def details(self) -> Details:
        """Show why a run came to a halt: what was tried and what it cost, each in its line."""
        request = self.request
        yield "asks", request.action
        yield "reason", request.reason
        yield "detail", request.detail
        yield "trigger", request.trigger
        yield from stack_values("attempts", map(render_attempt, request.attempts))
        yield from stack_values("tried", map(render_approach, request.approaches))
        yield "used", describe_usage(request.usage) if request.usage else ""
        yield "sure", f"{request.confidence:.2f} of 1" if request.confidence is not None else ""
        yield "answer", request.answer or ""
