"""What parts of a run did: kept for the whole, and told to whoever comes next. Pure."""

from holdfast.contracts import bounds
from holdfast.contracts.bounds import MAX_LISTED_EFFECTS
from holdfast.contracts.control import Effect, KnownEffect
from holdfast.contracts.run import RunResult
from holdfast.contracts.state import RunState
from holdfast.run import escalations, tool_results

MAX_PARALLEL_CHILDREN = 4
"""So many children of one run work beside each other; more would only wait for its worker."""


UNKNOWN_EFFECT = KnownEffect(tool="", digest="", outcome="unknown")
"""What was done by a part that was lost, or of which too much was done to be kept."""


def after_result(state: RunState, part: str, result: RunResult) -> RunState:
    """Take over what a part did, what it took back, and which models failed it."""
    theirs = tuple(_attribute_to_part(part, one) for one in (*result.effects, *result.unresolved))
    state = escalations.record_attempts(
        tool_results.with_effects(state, (*state.effects, *theirs)), *result.failures
    )
    if result.compensation is None:
        return state
    together = tool_results.merge_compensations(state.compensation, result.compensation)
    return state.with_(compensation=together)


def after_loss(state: RunState, part: str, agent: str) -> RunState:
    """Keep that a part ended without a result: nobody knows what it did."""
    whatever = Effect(
        summary=f"{part}: whatever {agent} did, whose run ended without a result",
        outcome="unknown",
        part=part,
    )
    return tool_results.with_effects(state, (*state.effects, whatever))


def build_known_effects(state: RunState) -> tuple[KnownEffect, ...]:
    """Return what a part that begins now doesn't do again; what stays in a workspace, it may."""
    return _merge_effects(state, state.effects, lost=state.lost or state.forgotten_effects > 0)


def build_own_known_effects(state: RunState) -> tuple[KnownEffect, ...]:
    """
    Return what the run itself doesn't do again: what was done before it, or by its parts.

    What couldn't be taken back of an approach that failed is done for the next one, too. Other
    calls of its own it may repeat, but for those of unknown outcome, which it keeps apart.
    """
    settled = tuple(one for one in state.effects if one.part or one.reported)
    return _merge_effects(state, settled, lost=state.lost)


def describe_effects(state: RunState) -> str:
    """Write what was done, for the goal of a part that begins now; empty where nothing was."""
    outside = [one for one in state.effects if one.digest and not one.local]
    done = [one.summary for one in outside if one.outcome == "done"]
    unknown = [one.summary for one in outside if one.outcome == "unknown"]
    lost = [one.summary for one in state.effects if not one.tool]
    return "\n\n".join(
        filter(
            None,
            (
                _render_list("Done already for this goal; the same call is refused:", done),
                _render_list(
                    "Nobody knows whether this happened; the same call is refused:", unknown
                ),
                _render_list(
                    "Nobody knows what was done; a person is asked before any change:", lost
                ),
            ),
        )
    )


def describe_standing_effects(state: RunState) -> str:
    """Write what couldn't be taken back of approaches that failed; empty where everything was."""
    standing = [one.summary for one in state.effects if one.reported]
    if state.lost:
        standing.insert(0, "and more, which nobody can name any more")
    return _render_list("This could not be taken back, and still stands:", standing)


def _merge_effects(
    state: RunState, done: tuple[Effect, ...], *, lost: bool
) -> tuple[KnownEffect, ...]:
    """Put these effects behind what was known before; what isn't known stands before all."""
    outside = (
        KnownEffect(tool=one.tool, digest=one.digest, outcome=one.outcome)
        for one in done
        if one.digest and not one.local
    )
    every = dict.fromkeys((*state.known, *outside))
    lost = lost or not all(one.digest for one in state.known) or not all(one.tool for one in done)
    if not lost and len(every) <= bounds.MAX_KNOWN_EFFECTS:
        return tuple(every)
    every.pop(UNKNOWN_EFFECT, None)
    return (UNKNOWN_EFFECT, *tuple(every)[1 - bounds.MAX_KNOWN_EFFECTS :])


def _attribute_to_part(part: str, effect: Effect) -> Effect:
    inner = f"{part}.{effect.part}" if effect.part else part
    return effect.with_(part=inner, summary=f"{part}: {effect.summary}")


def _render_list(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    left = len(lines) - MAX_LISTED_EFFECTS
    more = [f"- and {left} more before these"] if left > 0 else []
    return "\n".join((title, *more, *(f"- {line}" for line in lines[-MAX_LISTED_EFFECTS:])))
