"""Every timeout and retry policy of a run, with the reason where a number would surprise."""

from dataclasses import replace
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig, LocalActivityConfig

from contracts.guardrails import GuardrailSpec
from contracts.run import sandbox_queue
from contracts.tools import ToolContract

# A killed worker is noticed when its heartbeat stays out, so this bounds the time to recover.
# The activities send one every second or two.
HEARTBEAT = timedelta(seconds=4)

# So long a call waits for a worker that has a sandbox, before it is refused instead.
NO_SANDBOX = timedelta(seconds=60)

# A sandbox keeps the tool's own limit itself; making one takes a moment, or more under load.
SANDBOX_START = timedelta(seconds=30)

MODEL_TIMEOUT = timedelta(minutes=10)

# Rate limits and overload pass; what can't pass is raised as non-retryable and ends at once.
MODEL_ATTEMPTS = 6
MODEL_RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=30),
    maximum_attempts=MODEL_ATTEMPTS,
)

# What fails three times in a row says nothing more the fourth time.
FEW_TRIES = RetryPolicy(initial_interval=timedelta(seconds=0.5), maximum_attempts=3)

MAX_BYTES = 20_000_000
"""The server's limit is 50 MB."""


REPLAYED_PER_SECOND = 1_500
"""Events; half of what a loaded machine with two cores replays (docs/performance.md)."""


def model_call(
    summary: str, seconds_left: float | None, attempts: int = MODEL_ATTEMPTS
) -> ActivityConfig:
    """Options of `call_model`; what is left of the wall time bounds all its attempts together."""
    return ActivityConfig(
        start_to_close_timeout=MODEL_TIMEOUT,
        schedule_to_close_timeout=_bound(seconds_left),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=replace(MODEL_RETRY, maximum_attempts=attempts),
        cancellation_type=ActivityCancellationType.TRY_CANCEL,
        summary=summary,
    )


def decision(summary: str) -> LocalActivityConfig:
    """
    Options of what decides and records.

    It is tried until it succeeds: a decision that can't be made now, because nobody can tell what
    is switched off, must neither let a call run nor end the run. Longer pauses are timers, which
    keep no workflow task open.
    """
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1)),
        local_retry_threshold=timedelta(seconds=5),
        summary=summary,
    )


def guardrail(name: str, spec: GuardrailSpec) -> ActivityConfig:
    """Options of a guardrail; one that can't decide after a few attempts has tripped."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=spec.timeout),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=FEW_TRIES,
        cancellation_type=ActivityCancellationType.TRY_CANCEL,
        summary=f"{spec.layer}: {name.partition(':')[2]}",
    )


def local_guardrail(name: str, spec: GuardrailSpec) -> LocalActivityConfig:
    """Options of guardrails that are quick."""
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=spec.timeout),
        retry_policy=FEW_TRIES,
        summary=f"{spec.layer}: {name.partition(':')[2]}",
    )


def workspace(summary: str) -> ActivityConfig:
    """Options of what fills, keeps and restores a workspace, where the sandbox is."""
    return ActivityConfig(
        task_queue=sandbox_queue(workflow.info().task_queue),
        schedule_to_start_timeout=NO_SANDBOX,
        start_to_close_timeout=timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=FEW_TRIES,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def hearing(summary: str) -> ActivityConfig:
    """
    Options of what judges messages, an ordinary activity: its end is an event among theirs.

    When a local activity ended is not so exact, and which messages were judged together depends on
    what had come by then.
    """
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1)),
        summary=summary,
    )


def tool_call(
    summary: str, contract: ToolContract, seconds_left: float | None, *, sandboxed: bool = False
) -> ActivityConfig:
    """
    Options of a tool's activity.

    Only a tool that changes nothing is ever repeated: for any other a lost reply may mean that it
    happened. Nor is one that used up its time: it would use it up again. A sandboxed call goes to
    the queue of the workers that have a sandbox.
    """
    queue, limit = workflow.info().task_queue, timedelta(seconds=contract.timeout)
    return ActivityConfig(
        task_queue=sandbox_queue(queue) if sandboxed else queue,
        schedule_to_start_timeout=NO_SANDBOX if sandboxed else None,
        start_to_close_timeout=limit + SANDBOX_START if sandboxed else limit,
        # A write that has begun is not cut off: nobody would know whether it happened.
        schedule_to_close_timeout=_bound(seconds_left) if contract.risk.changes_nothing else None,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=_tool_retry(contract),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def local_tool_call(summary: str, contract: ToolContract) -> LocalActivityConfig:
    """Options of a tool that runs inside the workflow task."""
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=contract.timeout),
        retry_policy=_tool_retry(contract),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def history_is_long(max_events: int) -> bool:
    """Whether the run should go on in a new execution."""
    info = workflow.info()
    return (
        info.get_current_history_length() > events_allowed(max_events, info.task_timeout)
        or info.get_current_history_size() > MAX_BYTES
    )


def events_allowed(max_events: int, task_timeout: timedelta) -> int:
    """
    Return how many events an execution may have.

    A worker that takes a run over replays its history within one workflow task. If that took
    longer than the task may, it would be tried for ever.
    """
    return min(max_events, round(task_timeout.total_seconds() * REPLAYED_PER_SECOND))


def _tool_retry(contract: ToolContract) -> RetryPolicy:
    attempts = contract.retry.max_retries + 1 if contract.risk.changes_nothing else 1
    return RetryPolicy(
        initial_interval=timedelta(seconds=contract.retry.backoff),
        backoff_coefficient=2.0,
        maximum_attempts=attempts,
        non_retryable_error_types=["TemporalTimeout:StartToClose"],
    )


def _bound(seconds_left: float | None) -> timedelta | None:
    return None if seconds_left is None else timedelta(seconds=max(seconds_left, 0.001))
