"""
What no later message of a session reads: what guardrails, or people, had something against. Pure.

An item counts as looked at when all who look at such items have let it pass, and not before: what
ends the work meanwhile lets nothing pass. So it is in a run that was handed over, which somebody
may try again: that begins with an agent for whom these guardrails don't look.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from holdfast.contracts.approvals import Request, Review
from holdfast.contracts.guardrails import GuardrailSpec, GuardrailVerdict
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import ItemRange, ToolTurn
from holdfast.run import context, gates


def was_handed_over(state: RunState) -> bool:
    """Whether others may look at the run than those of the agent with which it began."""
    return state.parts.handoffs > 0


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
    took the session over. What isn't there any more as they looked at it, since the run goes on in
    a new execution, may be quoted anywhere.
    """
    if state.session is None and not was_handed_over(state):
        return state
    about = tuple(dict.fromkeys(one for one in subjects if _is_about_turn(state, one)))
    places = tuple(_find_turns(state, about))
    for place in places:  # by itself too: else what a project's files say would stay
        span = ItemRange(begin=place, end=place + 1)
        state = state.with_conversation(hidden=(*state.conversation.hidden, span))
    if len(_find_known_subjects(state, about)) < len(about):
        return hide_from(state, 0)
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


def hide_review_subjects(state: RunState, reviews: Iterable[Request]) -> RunState:
    """Hide what people were asked about because of guardrails, and nobody has let pass."""
    asked = (one.subject for one in reviews if isinstance(one, Review))
    return hide_subjects(state, [one for one in asked if one.startswith(gates.GUARDRAIL_PREFIX)])


def lacks_review_subject(state: RunState) -> bool:
    """Whether people are asked about what goes into the model, and it isn't there as it was."""
    if state.answering.candidate is not None:
        return False
    asked = {
        one.subject
        for one in state.oversight.requests
        if isinstance(one, Review)
        and one.subject.startswith(gates.GUARDRAIL_PREFIX)
        and not one.call_id
    }
    return len({subject for _, subject in _find_subjects(state, asked)}) < len(asked)


def hide_objections(state: RunState) -> RunState:
    """Hide what somebody had something against when a run was over that was handed over."""
    if not was_handed_over(state):
        return state
    return hide_what_was_given_up(hide_review_subjects(state, state.oversight.requests))


def hide_unseen_items(state: RunState) -> RunState:
    """
    Hide what guardrails had yet to look at when a run was over that was handed over.

    Who tries it again begins with an agent for whom these don't look.
    """
    unseen = find_unseen(state) if was_handed_over(state) else None
    return state if unseen is None else hide_from(state, unseen)


def hide_what_was_given_up(state: RunState) -> RunState:
    """Hide what a guardrail sent back, or an approach, of which not all was taken back yet."""
    if (tripped := state.answering.tripped) is not None:
        state = hide_tripwires(state, (tripped,))
    if state.approaches.dead_end and state.approaches.checkpoint is not None:
        state = hide_from(state, state.approaches.checkpoint.items)
    return state


def find_unseen(state: RunState) -> int | None:
    """Return from where on guardrails have yet to look; null for nowhere."""
    waiting = (
        (state.guarding.guarded, gates.select_blocking_checks(state)),
        (state.guarding.watched, gates.select_parallel_checks(state)),
    )
    return min((place for place, checks in waiting if checks), default=None)


def find_looked_end(
    state: RunState,
    checks: Iterable[gates.GuardrailCheck],
    verdicts: Iterable[GuardrailVerdict],
    end: int,
) -> int:
    """Return the place before which all was looked at: *end* where each check has its verdict."""
    told = {(one.guardrail, one.subject) for one in verdicts}
    missing = [
        gates.subject_of(check.spec, what)
        for check in checks
        for what in map(gates.digest_subject, check.subjects)
        if (check.spec.name, what) not in told
    ]
    return min(_find_turns(state, missing), default=end)


def advance_watch(
    state: RunState,
    checks: Iterable[gates.GuardrailCheck],
    verdicts: Iterable[GuardrailVerdict],
    end: int,
) -> RunState:
    """Move on behind what guardrails beside a model have looked at."""
    return state.with_guarding(watched=find_looked_end(state, checks, verdicts, end))


def _is_about_turn(state: RunState, subject: str) -> bool:
    """Whether it stands in the transcript by itself; an answer, or a call, is hidden otherwise."""
    spec = gates.find_spec(state, gates.split_subject(subject)[0])
    return spec.layer == "input" or (spec.layer == "post_action" and bool(spec.tools))


def _find_known_subjects(state: RunState, subjects: Collection[str]) -> frozenset[str]:
    """Return those of which the turns are there, be they hidden."""
    said = state.with_conversation(hidden=())
    return frozenset(subject for _, subject in _find_subjects(said, subjects))


def _find_turns(state: RunState, subjects: Iterable[str]) -> Iterable[int]:
    """
    Return where the turns begin that guardrails looked at; none for what is no turn.

    The same may stand there twice, as what a project says in a session that opened again.
    """
    return dict.fromkeys(place for place, _ in _find_subjects(state, subjects))


def _find_subjects(state: RunState, subjects: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield them with what was looked at: there may be thousands, and each turn is read once."""
    wanted = defaultdict[str, dict[str, str]](dict)
    for subject in subjects:
        name, what = gates.split_subject(subject)
        wanted[name][what] = subject
    for name, about in wanted.items():
        for place, what in _read_turns(state, gates.find_spec(state, name)):
            if what in about:
                yield place, about[what]


def _read_turns(state: RunState, spec: GuardrailSpec) -> Iterator[tuple[int, str]]:
    """Yield all that a guardrail looks at of what is shown: its turn, and the digest of it."""
    if spec.layer not in {"input", "post_action"}:
        return
    said = state.conversation
    hidden = context.find_hidden_places(said.items, said.hidden)
    for place, item in enumerate(said.items):
        if place in hidden:
            continue
        begin = place - 1 if isinstance(item, ToolTurn) else place
        if spec.layer == "input":
            read = tuple(gates.select_input_subjects(state, spec, (item,)))
        else:
            read = gates.build_done_subjects(said.items[begin : place + 1])
        for one in read:
            yield begin, gates.digest_subject(one)
