"""Runs in sensitive domains: people approve before the first side effect, and only then."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts.control import Tiers, Triggers
from holdfast.testing import call, calls, say
from tests.control.controlled import (
    asked,
    asked_to_resolve,
    asked_to_review,
    chained,
    recorded,
    resolve,
    stopped,
    used,
)
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, told
from tests.workflows.tiered import asked as waiting_for
from tests.workflows.tiered import child, staffed

LONG = "\N{LATIN SMALL LETTER SHARP S}" * 100
"""As long as a name may be; compared, it is twice as long."""

REASON = "Sensitive domain requires human review"


@pytest.mark.parametrize("domain", ["payments", "auth", "pii"])
async def test_a_sensitive_run_waits_before_its_first_effect(
    memory_runs: MemoryRuns, tmp_path: Path, domain: str
) -> None:
    """What only reads runs, the first write waits; approved once, the run goes on to its end."""
    # ES-08 ES-09 ES-10 ES-14
    log = str(tmp_path / "log")
    turn = calls(call("read", log=log, text="r"), call("write", log=log, text="a"))
    app = chained([turn, call("write", log=log, text="b"), told], max_history_events=1)
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "pay them", domain=domain)
        review = await asked_to_review(run)
        before = lines(log)
    async with memory_runs.working(app):
        await run.approve(review.request_id)
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (review.kind, review.action, review.reason) == ("review", "require_approval", REASON)
    assert review.subject == f"domain:{domain}"
    about = f'It is about to call write(log="{log}", text="a")'
    assert review.text == f"{about}\n\nIts goal:\n> pay them"
    assert before == ["begin r", "end r"]
    assert lines(log)[2:] == ["begin a", "end a", "begin b", "end b"]
    assert result.answer == "write ok"
    assert recorded(*histories) == [f"review: domain:{domain}: {REASON}"]


async def test_a_rejected_run_stops_without_an_effect(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A person who says no ends the run before anything was done."""
    # ES-08
    log = str(tmp_path / "log")
    async with memory_runs.working(chained([call("write", log=log, text="a"), told])):
        run = await memory_runs.start("it", domain="payments")
        review = await asked_to_review(run)
        no = {"request_id": review.request_id, "decision": "reject", "approver": "alice"}
        await run.signal("approval", {**no, "reason": "not today"})
        stop = await stopped(run)
        results = await run.results()
        await memory_runs.stories(run)

    assert (stop.reason, stop.detail) == (REASON, "rejected by alice: not today")
    assert [one.status for one in results] == ["aborted"]
    assert lines(log) == []


async def test_silence_approves_nothing(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A review that nobody decides in time ends the run."""
    log = str(tmp_path / "log")
    async with memory_runs.working(chained([call("write", log=log, text="a"), told])):
        run = await memory_runs.start("it", domain="pii")
        await asked_to_review(run)
        stop = await stopped(run)

    assert (stop.detail, lines(log)) == ("nobody decided in time", [])


@pytest.mark.parametrize(
    ("domain", "asks"),
    [
        ("payments", True),
        ("Payments", True),
        (" PII ", True),
        ("payment", False),
        ("weather", False),
        (None, False),
    ],
)
async def test_a_domain_is_known_however_it_is_written(
    memory_runs: MemoryRuns, tmp_path: Path, domain: str | None, *, asks: bool
) -> None:
    """Capitals and spaces don't matter, and one approval is enough; other domains ask nobody."""
    log = str(tmp_path / "log")
    async with memory_runs.working(chained([call("write", log=log, text="a"), told])):
        run = await memory_runs.start("it", domain=domain)
        if asks:
            review = await asked_to_review(run)
            await run.approve(review.request_id)
        result = await run.result()

    assert result.answer == "write ok"


async def test_a_run_that_only_reads_asks_nobody(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Without a side effect there is nothing to approve."""
    # ES-08
    log = str(tmp_path / "log")
    async with memory_runs.working(chained([call("read", log=log, text="r"), told])):
        run = await memory_runs.start("it", domain="payments")
        result = await run.result()

    assert (result.answer, len(lines(log))) == ("read ok", 2)


async def test_an_agent_may_name_its_own_domains(runs: Runs, tmp_path: Path) -> None:
    """The list is the agent's: without payments in it payments are like anything else."""
    log = str(tmp_path / "log")
    triggers = Triggers(sensitive_domains=("health",))
    app = chained([call("write", log=log, text="a"), told], triggers=triggers)
    async with runs.working(app):
        free = await (await runs.start("it", domain="payments")).result()
        run = await runs.start("it", domain="health")
        review = await asked_to_review(run)
        await run.handle.cancel()

    assert (free.answer, review.subject) == ("write ok", "domain:health")


async def test_who_works_for_an_agent_holds_to_its_domains(runs: Runs, tmp_path: Path) -> None:
    """A part in a domain that its whole names waits, whatever it names itself."""
    # ES-08
    log = str(tmp_path / "log")
    script = {"coder": [call("write", log=log, text="a"), told]}
    triggers = Triggers(sensitive_domains=("health",))
    tiers = Tiers(full="coder", simplified="clerk")
    async with runs.working(staffed(script, tiers=tiers, triggers=triggers)):
        run = await runs.start("it", domain="health")
        part = child(runs, run, "1-full")
        (review,) = await waiting_for(part)
        before = lines(tmp_path / "log")
        await part.approve(review.request_id)
        result = await run.result()

    assert (review.kind, before, result.answer) == ("review", [], "write ok")


async def test_both_ways_to_wait_are_told_apart(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """One run approves and resolves: the query says which is which, and why exactly."""
    # ES-14
    log = str(tmp_path / "log")
    script = [used(call("write", log=log, text="a"), 81), say("done")]
    async with memory_runs.working(chained(script, escalates=True)):
        run = await memory_runs.start("it", domain="payments", budget={"max_tokens": 100})
        review = await asked_to_review(run)
        await resolve(run)  # what waits for approval is no escalation
        await run.refusals(1)
        await run.approve(review.request_id)
        await asked(run, review)
        escalation = await asked_to_resolve(run)
        await run.approve(escalation.request_id)  # nor the other way round
        refused = await run.refusals(2)
        await resolve(run, "abort")
        await stopped(run)

    assert (review.kind, review.action, review.reason) == ("review", "require_approval", REASON)
    assert (escalation.kind, escalation.action, escalation.reason) == (
        "escalation",
        "pause_and_escalate",
        "Approaching token budget limit",
    )
    assert refused == [
        "request 'req-1' waits for an approval (signal 'approval')",
        "request 'req-2' waits for a resolution (signal 'resolution')",
    ]


@pytest.mark.parametrize(
    "named",
    [[" "], [LONG], [f"domain {number}" for number in range(200)]],
    ids=["blank", "long", "many"],
)
async def test_no_domains_keep_a_run_from_its_parts(
    memory_runs: MemoryRuns, named: list[JsonValue]
) -> None:
    """What a start names besides the agent's own is blank, grows, or is as much as fits."""
    async with memory_runs.working(staffed({"coder": [say("done")]})), asyncio.timeout(30):
        result = await (await memory_runs.start("it", sensitive_domains=named)).result()

    assert result.status == "completed"


@pytest.mark.parametrize("domain", [LONG, "zoo"], ids=["long", "last"])
async def test_a_part_holds_to_a_domain_that_hardly_fits(
    memory_runs: MemoryRuns, tmp_path: Path, domain: str
) -> None:
    """The domain in which the run works is told to its parts before all others."""
    # ES-08
    log = str(tmp_path / "log")
    app = staffed({"coder": [call("write", log=log, text="a"), told]}, tiers=Tiers(full="coder"))
    named: list[JsonValue] = [*(f"domain {number}" for number in range(199)), domain]
    async with memory_runs.working(app), asyncio.timeout(30):
        run = await memory_runs.start("it", domain=domain, sensitive_domains=named)
        (review,) = await waiting_for(run.part("1-full"))
        before = lines(log)
        await run.part("1-full").approve(review.request_id)
        result = await run.result()

    assert (review.kind, before, result.answer) == ("review", [], "write ok")
