"""Attacks by number: many messages, whatever they are, keep no good one from being heard."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts import bounds
from holdfast.testing import call, calls, say
from holdfast.workflows.inbound import inbox
from holdfast.workflows.inbound.inbox import MAX_MESSAGES_PER_EXECUTION
from tests.control.controlled import replayed
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import lines, scripted, told
from tests.workflows.test_permissions import policy

STEERS: tuple[tuple[str, JsonValue], ...] = (("steer", {"text": "x"}),)
MIXED: tuple[tuple[str, JsonValue], ...] = (
    *STEERS,
    ("approval", {"request_id": "nope", "decision": "approve", "approver": "mallory"}),
    (
        "approval",
        {"request_id": "req-1", "decision": "approve", "approver": "m", "token": "a.b.c"},
    ),
    ("nonsense", [1, 2]),
    ("steer", {"text": ""}),
    ("suspend", {}),
    ("resume", {}),
)


async def flooded(run: Run, messages: tuple[tuple[str, JsonValue], ...], heard: int) -> int:
    """
    Send what two executions hear that hear so many each: a good approval comes to the third.

    Fifty at once, with a breath whenever the run wants to go on in a new one.

    No server lets an execution end while messages for it arrive, and the test server (1.40) may
    lose a run whose every try fails so: it is no server for this, even with a breath.
    """

    async def some(wave: range) -> None:
        for number in wave:
            await run.signal(*messages[number % len(messages)])

    for first in (0, heard):
        before = await run.execution()
        waves = (range(first + n, first + heard, 50) for n in range(50))
        await asyncio.gather(*(some(wave) for wave in waves))
        while await run.execution() == before:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
    return 2 * heard


@pytest.mark.parametrize(
    ("messages", "most"),
    [(STEERS, 300), (MIXED, MAX_MESSAGES_PER_EXECUTION)],
    ids=["steers", "everything"],
)
async def test_no_flood_locks_an_approval_out(
    runs: Runs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    messages: tuple[tuple[str, JsonValue], ...],
    most: int,
) -> None:
    """Thousands of messages are heard or refused in their order, and the good approval counts."""
    # T-16 T-33
    monkeypatch.setattr(inbox, "MAX_MESSAGES_PER_EXECUTION", most)
    log = tmp_path / "sent"
    app = scripted([call("send", log=str(log), text="hi"), told])
    async with runs.working(app):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        flood = await flooded(run, messages, most)
        await run.signal("resume", {})
        await run.approve(request.request_id, "alice")
        result = await run.result()
        status = await run.status()
        transcript = await run.transcript()
        executions = await replayed(runs, run)

    assert result.answer == "send ok"
    assert len(lines(log)) == 1
    assert len(executions) > 1
    heard = sum(getattr(item, "origin", "") == "steer" for item in transcript.items)
    assert heard == bounds.MAX_PENDING_STEERS
    sent = [messages[number % len(messages)][0] for number in range(flood)]
    harmless = sent.count("suspend") + sent.count("resume")
    assert status.refused_total == flood - heard - harmless


async def test_what_is_heard_before_a_new_execution_wedges_no_run(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood has it go on in a new one, and by then its state has become too large for that."""
    monkeypatch.setattr(inbox, "MAX_MESSAGES_PER_EXECUTION", 20)
    monkeypatch.setattr(bounds, "MAX_REASON_BYTES", 100_000)  # as whatever nobody thought of
    log = tmp_path / "sent"
    sent = calls(*(call("send", log=str(log), text=f"hi {n}") for n in range(15)))
    app = scripted([sent, say("done")])
    async with runs.working(app, client=await runs.another_client()):
        run = await runs.start("it")
        asked = await run.asked(15)
    for _ in range(30):
        await run.signal("x", {})
    for request in asked[:14]:
        await run.approve(request.request_id, reason="\N{FIRE}" * 20_000)
    async with runs.working(app, client=await runs.another_client()):
        result = await run.result()
        await replayed(runs, run)

    assert result.stop is not None
    assert result.stop.reason == "too large to go on in a new execution"


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 2])
async def test_no_reason_is_too_long_to_be_kept(
    memory_runs: MemoryRuns, tmp_path: Path, people: int
) -> None:
    """Everybody who approves says a lot about each of many calls: all of them run."""
    log, count = tmp_path / "sent", 15
    sent = calls(*(call("send", log=str(log), text=f"hi {n}") for n in range(count)))
    rule = (
        f"{{id: some, effect: approve, match: {{tools: [send]}}, approval: {{count: {people}}}}}"
    )
    async with memory_runs.working(scripted([sent, say("done")], policy=policy(tmp_path, rule))):
        run = await memory_runs.start("it")
        for approver in ("mallory", "alice")[:people]:
            for request in await run.asked(count):
                await run.approve(request.request_id, approver, reason="\N{FIRE}" * 20_000)
        result = await run.result()

    assert result.answer == "done"
    assert len(lines(log)) == count


async def test_words_are_bounded_in_bytes(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What waits for the model fits into its next call; the rest is refused and may come later."""
    words = "\u20ac" * 8_000
    app = scripted([call("send", log=str(tmp_path / "sent"), text="hi"), say("done")])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        for _ in range(6):
            await run.signal("steer", {"text": words})
        refusals = await run.refusals(2)
        await run.approve(request.request_id, "alice")
        result = await run.result()
        transcript = await run.transcript()

    heard = [item for item in transcript.items if getattr(item, "origin", "") == "steer"]
    assert result.answer == "done"
    assert len(heard) == 4
    assert all("4 messages with 96,008 bytes waiting for the model" in one for one in refusals)


async def test_a_large_message_is_not_even_read(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """However it is filled up, it is refused by its length."""
    app = scripted([call("send", log=str(tmp_path / "sent"), text="hi"), say("done")])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        for name in ("suspend", "steer", "approval"):
            await run.signal(name, {"x" * 200_000: 1})
        refusals = await run.refusals(3)
        await run.approve(request.request_id, "alice")
        result = await run.result()

    assert all("150,000 is most" in refusal for refusal in refusals)
    assert result.answer == "done"
