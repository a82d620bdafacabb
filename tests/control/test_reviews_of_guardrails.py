"""People are asked by guardrails: without their approval an answer isn't out, nor a call made."""

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.guardrails import (
    GuardrailResult,
    Subject,
    judged_by,
    passed,
    review_approval,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import asked_next, decided, ended, guarded, looking, on_word, over
from tests.control.test_judges import judged
from tests.memory.runs import MemoryRuns
from tests.sample import lines


def improving(turn: ScriptTurn) -> Reply:
    return say(f"version {turn.number}")


async def test_an_answer_waits_for_its_review(memory_runs: MemoryRuns) -> None:
    """It isn't done without; who approves sees the answer, and completes it."""  # GR-27
    async with memory_runs.working(guarded(improving, review_approval())):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        status = await run.status()
        await run.approve(request.request_id, "dana")
        found = await over(run)

    assert request.kind == "review"
    assert (request.text, request.count) == ("version 1", 1)
    assert request.subject.startswith("guardrail:review_approval:")
    assert (status.status, status.answer) == ("waiting", None)
    assert (found.result.status, found.result.answer) == ("completed", "version 1")


async def test_what_is_rejected_is_tried_again_and_reviewed_anew(memory_runs: MemoryRuns) -> None:
    """The reviewer's reason binds the model; its next answer needs a review of its own."""
    # GR-27 GR-14
    async with memory_runs.working(guarded(improving, review_approval())):
        run = await memory_runs.start("it")
        (first,) = await run.asked()
        await decided(run, first, "reject", "too short")
        second = await asked_next(run, first)
        late = await decided(run, first, "approve")
        await run.approve(second.request_id, "dana")
        found = await over(run)

    assert second.kind == "review"
    assert second.text == "version 2"
    assert not late.accepted
    assert (found.result.status, found.result.answer) == ("completed", "version 2")
    assert [origin for origin, _ in found.told] == ["goal", "constraint", "constraint"]
    assert "too short" in found.told[2][1]


async def test_why_an_answer_is_rejected_is_a_persons_words(memory_runs: MemoryRuns) -> None:
    """Who watches such words looks at them before the model, and not at those of guardrails."""
    # GR-27 GR-01
    looks = on_word("on_words", "virus", "input", watches=("words",))
    async with memory_runs.working(guarded(improving, review_approval(name="virus"), looks)):
        run = await memory_runs.start("it")
        (first,) = await run.asked()
        await decided(run, first, "reject", "too short")
        second = await asked_next(run, first)
        await decided(run, second, "reject", "virus: do as I say")
        found = await over(run)

    assert (found.result.status, found.why) == ("blocked", "it says virus")
    assert found.result.steps == 2


async def test_always_rejected_ends_blocked(memory_runs: MemoryRuns) -> None:
    """After the bound nobody is asked again, and the reason says who rejected it and why."""
    # GR-27 GR-14
    async with memory_runs.working(guarded(improving, review_approval(), max_output_retries=0)):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, "reject", "not this way")
        found = await over(run)

    assert (found.result.status, found.result.answer) == ("blocked", None)
    assert "rejected by dana: not this way" in found.why


@pytest.mark.parametrize("layer", ["review", "output"])
async def test_nobody_decides_in_time(memory_runs: MemoryRuns, layer: str) -> None:
    """What nobody approved in time is not approved."""  # GR-27
    guardrail = (
        review_approval(on_trip="block")
        if layer == "review"
        else on_word("no_bad", "bad", "output", on_trip="ask")
    )
    app = guarded([say("bad")], guardrail, approval_timeout=timedelta(hours=1))
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer) == ("blocked", None)
    assert "nobody decided in time" in found.why


async def test_two_must_approve(memory_runs: MemoryRuns) -> None:
    """One person is not two, however often they say it."""  # GR-27
    async with memory_runs.working(guarded(improving, review_approval(count=2))):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        once = await decided(run, request, "approve")
        again = await decided(run, request, "approve")
        status = await run.status()
        await run.approve(request.request_id, "erin")
        found = await over(run)

    assert (once.accepted, again.accepted, status.status) == (True, False, "waiting")
    assert found.result.status == "completed"


async def test_two_reviews_of_one_answer(memory_runs: MemoryRuns) -> None:
    """Each kind of review is asked for, one after the other."""  # GR-27 GR-15
    app = guarded(
        improving, review_approval(name="legal_review"), review_approval(name="style_review")
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (first,) = await run.asked()
        await run.approve(first.request_id)
        second = await asked_next(run, first)
        status = await run.status()
        await run.approve(second.request_id)
        found = await over(run)

    assert first.reason.startswith("legal_review")
    assert second.reason.startswith("style_review")
    assert status.status == "waiting"
    assert found.result.status == "completed"


@pytest.mark.parametrize("same", [True, False], ids=["one guardrail", "another guardrail"])
async def test_what_came_up_while_somebody_thought_is_asked_too(
    memory_runs: MemoryRuns, tmp_path: Path, *, same: bool
) -> None:
    """An approval counts for the objections that were read: what nobody was shown still holds."""
    # GR-15 GR-28
    log, listed = tmp_path / "log", [False]

    def large(_: Subject) -> GuardrailResult:
        return tripped("on the list" if same and listed[0] else "a large amount")

    def sanctions(_: Subject) -> GuardrailResult:
        return tripped("on the list") if listed[0] and not same else passed()

    app = guarded(
        [call("write", log=str(log), text="x"), say("done")],
        looking("large", "pre_execution", large, on_trip="ask"),
        looking("sanctions", "pre_execution", sanctions, on_trip="ask"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (first,) = await run.asked()
        listed[0] = True
        await decided(run, first, "approve")
        second = await asked_next(run, first)
        before = lines(log)
        await decided(run, second, "approve")
        found = await over(run)

    assert (first.reason, second.reason, before) == ("a large amount", "on the list", [])
    assert (found.result.status, lines(log)) == ("completed", ["begin x", "end x"])


async def test_a_judge_of_a_call_is_heard_once(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """It words the same otherwise each time, and would be asked about for ever."""
    # GR-27
    log, asked = tmp_path / "log", [0]

    def critic(_: ScriptTurn) -> Reply:
        asked[0] += 1
        return say(f'{{"tripwire_triggered": true, "reason": "it is rude, {asked[0]}"}}')

    def script(turn: ScriptTurn) -> Reply:
        wrote = turn.transcript[-1].kind == "tool"
        return say("done") if wrote else call("write", log=str(log), text="x")

    app = judged(script, critic, judged_by("critic", "pre_execution", on_trip="ask"))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, "approve")
        found = await over(run)

    assert (request.reason, asked) == ("it is rude, 1", [1])
    assert (found.result.status, lines(log)) == ("completed", ["begin x", "end x"])
