"""
What no later message of a session reads: what guardrails, or people, had something against. Pure.

An item counts as looked at when all who look at such items have let it pass, and not before: what
ends the work meanwhile lets nothing pass.
"""

from collections.abc import Iterable

from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import ItemRange, ToolTurn
from holdfast.run import context, gates


def hide_from(state: RunState, begin: int) -> RunState:
    """
    Hide what was said from a place on, and a summary by who had read any of it.

    What providers keep of it isn't gone on with either.
    """
    said = state.conversation
    span = ItemRange(begin=begin, end=len(said.items))
    state = state.with_conversation(hidden=(*said.hidden, span))
    if not said.summary or 0 < said.summary_read_before <= begin:
        return state  # no place is known of a summary that an older release has kept
    return state.with_conversation(
        summary="", summarised_before=0, summary_read_before=0
    ).with_chain(provider_state={})


def hide_subjects(state: RunState, subjects: Iterable[str]) -> RunState:
    """
    Hide what guardrails let nobody read, with all that was said since: it may be quoted there.

    *subjects* are as `gates.subject_of` names them; they may be from before, where another agent
    took the session over.
    """
    if state.session is None:
        return state
    found = (_find_turn(state, one) for one in subjects)
    places = [place for place in found if place is not None]
    for place in places:  # by itself too: else what a project's files say would stay
        span = ItemRange(begin=place, end=place + 1)
        state = state.with_conversation(hidden=(*state.conversation.hidden, span))
    return hide_from(state, min(places)) if places else state


def hide_tripwires(state: RunState, verdicts: Iterable[GuardrailVerdict]) -> RunState:
    """Hide what tripwires are about."""
    return hide_subjects(
        state,
        [
            gates.subject_of(gates.find_spec(state, one.guardrail), one.subject)
            for one in verdicts
            if one.tripwire_triggered
        ],
    )


def find_looked_end(
    state: RunState,
    checks: Iterable[gates.GuardrailCheck],
    verdicts: Iterable[GuardrailVerdict],
    end: int,
) -> int:
    """Return the place before which all was looked at: *end* where each check has its verdict."""
    told = {(one.guardrail, one.subject) for one in verdicts}
    missing = (
        gates.subject_of(check.spec, what)
        for check in checks
        for what in map(gates.digest_subject, check.subjects)
        if (check.spec.name, what) not in told
    )
    places = (_find_turn(state, one) for one in missing)
    return min((place for place in places if place is not None), default=end)


def advance_watch(
    state: RunState,
    checks: Iterable[gates.GuardrailCheck],
    verdicts: Iterable[GuardrailVerdict],
    end: int,
) -> RunState:
    """Move on behind what guardrails beside a model have looked at."""
    return state.with_guarding(watched=find_looked_end(state, checks, verdicts, end))


def _find_turn(state: RunState, subject: str) -> int | None:
    """Return where the turn begins that a guardrail looked at; null where it looked at none."""
    name, what = gates.split_subject(subject)
    spec, said = gates.find_spec(state, name), state.conversation
    hidden = context.find_hidden_places(said.items, said.hidden)
    for place, item in enumerate(said.items):
        begin = place - 1 if isinstance(item, ToolTurn) else place
        if spec.layer == "input":
            read = tuple(gates.select_input_subjects(state, spec, (item,)))
        elif spec.layer == "post_action":
            read = gates.build_done_subjects(said.items[begin : place + 1])
        else:
            return None
        if place not in hidden and what in map(gates.digest_subject, read):
            return begin
    return None
