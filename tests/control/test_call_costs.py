"""What calls are thought to cost: reserved while they are under way, booked when they ran."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from holdfast import Budget, Risk, SubAgent, Tool, ToolError, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.usage import CallUsage
from holdfast.guardrails import cost_estimation
from holdfast.testing import Reply, call, calls, say, using
from tests.control.guarded import ended, guarded, on_word
from tests.control.test_steers_now import NOW
from tests.control.test_stops import STOP, keep
from tests.memory.runs import MemoryRuns
from tests.sample import TOOLS, draft_post, lines, post, scripted
from tests.workflows.delegating import FOUND, Findings, Question, ask, desk
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import written

KEPT_TO_DRAFTS = "{id: d, effect: draft, match: {tools: [post]}}"

HURRY = {"stopped": STOP, "broken off": NOW}


@pytest.mark.parametrize("together", [True, False], ids=["one turn", "several turns"])
async def test_estimates_are_reserved_and_booked(
    memory_runs: MemoryRuns, tmp_path: Path, *, together: bool
) -> None:
    """Of three calls that each fit, the third doesn't beside the others: 0.40 twice leave 0.20."""
    # GR-20
    log = tmp_path / "log"
    wanted = [call("write", log=str(log), text=text) for text in "abc"]
    script = [calls(*wanted), say("done")] if together else [*wanted, say("done")]
    app = guarded(
        script,
        cost_estimation(Decimal("0.40"), tools=("write",)),
        budget=Budget(max_cost=Decimal("1.00")),
    )

    found = await ended(memory_runs, app)

    assert [one.status for one in found.results] == ["ok", "ok", "denied"]
    assert isinstance(refused := found.results[2], ToolFailure)
    assert "the call costs about $0.40, and $0.2 of the budget is left" in refused.reason
    assert not any("c" in line for line in lines(log))


@pytest.mark.parametrize(
    ("limits", "most", "statuses"),
    [
        pytest.param({"max_cost": "1.00"}, None, ["ok", "ok", "denied"], id="budget"),
        pytest.param({"max_cost": "1.00"}, "0.30", ["denied"] * 3, id="both"),
        pytest.param({}, "0.30", ["denied"] * 3, id="call"),
        pytest.param({}, "0.50", ["ok"] * 3, id="dear enough"),
    ],
)
async def test_calls_that_run_together_are_estimated_together(
    memory_runs: MemoryRuns, limits: dict[str, str], most: str | None, statuses: list[str]
) -> None:
    """Guardrails look at them at once, and each is told of the same that is left."""
    # GR-20

    @tool(risk=Risk.COMPUTE_ONLY)
    async def rent(number: int) -> str:
        """Rent a machine for an hour."""
        return f"rented {number}"

    wanted = calls(*(call("rent", number=number) for number in range(3)))
    estimate = cost_estimation(
        Decimal("0.40"), per_call=None if most is None else Decimal(most), tools=("rent",)
    )
    app = scripted(
        [wanted, say("done")],
        tools=[rent],
        guardrails=[estimate],
        budget=Budget.model_validate(limits),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()
        results = await run.results()

    assert [one.status for one in results] == statuses


async def test_a_call_that_did_nothing_costs_nothing(memory_runs: MemoryRuns) -> None:
    """What was reserved for a call that failed is free again; what ran stays booked."""
    # GR-20

    @tool(risk=Risk.COMPUTE_ONLY)
    async def rent(*, fails: bool) -> str:
        """Rent a machine for an hour."""
        if fails:
            raise ToolError("rate_limited", "none is free")
        return "rented"

    script = [
        *(call("rent", fails=True), call("rent", fails=False)),
        *(call("rent", fails=True), say("done")),
    ]
    assert await spend(memory_runs, script, rent) == (["error", "ok", "denied"], Decimal("0.6"))


@pytest.mark.parametrize("how", ["hangs", "breaks"])
async def test_a_read_that_came_to_nothing_may_have_cost(
    memory_runs: MemoryRuns, how: str
) -> None:
    """What is slow, or fails without a word, isn't free: else it could be asked for again."""
    # GR-20

    @tool(risk=Risk.READ_ONLY, timeout=0.3, max_retries=0)
    async def query(how: str) -> str:
        """Search what costs money."""
        if how == "breaks":
            raise OSError("the line went dead")
        await asyncio.Event().wait()
        return "never"

    script = [call("query", how=how), call("query", how=how), say("done")]
    assert await spend(memory_runs, script, query) == (["error", "denied"], Decimal("0.6"))


async def spend(
    runs: MemoryRuns, script: list[Reply], rented: Tool
) -> tuple[list[str], Decimal | None]:
    """Play calls that are thought to cost $0.60 of $1.00; return how they end, and what counts."""
    app = scripted(
        script,
        tools=[rented],
        guardrails=[cost_estimation(Decimal("0.60"))],
        budget=Budget(max_cost=Decimal("1.00")),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        results = await run.results()
        used = await run.query("usage", UsageReport)
    return [one.status for one in results], used.call_cost


async def test_what_calls_cost_ends_a_run(memory_runs: MemoryRuns) -> None:
    """Estimates count towards the budget as what models cost does."""
    # GR-20

    @tool(risk=Risk.COMPUTE_ONLY)
    async def rent() -> str:
        """Rent a machine for an hour."""
        return "rented"

    app = scripted(
        [call("rent"), say("done")],
        tools=[rent],
        guardrails=[cost_estimation(Decimal("1.00"))],
        budget=Budget(max_cost=Decimal("1.00")),
    )
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert result.stop is not None
    assert result.stop.reason == "max_cost (1.0) reached"


async def test_what_calls_of_a_turn_cost_is_not_there_for_its_parts(
    memory_runs: MemoryRuns,
) -> None:
    """A call is booked when its turn is over; what works for the run meanwhile has the rest."""
    # GR-20 T-49

    @tool(risk=Risk.COMPUTE_ONLY)
    async def rent() -> str:
        """Rent a machine for an hour."""
        return "rented"

    each = CallUsage(estimated_cost=Decimal("0.30"))
    greedy = [using(call("add", a=number, b=1), each) for number in range(9)]
    whole = SubAgent("researcher", input=Question, output=Findings, budget_share=1.0)
    turn = calls(call("rent"), ask("tides"))
    app = desk(
        [turn, say("So.")],
        [*greedy, FOUND],
        subagents=[whole],
        tools=[rent],
        guardrails=[cost_estimation(Decimal("0.60"), tools=("rent",))],
        budget=Budget(max_steps=20, max_cost=Decimal("1.00")),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        used = await run.query("usage", UsageReport)

    spent = used.usage.estimated_cost
    assert spent is not None
    assert used.call_cost == Decimal("0.6")
    assert spent + used.call_cost <= Decimal("1.3")  # one model call beyond, at most


@pytest.mark.parametrize("how", ["blocked", "stopped", "broken off"])
async def test_what_ran_is_booked_however_its_turn_ends(
    memory_runs: MemoryRuns, tmp_path: Path, how: str
) -> None:
    """Else a whole, or a session, could have such turns again and again and pay for none."""
    # GR-20 BY-52
    log = tmp_path / "log"
    wanted = {
        "blocked": [call("write", log=str(log), text=one) for one in ("a", "poison")],
        "stopped": [call("keep", log=str(log), title=one) for one in "ab"],
        "broken off": [call("hold", log=str(log))],
    }
    app = scripted(
        [calls(*wanted[how]), say("done")],
        tools=(*TOOLS, keep),
        guardrails=[
            cost_estimation(Decimal("0.60")),
            on_word("clean", "poison", "pre_execution", on_trip="block"),
        ],
        budget=Budget(max_cost=Decimal("2.00")),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        if how != "blocked":
            await written(log)
            await run.signal("stop" if how == "stopped" else "steer", HURRY[how])
            if how == "stopped":
                Path(f"{log}.go").touch()
        await run.result()
        used = await run.query("usage", UsageReport)

    assert used.call_cost == Decimal("0.6")


@pytest.mark.parametrize("limit", ["ceiling", "budget"])
async def test_nobody_lets_a_call_go_beyond_what_its_whole_gave(
    memory_runs: MemoryRuns, tmp_path: Path, limit: str
) -> None:
    """A yes goes beyond the limit of a run itself, as an extension does, and not beyond those."""
    # GR-20 T-49
    log = tmp_path / "log"
    dear = cost_estimation(Decimal("1.50"), tools=("write",), on_trip="ask")
    app = scripted([call("write", log=str(log), text="x"), say("done")], guardrails=[dear])
    given: JsonObject = {"agent": "it", "input": "go", limit: {"max_cost": "1.00"}}
    async with memory_runs.working(app):
        run = await memory_runs.start_with(given)
        await run.rest()
        for asked in await run.pending():
            await run.approve(asked.request_id)
        result = await run.result()
        [wrote] = await run.results()
        await run.story()

    told = ("completed", "denied") if limit == "ceiling" else ("stopped", "ok")
    assert (result.status, wrote.status) == told


@pytest.mark.parametrize("kept", [True, False], ids=["only drafted", "drafted first"])
async def test_what_drafts_cost_counts_where_it_is_estimated(
    memory_runs: MemoryRuns, tmp_path: Path, *, kept: bool
) -> None:
    """Who names what drafts says what a draft costs: two of $0.40, as of calls of it."""
    # GR-20
    log = tmp_path / "log"
    wanted = [call("post", log=str(log), text=text) for text in "abc"]
    app = scripted(
        [*wanted, say("done")],
        tools=[post, draft_post],
        guardrails=[cost_estimation(Decimal("0.40"), tools=("draft_post",))],
        budget=Budget(max_cost=Decimal("1.00")),
        policy=policy(tmp_path, KEPT_TO_DRAFTS) if kept else None,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        for _ in "ab" if not kept else "":
            await run.approve((await run.asked_for_approval()).request_id)
            await run.pause()
        await run.result()
        results = await run.results()
        used = await run.query("usage", UsageReport)
        await memory_runs.stories(run)

    assert [one.status for one in results] == ["ok", "ok", "denied"]
    assert sum(line.startswith("draft ") for line in lines(log)) == 2
    assert used.call_cost == Decimal("0.80")
