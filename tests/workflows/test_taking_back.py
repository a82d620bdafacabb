"""What the parts of a run did is taken back with it, by the rulings of the parts."""

from collections.abc import Sequence
from pathlib import Path

from holdfast import Agent, App, Risk, Tiers, tool
from holdfast.guardrails import Guardrail, judged_by
from holdfast.testing import Script, call, calls, say
from holdfast.trace.controlled import find_compensation
from holdfast.trace.reader import read_trace
from tests.control.guarded import EFFECTS, on_word, over
from tests.control.test_judges import judged
from tests.control.test_undoing import FORBIDDEN, FREE, create
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines, note
from tests.workflows.test_known_effects import BROKEN, TWO
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import staffed


@tool(risk=Risk.WRITE_INTERNAL)
async def tear_down(log: str, house: str) -> str:
    """Tear a house down, which nobody may be in."""
    note(log, f"torn down {house}")
    return "torn down"


@tool(risk=Risk.WRITE_INTERNAL, undo="tear_down")
async def build(log: str, house: str) -> str:
    """Build a house, and lose the answer."""
    note(log, f"built {house}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL)
async def move_out(log: str, house: str) -> str:
    """Have somebody move out of a house."""
    note(log, f"moved out of {house}")
    return "moved out"


@tool(risk=Risk.WRITE_INTERNAL, undo="move_out")
async def move_in(log: str, house: str) -> str:
    """Have somebody move into a house."""
    note(log, f"moved into {house}")
    return "moved in"


def block(word: str) -> Guardrail:
    return on_word("no_bad", word, "output", on_trip="block")


async def test_the_whole_takes_back_what_its_parts_did(runs: Runs, tmp_path: Path) -> None:
    """The latest first, of tiers that failed too; what nothing undoes is reported."""
    # GR-13
    log = str(tmp_path / "log")
    coder = [
        calls(call("create_draft", log=log, title="one"), call("write", log=log, text="kept")),
        BROKEN,
    ]
    clerk = [call("create_draft", log=log, title="two"), say("bad")]
    app = staffed(
        {"coder": coder, "clerk": clerk}, tiers=TWO, guardrails=[block("bad")], tools=EFFECTS
    )
    async with runs.working(app):
        found = await over(await runs.start("it"))

    assert found.result.status == "blocked"
    assert lines(log) == [
        *("created one", "begin kept", "end kept", "created two"),
        *("removed two", "removed one"),
    ]
    undone = found.result.compensation
    assert undone is not None
    assert [line.partition("(")[0] for line in undone.undone] == [
        "2-simplified: create_draft",
        "1-full: create_draft",
    ]
    assert [line.partition("(")[0] for line in undone.not_undone] == ["1-full: write"]
    assert [one.summary.partition("(")[0] for one in found.result.effects] == ["1-full: write"]
    assert find_compensation(read_trace([found.history])) == undone


async def test_the_whole_keeps_to_the_rulings_of_its_parts(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A part's undo that was forbidden when its call was allowed doesn't run later either."""
    # PF-01 GR-13
    log = tmp_path / "log"
    app = staffed(
        {"coder": [call("create", log=str(log), record="7"), say("bad")]},
        tiers=Tiers(full="coder"),
        guardrails=[block("bad")],
        tools=(*TOOLS, create),
        policy=policy(tmp_path, FREE, FORBIDDEN),
    )
    async with memory_runs.working(app):
        found = await over(await memory_runs.start("it"))

    assert lines(log) == ["created 7"]
    assert found.result.compensation is not None
    assert "purge: deny by policy:keep" in found.result.compensation.not_undone[0]


async def test_a_part_that_is_blocked_has_the_others_taken_back(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What a guardrail ends in one part is over for all: nothing of the whole stands."""
    # GR-13
    log = str(tmp_path / "log")
    coder = [
        calls(call("create_draft", log=log, title="one"), call("write", log=log, text="kept")),
        BROKEN,
    ]
    clerk = [call("create_draft", log=log, title="two"), say("bad")]
    app = paired(coder, clerk, [block("bad")])
    async with memory_runs.working(app):
        found = await over(await memory_runs.start("it"))

    assert (found.result.status, found.why) == ("blocked", "it says bad")
    assert lines(log) == [
        *("created one", "begin kept", "end kept"),
        *("created two", "removed two", "removed one"),
    ]
    assert found.result.compensation is not None
    assert len(found.result.compensation.undone) == 2
    assert found.result.stop is not None
    assert "could not be undone: 1-full: write(" in found.result.stop.detail
    assert [one.tool for one in found.result.effects] == ["write"]


def paired(coder: Script, clerk: Script, guardrails: Sequence[Guardrail]) -> App:
    """An app whose agent `it` asks `coder`, then `clerk`, whose answers are looked at."""
    others = [
        Agent(
            name=name,
            instructions="Do as you are told.",
            models=[f"scripted:{name}"],
            tools=EFFECTS,
            guardrails=guardrails if name == "clerk" else (),
        )
        for name in ("coder", "clerk")
    ]
    it = Agent(name="it", instructions="Have others do it.", tiers=TWO)
    return App(agents=[it, *others], scripts={"coder": coder, "clerk": clerk})


async def test_what_a_part_did_is_taken_back_in_its_order(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The latest first, be it that of one before nobody knows whether it happened."""
    # GR-13
    log = str(tmp_path / "log")
    allowed = "{id: ok, effect: allow, match: {tools: [build, tear_down, move_in, move_out]}}"
    coder = [call("build", log=log, house="7"), call("move_in", log=log, house="7"), say("bad")]
    app = staffed(
        {"coder": coder},
        tiers=Tiers(full="coder"),
        guardrails=[block("bad")],
        tools=(build, move_in),
        policy=policy(tmp_path, allowed),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()
        await memory_runs.stories(run)

    assert lines(log) == ["built 7", "moved into 7", "moved out of 7", "torn down 7"]


async def test_what_a_judge_did_is_taken_back_too(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A guardrail that is an agent is a part of the run like any other."""
    # GR-13
    log = str(tmp_path / "log")
    bad = '{"tripwire_triggered": true, "reason": "it is rude"}'
    critic = [call("create_draft", log=log, title="verdict"), say(bad)]
    app = judged([say("hello")], critic, judged_by("critic", on_trip="block"))
    async with memory_runs.working(app):
        found = await over(await memory_runs.start("it"))

    assert (found.result.status, lines(log)) == ("blocked", ["created verdict", "removed verdict"])
