"""Right before a call runs: what it costs, what it needs, who else is at it, is all well."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import pytest
from pydantic import StringConstraints

from holdfast import Budget, Risk, UsageMetrics, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.guardrails import (
    conflict_detection,
    cost_estimation,
    dependency_check,
    deployment_safety,
    passed,
)
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say, using
from tests.control.guarded import Seen, decided, ended, guarded, on_word, over, scheduled, waiting
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import lines, scripted


@pytest.mark.parametrize(("spent", "status"), [("0.50", "ok"), ("0.51", "denied")])
async def test_cost(memory_runs: MemoryRuns, tmp_path: Path, spent: str, status: str) -> None:
    """A call that would cost all that is left runs; a cent more than that, and it doesn't."""
    # GR-20
    log = tmp_path / "log"
    used = UsageMetrics(input_tokens=10, output_tokens=1, estimated_cost=Decimal(spent))
    script = [using(call("write", log=str(log), text="x"), used), say("done")]
    app = guarded(
        script,
        cost_estimation(Decimal("0.50"), tools=("write",)),
        budget=Budget(max_cost=Decimal("1.00")),
    )

    found = await ended(memory_runs, app)

    assert found.results[0].status == status
    assert ("write" in found.order) == (status == "ok")
    if isinstance(failure := found.results[0], ToolFailure):
        assert "the call costs about $0.50" in failure.reason


async def test_dependencies(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What is missing is named before the call, which doesn't run; the loop goes on."""  # GR-21
    log = tmp_path / "log"
    needs = dependency_check(
        commands=("sh", "no-such-program"), modules=("json", "no_such_module"), tools=("write",)
    )
    script = [calls(call("write", log=str(log), text="x"), call("look", place="y")), say("done")]

    found = await ended(memory_runs, guarded(script, needs))

    written, looked = found.results
    assert (found.result.status, looked.status, lines(log)) == ("completed", "ok", [])
    assert isinstance(written, ToolFailure)
    assert "missing: command 'no-such-program', module 'no_such_module'" in written.reason


@tool(risk=Risk.COMPUTE_ONLY)
async def mail(to: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]) -> str:
    """Write to somebody."""
    return f"wrote to {to}"


@tool(risk=Risk.COMPUTE_ONLY)
async def jot(text: Annotated[str, StringConstraints(to_lower=True)]) -> str:
    """Write something down for later."""
    return f"jotted {len(text)}"


async def test_a_call_is_looked_at_as_its_tool_takes_it(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """However a model writes an argument, a guardrail reads what the tool will."""
    # GR-19
    seen = Seen()
    script = [call("mail", to=" MALLORY "), say("done")]
    app = scripted(
        script, tools=[mail], guardrails=[on_word("no", "mallory", "pre_execution", seen)]
    )
    found = await ended(memory_runs, app)

    assert [one.data for one in seen.subjects] == [{"to": "mallory"}]
    assert found.results[0].status == "denied"


@pytest.mark.slow
async def test_a_call_is_looked_at_so_beside_however_many_others(
    memory_runs: MemoryRuns,
) -> None:
    """The rulings on all of them are more than can be sent at once: this one is whole."""
    # GR-19
    seen = Seen()
    fill = (call("jot", text=f"{n:03}{'İ' * 1_280}") for n in range(199))
    script = [calls(call("mail", to=" MALLORY "), *fill), say("done")]
    looks = on_word("no", "mallory", "pre_execution", seen, tools=("mail",))
    budget = Budget(max_steps=9, max_consecutive_failures=500)
    app = scripted(script, tools=[mail, jot], guardrails=[looks], budget=budget)
    found = await ended(memory_runs, app)

    assert [one.data for one in seen.subjects] == [{"to": "mallory"}]
    assert found.results[0].status == "denied"


async def test_two_runs_at_one_resource(runs: Runs, tmp_path: Path) -> None:
    """The second that wants to write there is refused; another resource and later times pass."""
    # GR-22
    order_id = uuid4().hex

    def script(turn: ScriptTurn) -> Reply:
        log = str(tmp_path / turn.goal)
        if turn.number == 1:
            return call("create_draft", log=log, title=title[turn.goal])
        return call("hold", log=log) if turn.number == 2 else say("done")

    title = {"one": order_id, "two": order_id, "other": f"{order_id}-2"}
    app = guarded(script, conflict_detection("title", tools=("create_draft",)))
    async with runs.working(app):
        one = await runs.start("it", "one", tenant="acme")
        await held(tmp_path / "one")
        await visible(runs, one, order_id)
        two = await runs.start("it", "two", tenant="acme")
        other = await runs.start("it", "other", tenant="acme")
        await held(tmp_path / "two")
        refused = await two.failure()
        await held(tmp_path / "other")
        allowed = await other.success()
        for name in ("one", "two", "other"):
            (tmp_path / f"{name}.go").touch()
        first, second, third = await over(one), await over(two), await over(other)

    assert refused.status == "denied"
    assert f"run {one.handle.id!r} holds title:{order_id}" in refused.reason
    assert allowed.status == "ok"
    assert ["create_draft" in each.order for each in (first, second, third)] == [True, False, True]


async def held(log: Path) -> None:
    """Wait until a run has come to its second call."""
    while "held" not in lines(log):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def visible(runs: Runs, run: Run, resource: str) -> None:
    """Wait until the server finds a run by its resource."""
    query = f"AgentResources = 'title:{resource}'"
    while True:
        found = [one.id async for one in runs.client.list_workflows(query)]
        if run.handle.id in found:
            return
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(("well", "deployed"), [(True, 2), (False, 0)])
async def test_deployments(
    memory_runs: MemoryRuns, tmp_path: Path, *, well: bool, deployed: int
) -> None:
    """A failing health check keeps a deployment from being run."""  # GR-28
    log = tmp_path / "log"

    async def probe() -> bool:
        return well

    script = [call("write", log=str(log), text="release"), say("done")]
    found = await ended(memory_runs, guarded(script, deployment_safety(probe, ("write",))))

    assert len(lines(log)) == deployed
    assert found.results[0].status == ("ok" if well else "denied")
    assert found.result.status == "completed"


async def test_an_ill_deployment_is_taken_back(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Ill after it was deployed, it is undone, and the run doesn't end well."""  # GR-28 GR-13
    log = tmp_path / "log"

    async def probe() -> bool:
        return False

    ill = deployment_safety(probe, ("create_draft",), layer="post_action", on_trip="block")
    script = [call("create_draft", log=str(log), title="release"), say("done")]
    found = await ended(memory_runs, guarded(script, ill))

    assert (found.result.status, found.why) == ("blocked", "the health check fails")
    assert lines(log) == ["created release", "removed release"]


async def test_only_the_tools_it_is_for(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """It sees the arguments of calls of its tools, as they will run, and no other calls."""
    seen, log = Seen(), str(tmp_path / "log")
    look = on_word("no_bad", "bad", "pre_execution", seen, tools=("write",))
    script = [
        calls(
            call("look", place="bad"),
            call("write", log=log, text="bad"),
            call("write", log=log, text="good"),
        ),
        say("done"),
    ]

    found = await ended(memory_runs, guarded(script, look))

    assert [one.status for one in found.results] == ["ok", "denied", "ok"]
    assert [(one.tool, one.data) for one in seen.subjects] == [
        ("write", {"log": log, "text": "bad"}),
        ("write", {"log": log, "text": "good"}),
    ]
    assert lines(log) == ["begin good", "end good"]


async def test_what_may_not_run_anyway_is_not_looked_at(memory_runs: MemoryRuns) -> None:
    """Denied, unknown and invalid calls never come that far."""  # LP-11
    seen = Seen()
    turn = calls(call("delete", record="x"), call("nope"), call("add", a="one", b=2))
    found = await ended(
        memory_runs, guarded([turn, say("done")], on_word("no_bad", "bad", "pre_execution", seen))
    )

    assert [one.status for one in found.results] == ["denied", "error", "error"]
    assert seen.subjects == []


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_one_that_asks(memory_runs: MemoryRuns, tmp_path: Path, decision: str) -> None:
    """Approved, it is decided, looked at and decided anew, and runs; rejected, it is denied."""
    # T-07 GR-28
    log = tmp_path / "log"
    look = on_word("no_bad", "bad", "pre_execution", on_trip="ask")
    app = guarded([call("write", log=str(log), text="bad"), say("done")], look)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        before = lines(log)
        await decided(run, request, decision)
        found = await over(run)

    assert (request.kind, request.reason, before) == ("review", "it says bad", [])
    assert request.kind == "review"
    assert "write(" in request.text
    assert found.result.status == "completed"
    assert found.order.count("guardrail:no_bad") == (2 if decision == "approve" else 1)
    assert found.order.count("authorize") == (3 if decision == "approve" else 1)
    assert len(lines(log)) == (2 if decision == "approve" else 0)
    assert found.results[0].status == ("ok" if decision == "approve" else "denied")


@pytest.mark.parametrize(
    ("second", "status"), [("deny", "completed"), ("block", "blocked")], ids=["deny", "block"]
)
async def test_a_person_lifts_no_other_objection(
    memory_runs: MemoryRuns, tmp_path: Path, second: str, status: str
) -> None:
    """Where another guardrail refuses the same call, nobody is asked to approve it."""
    # GR-15 T-07
    log = tmp_path / "log"
    app = guarded(
        [call("write", log=str(log), text="bad"), say("done")],
        on_word("asks", "bad", "pre_execution", on_trip="ask"),
        on_word("refuses", "bad", "pre_execution", on_trip=second),  # pyright: ignore[reportArgumentType] -- one of the two
    )

    found = await ended(memory_runs, app)

    assert (found.result.status, lines(log)) == (status, [])
    assert "write" not in found.order


async def test_two_that_ask_are_one_question(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """All that was found about a call is in one request; rejected once, it is denied."""
    log = tmp_path / "log"
    app = guarded(
        [call("write", log=str(log), text="bad luck"), say("done")],
        on_word("no_bad", "bad", "pre_execution", on_trip="ask"),
        on_word("no_luck", "luck", "pre_execution", on_trip="ask"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, "reject")
        found = await over(run)

    assert request.reason == "it says bad; it says luck"
    assert (found.result.status, found.results[0].status) == ("completed", "denied")
    assert lines(log) == []


def the_same(_: ScriptTurn) -> Reply:
    return call("look", place="x")


def always_wrong(turn: ScriptTurn) -> Reply:
    return call("add", a=f"no number {turn.number}", b=1)


def something_else(turn: ScriptTurn) -> Reply:
    return call("look", place=str(turn.number))


@pytest.mark.parametrize(
    ("script", "budget", "why", "ran"),
    [
        (something_else, Budget(max_steps=2), "max_steps (2) reached", 2),
        (the_same, Budget(max_steps=9, loop_repeat_threshold=1), "loop", 1),
        (
            always_wrong,
            Budget(max_steps=9, max_consecutive_failures=2),
            "max_consecutive_failures",
            0,
        ),
    ],
    ids=["budget", "looping", "invalid"],
)
async def test_the_gate_before_calls(
    memory_runs: MemoryRuns, script: Script, budget: Budget, why: str, ran: int
) -> None:
    """Out of budget, looping, invalid: each ends the run, and each call has its one result."""
    # LP-11
    found = await ended(memory_runs, guarded(script, budget=budget))

    assert found.result.status == "stopped"
    assert why in found.why
    assert found.order.count("look") == ran
    asked = found.order.count("call_model")
    assert len({one.call_id for one in found.results}) == len(found.results) == asked == 2


@pytest.mark.parametrize("wait", ["review", "suspension"])
async def test_guardrails_look_again_after_a_wait(runs: Runs, tmp_path: Path, wait: str) -> None:
    """What was well before people took an hour may not be any more when the call is due."""
    # GR-28 T-20
    log, go, well, looks = str(tmp_path / "log"), asyncio.Event(), [True], [0]

    async def probe() -> bool:
        looks[0] += 1
        return well[0]

    other = on_word("asks", "bad", "pre_execution", on_trip="ask")
    if wait == "suspension":
        other = waiting("slow", go, passed(), layer="pre_execution")
    script = [call("write", log=log, text="bad"), say("done")]
    async with runs.working(guarded(script, deployment_safety(probe, ("write",)), other)):
        run = await runs.start("it")
        if wait == "review":
            (request,) = await run.asked()
            well[0] = False
            await decided(run, request, "approve")
        else:
            await scheduled(run, "guardrail:slow")
            while not looks[0]:  # noqa: ASYNC110 -- it is elsewhere
                await asyncio.sleep(0.01)
            await run.signal("suspend", {})
            while (await run.status()).status != "suspending":  # noqa: ASYNC110 -- as above
                await asyncio.sleep(0.01)
            well[0] = False
            go.set()
            while (await run.handle.describe()).raw_description.pending_activities:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await run.status()  # answered after the task in which the run came to rest
            await run.signal("resume", {})
        found = await over(run)

    assert found.result.status in {"blocked", "completed"}
    assert lines(log) == []
    assert looks[0] > 1
