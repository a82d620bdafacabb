"""What a run did is taken back when its answer is blocked, and what can't be is told."""

from pathlib import Path

import pytest

from holdfast import ResourceScope, ToolContext, ToolError, tool
from holdfast.contracts.tools import Risk
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.control.guarded import (
    EFFECTS,
    NAMED,
    after_trip,
    decided,
    ended,
    guarded,
    on_word,
    remove_draft,
    replayed,
)
from tests.histories import noted
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines, note, scripted

TEXT = ResourceScope(kind="workspace", argument="text")


async def test_effects_are_undone_in_reverse(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Drafts go again, the latest first; a write that nothing undoes is reported."""
    # GR-13 T-30 GR-10
    log = str(tmp_path / "log")
    script = [
        calls(
            call("create_draft", log=log, title="one"),
            call("write", log=log, text="kept"),
            call("create_draft", log=log, title="two"),
            call("look", place="x"),
        ),
        say("bad"),
    ]
    app = guarded(script, on_word("no_bad", "bad", "output", on_trip="block"))

    found = await ended(memory_runs, app)

    assert lines(log) == [
        "created one",
        "begin kept",
        "end kept",
        "created two",
        "removed two",
        "removed one",
    ]
    assert found.result.status == "blocked"
    undone = found.result.compensation
    assert undone is not None
    assert [line.partition("title=")[2] for line in undone.undone] == ['"two")', '"one")']
    assert len(undone.not_undone) == 1
    assert undone.not_undone[0].startswith("write(")
    assert found.result.stop is not None
    assert found.why == "it says bad"
    assert f"could not be undone: {undone.not_undone[0]}" in found.result.stop.detail
    assert after_trip(found.story) == ["remove_draft", "remove_draft"]
    audit = [one.summary.partition(": ")[0] for one in noted(found.story) if one.name == "record"]
    assert audit == ["tripwire", "undone", "not undone", "undone", "blocked"]


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, undo="remove_draft", timeout=1)
async def lose_draft(log: str, title: str) -> str:
    """Create a draft, and the first time lose the answer."""
    lost = not Path(log).exists()
    note(log, f"created {title}")
    if lost:
        raise RuntimeError("lost")
    return f"draft {title}"


async def test_what_may_have_happened_and_was_undone_is_done_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Its undo ran: from then on it is known that it isn't there, so the same call is allowed."""
    # GR-13 NR-06
    log = tmp_path / "log"
    create = call("lose_draft", log=str(log), title="one")
    replies = (create, say("bad"), create, say("good"))

    def script(turn: ScriptTurn) -> Reply:
        return replies[turn.number - 1]

    polite = on_word("no_bad", "bad", "output")
    app = scripted(script, tools=(lose_draft, remove_draft), guardrails=[polite])
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer) == ("completed", "good")
    assert lines(log) == ["created one", "removed one", "created one"]
    assert (len(found.result.effects), found.result.unresolved) == (1, ())


async def test_a_second_try_begins_clean(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What the blocked try did is gone before the model tries again, and is undone once."""
    # GR-13 GR-14
    log = str(tmp_path / "log")

    def script(turn: ScriptTurn) -> Reply:
        if turn.number in (1, 3):
            return call("create_draft", log=log, title=f"draft {turn.number}")
        return say("bad" if turn.number == 2 else "good")

    found = await ended(memory_runs, guarded(script, on_word("no_bad", "bad", "output")))

    assert (found.result.status, found.result.answer) == ("completed", "good")
    assert lines(log) == ["created draft 1", "removed draft 1", "created draft 3"]
    assert found.result.compensation is not None
    assert len(found.result.compensation.undone) == 1


@pytest.mark.parametrize(("word", "kept"), [("fine", True), ("awful", False)])
async def test_after_calls(
    memory_runs: MemoryRuns, tmp_path: Path, word: str, *, kept: bool
) -> None:
    """With tools, a post-action guardrail looks right after their calls, before the model does."""
    # GR-13 GR-16
    log = str(tmp_path / "log")

    def script(turn: ScriptTurn) -> Reply:
        first = turn.number == 1
        return call("create_draft", log=log, title=word) if first else say("done")

    look = on_word("no_awful", "awful", "post_action", tools=("create_draft",))
    found = await ended(memory_runs, guarded(script, look))

    asked = found.order[:4]
    assert asked == ["call_model", "authorize", "create_draft", "guardrail:no_awful"]
    assert lines(log) == ([f"created {word}"] if kept else [f"created {word}", f"removed {word}"])
    assert found.result.status == "completed"
    assert [origin for origin, _ in found.told] == ["goal", *([] if kept else ["constraint"])]


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_one_that_asks_after_calls(
    memory_runs: MemoryRuns, tmp_path: Path, decision: str
) -> None:
    """Approved, what was done stays; rejected, it is taken back and the run ends blocked."""
    # T-07 GR-13
    log = str(tmp_path / "log")
    look = on_word("no_awful", "awful", "post_action", tools=("create_draft",), on_trip="ask")
    app = guarded([call("create_draft", log=log, title="awful"), say("done")], look)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        before = lines(log)
        await decided(run, request, decision)
        result = await run.result()

    assert request.kind == "review"
    assert request.text.startswith("create_draft(")
    assert before == ["created awful"]
    if decision == "approve":
        assert (result.status, lines(log)) == ("completed", before)
    else:
        assert (result.status, lines(log)) == ("blocked", [*before, "removed awful"])


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED)
async def fail_to_remove(log: str, title: str, ctx: ToolContext) -> str:
    """Not be able to take a thing away."""
    note(log, f"tried for {ctx.call_id}")
    raise ToolError("conflict", "somebody uses it", ())


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, undo="fail_to_remove")
async def place(log: str, title: str) -> str:
    """Place a thing."""
    note(log, "placed")
    return "placed"


async def test_an_undo_that_fails_is_reported(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """It is tried, and why it failed is in the result: nothing is hidden."""  # GR-13
    log = str(tmp_path / "log")
    app = scripted(
        [call("place", log=log, title="x"), say("bad")],
        tools=(*EFFECTS, place),
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
    )

    found = await ended(memory_runs, app)

    undone = found.result.compensation
    assert undone is not None
    assert undone.undone == ()
    assert "fail_to_remove: " in undone.not_undone[0]
    assert "somebody uses it" in undone.not_undone[0]
    assert lines(log)[0] == "placed"


async def test_what_an_input_blocks_is_not_taken_back(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Only layers that look at what was done undo it; the result of a call is input."""
    log = str(tmp_path / "log")
    script = [call("create_draft", log=log, title="awful"), say("done")]
    look = on_word("no_awful", "awful", "input", watches=("results",))

    found = await ended(memory_runs, guarded(script, look))

    assert (found.result.status, lines(log)) == ("blocked", ["created awful"])
    assert after_trip(found.story) == []
    assert found.result.compensation is None


async def test_both_layers_trip_on_one_call(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What was done is taken back, and the run is blocked: no reason hides another's duty."""
    # GR-13 GR-15
    log = str(tmp_path / "log")
    script = [call("create_draft", log=log, title="awful"), say("done")]
    found = await ended(
        memory_runs,
        guarded(
            script,
            on_word("no_awful", "awful", "input", watches=("results",)),
            on_word("no_effect", "awful", "post_action", tools=("create_draft",)),
        ),
    )

    assert (found.result.status, found.result.steps) == ("blocked", 1)
    assert lines(log) == ["created awful", "removed awful"]


@tool(risk=Risk.WRITE_LOCAL, scope=TEXT)
async def unsketch(log: str, text: str) -> str:
    """Remove a sketch from where it lies."""
    note(log, f"unsketched {text}")
    return "gone"


@tool(risk=Risk.DRAFT_ONLY, undo="unsketch")
async def sketch(log: str, text: str) -> dict[str, str]:
    """Make a sketch of the text in a backend."""
    note(log, f"sketched {text}")
    return {"preview": text}


@tool(risk=Risk.WRITE_LOCAL, scope=TEXT)
async def retract(log: str, text: str) -> str:
    """Retract what was published."""
    note(log, f"retracted {text}")
    return "retracted"


@tool(risk=Risk.WRITE_EXTERNAL, draft="sketch", undo="retract", rollback="retract it")
async def publish(log: str, text: str) -> str:
    """Publish a text where everybody can read it."""
    note(log, f"published {text}")
    return "published"


@pytest.mark.parametrize(
    ("decision", "logged"),
    [
        ("reject", ["sketched x", "unsketched x"]),
        ("approve", ["sketched x", "published x", "retracted x"]),
    ],
)
async def test_a_draft_is_taken_back_unless_it_was_committed(
    memory_runs: MemoryRuns, tmp_path: Path, decision: str, logged: list[str]
) -> None:
    """What lies about because nobody approved it is removed; of a commit the commit is undone."""
    # GR-13
    log = str(tmp_path / "log")
    script = [call("publish", log=log, text="x"), say("bad")]
    watch = on_word("no_bad", "bad", "output", on_trip="block")
    app = scripted(script, tools=[*TOOLS, publish, sketch], guardrails=[watch])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, decision)
        result = await run.result()

    assert (result.status, lines(log)) == ("blocked", logged)
    assert result.compensation is not None
    assert result.compensation.not_undone == ()


@tool(risk=Risk.WRITE_EXTERNAL, draft="sketch", undo="retract", rollback="retract it", timeout=2)
async def publish_never(log: str, text: str) -> str:
    """Publish a text, but for a line that goes dead before anybody hears of it."""
    raise ConnectionError("the line went dead")


async def test_a_draft_is_taken_back_where_nobody_knows_of_its_commit(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It may lie there as before: what is taken back of the commit doesn't take it along."""
    # GR-13
    log = str(tmp_path / "log")
    script = [call("publish_never", log=log, text="x"), say("bad")]
    watch = on_word("no_bad", "bad", "output", on_trip="block")
    app = scripted(script, tools=[*TOOLS, publish_never, sketch], guardrails=[watch])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, "approve")
        result = await run.result()

    assert lines(log) == ["sketched x", "retracted x", "unsketched x"]
    assert result.compensation is not None
    assert len(result.compensation.undone) == 2


@tool(risk=Risk.DRAFT_ONLY, undo="unsketch", timeout=2)
async def sketch_unheard(log: str, text: str) -> str:
    """Make a sketch of the text, and lose the answer."""
    note(log, f"sketched {text}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_EXTERNAL, draft="sketch_unheard")
async def publish_unheard(log: str, text: str) -> str:
    """Publish a text of which there is a sketch."""
    note(log, f"published {text}")
    return "published"


@tool(risk=Risk.WRITE_LOCAL, scope=TEXT, undo="unsketch", timeout=2)
async def keep_unheard(log: str, text: str) -> str:
    """Keep a sketch of the text, and lose the answer."""
    note(log, f"kept {text}")
    raise ConnectionError("the line went dead")


@pytest.mark.parametrize("wanted", ["sketch_unheard", "publish_unheard", "keep_unheard"])
async def test_what_can_be_taken_back_is_so_though_its_answer_was_lost(
    runs: Runs, tmp_path: Path, wanted: str
) -> None:
    """Only a ToolError says that nothing was done, of a draft or a local write as of any other."""
    # BY-05 GR-13
    log = str(tmp_path / "log")
    again = call(wanted, log=log, text="x")
    watch = on_word("no_bad", "bad", "output", on_trip="block")
    tools = [sketch_unheard, publish_unheard, keep_unheard, unsketch]
    app = scripted([again, again, say("bad")], tools=tools, guardrails=[watch])
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        results = await run.results()
        await replayed(run)

    assert [one.status for one in results] == ["outcome_unknown", "denied"]
    assert lines(log)[1:] == ["unsketched x"]
    assert result.compensation is not None
    (undone,) = result.compensation.undone
    assert undone.endswith(", if it happened")


async def test_what_was_taken_back_may_be_done_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The same call in each try is no loop: the run itself has undone the one before."""
    # GR-14 HG-10
    log = str(tmp_path / "log")

    def third_time(turn: ScriptTurn) -> Reply:
        if turn.transcript[-1].kind == "user":
            return call("create_draft", log=log, title="x")
        tries = sum(item.kind == "tool" for item in turn.transcript)
        return say("good" if tries == 3 else f"bad {tries}")

    found = await ended(memory_runs, guarded(third_time, on_word("no_bad", "bad", "output")))

    assert (found.result.status, found.result.answer) == ("completed", "good")
    assert lines(log) == ["created x", "removed x"] * 2 + ["created x"]
