"""Workflow tiers: full, simplified, decomposed, a person: what each leads to."""

import logging
from pathlib import Path

import pytest

from holdfast import Agent, App, Tiers
from holdfast.contracts.approvals import Escalation
from holdfast.contracts.errors import ModelError, ModelRejected, ModelUnavailable
from holdfast.contracts.stops import Stop
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, fail, say
from holdfast.workflows.agent_run import AgentRun
from tests.histories import children
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import TOOLS, lines
from tests.workflows.tiered import (
    asked,
    child_summaries,
    recorded,
    staffed,
    written,
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
    await build_replayer(AgentRun).replay_workflow(history)


@pytest.mark.parametrize(
    ("error", "second", "answer", "tried"),
    [
        (ModelUnavailable("slow down", 0.01, kind="rate_limited"), "second", "second", ["1-full"]),
        (ModelUnavailable("slow down", 0.01, kind="rate_limited"), None, "clerk", BOTH),
        (ModelRejected("a bad word", kind="content_filtered"), "second", "clerk", BOTH),
    ],
    ids=["rate limit", "no model left", "other error"],
)
async def test_what_a_model_cannot_do_another_may(
    memory_runs: MemoryRuns, error: ModelError, second: str | None, answer: str, tried: list[str]
) -> None:
    """A rate limit leads to the agent's next model; other errors, or no model, fail its tier."""
    # FB-13
    app = staffed(
        {"coder": lambda _: fail(error), "clerk": [say("clerk")]},
        second=lambda _: say(second) if second else fail(error),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        parts = await run.parts()

    assert (result.answer, parts) == (answer, tried)


async def test_a_failed_tier_leads_to_the_simpler_one(
    memory_runs: MemoryRuns, caplog: pytest.LogCaptureFixture
) -> None:
    """An agent that stops without an answer fails its tier; history and a warning say which."""
    # FB-10
    app = staffed({"coder": lambda _: call("add", a=1, b=1), "clerk": [say("a jacket")]})
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        story = await run.story()
        parts = await run.parts()

    assert (result.answer, result.steps) == ("a jacket", 4)
    assert parts == ["1-full", "2-simplified"]
    assert [line[:57] for line in recorded(story)] == [
        "tier failed: full (coder): loop detected: same tool, same"
    ]
    assert [attempt.approach for attempt in result.attempts] == ["full: coder"]
    (warned,) = (one for one in caplog.records if one.getMessage().startswith("tier.failed"))
    assert warned.levelno == logging.WARNING


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
    await build_replayer(AgentRun).replay_workflow(history)


async def test_all_but_the_failing_subtask_are_done(memory_runs: MemoryRuns) -> None:
    """One failed subtask fails the tier, with its name and error, when all others have ended."""

    # BY-20
    def hand(turn: ScriptTurn) -> Reply:
        if turn.goal.splitlines()[1] == "sew":
            return fail(ModelRejected("no thread", kind="auth"))
        return call("look", place=f"{turn.number}") if turn.number < 4 else say("done")

    app = staffed({"planner": [say('{"subtasks": ["cut", "sew", "iron"]}')], "hand": hand})
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        ends = [await run.part(f"3-part-{place}").result() for place in (1, 2, 3)]

    assert [end.status for end in ends] == ["completed", "failed", "completed"]
    assert result.stop is not None
    assert result.stop.reason.startswith("All workflows failed: subtask 2 (sew): ")
    assert "no thread" in result.stop.reason
    assert result.attempts[2].partial_progress == "2 of 3 subtasks done"


async def test_when_all_tiers_failed_a_person_is_asked(memory_runs: MemoryRuns) -> None:
    """The request has the last error and every attempt; "resume" goes on with the last tier."""

    # FB-12 FB-14 FB-15
    def clerk(turn: ScriptTurn) -> Reply:
        return (
            say(turn.goal)
            if "in red" in turn.goal
            else fail(ModelRejected("no wool", kind="auth"))
        )

    tiers = Tiers(full="coder", simplified="clerk")
    async with memory_runs.working(staffed({"clerk": clerk}, tiers=tiers, escalates=True)):
        run = await memory_runs.start("it", "make a coat")
        (request,) = await run.asked()
        await run.signal(
            "resolution",
            {"request_id": request.request_id, "action": "resume", "guidance": "make it in red"},
        )
        result = await run.result()
        parts = await run.parts()

    assert isinstance(request, Escalation)
    assert request.reason.startswith("All workflows failed: ")
    assert "no wool" in request.reason
    failed = {attempt.model: attempt.error for attempt in request.attempts}
    assert list(failed) == ["scripted:coder", "scripted:second", "scripted:clerk"]
    assert "no wool" in failed["scripted:clerk"]
    full, simplified = request.approaches
    assert (full.approach, simplified.approach) == ("full: coder", "simplified: clerk")
    assert "turn 1 has none" in full.failure_reason
    assert "no wool" in simplified.failure_reason
    assert parts == ["1-full", "2-simplified", "3-simplified"]
    assert result.answer == "make a coat\n\nSaid since (guidance):\nmake it in red"


async def test_without_anybody_to_ask_the_run_stops(memory_runs: MemoryRuns) -> None:
    """When all tiers failed and nobody is there, the run ends and says so."""
    # FB-12
    async with memory_runs.working(staffed({}, tiers=Tiers(full="coder"))):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.status == "stopped"
    assert result.stop is not None
    assert result.stop.reason.startswith("All workflows failed: ")
    assert "turn 1 has none" in result.stop.reason
    assert result.stop.next_safe_action


async def test_words_reach_a_tier_that_has_begun(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Words said while a tier is under way aren't lost: the tier begins again and knows them."""
    log = tmp_path / "log"

    def coder(turn: ScriptTurn) -> Reply:
        if "in red" in turn.goal:
            return say(turn.goal)
        return call("hold", log=str(log)) if turn.number == 1 else say("a coat")

    async with memory_runs.working(staffed({"coder": coder})):
        run = await memory_runs.start("it", "make a coat")
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


async def test_an_answer_that_is_blocked_makes_the_tier_begin_again(
    memory_runs: MemoryRuns,
) -> None:
    """What the guardrails of the run find about an answer is part of the goal of the next try."""

    # FB-09 GF-02
    def coder(turn: ScriptTurn) -> Reply:
        return say("a red coat" if "choose another colour" in turn.goal else "a blue coat")

    app = staffed({"coder": coder}, tiers=Tiers(full="coder"), guardrails=[not_blue])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "make a coat")
        result = await run.result()
        parts = await run.parts()
        await run.story()

    assert result.stop is None
    assert parts == ["1-full", "2-full"]


async def test_nobody_begins_before_the_goal_was_looked_at(memory_runs: MemoryRuns) -> None:
    """Others have effects: guardrails that look beside a model look before they begin."""
    app = staffed({"coder": [say("done")]}, tiers=Tiers(full="coder"), guardrails=[no_leather])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "make a leather coat")
        result = await run.result()
        story = await run.story()
        parts = await run.parts()

    assert result.status == "blocked"
    assert result.stop is not None
    assert result.stop.reason == "it is leather"
    assert parts == []
    assert "blocked: it is leather" in recorded(story)


REVIEW = "Sensitive domain requires human review"
LOST = fail(ModelRejected("no wool", kind="not_found"))


def paired(coder: Script, **agent: object) -> App:
    """An app whose agent `it` asks `coder`, which has these settings, and then `clerk`."""
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Have others do it.",
                tiers=Tiers(full="coder", simplified="clerk"),
                escalates=True,
            ),
            Agent(
                name="coder",
                instructions="Do as you are told.",
                models=["scripted:coder"],
                **agent,  # pyright: ignore[reportArgumentType] -- whatever a test overrides
            ),
            Agent(
                name="clerk",
                instructions="Do as you are told.",
                models=["scripted:clerk"],
                tools=TOOLS,
            ),
        ],
        scripts={"coder": coder, "clerk": [say("the clerk's")]},
    )


async def ended(run: AnyRun) -> tuple[str, Stop, list[str]]:
    """How a run ended without an answer, why, and which parts it had begun; it must replay."""
    result = await run.result()
    await run.story()
    assert (result.answer, await run.pending()) == (None, ())
    assert result.stop is not None
    return result.status, result.stop, await run.parts()


@pytest.mark.parametrize(
    ("part", "begun"),
    [
        ("1-full", ["1-full"]),
        ("3-plan", [*BOTH, "3-plan"]),
        ("3-part-1", [*BOTH, "3-plan", "3-part-1"]),
    ],
    ids=["full", "planner", "subtask"],
)
async def test_who_rejects_a_part_is_not_asked_again(
    memory_runs: MemoryRuns, tmp_path: Path, part: str, begun: list[str]
) -> None:
    """A person who says no to an agent of a tier has said no to the run: no other one begins."""
    # ES-08
    log = str(tmp_path / "log")
    pays = [call("write", log=log, text="pay"), say("paid")]
    by_part: dict[str, dict[str, Script]] = {
        "1-full": {"coder": pays, "clerk": pays},
        "3-plan": {"planner": pays},
        "3-part-1": {"planner": [say('{"subtasks": ["pay"]}')], "hand": pays},
    }
    async with memory_runs.working(staffed(by_part[part], escalates=True)):
        run = await memory_runs.start("it", "pay them", domain="payments")
        payer = run.part(part)
        (request,) = await asked(payer)
        no = {"request_id": request.request_id, "decision": "reject", "approver": "alice"}
        await payer.signal("approval", {**no, "reason": "never pay them"})
        status, stop, parts = await ended(run)

    assert (status, stop.reason, stop.ended_by) == ("stopped", REVIEW, "alice")
    assert stop.detail == "rejected by alice: never pay them"
    assert (parts, lines(Path(log))) == (begun, [])


async def test_silence_in_a_tier_leads_to_the_next(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A review that nobody decides in time fails its tier: nobody has said no."""
    # FB-13
    pays = [call("write", log=str(tmp_path / "log"), text="pay"), say("paid")]
    app = staffed({"coder": pays, "clerk": [say("not paid")]})
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "pay them", domain="payments")
        await asked(run.part("1-full"))
        result = await run.result()

    assert (result.answer, [one.approach for one in result.attempts]) == (
        "not paid",
        ["full: coder"],
    )


async def test_who_aborts_a_part_ends_the_run(memory_runs: MemoryRuns) -> None:
    """A person who aborts the escalation of a tier's agent ends the run; no other tier begins."""
    # FB-13 BY-10
    async with memory_runs.working(paired(lambda _: LOST, escalates=True)):
        run = await memory_runs.start("it", "make a coat")
        coder = run.part("1-full")
        (request,) = await asked(coder)
        await coder.signal(
            "resolution",
            {"request_id": request.request_id, "action": "abort", "guidance": "never mind"},
        )
        status, stop, parts = await ended(run)

    assert isinstance(request, Escalation)
    assert (status, stop.reason) == ("stopped", request.reason)
    assert (stop.ended_by, stop.detail) == ("a person", f"{request.detail}; never mind")
    assert stop.next_safe_action == request.next_safe_action
    assert parts == ["1-full"]


async def test_what_is_blocked_in_a_tier_no_other_answers(memory_runs: MemoryRuns) -> None:
    """What a guardrail blocks of a tier's agent is blocked: nobody else is asked the same."""
    # GR-10 GR-12
    async with memory_runs.working(paired(lambda _: say("a blue coat"), guardrails=[not_blue])):
        run = await memory_runs.start("it", "make a coat")
        status, stop, parts = await ended(run)
        story = await run.story()

    assert (status, stop.reason, parts) == ("blocked", "it is blue", ["1-full"])
    assert recorded(story) == ["blocked: it is blue"]


async def test_an_error_in_a_tier_leads_to_the_next(memory_runs: MemoryRuns) -> None:
    """An agent that no model answers has failed its tier, and the next one begins."""
    # FB-13
    async with memory_runs.working(paired(lambda _: LOST)):
        run = await memory_runs.start("it", "make a coat")
        result = await run.result()
        parts = await run.parts()

    assert (result.answer, parts) == ("the clerk's", BOTH)
