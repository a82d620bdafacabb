"""What is asked before a call begins that waited in its queue, and what comes of each answer."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from holdfast.activities.authority.late_calls import NO_ANSWER, LateCalls
from holdfast.activities.callers import NOT_AS_DECIDED, NOT_HERE
from holdfast.contracts.decisions import Allow, AuthorizeCalls, Caller, Decided, Rulings
from holdfast.contracts.state.late_calls import LateCall, Whole, digest_terms
from holdfast.contracts.tools import Risk
from tests.activities.test_secrets import saying, told
from tests.asking import Knowing, asked_by_run, rules_on_nothing
from tests.builders import EXECUTION, NOW, a_call, an_invocation

AT_ONCE, LATE = timedelta(seconds=5), timedelta(seconds=5.1)
NOBODY = RPCError("no worker answers", RPCStatusCode.DEADLINE_EXCEEDED, b"")

ASKED = AuthorizeCalls(
    run_id="run-1",
    execution=EXECUTION,
    agent="it",
    caller=Caller(),
    calls=(a_call(),),
    visible_tools=("echo",),
    now=NOW,
)
RULING = Decided(
    call_id="c1",
    tool="echo",
    arguments_digest="d",
    risk=Risk.WRITE_INTERNAL,
    scope="all",
    decision=Allow(rule="approved", reason="somebody approved it"),
    at=NOW,
)
SAID = LateCall(asked=ASKED, terms=digest_terms(RULING))


def ruled(ruling: Decided, *lapsed: str) -> Callable[[AuthorizeCalls], Awaitable[Rulings]]:
    async def rule(asked: AuthorizeCalls) -> Rulings:
        assert asked.now > NOW
        return Rulings(rulings=(ruling,), lapsed=lapsed, execution=EXECUTION)

    return rule


async def cannot_tell(_: AuthorizeCalls) -> Rulings:
    raise ApplicationError("nobody knows what is switched off")


async def objection(
    run: Knowing,
    rule: Callable[[AuthorizeCalls], Awaitable[Rulings]] = cannot_tell,
    *,
    queued: timedelta = LATE,
    waited: float = 0.0,
    **call: object,
) -> str | None:
    """Say what keeps a call from beginning that was queued for so long."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        asked_by_run("run-1"), scheduled_time=NOW, started_time=NOW + queued
    )
    patience = timedelta(0) if run.said == [NOBODY] else timedelta(minutes=5)
    asking = LateCalls(run, rule, patience=patience, one=timedelta(0), pause=timedelta(0))
    invocation = an_invocation(**call)
    return await environment.run(asking.find_objection, invocation, waited)


@pytest.mark.parametrize(
    ("queued", "waited", "asked"),
    [(AT_ONCE, 0.0, False), (LATE, 0.0, True), (AT_ONCE, 0.1, True)],
    ids=["at once", "late", "its place took long"],
)
async def test_what_is_late_asks_its_run(queued: timedelta, waited: float, asked: bool) -> None:
    """By the server's times: it counts from when the call was sent to its queue."""
    run = Knowing(LateCall())

    assert await objection(run, queued=queued, waited=waited) is None
    assert bool(run.asked) is asked


async def test_what_its_run_says_is_why_it_does_not_begin() -> None:
    """There is nothing to decide then."""
    said = await objection(Knowing(LateCall(reason="its run is suspended")))

    assert said == "waited in its queue, and its run is suspended by now"


async def test_what_its_whole_says_counts_as_well() -> None:
    """And what the run says that this works for: a part may have yet to hear of it."""
    above = LateCall(whole=Whole(run_id="run-0", execution="e-0"))
    run = Knowing(above, above, LateCall(heard=7), LateCall(reason="the whole is over"))

    assert await objection(run) == "waited in its queue, and the whole is over by now"
    assert run.asked == [None, None, None, 7]


async def test_what_came_before_is_heard_first() -> None:
    """And no more than that: whoever floods a run keeps no call from beginning."""
    run = Knowing(LateCall(heard=7), LateCall(heard=7), LateCall())

    assert await objection(run) is None
    assert run.asked == [None, 7, 7]


@pytest.mark.parametrize(
    ("ruling", "lapsed", "begins"),
    [
        (RULING, (), True),
        (RULING.model_copy(update={"at": NOW + LATE, "scope": "other words"}), (), True),
        (RULING.model_copy(update={"decision": Allow(rule="approved", reason="s")}), (), True),
        (RULING.model_copy(update={"decision": Allow(rule="other", reason="s")}), (), False),
        (RULING.model_copy(update={"arguments_digest": "e"}), (), False),
        (RULING.model_copy(update={"risk": Risk.FINANCIAL}), (), False),
        (RULING, ("req-1",), False),
    ],
    ids=["same", "later", "reason", "rule", "arguments", "class", "a review that lapsed"],
)
async def test_what_is_decided_otherwise_does_not_begin(
    ruling: Decided, lapsed: tuple[str, ...], begins: bool
) -> None:
    """In whatever words: what it may do, with what, and by which rule, has to be the same."""
    assert (await objection(Knowing(SAID), ruled(ruling, *lapsed)) is None) is begins


async def test_where_nothing_can_be_decided_it_does_not_begin() -> None:
    """Nothing has happened then: the run decides anew when it can."""
    assert await objection(Knowing(SAID)) is not None


async def test_where_nobody_answers_it_does_not_begin() -> None:
    """A run without a worker says nothing."""
    assert await objection(Knowing(NOBODY)) == NO_ANSWER


class _Losing(Knowing):
    """A run whose first question goes to a worker that stands still."""

    async def read_late_call(
        self, about: str | Whole, now: datetime, heard: int | None
    ) -> LateCall:
        if not self.asked:
            self.asked.append(heard)
            await asyncio.Event().wait()
        return await super().read_late_call(about, now, heard)


async def test_where_a_worker_stands_still_another_is_asked() -> None:
    """The server has given it the question, and waits for it as long as whoever asks."""
    run = _Losing(LateCall())

    assert await objection(run) is None
    assert len(run.asked) == 2


async def test_who_finds_out_what_happened_asks_nobody() -> None:
    """Or a run that is suspended would never know what became of a write."""
    run = Knowing()

    assert await objection(run, purpose="reconcile") is None
    assert run.asked == []


@pytest.mark.parametrize(
    ("name", "purpose", "kind"),
    [("put_back", "call", NOT_AS_DECIDED), ("put_back", "undo", NOT_HERE)],
    ids=["decided anew", "tried again"],
)
async def test_what_may_not_begin_yet_is_no_result(
    tmp_path: Path, name: str, purpose: str, kind: str
) -> None:
    """What is taken back was decided when it was done: a busy moment doesn't leave it standing."""
    place = saying("done")
    late_calls = LateCalls(Knowing(LateCall(reason="its run is suspended")), rules_on_nothing)
    with pytest.raises(ApplicationError) as raised:
        await told(place, tmp_path, name=name, purpose=purpose, late_calls=late_calls, queued=LATE)

    assert (raised.value.type, place.calls) == (kind, [])


async def test_what_changes_nothing_asks_nobody(tmp_path: Path) -> None:
    """Reads come by hundreds: all would wait for the answers of all."""
    place, run = saying("done"), Knowing()
    late_calls = LateCalls(run, rules_on_nothing)
    await told(place, tmp_path, name="look", late_calls=late_calls, queued=LATE)

    assert len(place.calls) == 1
    assert run.asked == []
