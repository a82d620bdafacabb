"""The transcript of a run: what people read of it, while it goes on and afterwards."""

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel
from temporalio.client import WorkflowHistory

from holdfast import Budget, ModelUnavailable, Part
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Limits
from holdfast.testing import Reply, ScriptTurn, call, calls, fail, say
from holdfast.tools import ask_user
from holdfast.trace.reader import TraceReader, read_trace
from holdfast.trace.transcript import Progress, lines
from tests.holdfast.traces import announce, finished, pondering, printed, traced
from tests.running import Runs
from tests.sample import scripted


async def test_transcript_of_a_supervised_run(runs: Runs) -> None:
    """A transcript reads as a story: turns, calls, rules, waits, results, the answer."""
    # OB-05
    asked = calls(call("ponder", about="it"), call("announce", text="all is well"))
    async with runs.working(pondering([asked, say("It was announced.\nEverybody knows.")])):
        run = await runs.start("it", "Tell everybody.")
        request = await run.asked_for_approval()
        await run.approve("req-7", "mallory")
        await run.refusals(1)
        await run.approve(request.request_id, "alice", reason="they wait for it")
        trace = read_trace(await finished(run))

    assert printed(trace) == [
        "goal    Tell everybody.",
        "turn 1  scripted:it  -> ponder, announce",
        '  call    ponder(about="it")',
        '  call    announce(text="all is well")',
        "  rule    announce: approval_required (write_internal)",
        "refused approval of req-7 by mallory: no request 'req-7' in this run",
        '  call    announce(text="all is well")',
        "  wait    approved by alice after ? ms: they wait for it",
        '  result  ok  "announced all is well" (? ms)',
        '  call    ponder(about="it")',
        '  result  ok  "it is fine" (? ms)',
        "turn 2  scripted:it  -> answer",
        "answer  It was announced.\n        Everybody knows.",
    ]


@pytest.mark.parametrize(
    ("asked", "message", "line"),
    [
        pytest.param(
            call("announce", text="x"),
            ("approval", {"decision": "reject", "approver": "bob", "reason": "not now"}),
            "  wait    rejected by bob after ? ms: not now",
            id="rejected",
        ),
        pytest.param(
            call("ask_user", question="Which?"),
            ("answer", {"text": "the red one"}),
            "  result  ok  the red one",
            id="answered",
        ),
        pytest.param(
            call("announce", text="x"),
            None,
            "  result  denied  approval_required: nobody decided req-1",
            id="expired",
        ),
    ],
)
async def test_ends_of_a_wait(
    runs: Runs, asked: Reply, message: tuple[str, JsonObject] | None, line: str
) -> None:
    """However a wait ends, the transcript says how and what the model was told."""
    app = scripted(
        [asked, say("done")],
        tools=[announce, ask_user],
        approval_timeout=timedelta(seconds=30 if message else 1),
    )
    async with runs.working(app):
        run = await runs.start("it")
        request = (await run.asked())[0]
        if message is not None:
            name, words = message
            await run.signal(name, {**words, "request_id": request.request_id})
        trace = read_trace(await finished(run))

    assert [found for found in printed(trace) if found.startswith(line)]


POLICY = """
version: 1
groups: {staff: [fred], seniors: [gina]}
rules:
  - id: news
    effect: approve
    reason: everybody reads it
    match: {tools: [announce]}
    approval: {groups: [staff], count: 2, expires: 1h, escalate: {after: 10m, to: [seniors]}}
"""


WRONG_GROUP = "'gina' is in none of the groups that may approve: staff"


async def test_transcript_of_a_long_wait(skipping_runs: Runs, tmp_path: Path) -> None:
    """Two approvals, a wrong group, a second group: what happens to a request is in its lines."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    script = [call("announce", text="x"), say("done")]
    app = scripted(script, tools=[announce], policy=policy)
    async with skipping_runs.working(app):
        run = await skipping_runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id, "fred")
        await run.approve(request.request_id, "gina")
        await run.refusals(1)
        await skipping_runs.pass_time(601)
        await run.approve(request.request_id, "gina", reason="nobody else is here")
        (history,) = await finished(run)
    trace = read_trace([history])

    shown = [re.sub(r"10m \d+s", "10m", line) for line in printed(trace)]
    assert shown[3:-2] == [
        "  rule    announce: approval_required (policy:news)",
        "  wait    approved by fred (1 of 2) after ? ms",
        f"  refused approval of req-1 by gina: {WRONG_GROUP}",
        "  wait    passed on to seniors after 10m",
        "  wait    approved by gina (2 of 2) after 10m: nobody else is here",
        '  result  ok  "announced x" (? ms)',
    ]
    assert Counter(watch(history)) == Counter(map(str, lines(trace)))
    assert trace.calls[0].rulings[0].policy == app.policy.digest


class Sum(BaseModel):
    """The shape of an answer."""

    total: int


async def test_answer_that_is_sent_back_is_in_the_trace(runs: Runs) -> None:
    """Why a model is asked again, how often it was tried and what it lacks can be read."""
    fit = replace(say('{"total": 5}'), notes=("it counts no tokens",))
    busy = fail(ModelUnavailable("busy", retry_after=0.01))

    def answer(turn: ScriptTurn) -> Reply:
        return fit if turn.attempt > 1 else busy

    searched = replace(say("5"), parts=(Part(kind="hosted_call", name="web_search"),))
    trace = await traced(runs, [searched, answer], output=Sum)

    assert printed(trace)[1:] == [
        "turn 1  scripted:it  -> answer",
        '  refused it doesn\'t fit its schema: 5 is not of type "object"',
        "note    hosted tool: web_search:",
        "turn 2  scripted:it  -> answer  (2 attempts)",
        "note    it counts no tokens",
        'answer  {"total": 5}',
    ]
    assert trace.ledger.hosted_calls == 1
    assert str(list(lines(trace))[-1]).startswith(
        "used    2 model turns, 0 tool calls, 1 hosted call, 0 tokens, $0, "
    )


async def test_escalation_is_in_the_trace(runs: Runs) -> None:
    """That a run waited for help, who gave it and which limits changed, is in its trace."""
    app = scripted(
        [call("find", name="a"), call("find", name="b"), call("look", place="c"), say("done")],
        budget=Budget(max_steps=9, max_consecutive_failures=2),
        escalates=True,
    )
    async with runs.working(app):
        run = await runs.start("it")
        request = (await run.asked())[0]
        await run.signal(
            "resolution",
            {
                "request_id": request.request_id,
                "action": "extend",
                "guidance": "look elsewhere",
                "budget": {"max_steps": 30},
            },
        )
        trace = read_trace(await finished(run))

    sender = runs.client.service_client.config.identity
    assert [found for found in printed(trace) if found.startswith("wait")] == [
        "wait    escalated: max_consecutive_failures (2) reached (req-1)",
        f"wait    resolved after ? ms: look elsewhere (extend max_steps=30, sent by {sender})",
    ]
    assert trace.limits == Limits(max_steps=30, max_consecutive_failures=2)


async def test_progress_is_the_transcript(runs: Runs) -> None:
    """Whoever watches a run event by event reads each line of its transcript, once."""
    together = calls(*(call("ponder", about=about) for about in "ab"), call("announce", text="c"))
    async with runs.working(pondering([together, call("ponder", about="d"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        (history,) = await finished(run)
    watched = watch(history)
    trace = read_trace([history])

    titles = [line for line in watched if line.startswith("  call")]
    others = [line for line in watched if not line.startswith("  call")]
    assert Counter(others) == Counter(str(line) for line in lines(trace) if line.label != "call")
    assert len(set(titles)) == 4
    assert watched.index('  call    announce(text="c")') < watched.index(
        "  rule    announce: approval_required (write_internal)"
    )


def watch(history: WorkflowHistory) -> list[str]:
    """The lines that somebody reads who watches the run event by event."""
    reader, progress = TraceReader(), Progress()
    watched: list[str] = []
    for event in history.events:
        reader.read(event)
        watched += map(str, progress.fresh(reader.trace))
    return watched
