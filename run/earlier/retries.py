"""How a run begins that tries an earlier one again, or goes on from one of its turns. Pure."""

from holdfast.contracts.calls import RecordedResult
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.effects import KnownEffect
from holdfast.contracts.run import RunInput, RunMetadata
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import TranscriptDigest, UserTurn
from holdfast.run import answers
from holdfast.run.transcript import append_items


def take_over_limits(run: RunInput, earlier: Carryover) -> RunInput:
    """Return the input of a run with what binds the one that it tries again."""
    given = earlier.budget
    if run.budget is not None:
        given = run.budget if given is None else given.with_changes(run.budget)
    regulated = run.regulated or earlier.brief.regulated
    kept = {"budget": given, "ceiling": earlier.ceiling, "known": earlier.known}
    bound = earlier.brief.model_dump(include={"without_tools", "without_risks"})
    return run.copy_with({**kept, **bound, "regulated": regulated})


def go_on_behind(state: RunState, earlier: Carryover) -> RunState:
    """
    Begin with what a run left that is tried again: its words and what it did, never its approvals.

    Whoever it worked for may approve as little here as in that one. Where it had been handed to an
    agent whose words are withheld, and this one's are not, or not by all that looked at them,
    nothing of those is told here.
    """
    looking = state.agent.answer_guardrails
    if earlier.withheld and not (state.withholds and earlier.guarded_by <= looking):
        items = tuple(map(answers.redact_item, earlier.items))
        recorded = tuple(map(_redact_record, earlier.recorded))
        earlier = earlier.with_(
            items=items,
            recorded=recorded,
            told=_tell_known(earlier.known),
            summary="",
            summarised_before=0,
        )
    behind = TranscriptDigest(digest=earlier.origin)
    state = (
        state.with_(
            brief=build_retry_brief(state.brief, earlier),
            call_marks=earlier.call_marks,
            planning=earlier.brief.mode == "plan",
        )
        .with_conversation(
            origin=behind.digest,
            sent=behind,
            head=behind,
            items=(),
            context_bytes=0,
            summary=earlier.summary,
            summarised_before=earlier.summarised_before,
        )
        .with_effects(recorded=earlier.recorded)
    )
    return append_items(state, *earlier.items, _build_retry_notice(state, earlier))


def _tell_known(known: tuple[KnownEffect, ...]) -> str:
    """Name what was done by its tools: a call may have been made with words that are withheld."""
    told = (f"- {one.tool or 'nobody knows what'} ({one.outcome})" for one in known)
    title = "What it did, or may have; the same call is refused:"
    return "\n".join((title, *told)) if known else ""


def _redact_record(one: RecordedResult) -> RecordedResult:
    return one.model_copy(update={"result": answers.redact_result(one.result)})


def build_retry_brief(asked: RunMetadata, earlier: Carryover) -> RunMetadata:
    """Build what is kept of a run that tries another one again: all but who wants it, and how."""
    left = earlier.brief
    actors = (*asked.earlier_actors, *left.earlier_actors, left.actor)
    lineage = {
        "run_id": asked.retry_of.run_id if asked.retry_of else "",
        "first_execution_run_id": earlier.first_execution_run_id,
        "turn": asked.retry_of.turn if asked.retry_of else None,
        "dry": asked.is_dry,
    }
    return RunMetadata.model_validate(
        {
            **left.model_dump(),
            "actor": asked.actor,
            "stream": left.stream if asked.stream is None else asked.stream,
            "earlier_actors": tuple(dict.fromkeys(actors)),
            "retry_of": lineage,
            "regulated": asked.regulated or left.regulated,
        }
    )


def _build_retry_notice(state: RunState, earlier: Carryover) -> UserTurn:
    """Say where the words of the run end that is tried again or forked, and what it did."""
    of = state.brief.retry_of
    retried = of.run_id if of else ""
    said = f"Run {retried} ended here ({earlier.reason}), and this run tries it again."
    if of and of.turn:
        said = f"Run {retried} went on from here, and this run takes its turn {of.turn} anew."
    said = f"{said} What was approved in it is approved no more."
    told = earlier.told
    if state.brief.is_dry:
        told = "No tool runs: calls are answered with what was recorded, any other is refused."
    text = "\n\n".join(filter(None, (said, told)))
    return UserTurn(text=text, origin="constraint")
