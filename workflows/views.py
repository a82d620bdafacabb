"""What a run says about itself when it is asked. Pure."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import AwareDatetime, JsonValue, ValidationError
from temporalio.exceptions import ApplicationError

from holdfast.contracts.approvals import PendingPage, Request, outline
from holdfast.contracts.base import Inbound, digest
from holdfast.contracts.bounds import MAX_COUNT, MAX_PAGE_BYTES, Count, Number, size
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.control import Waiting
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.run import ReportedStatus, StatusReport
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import (
    AssistantTurn,
    TranscriptItem,
    TranscriptPage,
    rate_trust,
)
from holdfast.run.answers import PEOPLE_ORIGINS, redact_item
from holdfast.run.limits import routing
from holdfast.run.step import goals
from holdfast.run.summaries import describe_validation_error, wait_line
from holdfast.run.texts.figures import pluralize
from holdfast.run.texts.requests import request_line
from holdfast.run.turns import drop_private_keys

Entry = TypeVar("Entry")
Asked = TypeVar("Asked", bound=Inbound)


class PageQuery(Inbound):
    """The argument of the query `transcript`."""

    offset: Number = 0
    limit: Count = 1000


class CarryoverQuery(Inbound):
    """The argument of the query `carryover`."""

    digest: str = ""
    turn: Count | None = None
    dry: bool = False


class ContextQuery(PageQuery):
    """The argument of the query `context`."""

    digest: str


class LateCallQuery(Inbound):
    """The argument of the query `late_call`; without a proof it is about a call of a part."""

    proof: str | None
    now: AwareDatetime
    heard: Number | None = None


def read_query(name: str, kind: type[Asked], given: Sequence[JsonValue]) -> Asked:
    """
    Read the argument of a query; nothing, or null, has nothing in it.

    Raises ApplicationError, on one line, for what it can't be. The SDK would say no more than that
    arguments can't be decoded.
    """
    if len(given) > 1:
        raise ApplicationError(f"{name!r} takes one JSON object, not {len(given)} arguments")
    try:
        return kind.model_validate({} if is_without_argument(given) else given[0])
    except ValidationError as error:
        raise ApplicationError(f"{name!r}: {describe_validation_error(error)}") from None


def is_without_argument(given: Sequence[JsonValue]) -> bool:
    """Whether a query was asked with nothing."""
    return not given or (len(given) == 1 and given[0] is None)


def find_status(state: RunState, in_flight: tuple[str, ...] = ()) -> ReportedStatus:
    """
    Say in one word where a run stands; it is suspended when nothing is in flight any more.

    A session is idle when all that was said is answered, not between two answers.
    """
    if state.outcome is not None:
        return state.outcome
    between = state.session if state.is_idle else None
    if between is not None and between.closing is not None:
        return "running" if between.waiting else "completed"
    if state.suspended:
        return "suspending" if in_flight else "suspended"
    if between is not None and not between.waiting:
        return "idle"
    return "waiting" if state.oversight.requests or state.chain.provider_wait else "running"


def status(
    state: RunState,
    in_flight: tuple[str, ...] = (),
    wait: Waiting | None = None,
    relayed: tuple[Request, ...] = (),
) -> StatusReport:
    """Answer the query `status`."""
    return StatusReport(
        run_id=state.run_id,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        status=find_status(state, in_flight),
        in_flight=in_flight,
        waits_for=tuple(map(request_line, (*state.oversight.requests, *relayed))),
        waiting=_build_waiting(state) or wait,
        step=state.ledger.steps,
        budget=state.agent.budget,
        model=routing.find_model(state),
        answer=None if state.brief.withheld else state.answering.answer,
        stop=state.stop,
        started_at=state.started_at,
        transcript_digest=None if state.withholds else digest(state.conversation.head.digest),
        refused=state.oversight.refused,
        refused_total=state.oversight.refused_total,
        notes=state.chain.notes,
        retry_of=state.brief.retry_of,
        signed=state.agent.signed,
        planning=state.planning,
        goal=goals.build_report(state),
        provider_state=drop_private_keys(state.chain.provider_state),
    )


def _build_waiting(state: RunState) -> Waiting | None:
    wait = state.chain.provider_wait
    if wait is None or state.outcome is not None:
        return None
    return Waiting(reason=wait_line(wait), until=wait.until)


def usage(state: RunState) -> UsageReport:
    """Answer the query `usage`."""
    return UsageReport(
        steps=state.ledger.steps,
        tool_calls=state.ledger.tool_calls,
        hosted_calls=state.ledger.hosted_calls,
        usage=state.ledger.usage,
        failed_usage=state.ledger.failed_usage,
        waited_seconds=state.ledger.waited,
        budget=state.agent.budget,
        call_cost=state.ledger.call_cost,
    )


def pending(requests: tuple[Request, ...]) -> tuple[Request, ...]:
    """
    Answer the query `pending` with all requests.

    Where they are too large together, some are outlines, which say where the whole is.
    """
    told = [
        outline(request, f"too large for this list: see page {{offset: {offset}, limit: 1}}")
        for offset, request in enumerate(requests)
    ]
    left = MAX_PAGE_BYTES - sum(map(size, told))
    for offset, request in enumerate(requests):
        if (more := size(request) - size(told[offset])) <= max(left, 0):
            told[offset] = request
            left -= more
    shown = select_page(tuple(told), PageQuery(limit=MAX_COUNT))
    if len(shown) == len(told):
        return shown
    more = pluralize(len(told) - len(shown), "more request")
    note = f"{more}: see page {{offset: {len(shown)}}}"
    last = shown[-1].with_(left_out=f"{shown[-1].left_out}; {note}")
    return (*shown[:-1], last)


def pending_page(requests: tuple[Request, ...], query: PageQuery) -> PendingPage:
    """Answer the query `pending` with a page of requests, which are whole."""
    shown, total = select_page(requests, query), len(requests)
    return PendingPage(
        items=shown, total=total, next_offset=_next_offset(query, len(shown), total)
    )


def transcript_page(state: RunState, query: PageQuery) -> TranscriptPage:
    """
    Answer the query `transcript` with a page of items.

    Where guardrails look at answers, nothing that a model said is in it but an answer that is out:
    they have seen no other piece of the reply that it came in.
    """
    return _transcript(_redact_items(state), query)


def context_page(state: RunState, query: ContextQuery) -> TranscriptPage:
    """
    Answer the query `context`: what the model under way was shown, as it was said.

    Only who has the input of that call knows its digest, which stands in no answer to a query.
    """
    if query.digest != state.conversation.head.digest:
        raise ApplicationError("that is not the digest of the call under way")
    return _transcript(state.conversation.items, query)


def carryover(state: RunState, query: CarryoverQuery, left: Carryover) -> Carryover:
    """
    Answer the query `carryover`: what a run that is over leaves to one that tries it again.

    Where answers are withheld only who has read in history what the model was asked, and so its
    digest, is told what models said, and `origin`, which is that digest.
    """
    if state.brief.retry_of is not None and not state.agent.prefix_digest:
        raise ApplicationError(f"it never began: retry {state.brief.retry_of.run_id!r} itself")
    proofs = {state.conversation.sent.digest, state.conversation.head.digest} - {""}
    if not state.withholds or query.digest in proofs:
        return left
    items = tuple(redact_item(item, _find_told_origins(state)) for item in left.items)
    return left.with_(
        items=items, summary="", summarised_before=0, recorded=(), origin="", redacted=True
    )


def _transcript(items: tuple[TranscriptItem, ...], query: PageQuery) -> TranscriptPage:
    shown, total = select_page(items, query), len(items)
    return TranscriptPage(
        items=shown,
        total=total,
        next_offset=_next_offset(query, len(shown), total),
        trust=tuple(rate_trust(item) for item in shown),
    )


def _redact_items(state: RunState) -> tuple[TranscriptItem, ...]:
    if not state.withholds:
        return state.conversation.items
    told = _find_told_origins(state)
    answered = state.answering.answer is not None and not state.brief.withheld
    released = len(state.conversation.items) - 1 if answered else None
    return tuple(
        _without_parts(item) if place == released else redact_item(item, told)
        for place, item in enumerate(state.conversation.items)
    )


def _find_told_origins(state: RunState) -> frozenset[str]:
    """Return whose words are told where answers are withheld: a part's goal may quote any."""
    return frozenset() if state.brief.withheld else PEOPLE_ORIGINS


def _without_parts(item: TranscriptItem) -> TranscriptItem:
    return item.with_(parts=()) if isinstance(item, AssistantTurn) else item


def select_page(entries: tuple[Entry, ...], query: PageQuery) -> tuple[Entry, ...]:
    """Return at most so many entries as were asked for, and never more than can be sent."""
    end, taken = query.offset, 0
    for entry in entries[query.offset : query.offset + query.limit]:
        taken += size(entry)
        if taken > MAX_PAGE_BYTES and end > query.offset:
            break
        end += 1
    return entries[query.offset : end]


def _next_offset(query: PageQuery, shown: int, total: int) -> int | None:
    end = query.offset + shown
    return end if end < total else None
