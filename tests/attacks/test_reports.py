"""Reports of progress that nobody can hand on: they have nothing to do with what was done."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from holdfast import Risk, ToolContext, tool
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, calls
from holdfast.tools.context import MAX_SPAN_DATA_BYTES, SpanLog
from tests.memory.runs import MemoryRuns
from tests.sample import lines, note, scripted, told


class Row:
    """What a library gives back, for example of a database."""


class Local(Row):
    """What no other process can make again."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return fail, ("nobody can make it again",)


def fail(words: str) -> None:
    raise RuntimeError(words)


REPORTS: Mapping[str, Callable[[], object]] = {
    "an object": Row,
    "an object that is made once": Local,
    "a lock": threading.Lock,
    "bytes": lambda: b"\xff",
    "a large text": lambda: "x" * 3_000_000,
}


@tool(risk=Risk.WRITE_INTERNAL)
async def order(log: str, what: str, ctx: ToolContext) -> str:
    """Order what is missing, and report how far it has come."""
    note(log, "ordered")
    ctx.heartbeat({"row": REPORTS[what]()})  # pyright: ignore[reportArgumentType] -- no author looks
    return "ordered"


@tool(risk=Risk.WRITE_INTERNAL)
def order_apart(log: str, what: str, ctx: ToolContext) -> str:
    """Order what is missing, and report how far it has come, from a process of its own."""
    note(log, "ordered")
    ctx.heartbeat({"row": REPORTS[what]()})  # pyright: ignore[reportArgumentType] -- as above
    return "ordered"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["order", "order_apart"])
async def test_a_write_is_done_whatever_it_reports(
    memory_runs: MemoryRuns, tmp_path: Path, name: str
) -> None:
    """A report that JSON, or another process, has no word for ends no write as unknown."""
    log = tmp_path / "log"
    orders = calls(*(call(name, log=str(log), what=what) for what in REPORTS))
    async with memory_runs.working(scripted([orders, told], tools=[order, order_apart])):
        run = await memory_runs.start("it")
        for request in await run.asked(len(REPORTS)):
            await run.approve(request.request_id)
        await run.result()
        results = await run.results()

    assert lines(log) == ["ordered"] * len(REPORTS)
    assert [result.status for result in results] == ["ok"] * len(REPORTS)


@pytest.mark.parametrize(
    "made_up",
    [
        {},
        {"data": {"words": "x" * MAX_SPAN_DATA_BYTES}},
        {"guardrail": "polite"},
    ],
    ids=["a span", "large", "of a guardrail"],
)
def test_what_no_tool_writes_is_no_span(made_up: JsonObject) -> None:
    """Code in a sandbox could fill history with them, or have nobody read the trace of its run."""
    spans, at = SpanLog(), "2026-11-30T03:00:00Z"
    span: JsonObject = {"name": "look", "started_at": at, "ended_at": at, **made_up}

    assert spans.take({"holdfast.span": span}) is (not made_up)
    assert len(spans.kept) == (not made_up)
