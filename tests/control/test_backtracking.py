"""Going back: an approach that failed is undone, and the next one knows why."""

from pathlib import Path

import pytest

from holdfast import Agent, App, Backtracking, Handoff
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.transcript import ToolTurn
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.chaos.cast import place, remove
from tests.control.approaches import (
    EXCEEDED,
    backtracking,
    good,
    purposes,
    round_of,
    seen,
    trying,
)
from tests.control.controlled import asked, asked_models, broken, recorded, why
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import IMPATIENT, lines
from tests.workflows.tiered import written


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        pytest.param(Backtracking(), 3, id="as it is"),
        pytest.param(Backtracking(max_backtracks=0), 0, id="none"),
        pytest.param(Backtracking(max_backtracks=1), 1, id="one"),
    ],
)
async def test_a_run_tries_so_many_times_more_and_no_more(
    memory_runs: MemoryRuns, limits: Backtracking, most: int
) -> None:
    """max_backtracks=3 is 4 attempts: 4 plans, 4 executions, and a result that has them all."""
    # BT-01 BT-04 BT-06

    def hopeless(turn: ScriptTurn) -> Reply:
        number = round_of(turn)
        return say(f"approach {number}" if turn.without_tools else f"bad {number}")

    async with memory_runs.working(backtracking(hopeless, backtracking=limits)):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert purposes(*histories) == ["plan", "execute"] * (most + 1)
    assert (result.status, result.answer, why(result).reason) == ("failed", None, EXCEEDED)
    assert [
        (one.number, one.approach, one.failure_reason, one.partial_progress)
        for one in result.attempts
    ] == [
        (
            number,
            f"approach {number}",
            f"acceptance checks failed: good: bad {number} isn't good",
            "0 calls succeeded",
        )
        for number in range(1, most + 2)
    ]
    assert why(result).next_safe_action


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_the_first_success_is_the_end(memory_runs: MemoryRuns, events: int) -> None:
    """A good answer at the second attempt: no third, nothing undone after it, all on record."""
    # BT-03
    async with memory_runs.working(backtracking(max_history_events=events), cached_transcripts=0):
        run = await memory_runs.start("it", "2")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.status, result.answer, len(result.attempts)) == ("completed", "good", 1)
    assert purposes(*histories) == ["plan", "execute", "execute"] * 2
    told = [line for line in recorded(*histories) if not line.startswith("tripwire")]
    assert [line[:40] for line in told] == [
        "approach: approach 1",
        "approach failed: acceptance checks faile"[:40],
        "approach: approach 2",
    ]
    assert (len(histories) > 2) == (events == 1)


async def test_the_next_plan_knows_what_failed_and_why(memory_runs: MemoryRuns) -> None:
    """Plan 2 is asked for with approach 1 and its reason; nothing else of it is shown."""
    # BT-02 BT-05
    shown: dict[int, str] = {}

    def noting(turn: ScriptTurn) -> Reply:
        shown[turn.number] = seen(turn)
        return trying(turn)

    async with memory_runs.working(backtracking(noting)):
        run = await memory_runs.start("it", "3")
        result = await run.result()
        record = await run.transcript()
        await memory_runs.stories(run)

    assert result.answer == "good"
    assert "approach 1" in shown[4]
    assert "acceptance checks failed: good: bad 1 isn't good" in shown[4]
    assert "1 call succeeded" in shown[4]
    assert "nothing at room 1" in shown[3]
    for later in range(4, 10):
        assert "nothing at room 1" not in shown[later]
    assert "approach 1" in shown[7]
    assert "approach 2" in shown[7]
    assert "nothing at room 2" not in shown[7]
    results = [one for item in record.items if isinstance(item, ToolTurn) for one in item.results]
    assert [one.data for one in results if one.status == "ok"] == [
        f"nothing at room {number}" for number in (1, 2, 3)
    ]


async def test_going_back_resets_no_budget(runs: Runs) -> None:
    """Steps of approaches that failed were taken: they are counted, and the limit holds."""
    # BT-05
    async with runs.working(backtracking()):
        run = await runs.start("it", "4", budget={"max_steps": 7})
        result = await run.result()
        usage = await run.handle.query("usage")

    assert (result.status, why(result).reason) == ("stopped", "max_steps (7) reached")
    assert (usage["steps"], usage["tool_calls"], len(result.attempts)) == (7, 2, 2)


async def test_the_models_begin_anew(memory_runs: MemoryRuns) -> None:
    """The first model of the chain is asked again, without what its provider kept before."""
    # BT-05
    states: list[object] = []

    def first(turn: ScriptTurn) -> Reply:
        states.append(dict(turn.provider_state))
        if not turn.without_tools:
            return broken("unavailable") if round_of(turn) == 1 else say("good")
        return Reply(text=f"approach {round_of(turn)}", provider_state={"chain": "x"})

    def second(_: ScriptTurn) -> Reply:
        return say("bad")

    async with memory_runs.working(backtracking(first, second)):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.model) == ("good", "scripted:1")
    assert [line.partition(" · ")[2] for line in asked_models(*histories)] == [
        "scripted:1 · plan",
        "scripted:1",
        "scripted:2",
        "scripted:1 · plan",
        "scripted:1",
    ]
    assert states[-2:] == [{}, {"chain": "x"}]


async def test_a_provider_forgets_an_approach(memory_runs: MemoryRuns) -> None:
    """What one kept of a dead approach isn't shown to it again, whichever model answers."""
    # BT-05
    states: list[object] = []

    def keeping(turn: ScriptTurn) -> Reply:
        states.append(dict(turn.provider_state))
        words = f"approach {round_of(turn)}" if turn.without_tools else "bad"
        return Reply(text=words, provider_state={"chain": words})

    limits = Backtracking(max_backtracks=1)
    async with memory_runs.working(backtracking(keeping, backtracking=limits)):
        run = await memory_runs.start("it")
        result = await run.result()

    assert states == [{}, {"chain": "approach 1"}, {}, {"chain": "approach 2"}]
    assert result.provider_state is None


async def test_words_said_to_a_dead_approach_are_not_lost(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What people said meanwhile is said again to the next approach, and to the one after."""
    # BT-05
    log = tmp_path / "log"
    shown: dict[int, str] = {}

    def heard(turn: ScriptTurn) -> Reply:
        shown[turn.number] = seen(turn)
        if turn.without_tools or turn.number > 3:
            return trying(turn)
        return call("hold", log=str(log)) if turn.number == 2 else say("bad")

    async with memory_runs.working(backtracking(heard)):
        run = await memory_runs.start("it", "3")
        await written(log)
        await run.signal("steer", {"text": "only blue ones"})
        Path(f"{log}.go").touch()
        result = await run.result()
        await memory_runs.stories(run)

    assert result.answer == "good"
    assert "only blue ones" not in shown[2]
    assert [shown[turn].count("only blue ones") for turn in range(3, 10)] == [1] * 7


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_answers_given_to_a_dead_approach_are_not_lost(
    memory_runs: MemoryRuns, events: int
) -> None:
    """What a person answered is said to every later approach, once, with what was asked."""
    # BT-05 BY-22
    shown: dict[int, str] = {}

    def wondering(turn: ScriptTurn) -> Reply:
        shown[turn.number] = seen(turn)
        if turn.without_tools or turn.number > 3:
            return trying(turn)
        return call("ask_user", question="Which ones?") if turn.number == 2 else say("bad")

    app = backtracking(wondering, max_history_events=events)
    async with memory_runs.working(app, cached_transcripts=0):
        run = await memory_runs.start("it", "3")
        question = await asked(run)
        await run.signal("answer", {"request_id": question.request_id, "text": "the blue ones"})
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, len(result.attempts)) == ("good", 2)
    assert "the blue ones" in shown[3]
    words = 'Asked "Which ones?", a person answered: the blue ones'
    for turn in range(4, 10):
        assert (shown[turn].count(words), shown[turn].count("the blue ones")) == (1, 1)
    assert (len(histories) > 2) == (events == 1)


async def test_effects_outside_are_undone_before_the_next_approach(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What an approach changed is taken back, latest first; what can't be is reported."""
    # BT-05
    log = str(tmp_path / "log")

    def placing(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say(f"approach {round_of(turn)}")
        match turn.number:
            case 2:
                return call("place", log=log, text="a")
            case 3:
                return call("write", log=log, text="b")
            case 4:
                return call("place", log=log, text="c")
            case _:
                return say("bad" if turn.number == 5 else "good")

    async with memory_runs.working(backtracking(placing)):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert result.answer == "good"
    assert lines(log) == ["placed a", "begin b", "end b", "placed c", "removed c", "removed a"]
    assert [name for one in histories for name in names(one)].count("remove") == 2
    assert result.compensation is not None
    (lost,) = result.compensation.not_undone
    assert lost.startswith("write(")


async def test_what_stands_of_an_approach_is_told_and_not_done_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The next plan names what couldn't be taken back, and the same call is refused."""
    # BT-05
    log = str(tmp_path / "log")
    requests, denied = list[str](), list[str]()

    def writing(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            requests.append(seen(turn))
            return say(f"approach {round_of(turn)}")
        if turn.transcript[-1].kind != "tool":
            return calls(call("write", log=log, text="b"), call("place", log=log, text="a"))
        denied.extend(one.reason for one in turn.results if isinstance(one, ToolFailure))
        return say("bad" if round_of(turn) == 1 else "good")

    async with memory_runs.working(backtracking(writing)):
        run = await memory_runs.start("it")
        result = await run.result()
        await memory_runs.stories(run)

    assert result.answer == "good"
    assert lines(log) == ["begin b", "end b", "placed a", "removed a", "placed a"]
    assert "stands" not in requests[0]
    assert "everything that they did was taken back" not in requests[1]
    assert f'still stands:\\n- write(log="{log}", text="b")' in requests[1].replace("\\'", "'")
    (reason,) = denied
    assert reason.startswith("it is done already")


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_what_was_done_before_an_approach_stands(
    memory_runs: MemoryRuns, tmp_path: Path, events: int
) -> None:
    """Who handed the run over has told of it, and no approach that fails did it."""
    # BT-05 HO-09
    log = str(tmp_path / "log")

    def handing_over(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return call("place", log=log, text="a")
        return call("transfer_to_coder", goal="the rest")

    def placing(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say(f"approach {round_of(turn)}")
        if turn.transcript[-1].kind != "tool":
            return call("place", log=log, text=f"b{round_of(turn)}")
        return say("bad" if round_of(turn) == 1 else "good")

    coder = Agent(
        name="coder",
        instructions="Do the rest.",
        models=["scripted:coder"],
        settings=IMPATIENT,
        tools=[place, remove],
        acceptance=[good],
        backtracking=Backtracking(),
        max_history_events=events,
    )
    triage = Agent(
        name="triage",
        instructions="Begin.",
        models=["scripted:triage"],
        settings=IMPATIENT,
        tools=[place, remove],
        handoffs=[Handoff("coder", when="there is a rest")],
    )
    app = App(agents=[triage, coder], scripts={"triage": handing_over, "coder": placing})
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        result = await run.result()
        await memory_runs.stories(run)

    assert (result.answer, result.compensation) == ("good", None)
    assert lines(log) == ["placed a", "placed b1", "removed b1", "placed b2"]
    assert [one.arguments and one.arguments["text"] for one in result.effects] == ["a", "b2"]
