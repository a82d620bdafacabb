"""Every timeout and retry policy of a run, with the reason where a number would surprise."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import cast

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig, LocalActivityConfig

from holdfast.activities.clock import DECISION_TIMEOUT
from holdfast.contracts.bounds import CLEARING_TIMEOUT, MAX_HISTORY_BYTES
from holdfast.contracts.calls import SANDBOX_SPARE
from holdfast.contracts.guardrails import GuardrailSpec
from holdfast.contracts.run import sandbox_queue
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.usage import MAX_LOST_ATTEMPTS

# A killed worker is noticed when its heartbeat stays out, so this bounds the time to recover.
# The activities send one every second or two.
HEARTBEAT_TIMEOUT = timedelta(seconds=4)

# So long a call waits for a worker that has a sandbox, before it is refused instead.
SANDBOX_SCHEDULE_TO_START_TIMEOUT = timedelta(seconds=60)

# A command of a guardrail waits longer: refused, it would have what the run did taken back, though
# nothing is wrong but that calls of others fill all sandboxes, or their worker is started anew.
COMMAND_SCHEDULE_TO_START_TIMEOUT = timedelta(minutes=5)

# And a run for its workspace, without which it ends, until all before it have begun and ended.
WORKSPACE_SCHEDULE_TO_START_TIMEOUT = timedelta(minutes=15)

# A sandbox keeps the tool's own limit itself; making one takes a moment, or more under load.
SANDBOX_STARTUP_ALLOWANCE = timedelta(seconds=30)

# The worker ends a tool at its limit. What the tool returned by then is its result, however long
# it waits to be checked, cleared of secrets and written.
RESULT_ALLOWANCE = 3 * CLEARING_TIMEOUT + HEARTBEAT_TIMEOUT

# All attempts together of a tool or a guardrail inside a workflow task: the run is deaf meanwhile.
LOCAL_TIMEOUT = timedelta(seconds=30)

MODEL_TIMEOUT = timedelta(minutes=10)

# Rate limits and overload pass; what can't pass is raised as non-retryable and ends at once.
MAX_MODEL_ATTEMPTS = 6

# What fails three times in a row says nothing more the fourth time.
MAX_ATTEMPTS = 3
INITIAL_RETRY_INTERVAL = timedelta(seconds=0.5)

# How a retry policy names what used up its time: it would use it up again.
OUT_OF_TIME = "TemporalTimeout:StartToClose"

# Between two attempts to decide; nobody can tell what is switched off.
INITIAL_DECISION_DELAY = timedelta(seconds=1)
# It grows to this where nothing can be decided: each attempt is seven events of a history.
MAX_DECISION_DELAY = timedelta(minutes=5)

# Between attempts that fail, or that end their workers.
MAX_RETRY_INTERVAL = timedelta(seconds=30)

# So long a run waits for a worker that has the code for it.
HAND_BACK_TIMEOUT = timedelta(minutes=10)

# Between two tries where a worker has the code, and others that lack it take the run.
INITIAL_HAND_BACK_PAUSE = timedelta(seconds=0.1)
MAX_HAND_BACK_PAUSE = timedelta(seconds=5)

# Ends a workflow task: where much is done in one, it looks as if it hung, and grows too large.
YIELD_DELAY = timedelta(milliseconds=1)

HISTORY_LENGTH = "holdfast_history_length"

REPLAY_EVENTS_PER_SECOND = 1_500
"""Events; half of what a loaded machine with two cores replays (docs/performance.md)."""


def model_call(
    summary: str, seconds_left: float | None, attempts: int = MAX_MODEL_ATTEMPTS
) -> ActivityConfig:
    """Options of `call_model`; what is left of the wall time bounds all its attempts together."""
    return ActivityConfig(
        start_to_close_timeout=MODEL_TIMEOUT + HEARTBEAT_TIMEOUT,
        schedule_to_close_timeout=_to_timeout(seconds_left),
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=_build_retry_policy(attempts, timedelta(seconds=1)),
        cancellation_type=ActivityCancellationType.TRY_CANCEL,
        summary=summary,
    )


def ruling(summary: str) -> LocalActivityConfig:
    """
    Options of `authorize` and `judge`: one attempt, because another decides at another time.

    So long it may wait for its turn, and take.
    """
    return LocalActivityConfig(
        schedule_to_close_timeout=DECISION_TIMEOUT,
        retry_policy=RetryPolicy(maximum_attempts=1),
        summary=summary,
    )


def record(summary: str) -> LocalActivityConfig:
    """
    Options of what is put on record: an agent as its run begins with it, a line for the audit.

    It is tried until it succeeds, ever more seldom: each attempt stands in history. Its pauses are
    timers, which keep no workflow task open: there are a hundred, and as many may wait for an
    archive that is away.
    """
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(maximum_interval=MAX_DECISION_DELAY),
        local_retry_threshold=YIELD_DELAY,
        summary=summary,
    )


def read_earlier_run(summary: str) -> LocalActivityConfig:
    """
    Options of what asks a run that is over what it left: a worker has to build it anew for that.

    While a deployment rolls that may be one without the code for it, so it is asked again.
    Its pauses are timers, as those above.
    """
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=70),
        retry_policy=RetryPolicy(maximum_attempts=6),
        local_retry_threshold=YIELD_DELAY,
        summary=summary,
    )


def load_session(summary: str) -> LocalActivityConfig:
    """
    Options of what finds how a session was left; it is tried for about an hour.

    What was said waits meanwhile; a session that opened without its past would be another one.
    Each attempt stands in history, which must not grow without end. So do pauses, as above.
    """
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=70),
        retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1), maximum_attempts=65),
        local_retry_threshold=YIELD_DELAY,
        summary=summary,
    )


def find_worker(summary: str, limit: timedelta) -> ActivityConfig:
    """Options of `find_worker`, which is tried for so long."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=10),
        schedule_to_close_timeout=at_least(limit),
        retry_policy=RetryPolicy(
            initial_interval=2 * INITIAL_HAND_BACK_PAUSE, maximum_interval=timedelta(seconds=10)
        ),
        summary=summary,
    )


def mark(summary: str) -> ActivityConfig:
    """Options of what only has to stand in history; it is tried until it does."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(maximum_interval=INITIAL_DECISION_DELAY),
        summary=summary,
    )


def guardrail(name: str, spec: GuardrailSpec) -> ActivityConfig:
    """Options of a guardrail; one that can't decide after a few attempts has tripped."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=spec.timeout) + HEARTBEAT_TIMEOUT,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=_build_retry_policy(MAX_ATTEMPTS, INITIAL_RETRY_INTERVAL),
        cancellation_type=ActivityCancellationType.TRY_CANCEL,
        summary=f"{spec.layer}: {name.partition(':')[2]}",
    )


def local_guardrail(name: str, spec: GuardrailSpec) -> LocalActivityConfig:
    """Options of guardrails that are quick."""
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=spec.timeout),
        schedule_to_close_timeout=LOCAL_TIMEOUT,
        retry_policy=RetryPolicy(
            initial_interval=INITIAL_RETRY_INTERVAL, maximum_attempts=MAX_ATTEMPTS
        ),
        summary=f"{spec.layer}: {name.partition(':')[2]}",
    )


def workspace(summary: str) -> ActivityConfig:
    """Options of what fills, keeps and restores a workspace, where the sandbox is."""
    return ActivityConfig(
        task_queue=sandbox_queue(workflow.info().task_queue),
        schedule_to_start_timeout=WORKSPACE_SCHEDULE_TO_START_TIMEOUT,
        start_to_close_timeout=timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=_build_retry_policy(MAX_ATTEMPTS, INITIAL_RETRY_INTERVAL),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def tool_call(
    summary: str,
    contract: ToolContract,
    seconds_left: float | None,
    *,
    sandboxed: bool = False,
    finds_out: bool = False,
    patient: bool = False,
) -> ActivityConfig:
    """
    Options of a tool's activity.

    Only a tool that changes nothing is ever repeated: for any other a lost reply may mean that it
    happened; but one that finds that out may close the call's key on its way, which stays closed.
    Nor is one that used up its time: it would use it up again. A sandboxed call goes to the queue
    of the workers that have a sandbox; one that is *patient* waits longer for a place there.
    """
    queue, limit = workflow.info().task_queue, timedelta(seconds=contract.timeout)
    late = SANDBOX_STARTUP_ALLOWANCE if sandboxed else timedelta(0)
    wait = COMMAND_SCHEDULE_TO_START_TIMEOUT if patient else SANDBOX_SCHEDULE_TO_START_TIMEOUT
    retry = RetryPolicy(maximum_attempts=1)
    if contract.risk.changes_nothing or finds_out:
        retry = _build_retry_policy(contract.retry.max_retries + 1, _backoff(contract))
    return ActivityConfig(
        task_queue=sandbox_queue(queue) if sandboxed else queue,
        schedule_to_start_timeout=wait if sandboxed else None,
        start_to_close_timeout=limit + late + RESULT_ALLOWANCE,
        # A write that has begun is not cut off: nobody would know whether it happened.
        schedule_to_close_timeout=_to_timeout(seconds_left)
        if contract.risk.changes_nothing
        else None,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=retry,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def longest_call(time_limit: float, *, sandboxed: bool) -> timedelta:
    """
    Return how long a call may go on whose worker isn't heard of any more.

    That may stand still: then what the call runs in ends by itself.
    """
    late = SANDBOX_SPARE if sandboxed else timedelta(0)
    return timedelta(seconds=time_limit) + late + HEARTBEAT_TIMEOUT


def local_tool_call(summary: str, contract: ToolContract) -> LocalActivityConfig:
    """Options of a tool that runs inside the workflow task."""
    return LocalActivityConfig(
        start_to_close_timeout=timedelta(seconds=contract.timeout),
        schedule_to_close_timeout=LOCAL_TIMEOUT,
        retry_policy=RetryPolicy(
            initial_interval=_backoff(contract),
            maximum_attempts=contract.retry.max_retries + 1,
            non_retryable_error_types=[OUT_OF_TIME],
        ),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def is_history_long(max_events: int) -> bool:
    """
    Whether the run should go on in a new execution.

    Of a task that was divided a replay takes another length, so who runs workflows counts it.
    """
    info = workflow.info()
    ours = cast("Mapping[str, Callable[[], int]]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType] -- of any functions
    length = ours.get(HISTORY_LENGTH, info.get_current_history_length)()
    return (
        length > compute_max_events(max_events, info.task_timeout)
        or info.get_current_history_size() > MAX_HISTORY_BYTES
    )


def compute_max_events(max_events: int, task_timeout: timedelta) -> int:
    """
    Return how many events an execution may have.

    A worker that takes a run over replays its history within one workflow task. If that took
    longer than the task may, it would be tried for ever.
    """
    return min(max_events, round(task_timeout.total_seconds() * REPLAY_EVENTS_PER_SECOND))


def _build_retry_policy(attempts: int, pause: timedelta) -> RetryPolicy:
    """
    Have what changes nothing repeated until so many attempts have failed.

    The activity counts those itself (activities/heartbeats.py); attempts that are lost with their
    worker are none of them. It also keeps its own time: where the server has to end an attempt
    whose worker is alive, another one would go the same way.
    """
    return RetryPolicy(
        initial_interval=pause,
        maximum_interval=max(MAX_RETRY_INTERVAL, pause * min(2 ** max(attempts - 2, 0), 100)),
        maximum_attempts=attempts + MAX_LOST_ATTEMPTS,
        non_retryable_error_types=[OUT_OF_TIME],
    )


def _backoff(contract: ToolContract) -> timedelta:
    return timedelta(seconds=contract.retry.backoff)


def _to_timeout(seconds_left: float | None) -> timedelta | None:
    return None if seconds_left is None else at_least(timedelta(seconds=seconds_left))


def at_least(wait: timedelta) -> timedelta:
    """
    Return a wait that there is a timer of, however late it is by now.

    Behind a local activity a replay may know another time: with a timer that stands in history
    for one time, and for the other doesn't, it would fail.
    """
    return max(wait, YIELD_DELAY)
