"""What the attempts of an activity come to, and which of them was the last."""

import asyncio
import dataclasses
from datetime import timedelta
from decimal import Decimal

import pytest
from structlog.testing import capture_logs
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast.activities import heartbeats
from holdfast.activities.callers import build_hand_back
from holdfast.activities.heartbeats import Heartbeater, time_limit
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.usage import MAX_LOST_ATTEMPTS, Attempts, CallUsage
from holdfast.tools.network.pace import Rate
from holdfast.tools.redaction import Redactor
from tests.leaving import leaving

BUSY = ApplicationError("busy", type="overloaded")


async def tried(
    error: Exception,
    *,
    limit: int,
    attempt: int = 1,
    failed: int = 0,
    lost: int = MAX_LOST_ATTEMPTS,
) -> tuple[Exception, list[object]]:
    """Fail with this error at this attempt, and return what leaves and what the server knows."""
    environment = ActivityEnvironment()
    known = [Attempts(failed=failed).model_dump(mode="json")] if failed else []
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        attempt=attempt,
        heartbeat_details=known,
        retry_policy=RetryPolicy(maximum_attempts=limit + lost),
    )
    told: list[object] = []
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def work() -> None:
        async with Heartbeater():
            raise error

    with pytest.raises(type(error) if limit > failed + 1 else ApplicationError) as raised:
        await environment.run(work)
    return raised.value, told


@pytest.mark.parametrize(
    ("limit", "attempt", "failed", "last"),
    [
        pytest.param(1, 1, 0, True, id="the only one"),
        pytest.param(3, 1, 0, False, id="the first"),
        pytest.param(3, 3, 2, True, id="the last"),
        pytest.param(3, 40, 1, False, id="most were lost"),
        pytest.param(3, 40, 2, True, id="the last, after many that were lost"),
    ],
)
async def test_only_what_failed_by_itself_counts(
    limit: int, attempt: int, failed: int, *, last: bool
) -> None:
    """Which attempt it is says nothing: the server counts those too that a worker took with it."""
    error, told = await tried(BUSY, limit=limit, attempt=attempt, failed=failed)

    assert isinstance(error, ApplicationError)
    assert (error.type, error.message, error.non_retryable) == ("overloaded", "busy", last)
    assert told == [{"failed": failed + 1}]
    assert [one.used_up for one in error.details if isinstance(one, Attempts)] == [True] * last


@pytest.mark.parametrize(
    ("attempt", "known", "lost"),
    [
        pytest.param(1, Attempts(), 0, id="the first"),
        pytest.param(4, Attempts(), 3, id="all before it"),
        pytest.param(4, Attempts(failed=2, left=1), 0, id="failed, or left to another"),
        pytest.param(9, Attempts(failed=1, left=2, lost=4), 1, id="one more than is counted"),
        pytest.param(2, Attempts(failed=7), 0, id="made up"),
    ],
)
async def test_what_was_lost_with_its_worker_counts_as_what_was_reserved(
    attempt: int, known: Attempts, lost: int
) -> None:
    """It neither failed nor was left to another worker; it counts once, and is told at once."""
    # SM-02 BY-70
    reserved = CallUsage(input_tokens=100, estimated_cost=Decimal("0.40"))
    environment, told = ActivityEnvironment(), list[object]()
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        attempt=attempt,
        heartbeat_details=[known.model_dump(mode="json")],
    )
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def work() -> CallUsage | None:
        async with Heartbeater() as heartbeater:
            heartbeater.charge_lost(reserved)
            heartbeater.charge_lost(reserved)
            return heartbeater.attempts.usage

    used = await environment.run(work)

    assert (used.input_tokens if used else 0, len(told)) == (100 * lost, 1 if lost else 0)


async def test_what_a_worker_leaves_to_another_one_is_counted_apart() -> None:
    """It has asked nobody: the next attempt takes it for none that was lost."""
    environment, told = ActivityEnvironment(), list[object]()
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        retry_policy=RetryPolicy(maximum_attempts=1 + MAX_LOST_ATTEMPTS),
    )
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def leave() -> None:
        async with Heartbeater():
            raise build_hand_back("not here")

    with pytest.raises(ApplicationError, match="not here"):
        await environment.run(leave)

    assert told == [{"left": 1}]


async def test_a_fault_keeps_its_name() -> None:
    """What nobody raised on purpose is final too when there is no attempt left."""
    error, _ = await tried(KeyError("x"), limit=1)

    assert isinstance(error, ApplicationError)
    assert (error.type, error.message, error.non_retryable) == ("KeyError", "'x'", True)


@pytest.mark.parametrize("limit", [1, 2])
async def test_whoever_wrote_the_code_finds_the_stack_of_each_fault(limit: int) -> None:
    """Also of the last attempt, of which something else leaves; not of what we raise ourselves."""

    async def work() -> None:
        async with Heartbeater():
            raise KeyError("x")

    async def refuse() -> None:
        async with Heartbeater():
            raise HoldfastError("no")

    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        retry_policy=RetryPolicy(maximum_attempts=limit + MAX_LOST_ATTEMPTS),
    )
    with capture_logs() as logs:
        for doing in (work, refuse):
            with pytest.raises(ApplicationError):
                await leaving(environment, Redactor(frozenset[str]), doing)

    [entry] = logs
    assert entry["event"] == "activity.raised"
    assert "in work" in str(entry["stack"])


async def test_of_a_flood_of_reports_few_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is cleared of secrets before: the first at once, then the latest of each second."""
    monkeypatch.setattr(heartbeats, "INTERVAL", 1_000)
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        retry_policy=RetryPolicy(maximum_attempts=2 + MAX_LOST_ATTEMPTS),
    )
    cleared: list[int] = []
    told: list[object] = []
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def work() -> None:
        async with Heartbeater() as heartbeater:
            for number in range(10_000):
                heartbeater.report(lambda number=number: cleared.append(number) or number)
            raise BUSY

    with pytest.raises(ApplicationError):
        await environment.run(work)

    assert cleared == [0, 9_999]
    assert told == [{"progress": 0}, {"failed": 1, "progress": 9_999}]


async def test_reports_that_take_too_much_of_the_loop_are_told_later() -> None:
    """However little there is for all of them: the first is told, and then none until there is."""
    pace, cleared, told = Rate(0.000_1, saved=0.0), list[int](), list[object]()
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        retry_policy=RetryPolicy(maximum_attempts=2 + MAX_LOST_ATTEMPTS),
    )
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def work() -> None:
        async with Heartbeater(pace) as heartbeater:
            for number in range(10):
                heartbeater.report(lambda number=number: cleared.append(number) or number)
            raise BUSY

    for _ in range(2):
        with pytest.raises(ApplicationError):
            await environment.run(work)

    assert cleared == [0]
    assert told == [{"progress": 0}, {"failed": 1, "progress": 0}, {"failed": 1}]


async def test_what_is_for_good_needs_no_count() -> None:
    """It isn't repeated anyway."""
    final = ApplicationError("no", non_retryable=True)

    error, told = await tried(final, limit=1)

    assert (error, told) == (final, [])


async def test_where_the_server_counts_nobody_else_does() -> None:
    """A write has one attempt, whatever becomes of it."""
    error, told = await tried(BUSY, limit=1, lost=0)

    assert (error, told) == (BUSY, [])


async def test_an_attempt_ends_before_the_server_ends_it() -> None:
    """What its time runs out in fails as it says; a time-out of its own is another thing."""
    late = ApplicationError("too slow")
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        ActivityEnvironment.default_info(),
        start_to_close_timeout=timedelta(milliseconds=1_010),
        heartbeat_timeout=timedelta(seconds=1),
    )

    async def work() -> None:
        async with time_limit(late):
            await asyncio.Event().wait()

    async def fail() -> None:
        async with time_limit(late):
            raise TimeoutError

    with pytest.raises(ApplicationError) as raised:
        await environment.run(work)
    with pytest.raises(TimeoutError):
        await environment.run(fail)
    assert raised.value is late
