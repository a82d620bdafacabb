"""Reviews that were approved, of which nothing is good any more when the run goes on."""

from pathlib import Path

import pytest

from holdfast import Requirement, Triggers
from holdfast.contracts.approvals import Review
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, calls
from tests.attacks.test_old_approvals import approve, booking
from tests.attacks.test_tokens import ALICE, BOB, lines, trusting
from tests.control.controlled import replayed
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import scripted, told
from tests.workflows.test_permissions import policy


@pytest.mark.parametrize("together", [True, False], ids=["in one turn", "in the next turn"])
async def test_a_domain_is_not_reviewed_with_a_call_that_never_ran(
    memory_runs: MemoryRuns, tmp_path: Path, *, together: bool
) -> None:
    """The call that people read of is forbidden before it runs; they are shown the next one."""
    log = tmp_path / "log"
    small, large = (call("send", log=str(log), text=text) for text in ("a note", "a fortune"))
    script = [calls(small, large), told] if together else [small, large, told]
    triggers = Triggers(sensitive_domains=("payments",))
    folders = [tmp_path / "before", tmp_path / "after"]
    for folder in folders:
        folder.mkdir()
    allow = "{id: ok, effect: allow, match: {tools: [send]}}"
    forbid = "{id: no, effect: forbid, match: {tools: [send]}, when: 'args.text == \"a note\"'}"
    before = scripted(script, policy=policy(folders[0], allow), triggers=triggers)
    after = scripted(script, policy=policy(folders[1], forbid, allow), triggers=triggers)
    decision: JsonObject = {"decision": "approve", "approver": "alice"}
    async with memory_runs.working(before):
        run = await memory_runs.start("it", domain="payments")
        (first,) = await run.asked()
        await run.signal("suspend", {})
        await run.decide({**decision, "request_id": first.request_id})
    async with memory_runs.working(after):
        await run.signal("resume", {})
        (again,) = await run.asked()
        done = log.exists()
        await run.decide({**decision, "request_id": again.request_id})
        await run.result()
        await memory_runs.stories(run)

    assert isinstance(first, Review)
    assert isinstance(again, Review)
    assert ("a note" in first.text, "a fortune" in first.text) == (True, False)
    assert ("a note" in again.text, "a fortune" in again.text) == (False, True)
    sent = log.read_text(encoding="utf-8").splitlines()
    assert (done, [line.partition(" ")[2] for line in sent]) == (False, ["a fortune"])


@pytest.mark.parametrize("because", ["domain", "guardrail"])
async def test_a_review_releases_nothing_by_a_key_that_is_gone(
    runs: Runs, tmp_path: Path, because: str
) -> None:
    """Signed while the run is suspended; before it goes on the key is revoked."""
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE, BOB)
    strong = Requirement(strength="strong")
    objects = on_word("no_booking", "book", "pre_execution", on_trip="ask")
    looks = (objects,) if because == "guardrail" else ()
    app = booking(log, "effect: allow", review=strong, guardrails=looks)
    async with runs.working(app):
        run = await runs.start("it", domain="payments" if because == "domain" else "sales")
        await run.asked()
        await run.signal("suspend", {})
        first = await approve(run, ALICE)
        trusting(runs, tmp_path, BOB)
        await run.signal("resume", {})
        (again,) = await run.asked()
        before = lines(log)
        await approve(run, BOB)
        result = await run.result()
        await replayed(runs, run)

    assert isinstance(again, Review)
    assert (first, again.request_id, before) == ("accepted", "req-2", [])
    assert (result.answer, lines(log)) == ("book ok", ["booked"])


async def test_a_review_releases_nothing_when_it_has_lapsed(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Approved for a minute, of which nothing is left when the run goes on."""
    log = tmp_path / "log"
    decision: JsonObject = {"decision": "approve", "approver": "alice"}
    app = booking(log, "effect: allow", review=Requirement(valid_for=60))
    async with memory_runs.working(app):
        run = await memory_runs.start("it", domain="payments")
        await run.asked()
        await run.signal("suspend", {})
        await run.decide({**decision, "request_id": "req-1"})
        await memory_runs.pass_time(90)
        await run.signal("resume", {})
        (again,) = await run.asked()
        before = lines(log)
        await run.decide({**decision, "request_id": again.request_id})
        result = await run.result()

    assert (again.request_id, before) == ("req-2", [])
    assert (result.answer, lines(log)) == ("book ok", ["booked"])
