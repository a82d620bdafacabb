"""Rulings that were good when they were made: who keeps their calls from beginning."""

import asyncio
import errno
from collections.abc import Set as AbstractSet
from itertools import count
from pathlib import Path

import pytest

from holdfast import Agent, App, Budget, Risk, tool
from holdfast.activities import policy as deciding
from holdfast.activities.authority.keys import Keys
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, passed
from holdfast.policy.signatures import KeyClaim
from holdfast.policy.trust import TrustedIssuer
from holdfast.testing import call
from tests.attacks.half_workers import half_working, no_calls, no_decisions
from tests.attacks.test_old_approvals import approve, looked_at
from tests.attacks.test_tokens import ALICE, BOB, refunding, trusting
from tests.control.controlled import replayed
from tests.running import Run, Runs
from tests.sample import lines, note, told

LONG = 6.0
"""Seconds; longer than what was decided about a call is good for."""

FORBIDDEN = "version: 1\nrules:\n  - {id: no, effect: forbid, match: {tools: [charge_again]}}\n"


@tool(risk=Risk.WRITE_INTERNAL)
async def charge_again(log: str) -> str:
    """Take the money back that somebody was given."""
    note(log, "charged")
    return "charged"


@tool(risk=Risk.FINANCIAL, undo="charge_again")
async def give_back(log: str) -> str:
    """Give somebody their money back."""
    note(log, "given back")
    return "given back"


class _FullDisk:
    """A log on a disk that may be full."""

    def __init__(self) -> None:
        self.full, self.tried = False, asyncio.Event()

    def info(self, event: str, **_: object) -> None:
        if self.full:
            self.tried.set()
            raise OSError(errno.ENOSPC, f"no room for {event}")


async def test_a_key_that_is_revoked_while_nothing_can_be_logged_releases_nothing(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a ruling and its call stands a line for the audit, tried until it is there."""
    # RK-19 BY-15
    log, policy, disk = tmp_path / "log", tmp_path / "policy.yaml", _FullDisk()
    monkeypatch.setattr(deciding, "audit", disk)
    policy.write_text(FORBIDDEN, encoding="utf-8")
    trusting(runs, tmp_path, ALICE, BOB)
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[give_back],
        budget=Budget(max_steps=9),
    )
    scripts = {"it": [call("give_back", log=str(log)), told]}
    async with runs.working(App(agents=[agent], scripts=scripts, policy=policy)):
        run = await runs.start("it")
        await run.asked()
        disk.full = True
        await approve(run, ALICE)
        await disk.tried.wait()
        trusting(runs, tmp_path, BOB)
        await asyncio.sleep(LONG)
        disk.full = False
        await _is_asked_anew(runs, run, log)


@guardrail(layer="pre_execution", local=True)
async def long(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look for as long as one inside the workflow task may, and let it pass."""
    _looking.set()
    await asyncio.sleep(LONG)
    return passed()


_looking = asyncio.Event()


async def test_a_key_that_is_revoked_while_a_local_guardrail_looks_releases_nothing(
    runs: Runs, tmp_path: Path
) -> None:
    """Nothing is decided anew behind one that is quick; this one takes its time."""
    # RK-19 BY-15
    _looking.clear()
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(looked_at(log, long)):
        run = await runs.start("it")
        await approve(run, ALICE)
        await _looking.wait()
        trusting(runs, tmp_path, BOB)
        await _is_asked_anew(runs, run, log)


async def _is_asked_anew(runs: Runs, run: Run, log: Path) -> None:
    (request,) = await run.asked()
    before = lines(log)
    await approve(run, BOB)
    await run.result()
    await replayed(runs, run)

    assert (request.request_id, before) == ("req-2", [])
    assert len(lines(log)) == 1


async def test_behind_a_long_decision_a_call_waits_for_no_other_activity(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waited for a worker that is free, who had approved it might have lost their key."""
    # RK-19 BY-15
    began, may_end, find = asyncio.Event(), asyncio.Event(), Keys.find_issuers
    signed = count(1)

    async def find_slowly(self: Keys, claims: AbstractSet[KeyClaim]) -> tuple[TrustedIssuer, ...]:
        if claims and next(signed) == 2:  # the first is who judges the approval
            began.set()
            await may_end.wait()
            await asyncio.sleep(1.1)
        return await find(self, claims)

    monkeypatch.setattr(Keys, "find_issuers", find_slowly)
    trusting(runs, tmp_path, ALICE, BOB)
    app = refunding(tmp_path / "log", 29.0)
    async with half_working(runs, app, no_calls):
        async with half_working(runs, app, no_decisions):
            run = await runs.start("it")
            await approve(run, ALICE)
            await began.wait()
        may_end.set()
        while not (begun := await _pending_activities(run)):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        async with half_working(runs, app, no_decisions):
            await run.result()

    assert begun == ["refund"]


async def _pending_activities(run: Run) -> list[str]:
    """Return the activities that wait for a worker, or are under way."""
    described = await run.handle.describe()
    return [one.activity_type.name for one in described.raw_description.pending_activities]
