"""What a trace says of runs on a real server, read from their histories alone."""

import pytest
from temporalio.client import WorkflowFailureError

from holdfast import Agent, App, Fallback
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall, ToolSuccess
from holdfast.contracts.usage import CallUsage
from holdfast.testing import Reply, call, calls, say, using
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace
from tests.holdfast.traces import finished, outcome, pondering, printed, traced
from tests.running import Runs
from tests.sample import scripted


async def test_every_turn_is_in_the_trace(runs: Runs) -> None:
    """A trace has the turns that the model took: their words, their calls and what they cost."""
    # OB-01 TS-11
    usage = CallUsage(input_tokens=120, cached_tokens=20, output_tokens=8)
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
    assert trace.ledger.usage == usage
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

    assert trace.ended_at is not None
    whole = (trace.ended_at - trace.started_at).total_seconds() * 1000
    assert [
        made.elapsed_ms for made in trace.calls if not 195 <= (made.elapsed_ms or 0) < whole
    ] == []
    assert [
        (made.call.name, made.result.data)
        for made in trace.calls
        if isinstance(made.result, ToolSuccess)
    ] == [
        ("ponder", "a is fine"),
        *(("ponder_here", f"{about} is fine") for about in "bcd"),
    ]


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
    agent = Agent(
        name="it",
        instructions="Greet.",
        models=["scripted:mute", "scripted:polite"],
        fallback=Fallback(reactions={"invalid_request": "next_model"}),
    )
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


async def test_every_word_of_people_is_in_the_trace(runs: Runs) -> None:
    """A trace has who said what, and what became of it; refused messages with the reason."""
    async with runs.working(pondering([call("announce", text="x"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        about: JsonObject = {"request_id": request.request_id}
        await run.signal("steer", {"text": "be kind", "by": "olga"})
        await run.signal("approval", about)
        await run.signal("answer", {**about, "text": "yes", "by": "ines"})
        await run.signal("suspend", {"by": "olga"})
        await run.signal("resume", {})
        await run.decide({**about, "decision": "reject", "approver": "bob"})
        trace = read_trace(await finished(run))

    said = [(one.signal, one.text, one.sender, one.accepted) for one in trace.messages]
    assert said == [
        ("steer", "be kind", "olga", True),
        ("approval", "", "", False),
        ("answer", "yes", "ines", False),
        ("suspend", "", "olga", True),
        ("resume", "", "", True),
        ("approval", "reject", "bob", True),
    ]
    first, second = (one.refusal for one in trace.messages if one.accepted is False)
    assert "decision: Field required" in first
    assert "waits for an approval" in second
    assert outcome(trace.calls[0]) == "permission_denied"


async def test_run_that_stops_leaves_no_call_without_a_result(runs: Runs) -> None:
    """A call that the end of its run overtook is aborted, with the reason."""
    trace = await traced(runs, [call("look", place="x")] * 5)

    assert [outcome(made) for made in trace.calls] == ["ok", "ok", "aborted"]
    assert printed(trace)[-2].startswith("stopped loop detected: same tool, same args: ")


async def test_every_end_has_a_trace(runs: Runs) -> None:
    """Runs that fail, are cancelled or terminated have a trace too: nothing can switch it off."""
    # PI-04
    async with runs.working(scripted([call("ask_user", question="?")])):
        failed = await runs.start_with({"agent": "it"})
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
    assert traces[0].failure == "AgentRun can't use this input: input: Field required"
    assert "enough" in (traces[2].failure or "")
    assert [trace.waiting for trace in traces] == [(), (), ()]
