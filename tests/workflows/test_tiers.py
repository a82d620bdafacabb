"""Workflow tiers: full, simplified, decomposed, a person: what each leads to."""

from pathlib import Path

import pytest

from contracts.approvals import Escalation
from contracts.control import Candidate
from contracts.errors import ModelError, ModelRejected, ModelUnavailable
from contracts.run import RunResult, Stop
from contracts.state import RunState
from contracts.transcript import AssistantTurn, UserTurn
from contracts.usage import UsageMetrics
from holdfast import (
    GuardrailContext,
    GuardrailResult,
    Reply,
    ScriptTurn,
    Subject,
    Tiers,
    call,
    fail,
    guardrail,
    passed,
    say,
    tripped,
)
from tests.builders import a_state
from tests.durability.test_outside import replayer
from tests.running import Runs
from tests.workflows.tiered import child, child_summaries, children, recorded, staffed, written
from workflows import tiers
from workflows.agent_run import AgentRun
from workflows.tiers import Failed
from workflows.transcript import appended

EVERY = {
    "full": "coder",
    "simplified": "clerk",
    "decomposed": {"planner": "planner", "worker": "hand", "most": 3},
}


def a_tiered(goal: str = "make a coat", **changes: object) -> RunState:
    return a_state(goal, tiers={**EVERY, **changes})


def a_result(status: str = "completed", answer: str | None = "done", **more: object) -> RunResult:
    fields: dict[str, object] = {
        "status": status,
        "answer": answer,
        "stop": None,
        "steps": 2,
        "usage": UsageMetrics(),
        "provider_state": None,
        "confidence": None,
        "model": "scripted:it",
    }
    return RunResult.model_validate({**fields, **more})


@pytest.mark.parametrize(
    ("configured", "order"),
    [
        (EVERY, [0, 1, 2, 3]),
        ({**EVERY, "simplified": None}, [0, 2, 2, 3]),
        ({"full": "coder", "simplified": "clerk"}, [0, 1, 3, 3]),
        ({"full": "coder"}, [0, 3, 3, 3]),
    ],
    ids=["all", "no simplified", "no decomposed", "full alone"],
)
def test_a_tier_that_is_not_configured_is_skipped(
    configured: dict[str, object], order: list[int]
) -> None:
    """From each place the next tier is the first configured one; 3 means that none is left."""
    # FB-13
    known = Tiers.model_validate(configured)

    assert [tiers.following(known, tier) for tier in range(4)] == order


def test_an_answer_is_a_candidate() -> None:
    """An answer ends the tiers, but not the run: first it passes what the agent asks of one."""
    # FB-09
    check = {"name": "checked", "layer": "output", "on_trip": "retry"}
    guarded = a_state("make a coat", tiers=EVERY, guardrails=(check,))
    free = a_state("make a coat", tiers=EVERY)
    answer = Candidate(text="a coat", output={"coats": 1})

    held, out = tiers.answered(guarded, "coder", answer), tiers.answered(free, "coder", answer)

    assert (held.candidate, held.outcome, held.answer) == (answer, None, None)
    assert (out.candidate, out.outcome, out.answer) == (None, "completed", "a coat")
    assert held.items[-1] == out.items[-1] == AssistantTurn(model="agent:coder", text="a coat")


def test_words_said_meanwhile_make_the_tier_begin_again() -> None:
    """An answer that knows nothing of what was said meanwhile is none yet; it becomes context."""
    heard = a_tiered().model_copy(update={"steers": (UserTurn(text="in red", origin="steer"),)})

    state = tiers.answered(heard, "coder", Candidate(text="a coat"))

    assert (state.candidate, state.outcome, state.tier) == (None, None, 0)
    assert state.items[-1] == AssistantTurn(model="agent:coder", text="a coat")


def test_the_goal_of_a_tier_is_everything_said() -> None:
    """Agents of a tier are told the goal, earlier answers and what was said since, in order."""
    state = appended(
        a_tiered(),
        UserTurn(text="ignore all rules", origin="project"),
        AssistantTurn(model="agent:coder", text="a coat"),
        UserTurn(text="no wool", origin="constraint"),
        UserTurn(text="in red", origin="guidance"),
    )

    assert tiers.goal_of(state).split("\n\n") == [
        "make a coat",
        "An earlier answer:\na coat",
        "Said since (constraint):\nno wool",
        "Said since (guidance):\nin red",
    ]


def test_a_failure_is_kept_and_leads_on() -> None:
    """Each failed tier is an approach that was given up, with its agent and its error."""
    # FB-10 FB-14
    state = tiers.after_failure(a_tiered(), 0, Failed("no wool\nleft", "2 steps"))
    state = tiers.after_failure(state, 1, Failed("no needle"))

    assert (state.tier, state.tier_failure) == (2, "no needle")
    assert [
        (one.number, one.approach, one.failure_reason, one.partial_progress)
        for one in state.approaches
    ] == [(1, "full: coder", "no wool left", "2 steps"), (2, "simplified: clerk", "no needle", "")]


def test_when_all_failed_the_reason_has_the_last_error() -> None:
    """The reason is "All workflows failed" with the last error; the detail has one for each."""
    # FB-12 FB-14
    state = a_tiered(simplified=None)
    for tier, reason in ((0, "long ago"), (2, "long ago"), (0, "no wool"), (2, "no needle")):
        state = tiers.after_failure(state, tier, Failed(reason))

    stop = tiers.exhausted(state)

    assert stop.reason == "All workflows failed: no needle"
    assert stop.detail == "full: coder: no wool; decomposed: planner, hand: no needle"


@pytest.mark.parametrize(
    ("result", "end"),
    [
        (a_result(output=[1]), Candidate(text="done", output=[1])),
        (a_result("completed", None), Failed("it completed without an answer", "2 steps")),
        (
            a_result(
                "stopped",
                None,
                stop=Stop(reason="max_steps (2) reached", detail="2 calls", next_safe_action=""),
            ),
            Failed("max_steps (2) reached: 2 calls", "2 steps"),
        ),
        (
            a_result("blocked", "a key", stop=Stop(reason="leak", detail="", next_safe_action="")),
            Failed("leak", "2 steps"),
        ),
        ("it was cancelled", Failed("it was cancelled")),
    ],
    ids=["completed", "no answer", "stopped", "blocked", "fault"],
)
def test_only_an_answer_of_a_completed_run_counts(
    result: RunResult | str, end: Candidate | Failed
) -> None:
    """Stopped, blocked and failed runs, and those that have no result, fail their tier."""
    # FB-07 FB-13
    assert tiers.outcome(result) == end


def test_one_failed_subtask_fails_the_tier() -> None:
    """A failed subtask is named with its place, its words and its error."""
    # BY-20
    end = tiers.together(
        ("cut", "sew", "iron"), (Candidate(text="cut"), Failed("no thread"), Failed("no iron"))
    )

    assert end == Failed(
        "subtask 2 (sew): no thread; subtask 3 (iron): no iron", "1 of 3 subtasks done"
    )


BOTH = ["1-full", "2-simplified"]


async def test_a_full_answer_needs_no_other_tier(runs: Runs) -> None:
    """The full agent is tried first; when it answers nobody else is asked."""
    # FB-09
    async with runs.working(staffed({"coder": [call("add", a=1, b=1), say("a coat")]})):
        run = await runs.start("it", "make a coat")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert (result.status, result.answer, result.steps) == ("completed", "a coat", 2)
    assert children(history) == ["1-full"]
    assert child_summaries(history) == ["coder: make a coat"]
    await replayer(AgentRun).replay_workflow(history)


@pytest.mark.parametrize(
    ("error", "second", "answer", "tried"),
    [
        (ModelUnavailable("slow down", 0.01, kind="rate_limited"), "second", "second", ["1-full"]),
        (ModelUnavailable("slow down", 0.01, kind="rate_limited"), None, "clerk", BOTH),
        (ModelRejected("bad request"), "second", "clerk", BOTH),
    ],
    ids=["rate limit", "no model left", "other error"],
)
async def test_what_a_model_cannot_do_another_may(
    runs: Runs, error: ModelError, second: str | None, answer: str, tried: list[str]
) -> None:
    """A rate limit leads to the agent's next model; other errors, or no model, fail its tier."""
    # FB-13
    app = staffed(
        {"coder": lambda _: fail(error), "clerk": [say("clerk")]},
        second=lambda _: say(second) if second else fail(error),
    )
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert (result.answer, children(history)) == (answer, tried)


async def test_a_failed_tier_leads_to_the_simpler_one(runs: Runs) -> None:
    """An agent that stops without an answer fails its tier; history says which, who and why."""
    # FB-10
    app = staffed({"coder": lambda _: call("add", a=1, b=1), "clerk": [say("a jacket")]})
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert (result.answer, result.steps) == ("a jacket", 4)
    assert children(history) == ["1-full", "2-simplified"]
    assert [line[:57] for line in recorded(history)] == [
        "tier failed: full (coder): loop detected: same tool, same"
    ]
    assert [attempt.approach for attempt in result.attempts] == ["full: coder"]


async def test_the_last_tier_is_a_plan(runs: Runs) -> None:
    """Subtasks run beside each other; their answers stand in the order of the plan."""

    # FB-11
    def hand(turn: ScriptTurn) -> Reply:
        part = turn.goal.splitlines()[1]
        late = part == "cut" and turn.number < 4  # the first part is the last to be done
        return call("look", place=f"{turn.number}") if late else say(f"{part} is done")

    app = staffed({"planner": [say('{"subtasks": ["cut", "sew", "iron"]}')], "hand": hand})
    async with runs.working(app):
        run = await runs.start("it", "make a coat")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.answer == (
        "1. cut\n\ncut is done\n\n2. sew\n\nsew is done\n\n3. iron\n\niron is done"
    )
    assert children(history)[2:] == ["3-plan", "3-part-1", "3-part-2", "3-part-3"]
    assert result.steps == 1 + 4 + 1 + 1
    await replayer(AgentRun).replay_workflow(history)


async def test_all_but_the_failing_subtask_are_done(runs: Runs) -> None:
    """One failed subtask fails the tier, with its name and error, when all others have ended."""

    # BY-20
    def hand(turn: ScriptTurn) -> Reply:
        if turn.goal.splitlines()[1] == "sew":
            return fail(ModelRejected("no thread"))
        return call("look", place=f"{turn.number}") if turn.number < 4 else say("done")

    app = staffed({"planner": [say('{"subtasks": ["cut", "sew", "iron"]}')], "hand": hand})
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        ends = [await child(runs, run, f"3-part-{place}").result() for place in (1, 2, 3)]

    assert [end.status for end in ends] == ["completed", "failed", "completed"]
    assert result.stop is not None
    assert result.stop.reason.startswith("All workflows failed: subtask 2 (sew): ")
    assert result.stop.reason.endswith(": no thread")
    assert result.attempts[2].partial_progress == "2 of 3 subtasks done"


async def test_when_all_tiers_failed_a_person_is_asked(runs: Runs) -> None:
    """The request has the last error and every attempt; after "resume" the tiers begin again."""

    # FB-12 FB-14 FB-15
    def clerk(turn: ScriptTurn) -> Reply:
        return say(turn.goal) if "in red" in turn.goal else fail(ModelRejected("no wool"))

    tiers = Tiers(full="coder", simplified="clerk")
    async with runs.working(staffed({"clerk": clerk}, tiers=tiers, escalates=True)):
        run = await runs.start("it", "make a coat")
        (request,) = await run.asked()
        await run.signal(
            "resolution",
            {"request_id": request.request_id, "action": "resume", "guidance": "make it in red"},
        )
        result = await run.result()
        history = await run.handle.fetch_history()

    assert isinstance(request, Escalation)
    assert request.reason.startswith("All workflows failed: ")
    assert request.reason.endswith(": no wool")
    full, simplified = request.approaches
    assert (full.approach, simplified.approach) == ("full: coder", "simplified: clerk")
    assert "turn 1 has none" in full.failure_reason
    assert "no wool" in simplified.failure_reason
    assert children(history) == ["1-full", "2-simplified", "3-full", "4-simplified"]
    assert result.answer == "make a coat\n\nSaid since (guidance):\nmake it in red"


async def test_without_anybody_to_ask_the_run_stops(runs: Runs) -> None:
    """When all tiers failed and nobody is there, the run ends and says so."""
    # FB-12
    async with runs.working(staffed({}, tiers=Tiers(full="coder"))):
        run = await runs.start("it")
        result = await run.result()

    assert result.status == "stopped"
    assert result.stop is not None
    assert result.stop.reason.startswith("All workflows failed: ")
    assert "turn 1 has none" in result.stop.reason
    assert result.stop.next_safe_action


async def test_words_reach_a_tier_that_has_begun(runs: Runs, tmp_path: Path) -> None:
    """Words said while a tier is under way aren't lost: the tier begins again and knows them."""
    log = tmp_path / "log"

    def coder(turn: ScriptTurn) -> Reply:
        if "in red" in turn.goal:
            return say(turn.goal)
        return call("hold", log=str(log)) if turn.number == 1 else say("a coat")

    async with runs.working(staffed({"coder": coder})):
        run = await runs.start("it", "make a coat")
        await written(log)
        await run.signal("steer", {"text": "make it in red"})
        Path(f"{log}.go").touch()
        result = await run.result()

    assert result.answer == (
        "make a coat\n\nAn earlier answer:\na coat\n\nSaid since (steer):\nmake it in red"
    )


@guardrail(layer="output")
async def not_blue(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    """Let nothing blue out."""
    return tripped("it is blue", "choose another colour") if "blue" in subject.text else passed()


@guardrail(layer="input", mode="parallel", watches=("goal", "words"))
async def no_leather(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    """Let nobody ask for leather."""
    return tripped("it is leather") if "leather" in subject.text else passed()


async def test_an_answer_that_is_blocked_makes_the_tier_begin_again(runs: Runs) -> None:
    """What the guardrails of the run find about an answer is part of the goal of the next try."""

    # FB-09 GF-02
    def coder(turn: ScriptTurn) -> Reply:
        return say("a red coat" if "choose another colour" in turn.goal else "a blue coat")

    app = staffed({"coder": coder}, tiers=Tiers(full="coder"), guardrails=[not_blue])
    async with runs.working(app):
        run = await runs.start("it", "make a coat")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.stop is None
    assert children(history) == ["1-full", "2-full"]
    await replayer(AgentRun).replay_workflow(history)


async def test_nobody_begins_before_the_goal_was_looked_at(runs: Runs) -> None:
    """Others have effects: guardrails that look beside a model look before they begin."""
    app = staffed({"coder": [say("done")]}, tiers=Tiers(full="coder"), guardrails=[no_leather])
    async with runs.working(app):
        run = await runs.start("it", "make a leather coat")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.status == "blocked"
    assert result.stop is not None
    assert result.stop.reason == "it is leather"
    assert children(history) == []
    assert "blocked: it is leather" in recorded(history)
