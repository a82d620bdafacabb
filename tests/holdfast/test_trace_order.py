"""The transcript of a trace tells things in the order in which they happened."""

import asyncio
from pathlib import Path

from temporalio.client import WorkflowHistory

from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from tests.control.guarded import decided, guarded, on_word, over
from tests.holdfast.traces import finished
from tests.holdfast.written import Written, read
from tests.running import Runs
from tests.sample import scripted


def told(history: WorkflowHistory) -> list[str]:
    return [f"{line.label} {line.text}" for line in lines(read_trace([history]))]


def place(said: list[str], words: str) -> int:
    return next(number for number, line in enumerate(said) if words in line)


async def test_what_was_looked_at_and_approved_before_a_call_stands_before_its_result(
    runs: Runs, tmp_path: Path
) -> None:
    """An auditor reads that a call was reviewed before it did anything."""
    # SS-05 T-07
    log = str(tmp_path / "log")
    turn = calls(call("write", log=log, text="bad"), call("look", place="here"))
    app = guarded([turn, say("done")], on_word("asks", "bad", "pre_execution", on_trip="ask"))
    async with runs.working(app):
        run = await runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, "approve")
        found = await over(run)

    said = told(found.history)
    result = place(said, "result ok")
    assert place(said, "call write(") < place(said, "asks: ") < place(said, "wait approved")
    assert place(said, "wait approved") < max(
        number for number, line in enumerate(said) if line.startswith("call write(")
    )
    assert said[result - 1].startswith("call ")
    assert sum(line.startswith("result ") for line in said) == 2


async def test_what_is_said_while_a_call_waits_stands_before_its_approval(
    runs: Runs, tmp_path: Path
) -> None:
    """Times never run backwards; below other lines it is said again which call goes on."""
    # SS-05
    script = [call("send", log=str(tmp_path / "log"), text="hi"), say("Done.")]
    async with runs.working(scripted(script)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.signal("steer", {"text": "be brief", "by": "olga"})
        await run.signal("approval", {"request_id": "req-9", "decision": "approve"})
        while not (await run.status()).refused:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.approve(request.request_id)
        (history,) = await finished(run)
    written = list(lines(read_trace([history])))
    times = [line.at for line in written if line.at is not None]

    assert times == sorted(times)
    assert [line.label for line in written[2:10]] == [
        *("turn 1", "call", "rule", "steer", "refused"),
        *("call", "wait", "result"),
    ]
    assert (written[3].text, written[7].at) == (written[7].text, None)


def test_a_run_that_looks_for_a_worker_says_for_how_long() -> None:
    """Whoever reads the trace meanwhile knows that it ends by itself."""
    written = Written()
    written.looks_for("a worker that has tool 'send'", 600)
    written.looks_for("a worker that has agent 'it'", 90)

    assert [one.text for one in read(written).audit_lines] == [
        "it goes on with a worker that has tool 'send', or after 10m 0s without",
        "it goes on with a worker that has agent 'it', or after 1m 30s without",
    ]


def test_a_run_that_looks_again_says_so_once_a_turn() -> None:
    """A worker that lacks the code takes it again and again, and there is nothing new in that."""
    written = Written()
    for _ in range(2):
        written.looks_for("a worker that has tool 'send'", 600)
        written.looks_for("a worker that has tool 'send'", 600)
        written.asked()

    said = [f"{line.label} {line.text}"[:17] for line in lines(read(written))]
    assert said[2:] == [
        *("note handed back:", "turn 1 scripted:i"),
        *("note handed back:", "turn 2 scripted:i"),
    ]
