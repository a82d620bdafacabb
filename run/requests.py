"""The requests that are open in a run, and the calls that they are about. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from holdfast.contracts.approvals import (
    ApprovalRequest,
    ClosedRequest,
    Escalation,
    Question,
    Request,
    RequestOutcome,
    Requirement,
    Review,
    find_eligible_groups,
    outline,
)
from holdfast.contracts.bounds import (
    MAX_JUDGED_OUTLINES_BYTES,
    MAX_PENDING_STEERS,
    MAX_REQUEST_BYTES,
    MAX_SEARCH_ATTRIBUTE_BYTES,
    MAX_SEARCHABLE_REQUESTS,
    MAX_UNREAD_BYTES,
    size,
)
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.journal import JournalEvent, RequestClosed, RequestEscalated, RequestOpened
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import clip_chars
from holdfast.contracts.transcript import UserTurn
from holdfast.run.sessions import hiding
from holdfast.run.texts.figures import pluralize
from holdfast.run.texts.requests import subject_line

KEEP_LAST_CLOSED = 100
"""How many closed requests the state keeps, to tell a late message what it missed."""

MAX_JOURNAL_REASON_CHARS = 2_000
"""Characters; more of what is asked is in what led to it, and in the request."""


def find(state: RunState, request_id: str) -> Request | None:
    """Return the request that waits under this id."""
    return next(
        (open_ for open_ in state.oversight.requests if open_.request_id == request_id), None
    )


def is_too_large_to_show(request: Request) -> bool:
    """Whether nobody could be shown a request whole: then nobody is asked, and it isn't done."""
    return size(request) > MAX_REQUEST_BYTES


def open_request(state: RunState, request: Request) -> RunState:
    """Open a request, unless the run is stopped: then nobody is asked anything any more."""
    if state.outside_stop is not None:
        return state
    return state.with_(journal=(*state.journal, describe_opening(state, request))).with_oversight(
        requests=(*state.oversight.requests, request),
        requests_made=state.oversight.requests_made + 1,
    )


def describe_opening(state: RunState, request: Request) -> RequestOpened:
    """Say what a request is about; who decides it is shown more than that."""
    reason = request.question if isinstance(request, Question) else request.reason
    required: Requirement | None = None
    if isinstance(request, ApprovalRequest | Review):
        wanted = {name: getattr(request, name) for name in Requirement.model_fields}
        required = Requirement().copy_with(wanted)
    quotes = isinstance(request, Review) and request.quotes
    return RequestOpened(
        request_id=request.request_id,
        kind=request.kind,
        reason=WITHHELD if quotes else clip_chars(reason, MAX_JOURNAL_REASON_CHARS),
        requested_at=request.requested_at,
        expires_at=request.expires_at,
        call_id="" if isinstance(request, Escalation) else request.call_id,
        subject=request.subject if isinstance(request, Review) else "",
        required=required,
        shows_answer=_shows_answer(state, request),
    )


def _shows_answer(state: RunState, request: Request) -> bool:
    match request:
        case Escalation(answer=answer):
            return answer is not None
        case Review(call_id="", text=text):
            return state.answering.candidate is not None and text == state.answering.candidate.text
        case _:
            return False


def escalate_request(
    state: RunState, request: ApprovalRequest | Review, now: datetime
) -> RunState:
    """Let members of further groups decide a request too."""
    told = RequestEscalated(request_id=request.request_id, groups=request.escalate_to, at=now)
    fresh = replace_request(state, request.with_(escalated_at=now))
    return fresh.with_(journal=(*state.journal, told))


def pending_keywords(requests: Iterable[Request], *, regulated: bool = False) -> tuple[str, ...]:
    """
    Return what a run that waits is searched by: `kind:group:tool`, one for each eligible group.

    The group is empty where nobody need be in one. A review has its subject in place of a tool, an
    escalation its trigger; of a *regulated* run it is `kind:id`. There are no more than the server
    takes.
    """
    found: dict[str, None] = {}
    left = MAX_SEARCH_ATTRIBUTE_BYTES
    for request in requests:
        named = (f"{request.kind}:{request.request_id}",)
        for keyword in named if regulated else _build_keywords(request):
            left -= size(keyword) + 1
            if left < 0 or len(found) == MAX_SEARCHABLE_REQUESTS:
                return tuple(found)
            found[keyword] = None
    return tuple(found)


def may_wait_for(keywords: Sequence[str] | None, group: str) -> bool:
    """Whether members of a group may be waited for, by what a run is searched by, if known."""
    if keywords is None or len(keywords) == MAX_SEARCHABLE_REQUESTS:
        return True
    unsaid = any(keyword.count(":") == 1 for keyword in keywords)  # of a regulated run
    return (
        unsaid
        or any(f":{group}:" in keyword for keyword in keywords)
        or (
            # There was no room for more, which may name the group.
            sum(size(keyword) + 1 for keyword in keywords) > MAX_SEARCH_ATTRIBUTE_BYTES // 2
        )
    )


def is_for_group(request: Request, group: str) -> bool:
    """Whether members of a group may decide a request that not everybody may."""
    return isinstance(request, ApprovalRequest | Review) and group in find_eligible_groups(request)


def _build_keywords(request: Request) -> Iterator[str]:
    match request:
        case ApprovalRequest() | Review():
            about = subject_line(request.subject) if isinstance(request, Review) else request.tool
            for group in find_eligible_groups(request) or ("",):
                yield f"{request.kind}:{group}:{about}"
        case Question(tool=tool):
            yield f"question::{tool}"
        case Escalation(trigger=trigger):
            yield f"escalation::{trigger}"


def replace_request(state: RunState, fresh: ApprovalRequest | Review) -> RunState:
    """Put a request in the place of what it was before."""
    requests = tuple(
        fresh if request.request_id == fresh.request_id else request
        for request in state.oversight.requests
    )
    return state.with_oversight(requests=requests)


def close_request(
    state: RunState, request: Request, outcome: RequestOutcome, now: datetime
) -> RunState:
    """Close a request; where a message does it, the verdict on that is in history."""
    done = ClosedRequest(request_id=request.request_id, outcome=outcome, at=now)
    told: tuple[JournalEvent, ...] = ()
    if outcome in {"expired", "withdrawn"}:
        told = (RequestClosed(request_id=request.request_id, outcome=outcome, at=now),)
    waiting = state.oversight.requests
    # Mostly it is the first of all that wait, and there may be thousands.
    places = (at for at, one in enumerate(waiting) if one.request_id == request.request_id)
    place = next(places, len(waiting))
    return state.with_(journal=state.journal + told).with_oversight(
        requests=(*waiting[:place], *waiting[place + 1 :]),
        closed=(*state.oversight.closed, done)[-KEEP_LAST_CLOSED:],
    )


def withdraw_requests(state: RunState, now: datetime) -> RunState:
    """
    Close what waits for people when its run is ended: there is nothing left to decide.

    What guardrails had asked about nobody has let pass, and no later message reads it.
    """
    state = hiding.hide_review_subjects(state, state.oversight.requests)
    for request in state.oversight.requests:
        state = close_request(state, request, "withdrawn", now)
    return state


def find_call(state: RunState, call_id: str) -> CallState:
    """Return the call of the current turn with this id."""
    return next(call for call in state.calls if call.call.call_id == call_id)


def replace_call(state: RunState, fresh: CallState) -> RunState:
    """Put a call in the place of what it was before."""
    return state.with_(
        calls=tuple(
            fresh if call.call.call_id == fresh.call.call_id else call for call in state.calls
        )
    )


def count_judged_together(state: RunState, about: Sequence[str]) -> int:
    """
    Return how many of the first messages can be judged together: one at least.

    *about* are the requests that they name, whose outlines go with them in one payload.
    """
    left, seen = MAX_JUDGED_OUTLINES_BYTES, set[str]()
    for count, request_id in enumerate(about):
        request = None if request_id in seen else find(state, request_id)
        left -= 0 if request is None else size(outline(request))
        if count and left < 0:
            return count
        seen.add(request_id)
    return len(about)


def expiry(state: RunState, now: datetime) -> datetime:
    """Say until when somebody may decide, where nothing else is said."""
    return now + timedelta(seconds=state.agent.approval_timeout)


def find_steering_refusal(state: RunState, text: str) -> tuple[str, OutcomeCode] | None:
    """Say why words for the model have no place, or no effect any more, if so."""
    if state.is_ending:
        return describe_end(state), "over"
    waiting, unread = len(state.conversation.steers), state.conversation.unread
    if waiting < MAX_PENDING_STEERS and unread + size(text) <= MAX_UNREAD_BYTES:
        return None
    return (
        f"{pluralize(waiting, 'message')} with {unread:,} bytes waiting for the model, and "
        f"{MAX_PENDING_STEERS} with {MAX_UNREAD_BYTES:,} may: say it again after its next turn"
    ), "full"


def describe_end(state: RunState) -> str:
    """Say why words for the model come too late."""
    if state.is_idle:
        return "no message is worked on now: the next one begins work"
    return "the run is over"


def recount_unread_bytes(state: RunState) -> RunState:
    """Count what of people's words a model has yet to read, when it has read all the others."""
    unread = sum(size(words.text) for words in state.conversation.steers)
    return state.with_conversation(unread=unread)


def queue_steering(state: RunState, words: UserTurn, now: datetime) -> RunState:
    """
    Keep words of a person until the next model call.

    An answer that was given before them is no answer any more, and nobody need review it.
    """
    if state.answering.candidate is not None:
        for request in state.oversight.requests:
            if isinstance(request, Review) and not request.call_id:
                state = close_request(state, request, "withdrawn", now)
    unread = state.conversation.unread + size(words.text)
    return state.with_conversation(
        steers=(*state.conversation.steers, words), unread=unread
    ).with_answering(candidate=None)
