"""What a trace says of runs on a real server, read from their histories alone."""

import asyncio
import base64
import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from contracts.base import JsonObject
from contracts.budget import Limits
from contracts.tools import MalformedCall, ToolFailure, ToolSuccess
from contracts.usage import UsageMetrics
from holdfast import (
    Agent,
    App,
    Budget,
    Reply,
    Risk,
    Script,
    ask_user,
    call,
    calls,
    say,
    tool,
    using,
)
from holdfast.histories import fetch, read, write
from holdfast.trace.progress import Progress
from holdfast.trace.reader import TraceReader, read_trace
from holdfast.trace.transcript import lines, plain
from holdfast.trace.values import Call, Trace
from tests.running import Run, Runs
from tests.sample import scripted
from worker import WORKFLOW_RUNNER
from workflows.agent_run import AgentRun


@tool(risk=Risk.READ_ONLY)
async def ponder(about: str) -> str:
    """Think about something for 200 milliseconds."""
    await asyncio.sleep(0.2)
    return f"{about} is fine"


@tool(risk=Risk.READ_ONLY, local=True, timeout=5)
async def ponder_here(about: str) -> str:
    """Think about something for 200 milliseconds, inside the workflow task."""
    await asyncio.sleep(0.2)
    return f"{about} is fine"


@tool(risk=Risk.READ_ONLY, local=True, timeout=5, max_retries=0)
async def break_here() -> str:
    """Break at once, inside the workflow task."""
    raise ValueError("it broke")


@tool(risk=Risk.COMMUNICATION, rollback="none", expected_result="they know")
async def announce(text: str) -> str:
    """Announce something to other people."""
    return f"announced {text}"


async def finished(run: Run) -> tuple[WorkflowHistory, ...]:
    """Wait for the end of a run and return its history."""
    await run.result()
    return (await run.handle.fetch_history(),)


async def traced(runs: Runs, script: Script, **agent: object) -> Trace:
    """Run a script to its end and read its trace."""
    async with runs.working(scripted(script, **agent)):
        return read_trace(await finished(await runs.start("it")))


def pondering(script: Script) -> App:
    """An app whose agent has the tools of this file."""
    return scripted(script, tools=[ponder, ponder_here, break_here, announce])


def printed(trace: Trace) -> list[str]:
    """The lines of the transcript, with the times that differ from run to run made equal."""
    found = [re.sub(r"\d+(\.\d)? (ms|s)\b", "? ms", str(line)) for line in lines(trace)]
    return [line for line in found if not line.startswith(("run ", "used "))]


def outcome(call: Call) -> str:
    """One word for what a call came to."""
    result = call.result
    assert result is not None
    return result.type if isinstance(result, ToolFailure) else result.status


async def test_every_turn_is_in_the_trace(runs: Runs) -> None:
    """A trace has the turns that the model took: their words, their calls and what they cost."""
    # OB-01 TS-11
    usage = UsageMetrics(input_tokens=120, cached_tokens=20, output_tokens=8)
    trace = await traced(
        runs,
        [
            using(calls(call("add", a=1, b=1), text="Let me see."), usage),
            call("look", place="attic"),
            say("done"),
        ],
    )

    assert [(turn.number, turn.text, len(turn.calls)) for turn in trace.turns] == [
        (1, "Let me see.", 1),
        (2, "", 1),
        (3, "done", 0),
    ]
    assert trace.usage == usage
    assert trace.result is not None
    assert (trace.status, trace.result.steps) == ("completed", 3)


async def test_every_call_is_in_the_trace(runs: Runs) -> None:
    """Each call has its name and arguments, also those that were never allowed to run."""
    # OB-02 TS-11
    garbled = Reply(calls=(("add", '{"a": 1'),))
    trace = await traced(
        runs,
        [
            calls(
                call("add", a=2, b=3),
                call("add", a="two"),
                call("invent", what="a tool"),
                call("delete", record="all"),
                garbled,
            ),
            say("done"),
        ],
    )

    asked = [
        (made.call.name, made.call.raw_arguments)
        if isinstance(made.call, MalformedCall)
        else (made.call.name, made.call.arguments)
        for made in trace.calls
    ]
    assert asked == [
        ("add", {"a": 2, "b": 3}),
        ("add", {"a": "two"}),
        ("invent", {"what": "a tool"}),
        ("delete", {"record": "all"}),
        ("add", '{"a": 1'),
    ]
    assert [made.rulings[0].verdict for made in trace.calls] == [
        *("allow", "invalid_arguments", "unknown_tool", "deny", "invalid_arguments")
    ]
    assert [outcome(made) for made in trace.calls] == [
        *("ok", "invalid_arguments", "unknown_tool", "permission_denied", "invalid_arguments")
    ]


async def test_results_say_how_long_they_took(runs: Runs) -> None:
    """The time of a tool is its own, in an activity and in the workflow task alike."""
    # OB-03
    app = pondering(
        [
            calls(call("ponder", about="a"), call("ponder_here", about="b")),
            calls(call("ponder_here", about="c"), call("ponder_here", about="d")),
            say("done"),
        ]
    )
    async with runs.working(app):
        trace = read_trace(await finished(await runs.start("it")))

    took = [made.elapsed_ms for made in trace.calls]
    assert [ms for ms in took if ms is None or not 195 <= ms < 400] == []
    assert [made.result.summary for made in trace.calls if isinstance(made.result, ToolSuccess)]


async def test_failures_are_in_the_trace(runs: Runs) -> None:
    """What a tool raises is its result in the trace, with the number of attempts."""
    # PI-02
    app = scripted(
        [calls(call("find", name="x"), call("flaky", log="/dev/null", failures=9)), say("sorry")],
    )
    async with runs.working(app):
        trace = read_trace(await finished(await runs.start("it")))
    async with runs.working(pondering([call("break_here"), say("sorry")])):
        local = read_trace(await finished(await runs.start("it")))

    assert [(outcome(made), made.attempts) for made in (*trace.calls, *local.calls)] == [
        *(("not_found", 1), ("internal_error", 4), ("internal_error", 1))
    ]


async def test_model_that_failed_is_in_the_trace(runs: Runs) -> None:
    """A turn that a model failed stands beside the turn of the model that took its place."""
    # OB-01
    agent = Agent(name="it", instructions="Greet.", models=["scripted:mute", "scripted:polite"])
    app = App(agents=[agent], scripts={"mute": [], "polite": [say("hello")]})
    async with runs.working(app):
        trace = read_trace(await finished(await runs.start("it")))

    assert [(turn.number, turn.model, turn.error is None) for turn in trace.turns] == [
        (1, "scripted:mute", False),
        (1, "scripted:polite", True),
    ]
    assert "turn 1  scripted:mute  -> failed: the script has 0 replies" in "\n".join(
        printed(trace)
    )


async def test_transcript_of_a_supervised_run(runs: Runs) -> None:
    """A transcript reads as a story: turns, calls, rules, waits, results, the answer."""
    # OB-05
    asked = calls(call("ponder", about="it"), call("announce", text="all is well"))
    async with runs.working(pondering([asked, say("It was announced.\nEverybody knows.")])):
        run = await runs.start("it", "Tell everybody.")
        request = await run.asked_for_approval()
        await run.approve("req-7", "mallory")
        await run.approve(request.request_id, "alice", reason="they wait for it")
        trace = read_trace(await finished(run))

    assert printed(trace) == [
        "goal    Tell everybody.",
        "turn 1  scripted:it  -> ponder, announce",
        '  call    ponder(about="it")',
        '  result  ok  "it is fine" (? ms)',
        '  call    announce(text="all is well")',
        "  rule    announce: approval_required (communication)",
        "  wait    approved by alice after ? ms: they wait for it",
        '  result  ok  "announced all is well" (? ms)',
        "refused approval of req-7 by mallory: no request 'req-7' in this run",
        "turn 2  scripted:it  -> answer",
        "answer  It was announced.\n        Everybody knows.",
    ]


async def test_every_word_of_people_is_in_the_trace(runs: Runs) -> None:
    """A trace has who said what, and what became of it; refused messages with the reason."""
    async with runs.working(pondering([call("announce", text="x"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        about: JsonObject = {"request_id": request.request_id}
        await run.signal("steer", {"text": "be kind"})
        await run.signal("approval", about)
        await run.signal("answer", {**about, "text": "yes"})
        await run.signal("suspend", {})
        await run.signal("resume", {})
        await run.decide({**about, "decision": "reject", "approver": "bob"})
        trace = read_trace(await finished(run))

    said = [(one.signal, one.text, one.sender, one.accepted) for one in trace.messages]
    assert said == [
        ("steer", "be kind", "", True),
        ("approval", "", "", False),
        ("answer", "yes", "", False),
        ("suspend", "", "", True),
        ("resume", "", "", True),
        ("approval", "reject", "bob", True),
    ]
    first, second = (one.refusal for one in trace.messages if one.accepted is False)
    assert "decision: Field required" in first
    assert "waits for an approval" in second
    assert outcome(trace.calls[0]) == "permission_denied"


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

    assert [found for found in printed(trace) if found.startswith("wait")] == [
        "wait    escalated: max_consecutive_failures (2) reached (req-1)",
        "wait    resolved after ? ms: look elsewhere (extend)",
    ]
    assert trace.limits == Limits(max_steps=30, max_consecutive_failures=2)


async def test_run_that_stops_leaves_no_call_without_a_result(runs: Runs) -> None:
    """A call that the end of its run overtook is aborted, with the reason."""
    trace = await traced(runs, [call("look", place="x")] * 5)

    assert [outcome(made) for made in trace.calls] == ["ok", "ok", "aborted"]
    assert printed(trace)[-2].startswith("stopped loop detected: same tool, same args: ")


async def test_every_end_has_a_trace(runs: Runs) -> None:
    """Runs that fail, are cancelled or terminated have a trace too: nothing can switch it off."""
    # PI-04
    async with runs.working(scripted([call("ask_user", question="?")])):
        failed = await runs.start("nobody")
        cancelled, terminated = await runs.start("it"), await runs.start("it")
        for run in (cancelled, terminated):
            await run.asked()
        await cancelled.handle.cancel()
        await terminated.handle.terminate(reason="enough")
        traces: list[Trace] = []
        for run in (failed, cancelled, terminated):
            with pytest.raises(WorkflowFailureError):
                await run.result()
            traces.append(read_trace([await run.handle.fetch_history()]))

    assert [trace.status for trace in traces] == ["failed", "cancelled", "terminated"]
    assert traces[0].failure == "no agent 'nobody' in this app (known: it)"
    assert "enough" in (traces[2].failure or "")
    assert [trace.waiting for trace in traces] == [(), (), ()]


async def test_run_in_several_executions_is_one_trace(runs: Runs) -> None:
    """A run that went on in new executions is one trace, and can be read from any of them."""
    script = [*(call("look", place=str(place)) for place in range(15)), say("done")]
    async with runs.working(scripted(script, max_history_events=40)):
        run = await runs.start("it", "Look around.")
        await run.result()
        histories = await fetch(runs.client, run.handle.id)

    trace, latest = read_trace(histories), read_trace(histories[-1:])
    assert (trace.executions, len(histories) > 2) == (len(histories), True)
    assert [turn.number for turn in trace.turns] == list(range(1, 17))
    assert (latest.goal, latest.status, latest.run_id) == (trace.goal, "completed", trace.run_id)
    assert latest.turns[-1].number == 16


async def test_unreadable_payloads_spoil_nothing(runs: Runs) -> None:
    """Where payloads are encrypted or foreign, the trace has what the events themselves say."""
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        (history,) = await finished(await runs.start("it"))
    trace = read_trace([encrypted(history)])

    assert (trace.status, len(trace.turns), trace.brief) == ("completed", 2, None)
    assert [(made.call.name, made.attempts) for made in trace.calls] == [("ponder", 1)]
    assert printed(trace)


async def test_calls_that_share_an_id_are_told_apart(runs: Runs) -> None:
    """Where a provider uses an id twice, the run renames the call, and the trace follows it."""
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        (history,) = await finished(await runs.start("it"))
    exported = json.loads(history.to_json())
    for event in exported["events"]:
        for payload in event.get("activityTaskCompletedEventAttributes", {"result": {}})[
            "result"
        ].get("payloads", ()):
            said = base64.b64decode(payload["data"]).replace(
                b'"calls":[{"call_id":"call_1_1"', b'"calls":[{"call_id":"twin"'
            )
            payload["data"] = base64.b64encode(said).decode()
    trace = read_trace([WorkflowHistory.from_json(history.workflow_id, exported)])

    assert [(made.call.call_id, outcome(made)) for made in trace.calls] == [("call_1_1", "ok")]


async def test_export_is_the_same_again(runs: Runs) -> None:
    """Exporting a closed run again gives the same bytes, and what was exported reads the same."""
    # OB-04
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        run = await runs.start("it")
        await run.result()
        first = write(await fetch(runs.client, run.handle.id))
        second = write(await fetch(runs.client, run.handle.id))

    assert first == second


async def test_exports_replay(runs: Runs, tmp_path: Path) -> None:
    """An exported history, and one that Temporal's own tools wrote, is a test of today's code."""
    # OB-06
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        run = await runs.start("it")
        await run.result()
        histories = await fetch(runs.client, run.handle.id)
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    ours.write_text(write(histories), encoding="utf-8")
    theirs.write_text(histories[0].to_json(), encoding="utf-8")
    replayer = Replayer(
        workflows=[AgentRun],
        workflow_runner=WORKFLOW_RUNNER,
        data_converter=pydantic_data_converter,
    )

    for path in (ours, theirs):
        (history,) = read(path)
        await replayer.replay_workflow(history)
        assert (history.workflow_id, history.run_id) == (run.handle.id, histories[0].run_id)


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
        "  rule    announce: approval_required (communication)"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("naïve 報告 \u2014 ok", "naïve 報告 \u2014 ok", id="letters"),
        pytest.param("\x1b[2J\rapproved", "\\x1b[2J\\rapproved", id="escapes"),
        pytest.param("pay \u202e001\u202c", "pay \\u202e001\\u202c", id="reversed"),
        pytest.param("a\u200bb\U000e0041", "a\\u200bb\\U000e0041", id="invisible"),
        pytest.param("नि\u200dष", "नि\u200dष", id="joiner"),
    ],
)
def test_nothing_repaints_the_terminal(text: str, shown: str) -> None:
    """A character that a terminal would act upon, or hide, is written out."""
    assert plain(text) == shown


def encrypted(history: WorkflowHistory) -> WorkflowHistory:
    """The history as it would be if a codec had encrypted every payload of the run."""
    exported = json.loads(history.to_json())
    for event in exported["events"]:
        garble(event.get("workflowExecutionStartedEventAttributes", {}).get("input"))
        garble(event.get("workflowExecutionCompletedEventAttributes", {}).get("result"))
        garble(event.get("activityTaskScheduledEventAttributes", {}).get("input"))
        garble(event.get("activityTaskCompletedEventAttributes", {}).get("result"))
        garble(event.get("markerRecordedEventAttributes", {}).get("details", {}).get("result"))
    return WorkflowHistory.from_json(history.workflow_id, exported)


def garble(payloads: dict[str, list[dict[str, str]]] | None) -> None:
    """Replace what payloads hold."""
    for payload in payloads["payloads"] if payloads else ():
        payload["data"] = "AP8="


def watch(history: WorkflowHistory) -> list[str]:
    """The lines that somebody reads who watches the run event by event."""
    reader, progress = TraceReader(), Progress()
    watched: list[str] = []
    for event in history.events:
        reader.read(event)
        watched += map(str, progress.fresh(reader.trace()))
    return watched
