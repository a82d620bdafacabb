"""Workers of two releases on one queue: no call runs by what another release decided about it."""

import asyncio
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import AfterValidator
from temporalio.api.enums.v1 import EventType

from holdfast import App, Tool, tool
from holdfast.activities.callers import NOT_AS_DECIDED
from holdfast.contracts.base import JsonObject
from holdfast.contracts.tools import Risk
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.run.disagreements import RETRY_DELAYS_SECONDS
from holdfast.testing import Script, call, say
from tests.attacks.half_workers import half_working, no_calls, no_decisions
from tests.control.controlled import replayed
from tests.control.guarded import Seen, looking, on_word
from tests.running import Run, Runs
from tests.sample import TOOLS, lines, note, scripted, told
from tests.workflows.test_permissions import policy

FAILED = EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED
COMPLETED = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED

ALLOWED = "{id: yes, effect: allow, match: {tools: [send, post, begin, shut, sync, pay]}}"
APPROVED = "{id: ask, effect: approve, match: {tools: [send]}}"
DRAFTED = "{id: draft, effect: draft, match: {tools: [post]}}"
FORBIDDEN = "{id: no, effect: forbid, match: {tools: [send, post]}}"
UNRELATED = "{id: other, effect: forbid, match: {tools: [shout]}}"


def sync(risk: Risk) -> Tool:
    """A tool of this name and class: the class is what a release changes."""

    async def sync(log: str) -> str:
        """Compare the accounts with the ledger."""
        note(log, f"synced as {risk}")
        raise ConnectionError("the line went dead")

    return tool(risk=risk, retry_backoff=0.05)(sync)


def begin_and_shut(risk: Risk) -> tuple[Tool, Tool]:
    """A tool that opens an account, and one of this class that undoes it."""

    async def begin(log: str) -> str:
        """Open an account for somebody."""
        note(log, "begun")
        return "begun"

    async def shut(log: str) -> str:
        """Shut the account again for good."""
        note(log, "shut")
        return "shut"

    return tool(risk=Risk.WRITE_INTERNAL, undo="shut")(begin), tool(risk=risk)(shut)


def release(
    folder: Path, name: str, script: Script | list[object], *rules: str, **agent: object
) -> App:
    """An app as it is deployed under this name."""
    (folder / name).mkdir()
    found = policy(folder / name, *rules) if rules else None
    return scripted(script, policy=found, **agent)  # pyright: ignore[reportArgumentType] -- either kind of script


async def attempts(run: Run, name: str) -> list[str]:
    """How each call of a tool has ended so far."""
    events = (await run.handle.fetch_history()).events
    ours = {
        one.event_id
        for one in events
        if one.event_type == SCHEDULED
        and one.activity_task_scheduled_event_attributes.activity_type.name == name
    }
    ended: list[str] = []
    for one in events:
        failed = one.activity_task_failed_event_attributes
        if one.event_type == FAILED and failed.scheduled_event_id in ours:
            ended.append(failed.failure.application_failure_info.type)
        completed = one.activity_task_completed_event_attributes
        if one.event_type == COMPLETED and completed.scheduled_event_id in ours:
            ended.append("ok")
    return ended


async def sent_back(runs: Runs, old: App, new: App, name: str, *, approve: bool = False) -> Run:
    """Have the old release decide a call that the new one is to run, until that says something."""
    async with half_working(runs, old, no_calls), half_working(runs, new, no_decisions):
        run = await runs.start("it")
        if approve:
            await run.approve((await run.asked_for_approval()).request_id)
        # Twice: now the run pauses for a second, and no call is lost with a worker that leaves.
        while len(ended := await attempts(run, name)) < 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
    assert ended == [NOT_AS_DECIDED] * 2
    return run


def arguments(log: Path) -> JsonObject:
    return {"log": str(log), "text": "hi"}


async def test_a_read_that_became_a_write_is_asked_about(runs: Runs, tmp_path: Path) -> None:
    """Decided as a read, and queued; the worker that takes it knows it as a write."""
    log = tmp_path / "log"
    script = [call("sync", log=str(log)), told]
    old = release(tmp_path, "old", script, tools=[sync(Risk.READ_ONLY)])
    new = release(tmp_path, "new", script, tools=[sync(Risk.WRITE_INTERNAL)])
    run = await sent_back(runs, old, new, "sync")
    async with runs.working(new):
        request = await run.asked_for_approval()
        before = lines(log)
        await run.approve(request.request_id)
        result = await run.result()
        await replayed(runs, run)

    assert before == []
    assert request.risk is Risk.WRITE_INTERNAL
    assert lines(log) == ["synced as write_internal"]
    assert result.answer == "sync outcome_unknown"


@pytest.mark.parametrize(
    ("tool", "runs_now", "rule"), [("send", "send", ALLOWED), ("post", "draft_post", DRAFTED)]
)
async def test_a_policy_that_forbids_reaches_the_queue(
    runs: Runs, tmp_path: Path, tool: str, runs_now: str, rule: str
) -> None:
    """Allowed, and queued, or its draft; the worker that takes it forbids it by now."""
    log = tmp_path / "log"
    script = [call(tool, **arguments(log)), told]
    old = release(tmp_path, "old", script, rule)
    new = release(tmp_path, "new", script, FORBIDDEN, rule)
    run = await sent_back(runs, old, new, runs_now)
    async with runs.working(new):
        result = await run.result()

    assert result.answer == f"{tool} denied"
    assert lines(log) == []


async def test_an_approval_outlives_another_policy(runs: Runs, tmp_path: Path) -> None:
    """Approved under a policy that was replaced meanwhile, by one that accepts it as well."""
    log = tmp_path / "log"
    script = [call("send", **arguments(log)), told]
    old = release(tmp_path, "old", script, APPROVED)
    new = release(tmp_path, "new", script, UNRELATED, APPROVED)
    run = await sent_back(runs, old, new, "send", approve=True)
    async with runs.working(new):
        result = await run.result()

    assert result.answer == "send ok"
    assert len(lines(log)) == 1


async def test_an_undo_of_another_class_isnt_what_was_ruled_on(runs: Runs, tmp_path: Path) -> None:
    """Its ruling stands, whatever the policy says later; but not for a tool that became worse."""
    log = tmp_path / "log"
    apps = [
        release(
            tmp_path,
            risk,
            [call("begin", log=str(log)), say("bad")],
            ALLOWED,
            tools=begin_and_shut(risk),
            guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        )
        for risk in (Risk.WRITE_INTERNAL, Risk.DESTRUCTIVE)
    ]
    async with half_working(runs, apps[0], no_calls), half_working(runs, apps[1], no_decisions):
        run = await runs.start("it")
        result = await run.result()

    assert lines(log) == ["begun"]
    assert result.compensation is not None
    assert "workers of two releases disagree" in result.compensation.not_undone[0]


def transfer(*, to_all: bool) -> Tool:
    """A tool that another release has take one thing more, with a default."""

    async def old(log: str, text: str) -> str:
        """Send a text to somebody."""
        note(log, f"to one: {text}")
        return "sent"

    async def new(log: str, text: str, to: str = "everybody") -> str:
        """Send a text to somebody, or to everybody."""
        note(log, f"to {to}: {text}")
        return "sent"

    transfer = new if to_all else old
    transfer.__name__ = "transfer"
    return tool(risk=Risk.WRITE_INTERNAL)(transfer)


async def test_a_call_that_is_decided_anew_is_looked_at_anew(runs: Runs, tmp_path: Path) -> None:
    """A guardrail let it pass as the old release filled it in, and not as the new one does."""
    log, seen = tmp_path / "log", Seen()
    script = [call("transfer", **arguments(log)), told]
    rule = "{id: yes, effect: allow, match: {tools: [transfer]}}"

    def found(subject: Subject) -> GuardrailResult:
        return tripped("not to all") if "everybody" in str(subject.data) else passed()

    old, new = (
        release(
            tmp_path,
            "new" if to_all else "old",
            script,
            rule,
            tools=[transfer(to_all=to_all)],
            guardrails=[looking("no_mass", "pre_execution", found, seen, on_trip="deny")],
        )
        for to_all in (False, True)
    )
    run = await sent_back(runs, old, new, "transfer")
    async with runs.working(new):
        result = await run.result()
        await replayed(runs, run)

    assert lines(log) == []
    assert result.answer == "transfer denied"
    assert "everybody" not in str(seen.subjects[0].data)
    assert "everybody" in str(seen.subjects[-1].data)


def pay(*, in_cents: bool) -> Tool:
    """A tool that another release has take hundredths of what the model says."""

    async def old(log: str, amount: float) -> str:
        """Pay an amount of money to somebody."""
        note(log, f"paid {amount}")
        return "paid"

    async def new(log: str, amount: Annotated[float, AfterValidator(lambda x: x * 100)]) -> str:
        """Pay an amount of money to somebody."""
        note(log, f"paid {amount}")
        return "paid"

    pay = new if in_cents else old
    pay.__name__ = "pay"
    return tool(risk=Risk.WRITE_INTERNAL)(pay)


async def test_what_is_read_otherwise_behind_a_guardrail_is_looked_at_anew(
    runs: Runs, tmp_path: Path
) -> None:
    """The release changes while it looks: the new one takes the same arguments for another sum."""
    log, amounts, may_end = tmp_path / "log", list[object](), asyncio.Event()

    @guardrail(layer="pre_execution", on_trip="deny")
    async def small(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
        """Let small sums pass, in its time."""
        assert isinstance(subject.data, dict)
        amounts.append(subject.data["amount"])
        await may_end.wait()
        return passed() if amounts[-1] == 50 else tripped("too much")

    script = [call("pay", log=str(log), amount=50), told]
    old, new = (
        release(
            tmp_path,
            "new" if in_cents else "old",
            script,
            ALLOWED,
            tools=[pay(in_cents=in_cents)],
            guardrails=[small],
        )
        for in_cents in (False, True)
    )
    async with half_working(runs, old, no_decisions):
        async with half_working(runs, old, no_calls):
            run = await runs.start("it")
            while not amounts:  # noqa: ASYNC110 -- it is elsewhere
                await asyncio.sleep(0.02)
        may_end.set()
        while "ok" not in await attempts(run, "guardrail:small"):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
    async with runs.working(new, client=await runs.another_client()):
        result = await run.result()
        await replayed(runs, run)

    assert amounts == [50, 5000]
    assert (result.answer, lines(log)) == ("pay denied", [])


async def test_workers_that_disagree_for_ever_run_nothing(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """One decides and another runs, again and again: after some minutes the call is denied."""
    log = tmp_path / "log"
    script = [call("send", **arguments(log)), told]
    old = release(tmp_path, "old", script, ALLOWED)
    new = release(tmp_path, "new", script, UNRELATED, ALLOWED)
    async with (
        half_working(skipping_runs, old, no_calls),
        half_working(skipping_runs, new, no_decisions),
    ):
        run = await skipping_runs.start("it")
        result = await run.result()
        failure = await run.failure()

    assert result.answer == "send denied"
    assert "workers of two releases disagree" in failure.reason
    assert await attempts(run, "send") == [NOT_AS_DECIDED] * (len(RETRY_DELAYS_SECONDS) + 1)
    assert lines(log) == []


async def test_two_releases_that_agree_about_a_tool_run_it_at_once(
    runs: Runs, tmp_path: Path
) -> None:
    """Another tool that changed is no reason to decide anew."""
    log = tmp_path / "log"
    script = [call("read", **arguments(log)), told]
    old = release(tmp_path, "old", script, tools=[*TOOLS, sync(Risk.READ_ONLY)])
    new = release(tmp_path, "new", script, tools=[*TOOLS, sync(Risk.FINANCIAL)])
    async with half_working(runs, old, no_calls), half_working(runs, new, no_decisions):
        run = await runs.start("it")
        result = await run.result()

    assert result.answer == "read ok"
    assert await attempts(run, "read") == ["ok"]


def sync_account(risk: Risk) -> Tool:
    """As `sync`, with an argument that may be left out."""

    async def sync(log: str, account: str = "all") -> str:
        """Compare an account with the ledger."""
        note(log, f"synced {account} as {risk}")
        raise ConnectionError("the line went dead")

    return tool(risk=risk, retry_backoff=3)(sync)


async def is_tried_again(run: Run) -> bool:
    """Whether a call waits for its next attempt."""
    pending = (await run.handle.describe()).raw_description.pending_activities
    return any(one.attempt > 1 for one in pending)


async def test_what_was_tried_as_a_read_is_known_as_the_write_that_it_is(
    runs: Runs, tmp_path: Path
) -> None:
    """Nobody knows what became of it, and whatever the same call leaves out, it is denied."""
    # BY-11
    log = tmp_path / "log"
    script = [call("sync", log=str(log))] * 2 + [told]
    old, new = (
        release(tmp_path, risk, script, ALLOWED, tools=[sync_account(risk)])
        for risk in (Risk.READ_ONLY, Risk.WRITE_INTERNAL)
    )
    async with runs.working(old):
        run = await runs.start("it")
        while not await is_tried_again(run):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
    async with runs.working(new, client=await runs.another_client()):
        await run.result()
        results = await run.results()

    assert [one.status for one in results] == ["outcome_unknown", "denied"]
    assert len(lines(log)) == 1
