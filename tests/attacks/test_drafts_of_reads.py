"""A read whose draft leaves something behind: what runs then is no read."""

import asyncio
from pathlib import Path

from temporalio.api.enums.v1 import EventType

from holdfast import App, Risk, Triggers, tool
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.testing import call, say
from tests.control.controlled import asked_to_review
from tests.control.guarded import asked_next, decided
from tests.control.test_steers_now import NOW
from tests.control.test_stops import STOP
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines, note, scripted, told
from tests.workflows.test_retries import first_then, retried
from tests.workflows.tiered import written

CANCELLED = EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED


@tool(risk=Risk.DRAFT_ONLY)
async def close_request(log: str) -> str:
    """Close a request for a file that was opened by mistake."""
    note(log, "closed")
    return "closed"


@tool(risk=Risk.DRAFT_ONLY, undo="close_request", timeout=30)
async def open_request(log: str) -> str:
    """Open a request for a file, where its keepers see it, and wait until that is confirmed."""
    note(log, "opened")
    note(log, "held")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    return "confirmed"


@tool(risk=Risk.READ_ONLY, draft="open_request", permission="approval", timeout=30)
async def read_file_of(log: str) -> str:
    """Read a file, which a person has to approve."""
    note(log, "read")
    return "secret"


def reading(log: Path) -> App:
    """An app whose agent asks for a file."""
    same = call("read_file_of", log=str(log))
    script = first_then([same, say("done")], [same, told])
    tools = (*TOOLS, close_request, open_request, read_file_of)
    payments = Triggers(sensitive_domains=("payments",))
    return scripted(script, tools=tools, triggers=payments)


async def test_a_stop_breaks_off_no_draft_that_leaves_something(
    runs: Runs, tmp_path: Path
) -> None:
    """It comes to its end, and the run says what stands; who tries the run again knows it."""
    # BY-08 BY-44
    log = tmp_path / "log"
    async with runs.working(reading(log)):
        run = await runs.start("it")
        await written(log, 2)
        await run.signal("stop", STOP)
        heard = await run.status()
        Path(f"{log}.go").touch()
        result = await run.result()
        again = await retried(runs, run)
        retry = await again.result()
        (history,) = await runs.histories(run)
        await runs.histories(again)

    assert heard.in_flight == ("tool read_file_of",)
    assert CANCELLED not in {event.event_type for event in history.events}
    assert [one.tool for one in result.effects] == ["open_request"]
    assert retry.answer == "read_file_of denied"
    assert lines(log) == ["opened", "held"]


async def test_no_words_break_off_a_draft_that_leaves_something(
    runs: Runs, tmp_path: Path
) -> None:
    """Who can't wait is heard when it is there, and it is made once."""
    # BY-08 BY-44
    log = tmp_path / "log"
    async with runs.working(reading(log)):
        run = await runs.start("it")
        await written(log, 2)
        await run.signal("steer", NOW)
        waits = await run.status()
        Path(f"{log}.go").touch()
        asked = await run.asked_for_approval()
        await decided(run, asked, "reject")
        result = await run.result()
        (history,) = await runs.histories(run)

    assert CANCELLED not in {event.event_type for event in history.events}
    assert waits.in_flight == ("tool read_file_of",)
    assert len(result.effects) == 1
    assert lines(log) == ["opened", "held"]


async def test_a_domain_is_reviewed_before_a_draft_leaves_something(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """People read of it first, as of each call that changes something."""
    # ES-08
    log = tmp_path / "log"
    Path(f"{log}.go").touch()
    async with memory_runs.working(reading(log)):
        run = await memory_runs.start("it", domain="payments")
        review = await asked_to_review(run)
        before = lines(log)
        await run.approve(review.request_id)
        asked = await asked_next(run, review)
        await memory_runs.stories(run)

    assert before == []
    assert isinstance(asked, ApprovalRequest)
    assert lines(log) == ["opened", "held"]
