"""The loop on a real server: the model asks, the harness acts, until there is an answer."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Budget, ModelRejected, UsageMetrics
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.model import ModelCall, ModelReply
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.testing import Reply, ScriptTurn, call, calls, fail, say, using
from tests.histories import activities, names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import add, lines, scripted


async def test_two_and_three_are_five(memory_runs: MemoryRuns) -> None:
    """A tool is called, its result is told to the model, and the model's answer is the result."""
    # TS-03
    app = scripted([call("add", a=2, b=3), lambda turn: say(str(turn.last("add")))])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "What is 2 + 3?")
        result = await run.result()

    assert (result.status, result.answer, result.steps, result.stop) == ("completed", "5", 2, None)


async def test_model_and_tools_take_turns(runs: Runs) -> None:
    """Each model turn and each tool call is one activity, in the order of the loop."""
    # AD-01 LP-01
    app = scripted(
        [call("add", a=1, b=1), call("look", place="attic"), call("add", a=2, b=2), say("done")]
    )
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert [name for name in names(history) if name != "authorize"] == [
        *("open_run", "call_model", "add", "call_model", "look", "call_model", "add"),
        "call_model",
    ]
    assert result.answer == "done"


async def test_every_activity_says_what_it_is(runs: Runs) -> None:
    """Each line of the history carries a summary that a person understands."""
    app = scripted([calls(call("add", a=2, b=3), call("delete", record="x")), say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        history = await run.handle.fetch_history()

    assert [activity.summary for activity in activities(history)] == [
        "open agent it",
        "turn 1 · scripted:it",
        'authorize add(a=2, b=3), delete(record="x")',
        "ruled: delete: deny (destructive)",
        "add(a=2, b=3)",
        "turn 2 · scripted:it",
    ]


async def test_every_call_has_a_decision_before_it_runs(memory_runs: MemoryRuns) -> None:
    """For every tool that runs there is an earlier decision about the same call."""
    # PF-01
    app = scripted([calls(call("add", a=1, b=2), call("look", place="x")), say("done")])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()
        order = names(await run.story())

    assert order.index("authorize") < min(order.index("add"), order.index("look"))
    assert order.count("authorize") == 1


@pytest.mark.parametrize(
    ("reply", "type_", "words"),
    [
        pytest.param(call("nope", x=1), "unknown_tool", "nope", id="unknown tool"),  # HG-14 TS-05
        pytest.param(call("call_model"), "unknown_tool", "call_model", id="an activity"),  # LP-03
        pytest.param(call("approve"), "unknown_tool", "approve", id="approve"),  # PF-17
        pytest.param(call("add", a=1), "invalid_arguments", '"b"', id="missing"),  # PF-04
        pytest.param(
            call("add", a=1, b=2, c=3), "invalid_arguments", "'c'", id="extra"
        ),  # PF-03 SV-02
        pytest.param(call("add", a="one", b=2), "invalid_arguments", "a:", id="wrong type"),
        pytest.param(call("pick", colour="blue"), "invalid_arguments", "blue", id="enum"),  # SV-03
        pytest.param(
            call("pick", colour="red", count=10), "invalid_arguments", "9", id="max"
        ),  # SV-04
        pytest.param(
            Reply(calls=(("add", "[1, 2]"),)), "invalid_arguments", "object", id="no object"
        ),  # HG-16
    ],
)
async def test_what_cant_be_called_is_told_to_the_model(
    memory_runs: MemoryRuns, reply: Reply, type_: str, words: str
) -> None:
    """A call that can't be is answered with a structured error, and nothing of it runs."""
    # PF-02 PF-05 TS-09
    async with memory_runs.working(scripted([reply, say("I see")])):
        run = await memory_runs.start("it")
        result = await run.result()
        failure = await run.failure()
        ran = set(names(await run.story()))

    assert (failure.status, failure.type, result.answer) == ("error", type_, "I see")
    assert words in failure.reason
    assert failure.next_valid_actions
    assert ran == {"open_run", "call_model", "authorize", "record"}


async def test_a_repaired_call_succeeds(memory_runs: MemoryRuns) -> None:
    """After invalid arguments the model may repair its call, and the run goes on."""
    # PF-05
    app = scripted([call("add", a=2), call("add", a=2, b=3), say("5")])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        results = await run.results()

    assert [entry.status for entry in results] == ["error", "ok"]
    assert result.answer == "5"


async def test_a_denied_call_is_told_and_the_loop_goes_on(memory_runs: MemoryRuns) -> None:
    """A denial is a result with a reason and with what may be done instead."""
    # PF-18 PF-19 RK-10

    def answer(turn: ScriptTurn) -> Reply:
        (denied,) = turn.results
        assert isinstance(denied, ToolFailure)
        return say(f"{denied.status}: {denied.reason} / {denied.next_valid_actions[0]}")

    async with memory_runs.working(scripted([call("delete", record="7"), answer])):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.answer == (
        "denied: what it destroys can't be brought back / choose a tool with a lower risk class"
    )


@pytest.mark.parametrize(
    ("tenant", "status"),
    [pytest.param("acme", "ok", id="own"), pytest.param("other", "denied", id="foreign")],
)
async def test_a_call_stays_with_its_tenant(
    memory_runs: MemoryRuns, tenant: str, status: str
) -> None:
    """A read within the tenant runs without a pause, one outside is denied."""
    # RK-01 HT-03
    async with memory_runs.working(scripted([call("account", tenant=tenant), say("done")])):
        run = await memory_runs.start("it", tenant="acme")
        await run.result()
        (found,) = await run.results()

    assert found.status == status


async def test_reads_overlap_and_writes_queue(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Reads of a turn run beside each other; writes one after the other; results in call order."""
    log = str(tmp_path / "log")
    reply = calls(
        call("write", log=log, text="w1"),
        call("read", log=log, text="r1"),
        call("write", log=log, text="w2"),
        call("read", log=log, text="r2"),
    )
    async with memory_runs.working(scripted([reply, say("done")])):
        run = await memory_runs.start("it")
        await run.result()
        order = [result.call_id for result in await run.results()]

    seen = lines(log)
    assert set(seen[:2]) == {"begin r1", "begin r2"}
    assert seen[4:] == ["begin w1", "end w1", "begin w2", "end w2"]
    assert order == ["call_1_1", "call_1_2", "call_1_3", "call_1_4"]


async def test_history_holds_plain_shapes(runs: Runs) -> None:
    """Calls in history have exactly id, name and arguments; replies say usage and latency."""
    # AD-16 AD-19 AD-11
    spent = UsageMetrics(input_tokens=7, cached_tokens=2, output_tokens=3)
    app = scripted([using(call("add", a=2, b=3), spent), using(say("5"), spent)])
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()
    replies = [
        ModelReply.model_validate_json(
            event.activity_task_completed_event_attributes.result.payloads[0].data
        )
        for event in history.events
        if event.HasField("activity_task_completed_event_attributes")
        and b"latency_ms" in event.activity_task_completed_event_attributes.result.payloads[0].data
    ]

    asked: JsonValue = replies[0].model_dump(mode="json")["calls"]
    assert asked == [{"call_id": "call_1_1", "name": "add", "arguments": {"a": 2, "b": 3}}]
    assert all(reply.latency_ms > 0 for reply in replies)
    assert result.usage == UsageMetrics(input_tokens=14, cached_tokens=4, output_tokens=6)


async def test_the_model_sees_goal_then_turns_and_results(memory_runs: MemoryRuns) -> None:
    """The transcript only grows: goal, assistant turn, all its results, and so on."""
    # LP-02 LP-07 LP-09
    seen: list[tuple[str, ...]] = []

    def watch(turn: ScriptTurn) -> Reply:
        seen.append(tuple(item.kind for item in turn.transcript))
        return call("add", a=turn.number, b=1) if turn.number < 3 else say("done")

    async with memory_runs.working(scripted(watch)):
        run = await memory_runs.start("it", "the goal")
        await run.result()
        page = await run.transcript()

    assert seen == [
        ("user",),
        ("user", "assistant", "tool"),
        ("user", "assistant", "tool", "assistant", "tool"),
    ]
    goal, said, results = page.items[:3]
    assert isinstance(goal, UserTurn)
    assert goal.text == "the goal"
    assert isinstance(said, AssistantTurn)
    assert isinstance(results, ToolTurn)


async def test_instructions_and_schemas_are_in_history_once(runs: Runs) -> None:
    """What stays the same in a run is recorded once and named by its digest afterwards."""
    app = scripted(
        [call("add", a=1, b=1), call("add", a=1, b=2), say("done")],
        instructions="The one and only marker-4711.",
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        history = await run.handle.fetch_history()

    text = history.to_json()
    payloads = b"".join(event.SerializeToString() for event in history.events)
    assert payloads.count(b"marker-4711") == 1
    assert payloads.count(b"Add two whole numbers together.") == 1
    assert "marker-4711" not in text  # payloads are base64 there; the count above is the proof


async def test_another_provider_takes_over_in_the_middle(memory_runs: MemoryRuns) -> None:
    """When a model fails for good, the agent's next model goes on with the same transcript."""
    # AD-04
    app = App(
        agents=[
            Agent(
                name="it",
                instructions="Add.",
                models=["scripted:first", "scripted:second"],
                tools=[add],
            )
        ],
        scripts={
            "first": [call("add", a=2, b=3), fail(ModelRejected("no longer offered"))],
            "second": lambda turn: say(f"{turn.last('add')} from the second"),
        },
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.answer, result.model) == ("5 from the second", "scripted:second")


async def test_without_a_model_left_the_run_has_failed(memory_runs: MemoryRuns) -> None:
    """When no model answers, the result says so, with the error and what to do."""
    async with memory_runs.working(scripted([fail(ModelRejected("set SOME_KEY"))])):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.status == "failed"
    assert result.stop is not None
    assert (result.stop.reason, result.stop.detail) == ("no model answered", "set SOME_KEY")


async def test_a_large_result_becomes_an_artifact(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A result of 5 MB is cut for the model and kept whole beside it; the run goes on."""
    # BY-07
    async with memory_runs.working(scripted([call("flood", characters=5_000_000), say("done")])):
        run = await memory_runs.start("it")
        result = await run.result()
        found = await run.success()

    assert result.status == "completed"
    assert found.artifact is not None
    assert len(found.model_dump_json()) < 2000
    assert Path(found.artifact.path).stat().st_size == 5_000_002
    assert Path(found.artifact.path).is_relative_to(tmp_path)


@pytest.mark.slow
async def test_old_results_are_pruned_and_the_goal_stays(runs: Runs) -> None:
    """Beyond its context size a model sees old results as stubs, the goal always, by an event."""
    # PI-05 HG-18
    shown: list[int] = []

    def work(turn: ScriptTurn) -> Reply:
        shown.append(sum(len(item.model_dump_json()) for item in turn.transcript))
        assert turn.goal == "the goal"
        return call("flood", characters=900 + turn.number) if turn.number < 30 else say("done")

    app = scripted(work, max_context_bytes=10_000, budget=Budget(max_steps=40))
    async with runs.working(app):
        run = await runs.start("it", "the goal")
        result = await run.result()
        pruned = [
            activity.summary
            for activity in activities(await run.handle.fetch_history())
            if activity.name == "record"
        ]
        record = await run.transcript()

    assert result.status == "completed"
    assert max(shown) < 11_000
    assert pruned
    assert all(line.startswith("context pruned: ") for line in pruned)
    assert sum(len(item.model_dump_json()) for item in record.items) > 27_000


def test_the_input_of_call_model_is_a_delta() -> None:
    """The contract of a model call has no place for a whole transcript or for schemas."""
    assert set(ModelCall.model_fields) == {
        *("run_id", "turn", "model", "prefix", "origin", "base", "items", "head"),
        *("pruned_before", "max_context_bytes", "strategy", "provider_state"),
        *("hidden", "summary", "summarised_before", "purpose", "patience"),
        *("calls_left", "left", "unheard", "app", "stream", "tools", "reserved", "tenant"),
    }
