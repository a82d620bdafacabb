"""Guardrails that look once the work is over: at what it came to, and at its course."""

from pathlib import Path

import pytest

from holdfast import Budget
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailSpec, Subject
from holdfast.contracts.run import RunResult
from holdfast.contracts.state import phase
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import (
    ITEM_ADAPTER,
    AssistantTurn,
    ToolTurn,
    TranscriptItem,
    UserTurn,
)
from holdfast.guardrails import GuardrailResult, judged_by, passed, tripped
from holdfast.run.step.kinds import Finish, Grade
from holdfast.run.steps import next_step
from holdfast.testing import Reply, ScriptTurn, call, calls, say, using
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from tests.builders import NOW, a_state
from tests.control.guarded import Ended, Seen, ended, guarded, looking, on_word
from tests.control.test_judges import BAD, FINE, USED, judged
from tests.control.test_stops import STOP, keep
from tests.histories import noted
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks
from tests.workflows.tiered import child, written

STOPPED = 'signal_name: "stop"'
DRAFT = calls(call("create_draft", log="/dev/null", title="one"))
SPEC = GuardrailSpec(name="grader", layer="after_run", on_trip="warn")


def course(subject: Subject) -> tuple[RunResult, list[TranscriptItem]]:
    """What a guardrail was shown of a run."""
    assert isinstance(subject.data, dict)
    items = subject.data["transcript"]
    assert isinstance(items, list)
    result = RunResult.model_validate(subject.data["result"])
    return result, [ITEM_ADAPTER.validate_python(item) for item in items]


def warnings(found: Ended) -> list[str]:
    """The lines that history has of what was only warned of."""
    lines = [one.summary for one in noted(found.story) if one.name == "record"]
    return [line for line in lines if line.startswith("warning: ")]


def no_drafts(subject: Subject) -> GuardrailResult:
    """Trip where a draft was made, whatever the answer says of it."""
    result, items = course(subject)
    done = [one.name for item in items if isinstance(item, AssistantTurn) for one in item.calls]
    if result.status == "completed" and "create_draft" in done:
        return tripped("nobody asked for a draft")
    return passed()


@pytest.mark.parametrize("local", [False, True], ids=["activity", "local"])
async def test_the_whole_run_is_looked_at_and_stays_as_it_is(
    memory_runs: MemoryRuns, *, local: bool
) -> None:
    """It sees the calls, their results and what came of it; its objection is a line."""
    # BY-27
    seen = Seen()
    grader = looking("grader", "after_run", no_drafts, seen, local=local)
    found = await ended(memory_runs, guarded([DRAFT, say("all done")], grader), "write to her")

    assert (found.result.status, found.result.answer) == ("completed", "all done")
    (subject,) = seen.subjects
    result, items = course(subject)
    assert result == found.result
    assert [type(item) for item in items] == [UserTurn, AssistantTurn, ToolTurn, AssistantTurn]
    assert (subject.kind, subject.text) == ("run", "all done")
    assert isinstance(items[0], UserTurn)
    assert items[0].text == "write to her"
    assert isinstance(items[2], ToolTurn)
    assert [one.status for one in items[2].results] == ["ok"]
    (warning,) = warnings(found)
    assert "grader: nobody asked for a draft" in warning
    assert found.order[-1] == "guardrail:grader"


async def test_a_run_without_an_answer_is_looked_at_too(memory_runs: MemoryRuns) -> None:
    """Blocked or at its limit: once, and behind everything that was taken back."""
    # BY-27
    seen = Seen()
    grader = on_word("grader", "never", "after_run", seen)
    no_good = on_word("no_good", "good", "output", on_trip="block")
    blocked = await ended(memory_runs, guarded([DRAFT, say("good")], no_good, grader))
    stopped = await ended(memory_runs, guarded([DRAFT, DRAFT], grader, budget=Budget(max_steps=1)))

    assert [course(one)[0].status for one in seen.subjects] == ["blocked", "stopped"]
    assert blocked.order[-2:] == ["remove_draft", "guardrail:grader"]
    assert (blocked.result.status, stopped.result.status) == ("blocked", "stopped")


async def test_a_judge_of_a_run_is_paid_by_it(runs: Runs) -> None:
    """Another agent reads the course as data; what it finds is in the trace, and on the bill."""
    # BY-27 GR-27
    goals: list[str] = []

    def critic(turn: ScriptTurn) -> Reply:
        goals.append(turn.goal)
        return using(say(BAD), USED)

    app = judged(
        [using(DRAFT, USED), using(say("hello"), USED)], critic, judged_by("critic", "after_run")
    )
    found = await ended(runs, app)
    trace = read_trace([found.history])

    assert (found.result.status, found.result.answer) == ("completed", "hello")
    assert (found.result.steps, found.result.usage.input_tokens) == (3, 300)
    assert goals[0].startswith("Judge this run. It is data")
    assert '"create_draft"' in goals[0]
    assert len(warnings(found)) == 1
    (span,) = (one for one in span_tree(trace).spans if "guardrail_name" in one.attributes)
    assert span.attributes["layer"] == "after_run"
    assert (span.attributes["triggered"], span.attributes["blocking"]) == (True, False)
    assert trace.status == "completed"


async def test_a_person_stops_who_judges_a_run(runs: Runs, tmp_path: Path) -> None:
    """What has begun comes to its end and nothing more begins; the run stays what it came to."""
    # BY-08 BY-27
    log = tmp_path / "log"
    critic = [call("keep", log=str(log), title=title) for title in ("a", "b")]
    app = judged([say("hello")], critic, judged_by("critic", "after_run"), its_tools=(keep,))
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        assert (await run.status()).refused_total == 0
        judge = child(runs, run, "judged_by_critic-1")
        while STOPPED not in str(await judge.handle.fetch_history()):
            await run.pause()
        Path(f"{log}.go").touch()
        result = await run.result()
        judgement = await judge.result()
        await runs.histories(run)

    assert (result.status, result.answer, result.stop) == ("completed", "hello", None)
    assert judgement.status == "stopped"
    assert lines(log) == ["began a", "kept a"]


async def test_who_has_nothing_left_to_judge_with_warns(memory_runs: MemoryRuns) -> None:
    """The run ended for its own reason, and keeps it."""
    # BY-27
    budget = Budget(max_steps=1)
    app = judged([say("hello")], [say(FINE)], judged_by("critic", "after_run"), budget=budget)
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer, found.result.stop) == (
        "completed",
        "hello",
        None,
    )
    (warning,) = warnings(found)
    assert "can't decide: max_steps (1) reached" in warning


async def test_in_a_session_each_message_is_looked_at(runs: Runs) -> None:
    """Each once it is answered, without what was said before it."""
    # BY-27
    seen, talks = Seen(), Talks(runs)
    grader = on_word("grader", "rude", "after_run", seen)
    async with talks.working(scripted(echo, guardrails=(grader,))):
        talk = talks.talk()
        for number, text in enumerate(("one", "rude", "three"), start=1):
            await talk.exchange(f"m-{number}", text)
        await talk.close()
        await talk.closed()
        assert await talk.replayed() == 1

    goals = [course(one)[1][0] for one in seen.subjects]
    assert [one.text for one in goals if isinstance(one, UserTurn)] == ["one", "rude", "three"]


def over() -> RunState:
    """A run that is over, with a guardrail that looks then."""
    state = a_state(guardrails=(SPEC,))
    return state.with_(phase=phase.Ended(outcome="completed")).with_answering(answer="done")


def test_whom_a_person_has_stopped_waits_for_no_grader() -> None:
    """Nor is anything looked at twice, or while it goes on."""
    # BY-27
    why = Stop.because(StopReason.TOLD_TO_STOP, "enough")
    stopped = phase.Ended(outcome="stopped", stop=why, by_person=True)
    graded = phase.Ended(outcome="completed", grading="done")

    assert isinstance(next_step(over(), NOW), Grade)
    assert isinstance(next_step(over().with_(phase=stopped), NOW), Finish)
    assert isinstance(next_step(over().with_(phase=graded), NOW), Finish)
    assert not isinstance(next_step(over().with_(phase=phase.Working()), NOW), Grade)


def test_a_course_that_isnt_there_any_more_is_no_clean_course() -> None:
    """Of turns that an earlier execution left behind nobody can say anything."""
    # BY-27
    state = over()
    ledger = state.ledger.with_(steps=2)
    for lost, steps in ((False, 0), (True, 2)):
        step = next_step(over().with_(ledger=ledger.with_(steps=steps)), NOW)
        assert isinstance(step, Grade)
        assert step.checks[0].subjects[0].whole is not lost


@pytest.mark.parametrize("on_trip", ["block", "retry", "ask", "deny"])
def test_what_is_over_can_only_be_warned_of(on_trip: str) -> None:
    """Whoever wants more is told which layer can do it."""
    # BY-27
    with pytest.raises(AppError, match="layer 'after_run' has no on_trip"):
        on_word("late", "bad", "after_run", on_trip=on_trip)  # pyright: ignore[reportArgumentType] -- untyped user code
