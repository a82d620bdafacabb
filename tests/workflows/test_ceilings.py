"""What an agent keeps from all behind it: nobody gets it back, by whatever way it is reached."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from holdfast import Agent, App, AppError, Budget, Handoff, Risk, SubAgent, Tool, tool
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.run import RunInput
from holdfast.contracts.switches import Switch
from holdfast.delegation import Ceiling
from holdfast.run.earlier.retries import take_over_limits
from holdfast.run.parts import build_carryover
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.builders import NOW, a_state
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, add
from tests.workflows.delegating import FOUND, Findings, Question

CHARGE = call("transfer_to_billing", goal="charge order 7")
HOME = call("transfer_to_triage", goal="not ours")


@tool(risk=Risk.WRITE_INTERNAL)
async def keep(text: str) -> str:
    """Keep a text."""
    return text


@tool(risk=Risk.READ_ONLY)
async def peek(place: str) -> str:
    """Look at a place."""
    return place


OFF = Switch(
    kind="agent", name="billing", by="olga", reason="", at=datetime(2026, 1, 1, tzinfo=UTC)
)

WITHOUT = Ceiling(without_tools=("peek",), without_risks=(Risk.WRITE_INTERNAL,))


def bureau(
    scripts: dict[str, Script],
    *,
    ceiling: Ceiling = WITHOUT,
    returns: bool = False,
    tools: Sequence[Tool] = (add, keep, peek),
) -> App:
    """Triage hands over to billing, which has a clerk work for it and may hand over, too."""
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:triage"],
                settings=IMPATIENT,
                tools=tools,
                handoffs=[Handoff("billing", when="money", return_expected=returns)],
                ceiling=ceiling,
            ),
            Agent(
                name="billing",
                instructions="Answer what is about money.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                tools=tools,
                handoffs=[] if returns else [Handoff("triage", when="all else")],
                subagents=[SubAgent("clerk", input=Question, output=Findings)],
            ),
            Agent(
                name="clerk",
                instructions="Look things up.",
                models=["scripted:clerk"],
                settings=IMPATIENT,
                tools=tools,
            ),
        ],
        scripts={"triage": (), "billing": (), "clerk": (), **scripts},
    )


def tries(*before: str) -> Script:
    """Try all that is forbidden, then end; `before` come turns of others."""
    return (
        *map(say, before),
        *(call("keep", text="x"), call("peek", place="y"), call("add", a=1, b=2)),
        say("Done."),
    )


def unknown(results: Sequence[object]) -> list[str]:
    """The tools that nobody knew."""
    return [
        one.name for one in results if isinstance(one, ToolFailure) and one.type == "unknown_tool"
    ]


async def test_who_goes_on_has_nothing_that_the_ceiling_keeps_back(
    memory_runs: MemoryRuns,
) -> None:
    """Neither the tools of these names nor those of these risk classes."""
    app = bureau({"triage": [CHARGE], "billing": tries("never said")})
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        result = await run.result()
        found = await run.results()

    assert result.status == "completed"
    assert unknown(found) == ["keep", "peek"]
    assert [one.status for one in found if one.name == "add"] == ["ok"]


async def test_who_works_for_the_agent_has_nothing_of_it_either(memory_runs: MemoryRuns) -> None:
    """A handoff whose answer comes back is a run of its own, with the same ceiling."""
    app = bureau({"triage": [CHARGE, say("Thanks.")], "billing": tries()}, returns=True)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        found = await run.part("1-billing").results()

    assert unknown(found) == ["keep", "peek"]


async def test_the_ceiling_holds_at_any_depth(memory_runs: MemoryRuns) -> None:
    """A sub-agent of the agent that went on is as bound as that."""
    asks = call("delegate_to_clerk", topic="prices", depth=1)
    app = bureau(
        {
            "triage": [CHARGE],
            "billing": (say("never said"), asks, say("Done.")),
            "clerk": (call("keep", text="x"), call("peek", place="y"), FOUND),
        }
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        result = await run.result()
        found = await run.part("1-clerk").results()

    assert result.status == "completed"
    assert unknown(found) == ["keep", "peek"]


@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize(
    ("ceiling", "kept_back", "left"),
    [
        (Ceiling(without_tools=("peek",)), call("peek", place="y"), call("add", a=1, b=2)),
        (
            Ceiling(without_risks=(Risk.WRITE_INTERNAL,)),
            call("keep", text="x"),
            call("peek", place="y"),
        ),
    ],
    ids=["tools", "risks"],
)
async def test_each_half_of_a_ceiling_holds_alone(
    memory_runs: MemoryRuns, ceiling: Ceiling, kept_back: Reply, left: Reply, *, returns: bool
) -> None:
    """Names without classes, and classes without names, for who goes on and who works for it."""
    before = () if returns else (say("never said"),)
    app = bureau(
        {"triage": [CHARGE, say("Thanks.")], "billing": [*before, kept_back, left, say("Done.")]},
        ceiling=ceiling,
        returns=returns,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        found = await (run.part("1-billing") if returns else run).results()

    assert unknown(found) == [kept_back.calls[0][0]]
    assert [one.status for one in found if one.name == left.calls[0][0]] == ["ok"]


async def test_a_run_that_comes_back_stays_cut(memory_runs: MemoryRuns) -> None:
    """No ping-pong gives the sender back what it keeps from those behind it."""
    there = (call("peek", place="here"), CHARGE)
    app = bureau(
        {
            "triage": (*there, say("never said"), call("peek", place="here"), say("Done.")),
            "billing": (*map(say, ("never", "never")), HOME),
        }
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        found = await run.results()

    assert [one.status for one in found if one.name == "peek"] == ["ok", "error"]


async def test_a_start_may_be_bound_as_well(memory_runs: MemoryRuns) -> None:
    """Who starts a run says what its agent doesn't get, and nobody behind it."""
    app = bureau({"billing": tries()})
    async with memory_runs.working(app):
        run = await memory_runs.start(
            "billing", without_tools=["peek"], without_risks=["write_internal"]
        )
        await run.result()
        found = await run.results()

    assert unknown(found) == ["keep", "peek"]


@pytest.mark.parametrize("returns", [False, True])
async def test_limits_of_a_ceiling_hold_behind_it(
    memory_runs: MemoryRuns, *, returns: bool
) -> None:
    """They lower what the receiver may use, and nothing of the sender before."""
    endless = [call("add", a=number, b=1) for number in range(9)]
    app = bureau(
        {"triage": [CHARGE, say("Thanks.")], "billing": endless},
        ceiling=Ceiling(budget=Budget(max_steps=4)),
        returns=returns,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        bound = run.part("1-billing") if returns else run
        usage = await bound.query("usage", UsageReport)

    assert usage.budget.max_steps == 4


async def test_a_switch_on_a_receiver_keeps_work_from_it(memory_runs: MemoryRuns) -> None:
    """Nobody hands over to an agent that is switched off; the sender goes on."""
    memory_runs.switches.off = (OFF,)
    app = bureau({"triage": [CHARGE, say("Nobody can help.")]})
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        result = await run.result()
        [denied] = await run.results()
        status = await run.status()

    assert (result.answer, denied.status, status.agent) == ("Nobody can help.", "denied", "triage")


async def test_a_switch_on_who_went_on_holds_its_calls(memory_runs: MemoryRuns) -> None:
    """An agent that is switched off after it took a run over does nothing more."""

    def script(turn: ScriptTurn) -> Reply:
        memory_runs.switches.off = (OFF,)
        return call("add", a=1, b=2) if turn.number == 2 else say("Done.")

    app = bureau({"triage": [CHARGE], "billing": script})
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        found = await run.results()

    assert [one.status for one in found if one.name == "add"] == ["denied"]


def test_who_tries_a_run_again_gets_nothing_back() -> None:
    """A retry of a run that was bound is bound as that was."""
    earlier = a_state(run={"without_tools": ["send"], "without_risks": ["destructive"]})
    left = build_carryover(earlier, (), {}, NOW)

    given = take_over_limits(RunInput(agent="it", input="again"), left)

    assert (given.without_tools, given.without_risks) == (("send",), (Risk.DESTRUCTIVE,))


def test_a_typo_in_a_ceiling_is_told() -> None:
    """A tool that nobody behind an agent has is no tool that is kept back."""
    with pytest.raises(AppError, match="without tool 'refnd', and nobody behind it has that"):
        bureau({}, ceiling=Ceiling(without_tools=("refnd",)))
