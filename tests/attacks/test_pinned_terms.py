"""A release changes the terms of a tool, and takes over a run that counts with those of before."""

import asyncio
from pathlib import Path

from holdfast import App, Reconciled, Risk, Tool, tool
from holdfast.contracts.calls import ToolFailure, ToolResult, ToolSuccess
from holdfast.testing import Script, call, calls
from holdfast.tools import ask_user
from tests.attacks.test_releases import release
from tests.control.controlled import replayed
from tests.running import Runs
from tests.sample import lines, note, told
from tests.workflows.tiered import written

FREE = "{id: free, effect: allow, match: {tools: [book, pay]}}"
FORBIDDEN = "{id: no, effect: forbid, match: {tools: [find_old]}}"
WAIT = call("ask_user", question="go on?")
PAGES = 25
"""Of the largest size these are more than one workflow task may send."""


async def taken_over(runs: Runs, old: App, new: App) -> list[ToolResult]:
    """Have a run begin with one release and go on with another; return what its calls came to."""
    async with runs.working(old):
        run = await runs.start("it")
        (question,) = await run.asked()
    async with runs.working(new, client=await runs.another_client()):
        await run.signal("answer", {"request_id": question.request_id, "text": "go"})
        await run.result()
        results = await run.results()
        await replayed(runs, run)
    return results[1:]


def booking(seconds: float) -> Tool:
    """A tool that has so long, and takes it."""

    async def book(log: str) -> str:
        """Book something at a hotel that never answers."""
        note(log, "begun")
        await asyncio.Event().wait()
        return "never"

    return tool(risk=Risk.WRITE_INTERNAL, timeout=seconds)(book)


async def test_a_run_knows_how_long_a_write_may_be_under_way(runs: Runs, tmp_path: Path) -> None:
    """A release gives it more time: when it is over the run would know too early."""
    script: Script = [WAIT, call("book", log=str(tmp_path / "log")), told]
    old, new = (
        release(tmp_path, str(seconds), script, FREE, tools=[ask_user, booking(seconds)])
        for seconds in (0.2, 3)
    )
    (result,) = await taken_over(runs, old, new)

    assert isinstance(result, ToolFailure)
    assert (result.status, lines(tmp_path / "log")) == ("outcome_unknown", ["begun"])
    assert "time limit of 0.2 s" in result.reason


def reading(characters: int) -> Tool:
    """A tool that runs inside the workflow task, of whose result a model reads so much."""

    async def page(number: int) -> str:
        """Read a page of a long book."""
        return f"{number} " + "x" * 199_900

    return tool(risk=Risk.READ_ONLY, local=True, timeout=5, max_result_chars=characters)(page)


async def test_a_run_knows_how_many_results_fit_into_a_workflow_task(
    runs: Runs, tmp_path: Path
) -> None:
    """A release lets a model read more of each: sent together they would hold the run for ever."""
    script: Script = [WAIT, calls(*(call("page", number=one) for one in range(PAGES))), told]
    old, new = (
        release(tmp_path, str(most), script, tools=[ask_user, reading(most)])
        for most in (20_000, 200_000)
    )
    async with asyncio.timeout(60):
        results = await taken_over(runs, old, new)

    assert [result.status for result in results] == ["ok"] * PAGES
    assert all(isinstance(one, ToolSuccess) and one.cut for one in results)


@tool(risk=Risk.READ_ONLY)
async def find_old(log: str) -> Reconciled:
    """Find out whether something was paid, as it was done before."""
    note(log, "the old way")
    return Reconciled(happened=False)


@tool(risk=Risk.READ_ONLY)
async def find_new(log: str) -> Reconciled:
    """Find out whether something was paid, as it is done by now."""
    note(log, "the new way")
    return Reconciled(happened=False)


def paying(finder: str) -> Tool:
    """A tool that loses its answer, and by which it is found out what became of it."""

    async def pay(log: str) -> str:
        """Pay somebody, and lose the answer."""
        raise ConnectionError("the line went dead")

    return tool(risk=Risk.WRITE_INTERNAL, reconcile=finder, timeout=0.2)(pay)


async def test_a_run_asks_no_forbidden_tool_that_a_release_has_left(
    runs: Runs, tmp_path: Path
) -> None:
    """It would still ask whom its tool named when it began, though the new one names another."""
    log = tmp_path / "log"
    script: Script = [WAIT, call("pay", log=str(log)), told]
    old = release(
        tmp_path, "old", script, FREE, tools=[ask_user, find_old, find_new, paying("find_old")]
    )
    new = release(
        tmp_path,
        "new",
        script,
        FREE,
        FORBIDDEN,
        tools=[ask_user, find_old, find_new, paying("find_new")],
    )
    (result,) = await taken_over(runs, old, new)

    assert (result.status, lines(log)) == ("outcome_unknown", [])


@tool(risk=Risk.WRITE_INTERNAL, timeout=2, reconcile="find_old")
async def pay_for_ever(log: str) -> str:
    """Pay somebody who never answers."""
    note(log, "begun")
    await asyncio.Event().wait()
    return "never"


async def test_who_finds_out_is_held_against_the_policy_of_that_hour(
    runs: Runs, tmp_path: Path
) -> None:
    """A release forbids it while the write is under way: nobody knows then what became of that."""
    # BY-11
    log = tmp_path / "log"
    script: Script = [call("pay_for_ever", log=str(log)), told]
    free = "{id: free, effect: allow, match: {tools: [pay_for_ever]}}"
    tools = [find_old, pay_for_ever]
    old = release(tmp_path, "old", script, free, tools=tools)
    new = release(tmp_path, "new", script, free, FORBIDDEN, tools=tools)
    async with runs.working(old):
        run = await runs.start("it")
        await written(log)
    async with runs.working(new, client=await runs.another_client()):
        result = await run.result()
        await replayed(runs, run)

    assert (result.answer, lines(log)) == ("pay_for_ever outcome_unknown", ["begun"])


@tool(risk=Risk.READ_ONLY, timeout=10)
async def find_slowly(log: str) -> Reconciled:
    """Find out whether something was booked, which takes longer than to book it."""
    await asyncio.sleep(0.5)  # longer than the write's limit of before
    note(log, "found")
    return Reconciled(happened=True)


def losing(seconds: float) -> Tool:
    """A tool that has so long, and loses its answer."""

    async def book(log: str) -> str:
        """Book something, and lose the answer."""
        raise ConnectionError("the line went dead")

    return tool(risk=Risk.WRITE_INTERNAL, reconcile="find_slowly", timeout=seconds)(book)


async def test_who_finds_out_has_a_time_of_its_own(runs: Runs, tmp_path: Path) -> None:
    """A write that is kept to its limit of before keeps nobody to it who finds out about it."""
    log = tmp_path / "log"
    script: Script = [WAIT, call("book", log=str(log)), told]
    old, new = (
        release(tmp_path, str(most), script, FREE, tools=[ask_user, find_slowly, losing(most)])
        for most in (0.2, 3)
    )
    (result,) = await taken_over(runs, old, new)

    assert (result.status, lines(log)) == ("ok", ["found"])
