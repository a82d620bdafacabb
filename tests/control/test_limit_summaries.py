"""A run whose steps are used up may have the last word: a summary, and no answer."""

import asyncio
from decimal import Decimal

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from holdfast import App, Budget
from holdfast.cli.standing import read_view
from holdfast.client.event_data import RunCompleted
from holdfast.client.fold import EventFold
from holdfast.contracts.budget import Ledger, UsageReport
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.model import ModelPurpose
from holdfast.contracts.transcript import AssistantTurn, UserTurn
from holdfast.contracts.usage import CallUsage, UsageMetrics
from holdfast.run.limits import closing
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, fail, say, using
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import ending
from holdfast.workflows.agent_run import AgentRun
from tests.builders import a_reply, a_state
from tests.control.controlled import asked_models, broken
from tests.control.guarded import on_word
from tests.control.test_steers_now import NOW
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import scripted

USED = UsageMetrics(input_tokens=7, output_tokens=3, estimated_cost=Decimal("0.25"))
SUMMED_UP = using(say("Two of five are added."), USED)


def closing_with(words: Reply) -> Script:
    """A script that adds, until it is asked for its last words."""

    def script(turn: ScriptTurn) -> Reply:
        return words if turn.without_tools else call("add", a=turn.number, b=1)

    return script


def summing_up(words: Reply = SUMMED_UP, **agent: object) -> App:
    wish: dict[str, object] = {"summary_at_limit": True, "budget": Budget(max_steps=2)}
    return scripted(closing_with(words), policy=None, **(wish | agent))


async def test_the_last_word_is_a_summary_beside_the_steps(runs: Runs) -> None:
    """Exactly as many steps, one more call without tools; its words and usage stand apart."""
    # BY-46
    async with runs.working(summing_up()):
        run = await runs.start("it", "add five")
        result, page = await run.result(), await run.transcript()
        history = await run.handle.fetch_history()
        await build_replayer(AgentRun).replay_workflow(history)
    trace = read_trace([history])

    assert (result.status, result.answer, result.steps) == ("stopped", None, 2)
    assert result.stop is not None
    assert result.stop.reason == "max_steps (2) reached"
    assert result.summary is not None
    assert (result.summary.text, result.summary.model) == ("Two of five are added.", "scripted:it")
    assert result.summary.usage.total_tokens == result.usage.total_tokens == USED.total_tokens
    assert result.usage.estimated_cost == Decimal("0.25")
    asked, said = page.items[-2:]
    assert isinstance(asked, UserTurn)
    assert (asked.origin, asked.text[:26]) == ("notice", "No further turn is allowed")
    assert isinstance(said, AssistantTurn)
    assert said.text == "Two of five are added."
    assert [turn.purpose for turn in trace.turns] == ["turn", "turn", "closing"]
    assert "summary Two of five are added." in [
        " ".join(str(one).split()) for one in ending(trace)
    ]


def terminated(history: WorkflowHistory) -> WorkflowHistory:
    """Return the history of a run that somebody has terminated just before its result."""
    *before, last = history.events
    end = HistoryEvent(
        event_id=last.event_id,
        event_time=last.event_time,
        event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
    )
    end.workflow_execution_terminated_event_attributes.reason = "enough"
    return WorkflowHistory(history.workflow_id, [*before, end])


async def test_whoever_counts_the_steps_counts_the_same(runs: Runs) -> None:
    """Result, queries, trace, transcript, view and events: last words are nobody's step."""
    # BY-46
    async with runs.working(summing_up()):
        run = await runs.start("it", "add five")
        result, status = await run.result(), await run.status()
        usage = await run.query("usage", UsageReport)
        history = await run.handle.fetch_history()
    lost = terminated(history)
    fold = EventFold()
    *_, over = [told.data for event in lost.events for told in fold.read(event)]

    assert isinstance(over, RunCompleted)
    assert (result.steps, status.step, usage.steps, over.steps) == (2, 2, 2, 2)
    for read in (read_trace([history]), read_trace([lost])):
        assert (read.ledger.steps, read_view(read).step) == (2, 2)
        assert "2 model turns" in str([str(one) for one in ending(read)])


async def test_without_the_wish_nobody_sums_up(memory_runs: MemoryRuns) -> None:
    """Who doesn't say so gets exactly as many model calls as steps."""
    # BY-46
    async with memory_runs.working(summing_up(summary_at_limit=False)):
        result = await (await memory_runs.start("it")).result()

    assert (result.steps, result.summary) == (2, None)
    assert result.usage.total_tokens == 0


@pytest.mark.parametrize("on_trip", ["block", "retry", "ask"])
async def test_guardrails_of_answers_look_at_it(memory_runs: MemoryRuns, on_trip: str) -> None:
    """What they hold back isn't told; the run ends as it would have, and asks nobody."""
    # BY-46
    guard = on_word("names", "Two", "output", on_trip=on_trip)  # pyright: ignore[reportArgumentType] -- one of its words
    async with memory_runs.working(summing_up(guardrails=(guard,))):
        result = await (await memory_runs.start("it")).result()

    assert (result.status, result.summary) == ("stopped", None)
    assert result.stop is not None
    assert result.stop.reason == "max_steps (2) reached"
    assert "Two of five" not in result.model_dump_json()


async def test_what_guardrails_let_pass_is_told(memory_runs: MemoryRuns) -> None:
    """Acceptance checks are for answers, and last words are none."""
    # BY-46
    guard = on_word("names", "Ada", "output", on_trip="block")
    check = on_word("accepts", "Two", "output", on_trip="retry")
    async with memory_runs.working(summing_up(guardrails=(guard,), acceptance=(check,))):
        result = await (await memory_runs.start("it")).result()

    assert result.summary is not None
    assert result.status == "stopped"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(fail(ModelRejected("401", kind="auth")), id="fails"),
        pytest.param(call("add", a=9, b=9), id="wants-a-tool"),
        pytest.param(say(" "), id="says-nothing"),
        pytest.param(Reply(text="Two of fi", stop="max_tokens"), id="is-cut-off"),
    ],
)
async def test_a_model_without_last_words_changes_nothing(
    memory_runs: MemoryRuns, words: Reply
) -> None:
    """No tool runs, nobody is asked twice, and the run ends for the reason that it has."""
    # BY-46
    async with memory_runs.working(summing_up(words)):
        result = await (await memory_runs.start("it")).result()

    assert (result.status, result.steps, result.summary) == ("stopped", 2, None)
    assert result.stop is not None
    assert result.stop.reason == "max_steps (2) reached"


async def test_where_another_limit_is_reached_too_nobody_sums_up(memory_runs: MemoryRuns) -> None:
    """Tokens that are used up are used up."""
    # BY-46
    budget = Budget(max_steps=2, max_tokens=10)

    def script(turn: ScriptTurn) -> Reply:
        return using(SUMMED_UP if turn.without_tools else call("add", a=turn.number, b=1), USED)

    app = scripted(script, summary_at_limit=True, budget=budget)
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert result.summary is None
    assert result.status == "stopped"


def test_the_last_word_is_asked_for_once() -> None:
    """Also where the call begins anew, because somebody has held the run meanwhile."""
    # BY-46
    once = closing.request_closing(a_state())

    assert closing.request_closing(once) == once != a_state()


@pytest.mark.parametrize(("purpose", "steps"), [("closing", 2), ("turn", 3)])
def test_last_words_that_came_too_late_are_no_step(purpose: ModelPurpose, steps: int) -> None:
    """What they used counts, also where a person has stopped the run meanwhile."""
    # BY-46
    state = a_state().with_(ledger=Ledger(steps=2))

    charged = closing.charge_unheard(
        state, purpose, a_reply(text="So far.", usage=CallUsage.of(USED))
    )

    assert (charged.ledger.steps, charged.ledger.usage) == (steps, CallUsage.of(USED))


async def test_no_words_break_off_the_last_ones(memory_runs: MemoryRuns) -> None:
    """Nobody reads what is said behind them, and each such call is sent all that there is."""
    # BY-44 BY-46
    asked = asyncio.Event()

    def script(turn: ScriptTurn) -> Reply:
        if not turn.without_tools:
            return call("add", a=turn.number, b=1)
        again = asked.is_set()
        asked.set()
        return SUMMED_UP if again else broken("overloaded", wait=600)

    wish: dict[str, object] = {"summary_at_limit": True, "budget": Budget(max_steps=2)}
    async with memory_runs.working(scripted(script, policy=None, **wish)):
        run = await memory_runs.start("it", "add five")
        while not asked.is_set():
            await run.pause()
        await run.signal("steer", NOW)
        result = await run.result()
        (story,) = await memory_runs.stories(run)

    assert result.summary is not None
    assert (result.status, result.summary.text) == ("stopped", "Two of five are added.")
    assert len(asked_models(story)) == 3
