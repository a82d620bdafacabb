"""What takes an effect back is a call like any other: nobody makes it twice, nor a lost one."""

from pathlib import Path

import pytest

from holdfast import Risk, Tiers, ToolContext, ToolError, tool
from holdfast.contracts.run import RunResult
from holdfast.testing import Reply, call, say
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import hold, lines, note, scripted, told
from tests.workflows.delegating import ask, desk
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import child, staffed, written

ALLOWED = "{id: ok, effect: allow, match: {tools: [charge, pay_back]}}"

LOST = 1
"""The order of which nobody hears that it was paid back."""


@tool(risk=Risk.WRITE_INTERNAL)
async def pay_back(log: str, order: int, ctx: ToolContext) -> str:
    """Pay back what was charged for an order."""
    note(log, f"paid back {order}")
    if order == LOST:
        raise ConnectionError("the line went dead")
    return "paid back"


@tool(risk=Risk.WRITE_INTERNAL, undo="pay_back")
async def charge(log: str, order: int) -> str:
    """Charge somebody for an order."""
    note(log, f"charged {order}")
    return "charged"


@tool(risk=Risk.READ_ONLY, must_succeed=True)
async def check(order: int) -> str:
    """Find that there is something wrong with an order."""
    raise ToolError("conflict", f"there is no order {order}")


async def played(runs: MemoryRuns, folder: Path, *script: Reply) -> tuple[RunResult, list[str]]:
    """Have a run say this; return what it came to, and all that was done."""
    never = on_word("never", "bad", "output", on_trip="retry")
    rules = policy(folder, ALLOWED)
    app = scripted([*script, told], tools=(charge, pay_back), policy=rules, guardrails=[never])
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        await runs.stories(run)
    return result, lines(folder / "log")


async def play_two_tiers(runs: MemoryRuns, folder: Path, *, order: int) -> RunResult:
    """Have a tier charge for an order and fail, and the next one pay that back."""
    log = str(folder / "log")
    coder = [call("charge", log=log, order=order), call("check", order=order)]
    app = staffed(
        {"coder": coder, "clerk": [call("pay_back", log=log, order=order), told]},
        tiers=Tiers(full="coder", simplified="clerk"),
        tools=(charge, pay_back, check),
        policy=policy(folder, ALLOWED),
    )
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        await runs.stories(run)
    return result


@pytest.mark.parametrize("order", [LOST, 2])
async def test_what_a_model_took_back_is_not_taken_back_again(
    memory_runs: MemoryRuns, tmp_path: Path, order: int
) -> None:
    """A model pays back what it charged, and its answer is blocked: nobody pays it back again."""
    # GR-13 BY-11
    log = str(tmp_path / "log")
    both = call("charge", log=log, order=order), call("pay_back", log=log, order=order)

    result, done = await played(memory_runs, tmp_path, *both, say("bad"), say("good"))

    assert done == [f"charged {order}", f"paid back {order}"]
    assert result.compensation is not None
    assert "isn't made again" in result.compensation.not_undone[1]


async def test_an_undo_whose_answer_is_lost_is_not_called_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Nobody knows whether it was paid back: the model that tries again may not pay it back."""
    # GR-13 BY-11
    log = str(tmp_path / "log")
    charging = call("charge", log=log, order=LOST)

    result, done = await played(
        memory_runs, tmp_path, charging, say("bad"), call("pay_back", log=log, order=LOST)
    )

    assert done == [f"charged {LOST}", f"paid back {LOST}"]
    assert result.answer == "pay_back denied"


async def test_what_was_charged_again_is_taken_back(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A charge that was paid back and made once more is paid back once more."""
    # GR-13
    log = str(tmp_path / "log")
    again = call("charge", log=log, order=2)

    _, done = await played(
        memory_runs, tmp_path, again, call("pay_back", log=log, order=2), again, say("bad")
    )

    assert done == ["charged 2", "paid back 2", "charged 2", "paid back 2"]


async def test_an_undo_that_was_made_is_not_called_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The run paid back what an answer rested on: the model that tries again may not."""
    # GR-13 BY-11
    log = str(tmp_path / "log")
    charging, paying_back = (call(one, log=log, order=2) for one in ("charge", "pay_back"))

    result, done = await played(memory_runs, tmp_path, charging, say("bad"), paying_back)

    assert done == ["charged 2", "paid back 2"]
    assert result.answer == "pay_back denied"


@pytest.mark.parametrize("by_model", [True, False])
async def test_what_was_charged_anew_is_paid_back_anew(
    memory_runs: MemoryRuns, tmp_path: Path, *, by_model: bool
) -> None:
    """That the run paid an earlier charge back says nothing of it, be it to the run or a model."""
    # GR-13
    log = str(tmp_path / "log")
    charging, paying_back = (call(one, log=log, order=2) for one in ("charge", "pay_back"))
    bad = say("bad")

    _, done = await played(
        memory_runs, tmp_path, charging, bad, charging, paying_back if by_model else bad
    )

    assert done == ["charged 2", "paid back 2", "charged 2", "paid back 2"]


@tool(risk=Risk.WRITE_INTERNAL, undo="pay_back")
async def charge_anew(log: str, order: int) -> str:
    """Charge somebody for an order once more."""
    note(log, f"charged anew {order}")
    return "charged"


async def test_what_an_earlier_tier_did_by_itself_is_not_done_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """That it would take back what is done anew changes nothing: nobody knows why it was done."""
    # BY-11
    what = {"log": str(tmp_path / "log"), "order": 2}
    again = [call("charge_anew", **what), call("pay_back", **what), call("pay_back", **what), told]
    app = staffed(
        {"coder": [call("pay_back", **what), call("check", order=2)], "clerk": again},
        tiers=Tiers(full="coder", simplified="clerk"),
        tools=(charge, charge_anew, pay_back, check),
        policy=policy(tmp_path, ALLOWED.replace("[charge,", "[charge, charge_anew,")),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        await memory_runs.stories(run)

    assert lines(tmp_path / "log") == ["paid back 2", "charged anew 2"]
    assert result.answer == "pay_back denied"


async def test_an_undo_that_a_part_made_is_not_called_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A tier paid back what it charged, and has failed: the next one may not pay it back."""
    # GR-13 BY-11
    result = await play_two_tiers(memory_runs, tmp_path, order=2)

    assert lines(tmp_path / "log") == ["charged 2", "paid back 2"]
    assert result.answer == "pay_back denied"


async def test_an_undo_of_a_part_whose_answer_is_lost_is_not_called_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The next tier is told of it, and refused the same call."""
    # GR-13 BY-11
    result = await play_two_tiers(memory_runs, tmp_path, order=LOST)

    assert lines(tmp_path / "log") == [f"charged {LOST}", f"paid back {LOST}"]
    assert result.answer == "pay_back denied"
    assert [one.tool for one in result.unresolved] == ["charge", "pay_back"]


async def test_what_a_lost_part_may_have_taken_back_is_not_taken_back_again(
    runs: Runs, tmp_path: Path
) -> None:
    """A part pays back what was charged before it began, and is lost: nobody knows of that."""
    # GR-13 BY-11
    log, held = tmp_path / "log", tmp_path / "held"
    first, second = (call("charge", log=str(log), order=order) for order in (2, 3))
    app = desk(
        [first, ask("tides"), second, say("bad")],
        [call("pay_back", log=str(log), order=2), call("hold", log=str(held))],
        tools=(charge,),
        theirs=(pay_back, hold),
        guardrails=[on_word("never", "bad", "output", on_trip="block")],
        policy=policy(tmp_path, ALLOWED),
    )
    async with runs.working(app):
        run = await runs.start("desk")
        await written(held)
        await child(runs, run, "1-researcher").handle.terminate("a test")
        await run.approve((await run.asked_for_approval()).request_id)
        result = await run.result()
        await run.story()

    assert lines(log) == ["charged 2", "paid back 2", "charged 3", "paid back 3"]
    assert result.compensation is not None
    assert len(result.compensation.undone) == 1
    assert "a part that was lost may have taken it back: find out" in " ".join(
        result.compensation.not_undone
    )
