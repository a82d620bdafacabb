"""A model reads on in a result that was too large for it, and only in its own run's."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Risk, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import TwoPart, read_result
from tests.memory.runs import MemoryRuns
from tests.sample import flood, scripted

ORDERS: list[JsonValue] = [{"order": number, "note": "x" * 1_000} for number in range(5_000)]


@tool(risk=Risk.READ_ONLY, max_items=2)
async def find_orders() -> list[JsonValue]:
    """Find all orders, five megabytes of them."""
    return ORDERS


@tool(risk=Risk.READ_ONLY, max_result_chars=100)
async def sum_up() -> TwoPart[str, str]:
    """Sum the orders up, in short and in full."""
    return TwoPart(short="s" * 500, full="secret figures")


def cursor_of(result: JsonValue) -> str:
    assert isinstance(result, dict)
    return str(result["cursor"])


async def test_five_megabytes_are_read_a_page_at_a_time(memory_runs: MemoryRuns) -> None:
    """A list comes in pages of whole items, each with the cursor of the next."""
    # BY-07
    seen: list[JsonObject] = []

    def script(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return call("find_orders")
        last = turn.last("find_orders" if turn.number == 2 else "read_result")
        assert isinstance(last, dict)
        seen.append(last)
        return say("done") if turn.number == 4 else call("read_result", cursor=cursor_of(last))

    async with memory_runs.working(scripted(script, tools=[find_orders, read_result])):
        run = await memory_runs.start("it")
        result = await run.result()
        found = (await run.results())[0]

    assert isinstance(found, ToolSuccess)
    first, *pages = seen
    assert result.answer == "done"
    assert (first["excerpt"], first["items"]) == (ORDERS[:2], 5_000)
    assert found.artifact is not None
    assert found.artifact.characters > 5_000_000
    assert len(found.model_dump_json()) < 4_000
    read = [item for page in pages for item in _items(page["content"])]
    assert read == ORDERS[2 : 2 + len(read)]
    assert len(read) > 30


def _items(content: JsonValue) -> list[JsonValue]:
    assert isinstance(content, list)
    return content


async def test_the_rest_of_a_short_part_is_read_and_the_full_part_isnt(
    memory_runs: MemoryRuns,
) -> None:
    """What only people and audit have no cursor leads to."""
    # BY-07 BY-53
    said: list[JsonValue] = []

    def script(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return call("sum_up")
        if turn.number == 2:
            return call("read_result", cursor=cursor_of(turn.last("sum_up")))
        said.append(turn.last("read_result"))
        return say("done")

    async with memory_runs.working(scripted(script, tools=[sum_up, read_result])):
        run = await memory_runs.start("it")
        await run.result()
        found = (await run.results())[0]

    assert isinstance(found, ToolSuccess)
    assert said == [{"content": "s" * 400, "cursor": None}]
    assert found.artifact is not None
    assert Path(found.artifact.path).read_text(encoding="utf-8") == '"secret figures"'


@pytest.mark.parametrize(
    ("cursor", "kind"),
    [
        ("nothing", "invalid_arguments"),
        ("call_1_1:0123456789abcdef:c0", "not_found"),
        ("../call_1_1:0123456789abcdef:c0", "not_found"),
        ("a\x00b:0123456789abcdef:c0", "not_found"),
        ("call_1_1::c0", "not_found"),
    ],
)
async def test_a_cursor_that_nobody_gave_leads_nowhere(
    memory_runs: MemoryRuns, cursor: str, kind: str
) -> None:
    """It has the digest of what it leads to: nobody makes it up who hasn't seen the result."""
    # BY-07
    script = [call("flood", characters=5_000), call("read_result", cursor=cursor), say("done")]
    async with memory_runs.working(scripted(script, tools=[flood, read_result])):
        run = await memory_runs.start("it")
        await run.result()
        results = await run.results()

    (_, refused) = results
    assert isinstance(refused, ToolFailure)
    assert refused.type == kind


async def test_no_other_run_reads_a_result(memory_runs: MemoryRuns) -> None:
    """A cursor counts in the run that has the result, and in no other."""
    # BY-07
    cursors: list[str] = []

    def script(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return call("flood", characters=5_000)
        if not cursors:
            cursors.append(cursor_of(turn.last("flood")))
            return say("done")
        return say("done") if turn.number == 3 else call("read_result", cursor=cursors[0])

    def other(turn: ScriptTurn) -> Reply:
        return call("read_result", cursor=cursors[0]) if turn.number == 1 else say("done")

    app = scripted(
        lambda turn: other(turn) if cursors else script(turn), tools=[flood, read_result]
    )
    async with memory_runs.working(app):
        await (await memory_runs.start("it")).result()
        run = await memory_runs.start("it")
        await run.result()
        (refused,) = await run.results()

    assert isinstance(refused, ToolFailure)
    assert refused.type == "not_found"


async def test_without_the_tool_nothing_tells_of_it(memory_runs: MemoryRuns) -> None:
    """An agent that can't read on is given no cursor."""
    # BY-07
    script = [call("flood", characters=5_000), say("done")]
    async with memory_runs.working(scripted(script)):
        run = await memory_runs.start("it")
        await run.result()
        found = await run.success()

    assert isinstance(found, ToolSuccess)
    assert isinstance(found.data, dict)
    assert "cursor" not in found.data
    assert found.summary == "the first 1000 of 5000 characters; ask for less to see the rest"
