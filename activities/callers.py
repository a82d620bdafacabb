"""Who may start an activity: a run, and nobody who can merely reach the task queue."""

from temporalio import activity
from temporalio.exceptions import ApplicationError

from contracts.run import WORKFLOW_TYPE

FOREIGN_CALLER = "ForeignCaller"


def check_run(run_id: str | None = None) -> None:
    """
    Refuse an activity that no run has asked for, or another run than the one it names.

    A client can start an activity by itself, and so can a workflow of any other type; for neither
    was anything decided. Raises ApplicationError, which isn't repeated and is no result.
    """
    asked = activity.info()
    if asked.workflow_type != WORKFLOW_TYPE or asked.workflow_id is None:
        caller = f"a workflow {asked.workflow_type!r}" if asked.workflow_type else "a client"
    elif run_id is not None and asked.workflow_id != run_id:
        caller = f"the run {asked.workflow_id!r} in the name of another one"
    else:
        return
    raise ApplicationError(
        f"{asked.activity_type!r} was asked for by {caller}: only a run's own workflow may; "
        "start a run instead",
        type=FOREIGN_CALLER,
        non_retryable=True,
    )
