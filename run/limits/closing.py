"""The last words of a run whose steps are used up: a summary, and no answer. Pure."""

from datetime import datetime

from holdfast.contracts.control import Candidate, LimitSummary
from holdfast.contracts.model import ModelPurpose, ModelReply
from holdfast.contracts.state.phase import Closing
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.usage import CallUsage
from holdfast.run import answers, replies, turns
from holdfast.run.limits import budgets
from holdfast.run.transcript import LAST_WORDS_REQUEST, append_items, halt


def request_closing(state: RunState) -> RunState:
    """Ask the model for its last words."""
    asked = state.conversation.items[-1:] == (LAST_WORDS_REQUEST,)
    return state if asked else append_items(state, LAST_WORDS_REQUEST)


def after_closing(state: RunState, reply: ModelReply, now: datetime) -> RunState:
    """Take the last words, which guardrails look at as at an answer; the call is no step."""
    stop = find_stop(state)
    kept = append_items(
        _without_step(state, replies.record_reply(state, reply)),
        reply.build_turn(),
    )
    if stop is None or reply.stop != "end_turn" or not reply.text.strip():
        return _end(kept, stop, now)
    summary = LimitSummary(text=reply.text, model=reply.model, usage=reply.usage)
    fresh = kept.with_(phase=Closing(stop=stop, summary=summary)).with_answering(
        candidate=Candidate(text=reply.text)
    )
    return answers.release_if_clear(fresh)


def charge_unheard(state: RunState, purpose: ModelPurpose, reply: ModelReply) -> RunState:
    """Count what a reply used that comes to nothing; last words are no step then either."""
    charged = turns.charge(state, reply)
    return _without_step(state, charged) if purpose == "closing" else charged


def after_failed_closing(state: RunState, used: CallUsage, now: datetime) -> RunState:
    """End without last words: the model could not be asked."""
    return _end(turns.charge_failed_usage(state, used), find_stop(state), now)


def find_stop(state: RunState) -> Stop | None:
    """Say why the run ends: its steps are used up, which is looked at before all other limits."""
    return budgets.check_limits(state.agent.budget, state.ledger, elapsed=0)


def _without_step(state: RunState, kept: RunState) -> RunState:
    return kept.with_(ledger=kept.ledger.with_(steps=state.ledger.steps))


def _end(state: RunState, stop: Stop | None, now: datetime) -> RunState:
    return state if stop is None else halt(state, stop, now)
