"""What a part of a run did is known to the whole, and to whoever comes next: nobody repeats it."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from holdfast import App, Risk, Tiers, Tool, tool
from holdfast.contracts.approvals import Request
from holdfast.contracts.calls import ToolFailure, fingerprint_effect
from holdfast.contracts.effects import Effect, KnownEffect
from holdfast.contracts.errors import ModelRejected
from holdfast.run import parts, tool_results
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, fail, say
from holdfast.workflows import failures
from holdfast.workflows.agent_run import AgentRun
from tests.builders import a_state
from tests.control.guarded import asked_next, decided, guarded
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import ask_user, lines, note, scripted, told
from tests.workflows.tiered import asked, child, staffed, written

TWO = Tiers(full="coder", simplified="clerk")
PLANNED = Tiers.model_validate(
    {"full": "coder", "decomposed": {"planner": "planner", "worker": "hand", "most": 5}}
)
BROKEN = fail(ModelRejected("no wool", kind="auth"))


class Clerk:
    """Does the same as who came before, and keeps what it was told and what became of it."""

    def __init__(self, again: Reply) -> None:
        self.again = again
        self.goals: list[str] = []
        self.refused: list[ToolFailure] = []

    def __call__(self, turn: ScriptTurn) -> Reply:
        self.goals.append(turn.goal)
        self.refused += [one for one in turn.results if isinstance(one, ToolFailure)]
        return say("done") if turn.results else self.again


@pytest.mark.parametrize(
    ("tool", "outcome", "after"),
    [("write", "done", ["begin x", "end x"]), ("write_slowly", "unknown", ["written"])],
)
async def test_the_next_tier_repeats_no_write(
    memory_runs: MemoryRuns, tmp_path: Path, tool: str, outcome: str, after: list[str]
) -> None:
    """It is told what was done, or may have been, and however it asks for it, it is refused."""
    # BY-11 NR-06
    log = tmp_path / "log"
    arguments = {"log": str(log), "text": "x"} if tool == "write" else {"log": str(log)}
    clerk = Clerk(call(tool, **arguments))
    app = staffed({"coder": [call(tool, **arguments), BROKEN], "clerk": clerk}, tiers=TWO)
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "write it")
        result = await run.result()
        await run.story()

    assert result.answer == "done"
    assert lines(log) == after
    (refused,) = clerk.refused
    assert (refused.status, refused.type) == ("denied", "non_idempotent_retry_blocked")
    assert f"1-full: {tool}(" in clerk.goals[0]
    assert "the same call is refused" in clerk.goals[0]
    kept = result.effects if outcome == "done" else result.unresolved
    whole = arguments if tool == "write" else {**arguments, "place": "here"}
    assert [(one.tool, one.arguments, one.outcome) for one in kept] == [(tool, whole, outcome)]
    assert [one.part for one in kept] == ["1-full"]


async def test_a_tier_that_is_resumed_goes_on(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Only what failed is done again after "resume": no other tier, no plan, no finished part."""
    # FB-15
    log = tmp_path / "log"

    def hand(turn: ScriptTurn) -> Reply:
        part = turn.goal.splitlines()[1]
        if part == "sew" and "with the red thread" not in turn.goal:
            return BROKEN
        if not turn.results:
            return call("write", log=str(log), text=part)
        return say(f"{part}: {turn.results[-1].status}")

    app = staffed(
        {"planner": [say('{"subtasks": ["cut", "sew", "iron"]}')], "hand": hand},
        tiers=PLANNED,
        escalates=True,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "make a coat")
        (request,) = await run.asked()
        before = sorted(lines(log))
        await run.signal(
            "resolution",
            {
                "request_id": request.request_id,
                "action": "resume",
                "guidance": "with the red thread",
            },
        )
        result = await run.result()
        parts = await run.parts()
        await run.story()

    assert before == ["begin cut", "begin iron", "end cut", "end iron"]
    assert lines(log)[4:] == ["begin sew", "end sew"]
    assert parts == [
        *("1-full", "2-plan", "2-part-1", "2-part-2", "2-part-3"),
        "3-part-2",
    ]
    assert result.answer == "1. cut\n\ncut: ok\n\n2. sew\n\nsew: ok\n\n3. iron\n\niron: ok"


async def test_a_part_that_is_lost_is_reported(runs: Runs, tmp_path: Path) -> None:
    """Nobody knows what a part did that was ended from outside, and the result says so."""
    log = tmp_path / "log"
    async with runs.working(staffed({"coder": [call("hold", log=str(log))]}, tiers=TWO)):
        run = await runs.start("it")
        await written(log)
        await child(runs, run, "1-full").handle.terminate("by hand")
        Path(f"{log}.go").touch()
        result = await run.result()

    assert [one.summary for one in result.unresolved] == [
        "1-full: whatever coder did, whose run ended without a result"
    ]


def test_a_part_that_fails_as_one_that_never_began_has_begun() -> None:
    """An activity's error that says "the input can't be used" is no word about the part's past."""
    # NR-06
    of_activity = ApplicationError("it can't be used", type="InvalidInput", non_retryable=True)

    assert failures.is_start_refusal(failures.build_start_refusal("it can't be used"))
    assert not failures.is_start_refusal(of_activity)


@pytest.mark.parametrize("end", ["cancel", "terminate"])
async def test_after_a_lost_part_a_person_is_asked(runs: Runs, tmp_path: Path, end: str) -> None:
    """Nobody knows what it wrote, so who is resumed writes nothing that nobody approved."""
    # BY-11 NR-06
    log, held = tmp_path / "log", tmp_path / "held"

    def hand(turn: ScriptTurn) -> Reply:
        if not turn.results:
            return call("write", log=str(log), text="x")
        if "whatever hand did" not in turn.goal:
            return call("hold", log=str(held))
        return say(f"{turn.results[-1].status}")

    planner = [say('{"subtasks": ["cut"]}')]
    app = staffed({"planner": planner, "hand": hand}, tiers=PLANNED, escalates=True)
    async with runs.working(app):
        run = await runs.start("it")
        await written(held)
        lost = child(runs, run, "2-part-1").handle
        await (lost.cancel() if end == "cancel" else lost.terminate())
        Path(f"{held}.go").touch()
        (escalation,) = await run.asked()
        more: dict[str, JsonValue] = {"action": "extend", "budget": {"max_steps": 40}}
        await run.signal("resolution", {"request_id": escalation.request_id, **more})
        again = child(runs, run, "3-part-1")
        (request,) = await asked(again)
        no = {"request_id": request.request_id, "decision": "reject", "approver": "alice"}
        await again.signal("approval", {**no, "reason": "it is written"})
        result = await run.result()
        history = await run.handle.fetch_history()

    assert request.reason.startswith("a part of this work ended without saying what it did")
    assert lines(log) == ["begin x", "end x"]
    assert result.answer == "1. cut\n\ndenied"
    await build_replayer(AgentRun).replay_workflow(history)


async def test_what_a_run_did_is_in_its_result(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Tool, canonical arguments and outcome; what an undo needs stays in history."""
    log = str(tmp_path / "log")
    script = [
        calls(call("create_draft", log=log, title="x"), call("write_slowly", log=log)),
        say("done"),
    ]
    async with memory_runs.working(guarded(script)):
        result = await (await memory_runs.start("it")).result()

    assert [one.model_dump(mode="json") for one in (*result.effects, *result.unresolved)] == [
        Effect(
            summary=f'create_draft(log="{log}", title="x")',
            tool="create_draft",
            arguments={"log": log, "title": "x"},
            digest=fingerprint_effect("create_draft", {"log": log, "title": "x"}),
        ).model_dump(mode="json"),
        Effect(
            summary=f'write_slowly(log="{log}", place="here"), if it happened',
            tool="write_slowly",
            arguments={"log": log, "place": "here"},
            outcome="unknown",
            digest=fingerprint_effect("write_slowly", {"log": log}),
        ).model_dump(mode="json"),
    ]


async def test_a_start_knows_what_was_done(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Who goes on with the work of another run hands over what that did, and it stays done."""
    # BY-11
    log = str(tmp_path / "log")
    script: Script = lambda turn: (  # noqa: E731 -- a script
        told(turn) if turn.results else call("write", log=log, text="x")
    )
    async with memory_runs.working(scripted(script)):
        first = await (await memory_runs.start("it")).result()
        known: JsonValue = [
            {"tool": one.tool, "digest": one.digest, "outcome": one.outcome}
            for one in first.effects
        ]
        second = await memory_runs.start("it", known=known)
        result = await second.result()
        failure = await second.failure()

    assert (first.answer, result.answer) == ("write ok", "write denied")
    assert "done already" in failure.reason
    assert lines(log) == ["begin x", "end x"]
    assert result.effects == ()


async def approve(run: AnyRun) -> Request:
    """Let what waits happen."""
    (request,) = await run.asked()
    await decided(run, request, "approve")
    return request


def releases() -> tuple[Tool, Tool]:
    """A tool, and the same in a later release that takes more."""

    async def lend(log: str, to: str = "anybody") -> str:
        """Lend a book."""
        note(log, f"lent to {to}")
        await asyncio.Event().wait()
        return "lent"

    before = tool(risk=Risk.WRITE_INTERNAL, timeout=0.3)(lend)

    async def lend_for(log: str, to: str = "anybody", days: int = 14) -> str:
        """Lend a book for some days."""
        note(log, f"lent to {to} for {days}")
        return "lent"

    lend_for.__name__ = "lend"
    return before, tool(risk=Risk.WRITE_INTERNAL, timeout=0.3)(lend_for)


@pytest.mark.parametrize(
    ("more", "denied"),
    [({}, True), ({"to": "anybody", "days": 14}, True), ({"days": 7}, False)],
    ids=["the same", "defaults written", "another call"],
)
async def test_a_release_with_one_more_argument_knows_lost_writes(
    runs: Runs, tmp_path: Path, more: dict[str, JsonValue], *, denied: bool
) -> None:
    """A call is the same whatever defaults it may leave out, before and after a release."""
    # NR-06
    log = tmp_path / "log"
    before, after = releases()

    def script(turn: ScriptTurn) -> Reply:
        match turn.number:
            case 1:
                return call("lend", log=str(log))
            case 2:
                return call("ask_user", question="And now?")
            case 3:
                return call("lend", log=str(log), **more)
            case _:
                return told(turn)

    def app(lending: Tool) -> App:
        return scripted(script, tools=[lending, ask_user])

    async with runs.working(app(before)):
        run = await runs.start("it")
        request = await asked_next(run, await approve(run))
    async with runs.working(app(after), client=await runs.another_client()):
        await run.signal("answer", {"request_id": request.request_id, "text": "once more"})
        if not denied:
            await asked_next(run, request)
            await approve(run)
        result = await run.result()

    assert lines(log) == ["lent to anybody", *([] if denied else ["lent to anybody for 7"])]
    assert result.answer == ("lend denied" if denied else "lend ok")


def test_what_stands_is_refused_or_a_person_is_asked() -> None:
    """Of what an approach left standing nothing is forgotten, however much the next one does."""
    # BT-05

    def a_write(number: int, *, reported: bool = False) -> Effect:
        text = f"{number}{'x' * 2000}"
        found = fingerprint_effect("send", {"text": text})
        return Effect(
            summary=f"send {number}", tool="send", arguments={"text": text}, digest=found
        ).model_copy(update={"reported": reported})

    stands = a_write(0, reported=True)
    state = a_state().with_effects(done=(stands,))
    for first in range(1, 1000, 50):
        more = map(a_write, range(first, first + 50))
        state = tool_results.keep_effects(state, (*state.effects.done, *more))
    known = parts.build_own_known_effects(state)

    assert state.effects.forgotten > 0
    assert parts.UNKNOWN_EFFECT in known or stands.digest in {one.digest for one in known}


def test_what_two_calls_did_is_known_until_both_are_undone() -> None:
    """Only what nothing stands of is done no more: one of two such calls may be the earlier."""
    # GR-13 BY-11
    send, lost = fingerprint_effect("send", {}), fingerprint_effect("pay", {})
    known = KnownEffect(tool="send", digest=send, outcome="done")
    sent, other = Effect(summary="send", tool="send", digest=send), Effect(summary="note")
    state = a_state().with_effects(
        done=(sent, other, sent), known=(known,), unresolved=(send, lost)
    )

    once = tool_results.remove_effect(state, 2)
    twice = tool_results.remove_effect(once, 0)

    assert (once.effects.done, once.effects.known) == ((sent, other), (known,))
    assert once.effects.unresolved == (send, lost)
    assert (twice.effects.done, twice.effects.known) == ((other,), ())
    assert twice.effects.unresolved == (lost,)
