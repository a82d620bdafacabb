"""Going back to where an approach began, with what it taught, and planning another. Pure."""

from collections.abc import Iterable
from datetime import datetime

from holdfast.contracts.bounds import MAX_APPROACH_CHARS
from holdfast.contracts.control import Checkpoint
from holdfast.contracts.decisions import RunInSandbox
from holdfast.contracts.effects import Compensation
from holdfast.contracts.guardrails import Signals
from holdfast.contracts.model import ModelReply
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import ItemRange, UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import escalations, gates, parts, tool_calls, tool_results
from holdfast.run.transcript import append_items, halt, measure_context


def wants_snapshot(state: RunState, batch: tuple[CallState, ...]) -> bool:
    """Whether calls may change files of a project as nobody has kept them yet."""
    return _is_unkept(state) and any(
        isinstance(call.decision, RunInSandbox) and not tool_calls.changes_nothing(state, call)
        for call in batch
    )


def wants_snapshot_for_commands(state: RunState, checks: Iterable[gates.GuardrailCheck]) -> bool:
    """Whether commands of guardrails may change files of a project as nobody has kept them yet."""
    return _is_unkept(state) and any(
        one.spec.command or one.spec.project_commands for one in checks
    )


def set_checkpoint(state: RunState, workspace: str) -> RunState:
    """Note where to go back to."""
    place = Checkpoint(
        items=len(state.conversation.items),
        model_index=state.chain.model_index,
        workspace=workspace,
        summary=state.conversation.summary,
        summarised_before=state.conversation.summarised_before,
    )
    before = state.effects.workspace or workspace
    stood = state.effects.forgotten + len(state.effects.done)
    kept = state.with_effects(workspace=before, stood=stood)
    return kept.with_approaches(checkpoint=place)


def request_plan(state: RunState) -> RunState:
    """Ask the model for an approach, with those that failed and why."""
    origin = "findings" if state.approaches.failed else "notice"
    request = UserTurn(text=_render_plan_request(state), origin=origin)
    return state if state.conversation.items[-1:] == (request,) else append_items(state, request)


def start_approach(state: RunState, reply: ModelReply) -> RunState:
    """Take an approach, and have it carried out; said once more, it outlives every pruning."""
    approach = shorten(reply.text, MAX_APPROACH_CHARS) or "(the model named no approach)"
    go_on = UserTurn(text=f"Carry out this approach:\n\n{approach}", origin="plan")
    return (
        append_items(state, reply.build_turn(), go_on)
        .with_approaches(current=approach)
        .with_answering(revisions=0)
    )


def roll_back(state: RunState, undone: Compensation, now: datetime) -> RunState:
    """
    Leave an approach that failed: the model sees the transcript as it was, and who failed it.

    The record, the counters and the budget stay as they are. Words of people are said again.
    """
    checkpoint = state.approaches.checkpoint
    if checkpoint is None:
        raise ValueError("there is nowhere to go back to")
    failed = escalations.describe_approach(state, state.approaches.dead_end)
    words = escalations.words_since(state, checkpoint.items)
    hidden = (
        *state.conversation.hidden,
        ItemRange(begin=checkpoint.items, end=len(state.conversation.items)),
    )
    kept = _without_effects(state, undone)
    ledger = kept.ledger.with_(
        retries=state.ledger.retries + 1, failures_in_a_row=0, last_call=CallUsage()
    )
    left = measure_context(
        append_items(
            kept.with_(ledger=ledger)
            .with_conversation(
                hidden=hidden,
                summary=checkpoint.summary,
                summarised_before=checkpoint.summarised_before,
                failed_summaries=0,
            )
            .with_approaches(failed=(*state.approaches.failed, failed), current=None, dead_end="")
            .with_chain(model_index=checkpoint.model_index, provider_state={})
            .with_oversight(reviewed=gates.select_run_approvals(state))
            .with_answering(output_retries=0, signals=Signals()),
            *words,
        )
    )
    left = left.with_approaches(checkpoint=checkpoint.with_(items=len(state.conversation.items)))
    if escalations.can_try_again(left):
        return left
    return _after_max_backtracks(left, now)


def find_workspace_to_restore(state: RunState) -> str:
    """
    Return the digest of the workspace as it was at the checkpoint; empty where it stays as it is.

    It does where there is none, and in a run that a person has stopped: that takes nothing back.
    """
    if state.approaches.checkpoint is None or state.is_ending:
        return ""
    return state.approaches.checkpoint.workspace


def _is_unkept(state: RunState) -> bool:
    return state.project is not None and not state.effects.workspace


def _without_effects(state: RunState, undone: Compensation) -> RunState:
    """Tell only what could not be taken back: that the rest was is what going back means."""
    standing = undone.model_copy(update={"undone": ()})
    kept = tool_results.record_compensation(state, standing, since=state.effects.stood)
    if undone.not_undone:
        return kept
    return kept.with_effects(compensation=state.effects.compensation)


def _after_max_backtracks(state: RunState, now: datetime) -> RunState:
    stop = Stop.because(
        StopReason.BACKTRACKS_EXCEEDED,
        "; ".join(
            f"{one.number}: {shorten(one.failure_reason, 200)}" for one in state.approaches.failed
        ),
    )
    if state.agent.escalates:
        return escalations.escalate(state, stop, now, escalations.BACKTRACKS)
    return halt(state, stop, now, "failed")


_ALL_UNDONE = "everything that they did was taken back"


def _render_plan_request(state: RunState) -> str:
    lines = [
        "Plan one approach to the goal, in a few sentences. Call no tool and do nothing yet.",
    ]
    standing = parts.describe_standing_effects(state)
    if state.approaches.failed:
        undone = "what they did was taken back as far as it could be" if standing else _ALL_UNDONE
        lines.append(f"These approaches failed, and {undone}:")
    lines += [
        f"{one.number}. {one.approach}\n   It failed: {one.failure_reason}\n"
        f"   It came so far: {one.partial_progress}"
        for one in state.approaches.failed
    ]
    if standing:
        lines.append(standing)
    if state.approaches.failed:
        lines.append("Choose another approach.")
    return "\n".join(lines)
