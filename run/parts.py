"""What parts of a run did: kept for the whole, and told to whoever comes next. Pure."""

from holdfast.contracts import bounds
from holdfast.contracts.control import Effect, KnownEffect
from holdfast.contracts.run import RunResult
from holdfast.contracts.state import RunState
from holdfast.run import escalations, tool_results

AT_ONCE = 4
"""So many children of one run work beside each other; more would only wait for its worker."""

MOST_TOLD = 50
"""Effects that the goal of a part names; its permission engine knows them all."""

UNKNOWN = KnownEffect(tool="", digest="", outcome="unknown")
"""What was done by a part that was lost, or of which too much was done to be kept."""


def absorbed(state: RunState, part: str, result: RunResult) -> RunState:
    """Take over what a part did, what it took back, and which models failed it."""
    theirs = tuple(_of_part(part, one) for one in (*result.effects, *result.unresolved))
    state = escalations.attempted(
        tool_results.kept(state, (*state.effects, *theirs)), *result.failures
    )
    if result.compensation is None:
        return state
    together = tool_results.summed(state.compensation, result.compensation)
    return state.model_copy(update={"compensation": together})


def lost(state: RunState, part: str, agent: str) -> RunState:
    """Keep that a part ended without a result: nobody knows what it did."""
    whatever = Effect(
        summary=f"{part}: whatever {agent} did, whose run ended without a result",
        outcome="unknown",
        part=part,
    )
    return tool_results.kept(state, (*state.effects, whatever))


def known(state: RunState) -> tuple[KnownEffect, ...]:
    """Return what a part that begins now doesn't do again; what stays in a workspace, it may."""
    return _with(state, state.effects, lost=state.lost or state.forgotten_effects > 0)


def known_to_itself(state: RunState) -> tuple[KnownEffect, ...]:
    """
    Return what the run itself doesn't do again: what was done before it, or by its parts.

    Its own calls it may repeat, but for those of unknown outcome, which it keeps apart.
    """
    theirs = tuple(one for one in state.effects if one.part)
    return _with(state, theirs, lost=state.lost)


def told(state: RunState) -> str:
    """Write what was done, for the goal of a part that begins now; empty where nothing was."""
    outside = [one for one in state.effects if one.digest and not one.local]
    done = [one.summary for one in outside if one.outcome == "done"]
    unknown = [one.summary for one in outside if one.outcome == "unknown"]
    lost = [one.summary for one in state.effects if not one.tool]
    return "\n\n".join(
        filter(
            None,
            (
                _listed("Done already for this goal; the same call is refused:", done),
                _listed("Nobody knows whether this happened; the same call is refused:", unknown),
                _listed("Nobody knows what was done; a person is asked before any change:", lost),
            ),
        )
    )


def _with(state: RunState, done: tuple[Effect, ...], *, lost: bool) -> tuple[KnownEffect, ...]:
    """Put these effects behind what was known before; what isn't known stands before all."""
    outside = (
        KnownEffect(tool=one.tool, digest=one.digest, outcome=one.outcome)
        for one in done
        if one.digest and not one.local
    )
    every = dict.fromkeys((*state.known, *outside))
    lost = lost or not all(one.digest for one in state.known) or not all(one.tool for one in done)
    if not lost and len(every) <= bounds.MOST_KNOWN:
        return tuple(every)
    every.pop(UNKNOWN, None)
    return (UNKNOWN, *tuple(every)[1 - bounds.MOST_KNOWN :])


def _of_part(part: str, effect: Effect) -> Effect:
    inner = f"{part}.{effect.part}" if effect.part else part
    return effect.model_copy(update={"part": inner, "summary": f"{part}: {effect.summary}"})


def _listed(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    left = len(lines) - MOST_TOLD
    more = [f"- and {left} more before these"] if left > 0 else []
    return "\n".join((title, *more, *(f"- {line}" for line in lines[-MOST_TOLD:])))
