"""What the step loop does otherwise than earlier releases, where runs go on as they began."""

from temporalio import workflow

from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import tool_calls

JUDGES_LATER = "judges-later"
"""The patch by which no agent judges before a suspended run goes on in a new execution."""

PARTS_COUNT = "parts-count"
"""The patch by which an execution with a long history ends though it asked no model itself."""

HURRIED_COUNTS = "hurried-counts"
"""The patch by which an execution with a long history ends though all its models were hurried."""

KNOWN_AS_DECIDED = "known-as-decided"
"""The patch by which what was under way in a reset can be taken back."""

DRAFTS_RELEASE_NOTHING = "drafts-release-nothing"
"""The patch by which a draft uses no review of a domain up."""

DRAFTED_ONCE = "drafted-once"
"""The patch by which a call that is only drafted is answered with the draft that is there."""

RULED_IN_TURN = "ruled-in-turn"
"""The patch by which each of many allowed calls is decided anew when it is the next to run."""


PLANS_FIRST = "plans-first"
"""The patch by which nobody gets work beside a plan that is approved, and may not name it."""


def choose_batch(
    batch: tuple[CallState, ...], earlier: tuple[CallState, ...]
) -> tuple[CallState, ...]:
    """Return what runs of a batch now, or as releases before have it, where they differ."""
    return batch if batch == earlier or workflow.patched(PLANS_FIRST) else earlier


def choose_state(patch: str, state: RunState, earlier: RunState) -> RunState:
    """Return a state as it is by a patch, or as releases before have it, where they differ."""
    return state if state is earlier or workflow.patched(patch) else earlier


def invalidate_rulings(state: RunState) -> RunState:
    """Have decided anew what was allowed before a wait, or before another call ran."""
    in_turn = tool_calls.allows_many(state) and workflow.patched(RULED_IN_TURN)
    return tool_calls.invalidate(state, in_turn=in_turn)
