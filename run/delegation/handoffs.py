"""Handing a run to another agent, which goes on with it within what the sender might do. Pure."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import (
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolSuccess,
    idempotency_key,
)
from holdfast.contracts.control import MAX_RECENT_CHANGES, Delegation, HandoffData
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.guardrails import checks_answers
from holdfast.contracts.journal import HandoffRecord
from holdfast.contracts.run import AgentSnapshot, RunMetadata
from holdfast.contracts.sessions.state import SessionState
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.transcript import UserTurn
from holdfast.run import answers, context
from holdfast.run.delegation import ceilings
from holdfast.run.limits import budgets, plans, regulation
from holdfast.run.limits.triggers import select_domains_to_hand_on
from holdfast.run.summaries import describe_validation_error
from holdfast.run.transcript import append_items, measure_context

MAX_HANDOFFS = 20
"""So often agents hand a run to each other; the same few in turn are a loop long before."""


_READING_TOOL = "read_result"


class PreparedHandoff(NamedTuple):
    """An agent that goes on with a run, and the words that it begins with, *loaded* among them."""

    receiver: AgentSnapshot
    record: HandoffRecord
    words: str
    loaded: bool = False


def find_refusal(state: RunState, call: CallState) -> ToolFailure | None:
    """Say why the run isn't handed over again, if it isn't."""
    if state.parts.handoffs < MAX_HANDOFFS:
        return None
    reason = f"the run was handed over {MAX_HANDOFFS} times, and no more may be"
    return ToolFailure.of(call.call, "denied", "permission_denied", reason, "answer yourself")


def build_second_denial(call: CallState) -> ToolFailure:
    """Build the result of another handoff of the same turn: one agent goes on."""
    reason = "one agent can go on with the run, and this turn names several"
    return ToolFailure.of(
        call.call, "denied", "permission_denied", reason, "leave it to who goes on"
    )


def build_record(
    state: RunState,
    call: CallState,
    receiver: str,
    now: datetime,
    given: tuple[str, ...],
    *,
    delegation: Delegation,
) -> HandoffRecord:
    """Build the record of a handoff; the goal is quoted where that may be told."""
    transcript = () if delegation.returns else ("transcript",)
    return HandoffRecord(
        handoff_id=idempotency_key(state.first_execution_run_id, call.call.call_id, "call"),
        from_agent=state.agent.name,
        to_agent=receiver,
        timestamp=now,
        task_id=state.run_id,
        goal=answers.redact(state, read_goal(call)),
        context_passed=("goal", *transcript, *given),
        return_expected=delegation.returns,
        timeout_seconds=delegation.timeout_seconds,
    )


def withdraw_returns(state: RunState, calls: Collection[str]) -> RunState:
    """Take back that these calls handed something over: they are decided anew."""
    first = state.first_execution_run_id
    names = {idempotency_key(first, call_id, "call") for call_id in calls}
    journal = (
        one
        for one in state.journal
        if not (isinstance(one, HandoffRecord) and one.handoff_id in names)
    )
    return state.with_(journal=tuple(journal)).with_parts(
        handoffs=state.parts.handoffs - len(calls)
    )


def read_goal(call: CallState) -> str:
    """Return what the model says that the receiver is to do."""
    arguments = call.call.arguments if isinstance(call.call, ToolCall) else {}
    return str(arguments.get("goal", ""))


def build_success(call: CallState, record: HandoffRecord) -> ToolSuccess:
    """Build the one result of the call."""
    return ToolSuccess(
        call_id=call.call.call_id,
        name=call.call.name,
        summary=f"{record.to_agent} goes on",
        data={"to_agent": record.to_agent},
    )


def build_open_failure(call: CallState, receiver: str, reason: str) -> ToolFailure:
    """Build the result of a handoff whose receiver nobody has."""
    return ToolFailure.of(
        call.call,
        "error",
        "internal_error",
        f"{receiver} can't go on: {reason}",
        "go on yourself",
    )


def find_objection(state: RunState, receiver: AgentSnapshot) -> str:
    """Say why this run can't go on so bound, or as a regulated one, as the receiver would."""
    if overflow := ceilings.find_overflow(state.agent, state.brief):
        return overflow
    limited = limit_receiver(state.agent, state.brief, receiver)
    return regulation.find_receiver_objection(state.brief, limited)


def build_load_denial(call: CallState, name: str) -> ToolFailure:
    """Build the result of a handoff for which nothing may be loaded."""
    reason = (
        f"the policy forbids {name!r}, which loads what the other agent needs, or keeps it in the "
        "sandbox, or a ceiling keeps it back, or it changes something by now"
    )
    return ToolFailure.of(call.call, "denied", "permission_denied", reason, "go on yourself")


def render_context(
    state: RunState, call: CallState, loaded: ToolResult | None
) -> tuple[str, tuple[str, ...]] | ToolFailure:
    """
    Write what the receiver reads first, and name what of it was loaded.

    What was loaded and is too large stands in its artifact, whose place is told.
    """
    said = f"{state.agent.name} has handed this over to you. What is to be done: {read_goal(call)}"
    match loaded:
        case None:
            return said, ()
        case ToolFailure():
            return loaded.with_(call_id=call.call.call_id, name=call.call.name)
        case ToolSuccess(cut=True):
            return f"{said}\n\n{_render_excerpt(loaded)}", ("excerpt",)
        case ToolSuccess(data=data):
            return _render_data(call, said, data)


def add_cursor(
    state: RunState, receiver: AgentSnapshot, words: str, loaded: ToolResult | None
) -> str:
    """Tell a receiver that can read on in this run's results where what was loaded goes on."""
    data = loaded.data if isinstance(loaded, ToolSuccess) and loaded.cut else None
    cursor = data.get("cursor") if isinstance(data, dict) else None
    if cursor is None or not limit_receiver(state.agent, state.brief, receiver).find_tool(
        _READING_TOOL
    ):
        return words
    return f"{words}\n\n{_READING_TOOL} reads on with the cursor {cursor}"


def add_constraints(
    state: RunState, words: str, given: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Tell a receiver that doesn't read the transcript what was to be kept to so far."""
    lasting = context.select_lasting(state.conversation.items)
    bound = tuple(
        one.text for one in lasting if one.origin == "constraint" and one != plans.PLAN_FIRST
    )
    if not bound:
        return words, given
    told = f"{words}\n\nWhat {state.agent.name} had to keep to, and you have to:\n"
    return told + _render_list(bound), tuple(dict.fromkeys((*given, "constraints")))


def _render_excerpt(loaded: ToolSuccess) -> str:
    where = f"; the whole is in {loaded.artifact.path}" if loaded.artifact is not None else ""
    match loaded.data:
        case {"excerpt": str(text)}:
            return f"What was loaded begins so{where}:\n{text}"
        case {"excerpt": shown}:
            text = json.dumps(shown, ensure_ascii=False)
            return f"What was loaded begins so{where}:\n{text}"
        case _:
            return f"What was loaded can't be shown: {loaded.summary}"


def _render_data(
    call: CallState, said: str, data: JsonValue
) -> tuple[str, tuple[str, ...]] | ToolFailure:
    try:
        read = HandoffData.model_validate(data)
    except ValidationError as error:
        reason = f"what was loaded is no HandoffData: {describe_validation_error(error)}"
        return ToolFailure.of(call.call, "error", "internal_error", reason, "go on yourself")
    changes = read.recent_changes[:MAX_RECENT_CHANGES]
    files = "\n\n".join(f"{path}:\n{text}" for path, text in read.files.items())
    sections = {
        "files": ("Files", files),
        "architecture": ("Architecture", read.architecture),
        "recent_changes": ("Recent changes, newest first", _render_list(changes)),
        "constraints": ("Constraints", _render_list(read.constraints)),
    }
    told = {name: one for name, one in sections.items() if one[1]}
    text = "\n\n".join((said, *(f"{title}:\n{text}" for title, text in told.values())))
    return text, tuple(told)


def _render_list(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def hand_over(state: RunState, prepared: PreparedHandoff) -> RunState:
    """
    Let the receiver go on: with its own tools, rules and models, and the ledger of the run.

    Its guardrails look at all that was said. What a provider keeps of the talk with the sender is
    dropped, and so are the sender's plan and the place that it would have gone back to. What
    people have reviewed counts where the receiver's reviews take no more.
    """
    ceiling = ceilings.find_ceiling(state.agent, state.brief)
    receiver = limit_receiver(state.agent, state.brief, prepared.receiver)
    if state.output_schema is not None:
        receiver = receiver.copy_with({"output_schema": state.output_schema})
        receiver = receiver.with_(prefix_digest=receiver.prefix.digest)
    counts = receiver.review == state.agent.review
    fresh = (
        state.with_(
            agent=receiver,
            brief=ceilings.bind_brief(_bind_brief(state, receiver), ceiling),
            ceiling=ceilings.lower_ceiling(state.ceiling, _find_limits(ceiling)),
            session=_limit_session(state, prepared.receiver, ceiling),
            journal=(*state.journal, prepared.record),
        )
        .with_oversight(
            reviewed=state.oversight.reviewed if counts else (),
            releases=state.oversight.releases if counts else (),
        )
        .with_parts(handoffs=state.parts.handoffs + 1)
        .with_chain(
            provider_state={}, model_index=0, unheard=False, paused=False, provider_wait=None
        )
        .with_guarding(guarded=0, watched=0)
        .with_approaches(checkpoint=None, current=None)
        .with_answering(output_retries=0, revisions=0)
    )
    # What a tool has loaded is looked at as its results are.
    words = UserTurn(text=prepared.words, origin="findings" if prepared.loaded else "notice")
    return measure_context(append_items(fresh, words))


def _bind_brief(state: RunState, receiver: AgentSnapshot) -> RunMetadata:
    """
    Return whom the run works for; in what domains it acts unasked is the sender's word too.

    A run that somebody regulated goes on with is regulated, whatever it began as.
    """
    domains = select_domains_to_hand_on(state.agent.triggers, state.brief)
    regulated = state.brief.regulated or receiver.regulated
    return state.brief.copy_with({"sensitive_domains": domains, "regulated": regulated})


def _limit_session(
    state: RunState, receiver: AgentSnapshot, ceiling: Ceiling
) -> SessionState | None:
    """Return a session in which later messages have no more than the receiver's limits either."""
    session = state.session
    if session is None:
        return None
    limits = budgets.cap_at(session.limits, receiver.budget)
    return session.with_(
        limits=ceilings.lower_limits(limits, ceiling),
        ceiling=ceilings.lower_ceiling(session.ceiling, _find_limits(ceiling)),
    )


def limit_receiver(
    sender: AgentSnapshot, brief: RunMetadata, receiver: AgentSnapshot
) -> AgentSnapshot:
    """
    Return the receiver as it goes on with this run: nothing that bound the sender is lost.

    No limit is raised, guardrails of the sender look on, and what it did can still be undone. It
    has no tool that the ceiling of any agent before it keeps from it.
    """
    ceiling = ceilings.find_ceiling(sender, brief)
    limits = budgets.cap_at(receiver.budget, sender.budget)
    receiver = ceilings.cut_tools(receiver, ceilings.bind_brief(brief, ceiling))
    own = {one.name for one in receiver.guardrails}
    bound = {one.name: one for one in sender.guardrails}  # another release may know one otherwise
    looking = tuple(one for one in sender.guardrails if one.name not in own)
    known = {one.name for one in (*receiver.tools, *receiver.companions)}
    changes: dict[str, object] = {
        "budget": ceilings.lower_limits(limits, ceiling),
        "guardrails": (*(bound.get(one.name, one) for one in receiver.guardrails), *looking),
        "review": ceilings.join_reviews(sender.review, receiver.review),
        "companions": (
            *receiver.companions,
            *(one for one in _find_undos(sender) if one.name not in known),
        ),
    }
    if checks_answers(sender.guardrails) and sender.stream != "before_checks":
        changes["stream"] = False  # words that its guardrails have yet to see are told to nobody
    cut = receiver.copy_with(changes)
    return cut.with_(prefix_digest=cut.prefix.digest)


def _find_limits(ceiling: Ceiling) -> Budget | None:
    """Return what nothing may raise from now on; null where the ceiling names no limit."""
    return ceiling.budget if ceiling.budget.model_fields_set else None


def _find_undos(sender: AgentSnapshot) -> tuple[ToolContract, ...]:
    """Return the tools by which may be taken back what was done so far."""
    undone = {tool.undo for tool in (*sender.tools, *sender.companions)}
    seen = (one for one in sender.tools if one.name in undone)
    return tuple({one.name: one for one in (*seen, *sender.companions)}.values())
