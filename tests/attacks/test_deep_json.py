"""Attacks by depth: JSON that comes from somewhere is nested as deeply as its author likes."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue
from pydantic_core import from_json
from temporalio.common import RawValue
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast import App, Risk, ToolContext, tool
from holdfast.contracts.calls import ToolSuccess
from holdfast.testing import Reply, call, calls
from holdfast.tools.redaction import Redactor
from tests.attacks import hostile
from tests.leaving import leaving
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import scripted, told

DEPTHS = (90, 100, 101, 150, *range(196, 203), 260, 1_000)
"""A reader takes 200 levels, a writer 254, and Python about a thousand."""


def deep(levels: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(levels):
        value = [value]
    return value


@tool(risk=Risk.READ_ONLY, max_retries=0)
async def fetch(levels: int) -> JsonValue:
    """Return what somebody wrote."""
    return deep(levels)


@tool(risk=Risk.READ_ONLY, max_retries=0)
def fetch_apart(levels: int) -> JsonValue:
    """Return what somebody wrote, from a process."""
    return deep(levels)


@tool(risk=Risk.DRAFT_ONLY)
async def draft(levels: int, log: str) -> JsonValue:
    """Return what would be written."""
    return deep(min(levels, 100))


@tool(risk=Risk.COMMUNICATION, draft="draft")
async def write(levels: int, log: str) -> JsonValue:
    """Write something, and return what the other side answers."""
    with Path(log).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 -- one line
        file.write(f"{levels}\n")
    return deep(levels)


@tool(risk=Risk.READ_ONLY, max_retries=1, retry_backoff=0.01)
async def report(levels: int, ctx: ToolContext) -> str:
    """Report what somebody wrote, and fail."""
    ctx.heartbeat(deep(levels))
    await asyncio.sleep(0)
    raise ValueError("no luck")


@tool(risk=Risk.READ_ONLY, max_retries=1, retry_backoff=0.01)
def report_apart(levels: int, ctx: ToolContext) -> str:
    """Report what somebody wrote from a process, and fail."""
    ctx.heartbeat(deep(levels))
    raise ValueError("no luck")


TOOLS = (fetch, fetch_apart, hostile.run, write, report, report_apart)


def app(first: Reply) -> App:
    """An app whose agent asks for something deep, and then tells how the results were."""
    return scripted([first, told], tools=TOOLS)


def each(name: str, depths: tuple[int, ...] = DEPTHS, **more: JsonValue) -> Reply:
    return calls(*(call(name, levels=levels, **more) for levels in depths))


@pytest.mark.parametrize("name", ["fetch", "fetch_apart"])
async def test_no_depth_of_a_result_holds_a_run_up(runs: Runs, name: str) -> None:
    """What is nested too deeply to be read with all that wraps it is left out, and it is said."""
    async with runs.working(app(each(name))):
        run = await runs.start("it")
        ended = await run.result()
        results = await run.results()

    assert ended.answer == "; ".join([f"{name} ok"] * len(DEPTHS))
    found = [result for result in results if isinstance(result, ToolSuccess)]
    assert [result.data for result in found if not result.cut] == [deep(90), deep(100)]
    assert all("left out" in result.summary for result in found if result.cut)


@pytest.mark.usefixtures("sandbox_home")
async def test_no_depth_of_what_a_sandbox_sends_holds_a_run_up(runs: Runs) -> None:
    """Neither does a result from there, nor a report."""
    code = "result = 1\nfor _ in range({}): result = [result]\nctx.heartbeat(result)"
    first = calls(*(call("run", code=code.format(levels)) for levels in (100, 150, 200, 1_000)))
    async with runs.working(app(first)):
        run = await runs.start("it")
        ended = await run.result()
        results = await run.results()

    assert ended.answer == "; ".join(["run ok"] * 4)
    assert [one.cut for one in results if isinstance(one, ToolSuccess)] == [False] + [True] * 3


@pytest.mark.slow
async def test_no_depth_hides_what_was_written(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A write whose answer can't be read has happened: once, and the run knows it."""
    log = tmp_path / "written"
    async with memory_runs.working(app(each("write", log=str(log)))):
        run = await memory_runs.start("it")
        for request in await run.asked(len(DEPTHS)):
            await run.approve(request.request_id)
        ended = await run.result()
        status = await run.status()

    assert ended.answer == "; ".join(["write ok"] * len(DEPTHS))
    assert status.status == "completed"
    assert sorted(map(int, log.read_text(encoding="utf-8").split())) == list(DEPTHS)


@pytest.mark.parametrize("name", ["report", "report_apart"])
@pytest.mark.slow
async def test_no_depth_of_a_report_saves_a_call_from_its_limit(
    memory_runs: MemoryRuns, name: str
) -> None:
    """Attempts are counted whatever a tool reports."""
    async with memory_runs.working(app(each(name, (150, 200, 1_000)))):
        run = await memory_runs.start("it", budget={"max_consecutive_failures": 50})
        ended = await run.result()

    assert ended.answer == "; ".join([f"{name} error"] * 3)


async def test_what_is_too_deep_to_be_cleared_fails() -> None:
    """A text in the place of a result would be none: whoever waits for it tried for ever."""

    async def work() -> JsonValue:
        return from_json(b'{"data":' + b"[" * 200 + b"]" * 200 + b"}")

    async def deeper() -> RawValue:
        payload = pydantic_data_converter.payload_converter.to_payload(None)
        payload.data = b"[" * 300 + b"]" * 300
        return RawValue(payload)

    redactor = Redactor(frozenset[str])
    environment = ActivityEnvironment()
    environment.payload_converter = pydantic_data_converter.payload_converter

    assert (await leaving(environment, redactor, work)).data.count(b"[") == 200
    with pytest.raises(ApplicationError, match="too deeply") as refused:
        await leaving(environment, redactor, deeper)
    assert refused.value.non_retryable


@pytest.mark.parametrize("levels", [230, 300, 5_000])
async def test_a_detail_that_is_too_deep_to_be_cleared_is_left_out(levels: int) -> None:
    """A failure stays what it is, whatever somebody puts into it."""

    async def fail() -> None:
        raise ApplicationError("no", deep(levels), type="Mine")

    with pytest.raises(ApplicationError) as raised:
        await leaving(ActivityEnvironment(), Redactor(frozenset[str]), fail)

    assert (raised.value.type, raised.value.message) == ("Mine", "no")
    assert raised.value.details == ("[redacted: nested too deeply to be checked]",)
