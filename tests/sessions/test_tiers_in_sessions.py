"""A session of an agent with tiers: each goal of theirs is told what was said before."""

from pathlib import Path

from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRuns
from tests.sessions.test_guards_of_receivers import result_of
from tests.workflows.tiered import staffed, written


async def test_a_session_goes_on_however_much_was_said(memory_runs: MemoryRuns) -> None:
    """Two long messages would keep it from answering any more, opened again or not."""
    # SE-04 FB-11
    goals: list[str] = []

    def work(turn: ScriptTurn) -> Reply:
        goals.append(turn.goal)
        return say(f"answer {len(goals)}")

    texts = ("first " * 18_000, "second " * 18_000, "third", "fourth")
    async with memory_runs.working(staffed({"coder": work})):
        for text in texts:
            name = text[:5]
            said: JsonObject = {"message_id": name, "text": text}
            run = await memory_runs.say("talk", {"agent": "it"}, said)
            while (found := await result_of(run, name)) is None:
                await run.pause()
            assert found.status == "completed"
        await memory_runs.find("talk").stories()

    assert "first" in goals[0]
    assert goals[1].startswith("(What was said earlier is left out.)")
    assert all(word in goals[3] for word in ("second", "answer 2", "third", "answer 3", "fourth"))
    assert goals[3].endswith("fourth")


async def test_a_session_of_an_earlier_release_replays(memory_runs: MemoryRuns) -> None:
    """In its history no agent began where all that was said is too much; it answers later on."""
    # SE-04 FB-11 AD-20
    app = staffed({"coder": lambda _: say("done"), "clerk": lambda _: say("done")})
    ends: list[str] = []
    with without_patches():
        async with memory_runs.working(app):
            for name, text in (("first", "first " * 18_000), ("second", "second " * 18_000)):
                said: JsonObject = {"message_id": name, "text": text}
                run = await memory_runs.say("talk", {"agent": "it"}, said)
                while (found := await result_of(run, name)) is None:
                    await run.pause()
                ends.append(found.status)
    async with memory_runs.working(app):
        await memory_runs.find("talk").stories()

    assert ends[0] == "completed"
    assert ends[1] != "completed"


MESSAGES = tuple(f"m{number}" for number in range(6))


async def _answer_all(memory_runs: MemoryRuns, log: Path) -> list[str]:
    """Have messages wait for the first, and be answered; return what became of each."""

    def work(turn: ScriptTurn) -> Reply:
        first = turn.goal.endswith("m0") and turn.number == 1
        return call("hold", log=str(log)) if first else say(f"done: {turn.goal[-2:]}")

    async with memory_runs.working(staffed({"coder": work}, max_history_events=20)):
        for name in MESSAGES:
            said: JsonObject = {"message_id": name, "text": name}
            await memory_runs.say("talk", {"agent": "it"}, said)
            await written(log)
        Path(f"{log}.go").touch()
        run = memory_runs.find("talk")
        ends: list[str] = []
        for name in MESSAGES:
            while (found := await result_of(run, name)) is None:
                await run.pause()
            ends.append(found.answer or found.status)
    return ends


async def test_a_session_of_tiers_goes_on_in_new_executions(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Messages that wait are answered in several: it asks no model itself, but others work."""
    # SE-04 FB-11
    ends = await _answer_all(memory_runs, tmp_path / "log")
    stories = await memory_runs.find("talk").stories()

    assert ends == [f"done: {name}" for name in MESSAGES]
    assert len(stories) > 3


async def test_a_session_of_an_earlier_release_went_on_in_one_execution(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """In its history nothing but new messages had it go on in a new one; it replays."""
    # SE-04 AD-20
    with without_patches():
        ends = await _answer_all(memory_runs, tmp_path / "log")
    stories = await memory_runs.find("talk").stories()

    assert ends == [f"done: {name}" for name in MESSAGES]
    assert len(stories) == 2
