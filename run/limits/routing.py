"""
Which model a turn asks.

The chain of models (fallback.py) says who is asked next; a route has another of the same models
asked instead, by what is recorded of the run. A route never reaches beyond the agent's models, and
one whose model has just failed is left out: then the chain is asked.
"""

from collections.abc import Iterator

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.control import Route
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, ToolTurn

CALM_AFTER = 5
"""So many calls in a row must succeed before a model that took over from another gives back."""


def choose_model(state: RunState) -> str:
    """Return the model that the next turn asks."""
    routed = (one.model for one in state.agent.routes if _holds(one, state))
    return next(routed, state.agent.models[state.chain.model_index])


def find_model(state: RunState) -> str | None:
    """Return the model that is asked next, of a run that is over the one that spoke last."""
    if not state.agent.routes or state.model is None:
        return state.model
    return choose_model(state) if state.outcome is None else find_speaker(state) or state.model


def find_speaker(state: RunState) -> str | None:
    """Return the model that spoke last; null before the first turn."""
    spoken = (
        one.model for one in reversed(state.conversation.items) if isinstance(one, AssistantTurn)
    )
    return next(spoken, None)


def is_out_of_turn(state: RunState, model: str) -> bool:
    """Whether a model was asked out of its turn."""
    return bool(state.agent.routes) and model != state.model


def _holds(route: Route, state: RunState) -> bool:
    if route.model not in state.agent.models or _fails_now(route, state):
        return False
    if state.ledger.turns + 1 < route.from_turn:
        return False
    if route.after_failures and _count_failures(state) < route.after_failures:
        return False
    return not route.after_tools or not _called_last(state).isdisjoint(route.after_tools)


def _fails_now(route: Route, state: RunState) -> bool:
    return any(
        one.model == route.model and one.turn >= state.turns_taken for one in state.chain.attempts
    )


def _count_failures(state: RunState) -> int:
    """
    Count calls that failed since so many in a row did not.

    Answers that didn't pass are in no transcript as such: they are in the ledger's count.
    """
    failed = calm = 0
    for result in _read_results(state):
        failed, calm = (failed, calm + 1) if result.status == "ok" else (failed + 1, 0)
        if calm == CALM_AFTER:
            break
    return max(failed, state.ledger.failures_in_a_row)


def _read_results(state: RunState) -> Iterator[ToolResult]:
    """Return what calls came to, the latest first."""
    for item in reversed(state.conversation.items):
        if isinstance(item, ToolTurn):
            yield from reversed(item.results)


def _called_last(state: RunState) -> set[str]:
    """Return the tools that the turn before called; people may have spoken since."""
    for item in reversed(state.conversation.items):
        match item:
            case ToolTurn(results=results):
                return {result.name for result in results}
            case AssistantTurn():
                return set()
            case _:
                continue
    return set()
