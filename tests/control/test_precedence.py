"""What comes first when several causes hold at once (docs/control.md)."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Budget
from holdfast.contracts.budget import Ledger
from holdfast.contracts.control import Candidate, Checkpoint, Gate, Triggers
from holdfast.contracts.guardrails import GuardrailSpec, GuardrailVerdict, Signals
from holdfast.contracts.project import ProjectContext
from holdfast.contracts.state.phase import Ended, Stopping, Working
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.usage import CallUsage
from holdfast.run import gates, steps
from holdfast.run.steps import (
    AskForReview,
    Authorize,
    AwaitPeople,
    AwaitResume,
    CallModel,
    Compensate,
    ContinueAsNew,
    Finish,
    Guard,
    Halt,
    MarkCheckpoint,
    OpenProject,
    Pause,
    Release,
    RollBack,
    RunTools,
    Step,
)
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.builders import (
    NOW,
    a_call,
    a_state,
    allowed,
    an_escalation,
    asked_for,
    ruled_upon,
)
from tests.control.controlled import (
    asked_to_resolve,
    broken,
    chained,
    recorded,
    replayed,
    resolve,
    used,
    why,
)
from tests.control.guarded import guarded, on_word, order
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines

LONG_AFTER = NOW + timedelta(hours=2)
CALL = a_call("write", call_id="c1")
ATE = CallUsage(input_tokens=90)


def spec(name: str, layer: str, on_trip: str, **more: object) -> GuardrailSpec:
    fields = {"name": name, "layer": layer, "on_trip": on_trip, **more}
    return GuardrailSpec.model_validate(fields)


GUARDRAILS = (
    spec("words", "input", "block"),
    spec("calls", "pre_execution", "deny"),
    spec("answer", "output", "retry"),
    spec("effect", "post_action", "retry"),
    spec("people", "post_action", "retry", review={}),
)
CHECKS = (spec("check", "output", "retry"),)
TRIPPED = GuardrailVerdict(guardrail="answer", subject="s", tripwire_triggered=True, reason="no")

TOLD_TO_STOP = Stop.because(StopReason.TOLD_TO_STOP, "enough")


def everything() -> RunState:
    """A run for whose every step there is a cause."""
    state = a_state(
        run={"domain": "payments"},
        budget={"max_steps": 1, "max_tokens": 100, "max_wall_time": 60},
        escalates=True,
        triggers={},
        fallback={},
        guardrails=GUARDRAILS,
        acceptance=CHECKS,
        backtracking={},
        project={"folder": "somewhere"},
    )
    return (
        state.with_(
            phase=Ended(outcome="stopped", stop=TOLD_TO_STOP, by_person=True),
            suspended=True,
            calls=asked_for(CALL).calls,
            ledger=Ledger(steps=1, usage=ATE, last_call=ATE),
        )
        .with_oversight(requests=(an_escalation(),))
        .with_answering(tripped=TRIPPED, candidate=Candidate(text="done"))
        .with_approaches(dead_end="it leads nowhere")
        .with_conversation(sent=state.conversation.head)
    )


def under(**limits: object) -> Callable[[RunState], RunState]:
    def changed(state: RunState) -> RunState:
        budget = state.agent.budget.model_copy(update=limits)
        agent = state.agent.model_copy(update={"budget": budget})
        return state.model_copy(update={"agent": agent})

    return changed


def ruled(state: RunState) -> RunState:
    return ruled_upon(state, (allowed(CALL),))


def looked_at(state: RunState) -> RunState:
    calls = tuple(one.with_(guarded=one.reading) for one in state.calls)
    return state.model_copy(update={"calls": calls})


TAKEN_AWAY: tuple[tuple[Callable[[RunState], RunState], type[Step]], ...] = (
    (lambda state: state, Finish),
    (lambda state: state.with_(phase=Stopping(stop=TOLD_TO_STOP)), Halt),
    (lambda state: state.with_(phase=Working()), AwaitResume),
    (lambda state: state.with_(suspended=False), AwaitPeople),
    (lambda state: state.with_oversight(requests=()), Compensate),
    (lambda state: state.with_answering(tripped=None), RollBack),
    (lambda state: state.with_approaches(dead_end=""), Halt),
    (under(max_wall_time=None), Authorize),
    (lambda state: under(max_wall_time=60)(ruled(state)), Halt),
    (under(max_wall_time=None), AskForReview),
    (lambda state: state.with_oversight(reviewed=("domain:payments",)), Guard),
    (looked_at, RunTools),
    (lambda state: state.with_(calls=()), Guard),
    (lambda state: state.with_answering(candidate=None), Guard),
    (lambda state: state.with_guarding(guarded=1), Pause),
    (lambda state: state.with_oversight(acknowledged=("tokens:100",)), Halt),
    (under(max_steps=20), Halt),
    (under(max_tokens=1000), ContinueAsNew),
)
"""Each takes the cause of the step before it away, and so another step comes first."""


def test_what_comes_first() -> None:
    """Of all causes the first counts; when it is gone the next one does, and none is forgotten."""
    state = everything()

    for number, (change, expected) in enumerate(TAKEN_AWAY):
        state = change(state)
        step = steps.next_step(state, LONG_AFTER, history_is_long=True)
        assert isinstance(step, expected), number


def test_what_is_prepared_before_a_model_is_asked() -> None:
    """The project is opened, the checkpoint marked, an approach planned, and then carried out."""
    state = a_state(backtracking={}, project={"folder": "somewhere"})

    assert steps.next_step(state, NOW) == OpenProject()
    state = state.model_copy(update={"project": ProjectContext()})
    assert steps.next_step(state, NOW) == MarkCheckpoint()
    state = state.with_approaches(checkpoint=Checkpoint(items=1, model_index=0))
    assert steps.next_step(state, NOW) == CallModel("scripted:it", "plan")
    state = state.with_approaches(current="first this")
    assert steps.next_step(state, NOW) == CallModel("scripted:it", "turn")


def test_an_answer_passes_its_gates_in_order() -> None:
    """Checks send it back before guardrails judge it, people come last, then how sure one is."""
    state = everything().with_answering(candidate=Candidate(text="done"))
    unsure = Signals(coverage=0)
    state = state.with_(ledger=state.ledger.model_copy(update={"retries": 9})).with_answering(
        signals=unsure
    )
    passed: list[Gate] = []

    while (gate := gates.next_gate(state)) is not None:
        passed.append(gate)
        cleared = Candidate(text="done", cleared=tuple(passed))
        state = state.with_answering(candidate=cleared)

    assert passed == ["acceptance", "output", "post_action", "review", "confidence"]


@pytest.mark.parametrize(
    ("worked", "reason"),
    [
        (Ledger(steps=1, usage=ATE), "max_steps (1) reached"),
        (Ledger(usage=CallUsage(input_tokens=100)), "max_tokens (100) reached"),
        (Ledger(usage=ATE, last_call=ATE), "max_wall_time (60 s) reached"),
    ],
    ids=["steps", "tokens", "time before an estimate"],
)
def test_a_limit_that_is_reached_comes_before_an_estimate(worked: Ledger, reason: str) -> None:
    """What is over is named before what would be over; steps first, time last."""  # T-38
    state = a_state(
        budget={"max_steps": 1, "max_tokens": 100, "max_wall_time": 60}, triggers={}
    ).model_copy(update={"ledger": worked})

    step = steps.next_step(state, LONG_AFTER)

    assert isinstance(step, Halt)
    assert step.stop.reason == reason


def test_a_released_answer_is_not_held_by_a_limit() -> None:
    """An answer that has passed counts, although no model could be asked any more."""
    state = (
        a_state(budget={"max_steps": 1})
        .with_(ledger=Ledger(steps=1))
        .with_answering(candidate=Candidate(text="done"))
    )

    assert steps.next_step(state, NOW) == Release()


async def test_a_person_is_asked_before_an_estimate_stops_the_run(memory_runs: MemoryRuns) -> None:
    """Above 80 % the run pauses, even if the next call would break the limit."""
    # ES-13 T-38
    turns = [used(call("look", place="x"), input_tokens=90), say("done")]
    app = chained(turns, escalates=True, budget=Budget(max_tokens=100))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await asked_to_resolve(run)
        await resolve(run, "extend", budget={"max_tokens": 1000})
        result = await run.result()
        await memory_runs.stories(run)

    assert request.reason == "Approaching token budget limit"
    assert (result.status, result.answer) == ("completed", "done")


async def test_what_was_done_is_taken_back_before_a_limit_stops_the_run(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """An answer is blocked at the last step: first the run compensates, then it stops."""
    log = str(tmp_path / "log")
    app = guarded(
        [call("create_draft", log=log, title="a"), say("a secret")],
        on_word("no_secret", "secret", "output"),
        budget=Budget(max_steps=2),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert (result.status, why(result).reason) == ("stopped", "max_steps (2) reached")
    assert result.answer is None
    assert order(history)[-2:] == ["guardrail:no_secret", "remove_draft"]
    assert lines(log) == ["created a", "removed a"]


async def test_an_aborted_run_takes_no_answer_any_more(memory_runs: MemoryRuns) -> None:
    """Who ends a run while its model works has ended it, whatever the model says then."""

    # ES-12
    def answer(turn: ScriptTurn) -> Reply:
        done = used(say("done"), input_tokens=5)
        return broken("overloaded", wait=2) if turn.attempt == 1 else done

    triggers = Triggers(expected_time=0.1)
    async with memory_runs.working(chained(answer, escalates=True, triggers=triggers)):
        run = await memory_runs.start("it")
        await asked_to_resolve(run)
        await resolve(run, "abort")
        result = await run.result()
        await memory_runs.stories(run)

    assert (result.status, result.answer) == ("stopped", None)
    assert why(result).reason == "Task taking much longer than expected"
    assert (result.steps, result.usage.input_tokens) == (1, 5)


@pytest.mark.parametrize("suspended", [False, True], ids=["waiting", "suspended"])
async def test_what_people_take_is_no_time_of_the_run(
    skipping_runs: Runs, tmp_path: Path, *, suspended: bool
) -> None:
    """A day that a run waited for people, or was suspended, makes it no slower."""  # T-19 ES-12
    log = str(tmp_path / "log")
    script = [call("send", log=log, text="hi"), say("done")]
    app = chained(script, escalates=True, triggers=Triggers(expected_time=10))
    async with skipping_runs.working(app):
        run = await skipping_runs.start("it")
        (request,) = await run.asked()
        if suspended:
            await run.signal("suspend", {})
            await run.approve(request.request_id)
        await skipping_runs.pass_time(86_400)
        if suspended:
            await run.signal("resume", {})
        else:
            await run.approve(request.request_id)
        result = await run.result()
        histories = await replayed(skipping_runs, run)

    assert result.answer == "done"
    assert [line for line in recorded(*histories) if line.startswith("paused")] == []
