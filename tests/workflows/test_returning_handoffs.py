"""Handoffs whose answer comes back: the receiver works apart, and the sender goes on."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast import Agent, App, Budget, Handoff, Tool
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.errors import AppError
from holdfast.contracts.journal import HandoffRecord
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import Guardrail
from holdfast.run.delegation.handoffs import add_constraints
from holdfast.run.limits.plans import PLAN_FIRST
from holdfast.run.transcript import append_items
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from holdfast.trace.reader import read_trace
from tests.builders import a_state
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import IMPATIENT, TOOLS, lines
from tests.workflows.delegating import holding
from tests.workflows.test_handoffs import TRANSFER, bureau, later, load_context, load_nothing
from tests.workflows.test_permissions import policy
from tests.workflows.test_relayed_requests import relayed
from tests.workflows.tiered import child, recorded, written


def office(
    triage: Script,
    billing: Script,
    *,
    prepare: Tool | None = None,
    timeout_seconds: float | None = 600,
    theirs: Sequence[Tool] = TOOLS,
    rules: Path | None = None,
    guardrails: Sequence[Guardrail] = (),
) -> App:
    """An app whose agent `triage` has `billing` answer it."""
    billed = Handoff(
        "billing",
        when="money questions",
        prepare=prepare,
        return_expected=True,
        timeout_seconds=timeout_seconds,
    )
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:triage"],
                settings=IMPATIENT,
                tools=TOOLS,
                handoffs=[billed],
                budget=Budget(max_steps=20),
                guardrails=guardrails,
            ),
            Agent(
                name="billing",
                instructions="Answer what is about money.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                tools=theirs,
            ),
        ],
        scripts={"triage": triage, "billing": billing},
        policy=rules,
    )


async def test_the_answer_of_the_receiver_is_the_result_of_the_call(
    memory_runs: MemoryRuns,
) -> None:
    """The receiver knows the goal and what was prepared, and no word of the conversation."""
    # HO-09 HO-05
    app = office([TRANSFER, say("Done.")], [say("It is charged.")], prepare=load_context)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "a goal of ours")
        result = await run.result()
        success, status = await run.success(), await run.status()
        first = (await run.part("1-billing").transcript()).items[0]
        await run.story()

    assert (result.answer, result.steps, status.agent) == ("Done.", 3, "triage")
    assert (success.name, success.data) == ("transfer_to_billing", {"answer": "It is charged."})
    assert isinstance(first, UserTurn)
    assert "What is to be done: charge order 7" in first.text
    assert "the prices for: charge order 7" in first.text
    assert "a goal of ours" not in first.text


@pytest.mark.parametrize("returns", [True, False])
async def test_history_has_the_record_before_the_receiver_begins(
    runs: Runs, *, returns: bool
) -> None:
    """Who hands over to whom, when, in which run, and for how long an answer is awaited."""
    # HO-06 HO-10
    said = say("It is charged.")
    app = office([TRANSFER, say("Done.")], [said]) if returns else bureau([TRANSFER], later(said))
    async with runs.working(app):
        run = await runs.start("triage")
        await run.result()
        story = await run.story()
        trace = read_trace(await runs.histories(run))
        parts, (handed,) = await run.parts(), await run.results()

    (record,) = trace.handoffs
    assert trace.ended_at is not None
    assert trace.started_at < record.timestamp < trace.ended_at
    assert record == HandoffRecord(
        handoff_id=f"{run.handle.first_execution_run_id}/{handed.call_id}",
        from_agent="triage",
        to_agent="billing",
        timestamp=record.timestamp,
        task_id=run.handle.id,
        goal="charge order 7",
        context_passed=("goal",) if returns else ("goal", "transcript"),
        return_expected=returns,
        timeout_seconds=600 if returns else None,
    )
    assert parts == (["1-billing"] if returns else [])  # of the run that the record names
    assert [line for line in recorded(story) if line.startswith("handoff")] == [
        "handoff: triage → billing: charge order 7"
    ]


async def test_a_constraint_of_the_sender_reaches_the_receiver(memory_runs: MemoryRuns) -> None:
    """What a guardrail had the sender keep to, the receiver reads beside the goal."""
    # HO-05
    read = list[str]()

    def billing(turn: ScriptTurn) -> Reply:
        read.append(turn.goal)
        return say("It is charged.")

    triage = [say("bad"), TRANSFER, say("Done.")]
    never = on_word("no_bad", "bad", "output")
    app = office(triage, billing, prepare=load_context, guardrails=[never])
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "a goal of ours")
        result = await run.result()
        await run.story()

    assert result.answer == "Done."
    (goal,) = read
    for told in ("What is to be done: charge order 7", "in euros", "it says bad; never say bad"):
        assert told in goal
    assert "a goal of ours" not in goal


def test_that_a_sender_had_to_plan_is_no_constraint() -> None:
    """Who works under an approved plan plans no more; all else holds."""
    # HO-05
    kept = [UserTurn(text=one, origin="constraint") for one in ("in euros", "no names")]
    state = append_items(a_state("a goal"), PLAN_FIRST, *kept)

    words, given = add_constraints(state, "do it", ("goal", "constraints"))

    assert words.partition("\n\n")[0] == "do it"
    assert [line for line in words.splitlines() if line.startswith("- ")] == [
        *("- in euros", "- no names")
    ]
    assert given == ("goal", "constraints")
    assert add_constraints(append_items(a_state("a goal"), PLAN_FIRST), "do it", ()) == (
        "do it",
        (),
    )


async def test_what_could_not_be_prepared_is_the_result(memory_runs: MemoryRuns) -> None:
    """No receiver begins where something is missing, and the sender goes on."""
    app = office([TRANSFER, say("Nobody can help.")], (), prepare=load_nothing)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        result = await run.result()
        failure, parts = await run.failure(), await run.parts()

    assert (result.answer, parts) == ("Nobody can help.", [])
    assert "nothing is known of charge order 7" in failure.reason


async def test_who_does_not_come_back_in_time_is_stopped(memory_runs: MemoryRuns) -> None:
    """The sender gets a timeout once the receiver has ended: it does nothing any more."""
    # HO-10 T-50
    waits: Script = [call("ask_user", question="Which one?"), say("It is charged.")]
    async with memory_runs.working(office([TRANSFER, say("Too late.")], waits)):
        run = await memory_runs.start("triage")
        await relayed(run)
        await memory_runs.pass_time(590)
        waited = len(await run.pending())
        await memory_runs.pass_time(11)
        result = await run.result()
        failure = await run.failure()
        end = await run.part("1-billing").result()
        pending = await run.pending()
        await run.story()
        lines_left = recorded(await run.part("1-billing").story())

    assert result.answer == "Too late."
    assert end.stop is not None
    assert (end.stop.reason, end.stop.detail) == (
        "the time that it was given is over",
        "600 s are over",
    )
    assert "stopped: the time that it was given is over" in lines_left
    assert (failure.status, failure.type) == ("error", "timeout")
    assert failure.reason == "billing didn't come back within 600 s and was stopped"
    assert (waited, end.status, pending) == (1, "stopped", ())


async def test_a_write_under_way_comes_to_its_end_before_the_sender_goes_on(
    runs: Runs, tmp_path: Path
) -> None:
    """What was begun in time is known, or said to be unknown: nothing acts behind the sender."""
    # HO-10 T-50
    log = tmp_path / "log"
    app = office([TRANSFER, say("Too late.")], holding(log), timeout_seconds=1)
    async with runs.working(app):
        run = await runs.start("triage")
        await written(log)
        part = child(runs, run, "1-billing")
        end = await part.result()
        before = len(lines(log))
        result = await run.result()
        await run.story()

    assert (end.status, result.answer) == ("stopped", "Too late.")
    assert len(lines(log)) == before


async def test_two_of_one_turn_are_answered_each(memory_runs: MemoryRuns) -> None:
    """Each call has its own result, beside other calls."""
    both = calls(TRANSFER, call("add", a=1, b=2), call("transfer_to_billing", goal="refund 8"))
    app = office([both, say("Done.")], lambda turn: say(f"done: {turn.goal[-1]}"))
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        found = await run.results()

    assert [one.data for one in found if isinstance(one, ToolSuccess)] == [
        {"answer": "done: 7"},
        3,
        {"answer": "done: 8"},
    ]


async def test_a_policy_rules_on_it_as_on_a_call(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A rule that names the tool decides whether the receiver begins at all."""
    rules = policy(tmp_path, "{id: no, effect: forbid, match: {tools: [transfer_to_billing]}}")
    async with memory_runs.working(office([TRANSFER, say("Well.")], (), rules=rules)):
        run = await memory_runs.start("triage")
        await run.result()
        (failure,) = await run.results()
        parts = await run.parts()

    assert isinstance(failure, ToolFailure)
    assert (failure.status, parts) == ("denied", [])


@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    """An app says at its start what of a handoff can't be."""
    with pytest.raises(AppError, match="timeout_seconds is more than 0"):
        office((), (), timeout_seconds=seconds)


def test_a_time_is_for_an_answer_that_comes_back() -> None:
    """Whoever goes on in the sender's place has nobody waiting."""
    with pytest.raises(AppError, match="goes with return_expected"):
        App(
            agents=[
                Agent(
                    name="a",
                    instructions="x",
                    models=["scripted:a"],
                    handoffs=[Handoff("b", when="always", timeout_seconds=5)],
                ),
                Agent(name="b", instructions="x", models=["scripted:a"]),
            ],
            scripts={"a": ()},
        )
