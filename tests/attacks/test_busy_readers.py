"""Attacks by work: what a worker has to look through keeps no write from its end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Semaphore, get_ident

import pytest
from temporalio import activity
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast import Risk, tool
from holdfast.activities import redaction, tools
from holdfast.activities.heartbeats import Heartbeater
from holdfast.activities.redaction import MAX_INLINE_WORDS
from holdfast.activities.secret_filter import SecretFilter
from holdfast.contracts.calls import MAX_CUSTOM_SPANS, ToolSuccess
from holdfast.contracts.errors import ToolError
from holdfast.contracts.usage import MAX_LOST_ATTEMPTS
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, passed
from holdfast.testing import call, say
from holdfast.tools import views
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.large_json import MAX_INLINE_BYTES, READERS, look_through
from holdfast.tools.redaction import Redactor
from tests.holdfast.test_custom_spans import an_app, custom, open_books, tree_of
from tests.leaving import leaving
from tests.running import Runs
from tests.sample import scripted

SHORT = timedelta(seconds=1.5)


@tool(risk=Risk.WRITE_INTERNAL, timeout=1)
async def write(unit: str, times: int, log: str) -> str:
    """Write something, and return what the other side answers."""
    with Path(log).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 -- one line
        file.write("written\n")
    return unit * times


async def written(runs: Runs, log: Path, unit: str, times: int = 1) -> ToolSuccess:
    """What becomes of an approved write with such an answer."""
    script = [call("write", unit=unit, times=times, log=str(log)), say("done")]
    async with runs.working(scripted(script, tools=[write])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()
        [result] = await run.results()
    assert log.read_text(encoding="utf-8") == "written\n"
    assert isinstance(result, ToolSuccess)
    return result


@asynccontextmanager
async def kept_busy(*pools: FairThreads) -> AsyncGenerator[None]:
    """Keep two threads of each of these, as long as the block lasts."""
    free = Event()
    both = [threads for threads in pools for _ in range(2)]
    held = [asyncio.create_task(threads.run("another", free.wait)) for threads in both]
    await asyncio.sleep(0.1)
    try:
        yield
    finally:
        free.set()
        await asyncio.gather(*held)


@pytest.fixture
async def busy_readers() -> AsyncGenerator[None]:
    """Keep all threads of those who look through results, until the test is over."""
    async with kept_busy(READERS, redaction.CLEARERS):
        yield


async def test_results_wait_for_nobody_who_keeps_the_threads_of_the_loop() -> None:
    """They are looked through in threads of their own."""
    free = Event()
    held = [asyncio.create_task(asyncio.to_thread(free.wait)) for _ in range(40)]
    await asyncio.sleep(0.1)
    try:
        async with asyncio.timeout(30):
            size = await look_through("run", b"x" * (MAX_INLINE_BYTES + 1), len)
    finally:
        free.set()
        await asyncio.gather(*held)

    assert size == MAX_INLINE_BYTES + 1


def noting(threads: list[int]) -> Callable[[], frozenset[str]]:
    """A source of secrets that notes in which threads it is asked."""

    def known() -> frozenset[str]:
        threads.append(get_ident())
        return frozenset({"open sesame"})

    return known


@pytest.mark.usefixtures("busy_readers")
async def test_a_write_is_done_though_nobody_has_time_for_its_answer(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the tool is over when it answers; what can't be cleared in time is left out."""
    monkeypatch.setattr(tools, "CLEARING_TIMEOUT", SHORT)

    result = await written(runs, tmp_path / "log", "y", 2 * MAX_INLINE_BYTES)

    assert (result.cut, result.data) == (True, None)
    assert "too busy to clear it" in result.summary


@guardrail(layer="input")
async def frank(_: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look at many things, and tell of each."""
    for place in range(MAX_CUSTOM_SPANS):
        with ctx.span(f"look {place}", said="word " * 90):
            pass
    return passed()


async def test_who_tells_much_of_its_work_waits_for_nobodys_large_result(runs: Runs) -> None:
    """A guardrail has looked when its spans are cleared: nobody has it look again, nor trip."""
    script: list[object] = [call("open_books", times=40), say("done")]
    app = an_app(open_books, script=script, looks=frank)
    async with runs.working(app), kept_busy(READERS):
        run = await runs.start("it")
        result = await run.result()
        names = [span.name for span in custom(await tree_of(run))]

    assert (result.status, result.answer) == ("completed", "done")
    assert sum(name.startswith("look ") for name in names) == MAX_CUSTOM_SPANS
    assert sum(name.startswith("open ") for name in names) == 40


async def test_a_write_is_done_whatever_its_answer_escapes(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has more escapes than anybody undoes is left out, and it is said."""
    monkeypatch.setattr(views, "MAX_PIECES", 1_000)
    monkeypatch.setenv("HOLDFAST_SECRET_BANK", "correct-horse-battery-staple")

    result = await written(runs, tmp_path / "log", "\\n", 1_001)

    assert (result.cut, result.data) == (True, None)
    assert "1,000,000 escapes" in result.summary


async def test_what_leaves_an_activity_is_cleared_beside_the_loop() -> None:
    """Escapes of a hundred kilobytes take a tenth of a second, and a hundred calls end at once."""
    threads: list[int] = []

    async def work() -> str:
        threads.clear()
        return "\\n" * MAX_INLINE_BYTES

    await leaving(ActivityEnvironment(), Redactor(noting(threads)), work)

    assert threads
    assert get_ident() not in threads


@pytest.mark.slow
@pytest.mark.usefixtures("busy_readers")
async def test_what_leaves_an_activity_waits_alive_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A result that has no turn is cleared all the same; what was counted is told until then."""
    monkeypatch.setattr(redaction, "CLEARING_TIMEOUT", SHORT)
    environment, beats, threads = ActivityEnvironment(), list[object](), list[int]()
    environment.on_heartbeat = lambda *details: beats.extend(details)

    async def work() -> str:
        activity.heartbeat({"lost": 1})
        threads.clear()
        return "open sesame" + "x" * MAX_INLINE_BYTES

    left = await leaving(environment, Redactor(noting(threads)), work)

    assert left.data.startswith(b'"[redacted]x')
    assert len(beats) > 1
    assert beats == [{"lost": 1}] * len(beats)
    assert get_ident() not in threads


@pytest.mark.parametrize(
    "error",
    [
        ValueError("\\n" * MAX_INLINE_WORDS),
        ApplicationError("\\n" * MAX_INLINE_WORDS),
        ApplicationError("it failed", ["\\n" * MAX_INLINE_WORDS]),
    ],
    ids=["an error", "a failure", "a detail"],
)
async def test_what_an_activity_fails_with_is_cleared_beside_the_loop(error: Exception) -> None:
    """A server's words, which a tool quotes, take up to half a second; two hundred calls fail."""
    threads: list[int] = []

    async def work() -> None:
        threads.clear()
        raise error

    with pytest.raises(ApplicationError):
        await leaving(ActivityEnvironment(), Redactor(noting(threads)), work)

    assert threads
    assert get_ident() not in threads


async def test_what_a_call_is_refused_with_is_cleared_beside_the_loop() -> None:
    """Code in a sandbox may refuse its call with a megabyte, again and again."""
    threads: list[int] = []
    long = "\\n" * MAX_INLINE_WORDS
    secret_filter = SecretFilter(Redactor(noting(threads)), withholds=False)

    told = await secret_filter.redact_refusal("run", ToolError("conflict", "no", (long,)))

    assert told.next_valid_actions[0].startswith("\\n\\n")
    assert threads
    assert get_ident() not in threads


@pytest.mark.slow
async def test_who_waits_to_say_why_it_failed_stays_alive_and_counted() -> None:
    """Else the server would give it up, or forget how often it has failed by itself."""
    environment, free, told = ActivityEnvironment(), Event(), asyncio.Event()
    counted = RetryPolicy(maximum_attempts=MAX_LOST_ATTEMPTS + 3)
    environment.info = replace(environment.info, retry_policy=counted)
    beats: list[object] = []

    def hear(*details: object) -> None:
        beats.extend(details)
        if len(beats) > 1:
            told.set()

    environment.on_heartbeat = hear
    begun = Semaphore(0)

    def hold() -> None:
        begun.release()
        free.wait()

    held = [asyncio.create_task(redaction.CLEARERS.run("another", hold)) for _ in range(2)]
    for _ in held:  # or the second thread takes what fails, and nobody waits
        await asyncio.to_thread(begun.acquire)

    async def work() -> None:
        async with Heartbeater():
            raise ValueError("\\n" * MAX_INLINE_WORDS)

    failing = asyncio.create_task(leaving(environment, Redactor(noting([])), work))
    async with asyncio.timeout(60):
        await told.wait()
    free.set()
    with pytest.raises(ApplicationError):
        await failing
    await asyncio.gather(*held)

    assert beats == [{"failed": 1}] * len(beats)
