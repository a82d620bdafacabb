"""Who may start an activity: a run, and nobody who can merely reach the task queue."""

from datetime import timedelta
from typing import NamedTuple

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE

_RUNS = {WORKFLOW_TYPE, SESSION_WORKFLOW_TYPE}

FOREIGN_CALLER = "ForeignCaller"

NOT_AS_DECIDED = "NotAsDecided"
"""
How a call fails that has not begun: the run decides it anew, with the approvals that it has.

Nothing that a tool raises leaves under this name (activities/secret_filter.py).
"""


def require_run_caller(run_id: str) -> None:
    """
    Refuse an activity that no run has asked for, or another run than the one it names.

    A client can start an activity by itself, and so can a workflow of any other type; for neither
    was anything decided. Raises ApplicationError, which isn't repeated and is no result.
    """
    asked = activity.info()
    if asked.workflow_type not in _RUNS or asked.workflow_id is None:
        raise _build_foreign_caller_error(
            f"a workflow {asked.workflow_type!r}" if asked.workflow_type else "a client"
        )
    if asked.workflow_id != run_id:
        raise _build_foreign_caller_error(
            f"the run {asked.workflow_id!r} in the name of another one"
        )


NOT_HERE = "NotHere"
"""
How an activity fails on a worker that has another app, or lacks the code: another may have it.

Nothing has begun then, and it counts as no attempt; nothing that a tool raises leaves under it.
"""


FIRST_OFFER_SECONDS, LONGEST_OFFER_SECONDS = 0.2, 10.0
OFFER_BACKOFF = 1.25
"""What is handed back waits so long before the next worker: 10 s after some 17 of them."""


def require_app(wanted: str, here: str) -> None:
    """Hand back what belongs to a run of another app; raises ApplicationError."""
    if wanted != here:
        raise build_hand_back(f"this worker serves app {here!r}, and not {wanted!r}")


def build_hand_back(why: str) -> ApplicationError:
    """
    Build the failure of what another worker has to do; a local activity stays where it is.

    Its detail is what the server calls this worker: nothing else says who left an attempt.
    """
    return ApplicationError(
        why,
        *_name_worker(),
        type=NOT_HERE,
        non_retryable=activity.info().is_local,
        next_retry_delay=_compute_delay(activity.info().attempt),
        category=ApplicationErrorCategory.BENIGN,
    )


def _compute_delay(attempt: int) -> timedelta:
    """Return how long nobody is offered it: briefly, as long as it may be chance who was."""
    seconds = FIRST_OFFER_SECONDS * OFFER_BACKOFF ** min(attempt, 100)
    return timedelta(seconds=min(seconds, LONGEST_OFFER_SECONDS))


def _name_worker() -> tuple[str, ...]:
    try:
        return (activity.client().service_client.config.identity,)
    except RuntimeError:  # no worker runs it
        return ()


def build_start_refusal(why: str) -> ApplicationError:
    """Build the failure of what may not begin: again, or behind what it names."""
    return ApplicationError(why, type="InvalidInput", non_retryable=True)


def is_hand_back(error: BaseException) -> bool:
    """Whether a worker left something to another one."""
    return isinstance(error, ApplicationError) and error.type == NOT_HERE


class Execution(NamedTuple):
    """An execution of a run, as the server says: no payload is believed."""

    run_id: str
    id: str


def find_calling_execution() -> Execution:
    """Return the execution that asked for this activity."""
    asked = activity.info()
    if asked.workflow_id is None or asked.workflow_run_id is None:
        raise _build_foreign_caller_error("a client")
    return Execution(asked.workflow_id, asked.workflow_run_id)


def require_same_execution(execution: str) -> None:
    """
    Refuse what was allowed in another execution: the workflow was reset since.

    Raises ApplicationError; nothing has begun then, and the run decides anew.
    """
    if execution != find_calling_execution().id:
        raise build_not_as_decided_error("was allowed before the workflow was reset")


def require_same_basis(decided: str, present: str) -> None:
    """
    Refuse what a worker allowed that decides by something else than this one.

    Raises ApplicationError; nothing has begun then, and the run decides anew.
    """
    if decided != present:
        raise build_not_as_decided_error(
            "was allowed by another policy, in another environment or by another contract: "
            "workers of two releases disagree"
        )


def build_not_as_decided_error(why: str) -> ApplicationError:
    """Build the failure of what has not begun, and has to be decided anew."""
    return ApplicationError(
        f"{activity.info().activity_type!r} {why}", type=NOT_AS_DECIDED, non_retryable=True
    )


def _build_foreign_caller_error(caller: str) -> ApplicationError:
    return ApplicationError(
        f"{activity.info().activity_type!r} was asked for by {caller}: only a run's own workflow "
        "may; start a run instead",
        type=FOREIGN_CALLER,
        non_retryable=True,
    )
