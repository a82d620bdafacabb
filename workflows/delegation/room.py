"""How much the parts of a run may put into one of its executions."""

from temporalio import workflow

from holdfast.workflows.run_context import RunContext

ENOUGH_PARTS = "enough-parts"
"""The patch by which no part begins where those before it have filled the execution."""

ENOUGH_ASKED = "enough-asked"
"""The patch by which what they told of their requests counts, too."""

MAX_PARTS_BYTES = 25_000_000
"""
What parts are told, tell and answer in one execution, of whose 50 MB the server ends it.

As many subtasks as there may be, with goals as long as there are, fit; four more may be under way.
"""


def find_full_execution(run: RunContext) -> str:
    """Say why no other part begins in this execution; nothing where one may."""
    answered = run.parts_bytes > MAX_PARTS_BYTES
    if not answered and run.parts_bytes + run.asked_bytes <= MAX_PARTS_BYTES:
        return ""
    if not workflow.patched(ENOUGH_PARTS if answered else ENOUGH_ASKED):
        return ""
    did = "answered" if answered else "answered and asked"
    return f"others have {did} so much that {MAX_PARTS_BYTES:,} bytes are most at once"
