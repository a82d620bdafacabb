"""Attack: of parts beside each other one takes back what another did, which ends later."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast import App, Risk, SubAgent, tool
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import on_word
from tests.running import Run, Runs
from tests.sample import hold, lines, note
from tests.workflows.delegating import FOUND, Findings, Question, ask, desk
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import child, written

ALLOWED = "{id: ok, effect: allow, match: {tools: [charge, charge_slowly, pay_back]}}"

PARTS = {"tides": "1-researcher", "winds": "2-researcher"}


@tool(risk=Risk.WRITE_INTERNAL)
async def pay_back(log: str, order: int) -> str:
    """Pay back what was charged for an order."""
    note(log, f"paid back {order}")
    return "paid back"


@tool(risk=Risk.WRITE_INTERNAL, undo="pay_back")
async def charge(log: str, order: int) -> str:
    """Charge somebody for an order."""
    note(log, f"charged {order}")
    return "charged"


@tool(risk=Risk.WRITE_INTERNAL, undo="pay_back")
async def charge_slowly(log: str, order: int) -> str:
    """Charge somebody for an order, and take until the file `log.go` is there."""
    note(log, f"charged {order}")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    return "charged"


def beside(folder: Path, **scripts: Sequence[Reply]) -> App:
    """A desk for which somebody works at each of these at once, and whose answer is blocked."""

    def script(turn: ScriptTurn) -> Reply:
        topic = next(topic for topic in scripts if f'"{topic}"' in turn.goal)
        return scripts[topic][turn.number - 1]

    return desk(
        [ask(*scripts), say("bad")],
        script,
        subagents=[SubAgent("researcher", input=Question, output=Findings, at_once=2)],
        theirs=(charge, charge_slowly, pay_back, hold),
        guardrails=[on_word("never", "bad", "output", on_trip="block")],
        policy=policy(folder, ALLOWED),
    )


def waiting(folder: Path, name: str) -> Reply:
    """Wait until there is a file that lets this go on."""
    return call("hold", log=str(folder / name))


async def let_go(folder: Path, name: str) -> None:
    """Let what waits go on, once it does."""
    await written(folder / name)
    (folder / f"{name}.go").touch()


async def ended(runs: Runs, run: Run, part: str) -> None:
    """Wait until a part is over."""
    await child(runs, run, part).result()


async def find_standing(run: Run) -> str:
    """What the whole, which replays, says that it couldn't take back."""
    result = await run.result()
    await run.story()
    assert result.compensation is not None
    return " ".join(result.compensation.not_undone)


async def play_winds_first(runs: Runs, app: App, folder: Path) -> str:
    """Have who works at the winds go on when the other one waits, and be over before."""
    async with runs.working(app):
        run = await runs.start("desk")
        await written(folder / "tides")
        await let_go(folder, "winds")
        await ended(runs, run, PARTS["winds"])
        await let_go(folder, "tides")
        return await find_standing(run)


async def test_what_a_part_took_back_of_one_that_ends_later(runs: Runs, tmp_path: Path) -> None:
    """One charges, another pays that back and is over first: nobody pays it back again."""
    # GR-13 BY-11
    log = str(tmp_path / "log")
    app = beside(
        tmp_path,
        tides=[call("charge", log=log, order=2), waiting(tmp_path, "tides"), FOUND],
        winds=[waiting(tmp_path, "winds"), call("pay_back", log=log, order=2), FOUND],
    )
    told = await play_winds_first(runs, app, tmp_path)

    assert lines(log) == ["charged 2", "paid back 2"]
    assert "the same call was made since, and isn't made again" in told


async def test_what_was_charged_behind_it_is_paid_back(runs: Runs, tmp_path: Path) -> None:
    """One pays back, another charges after that, and is over first: nobody has paid that back."""
    # GR-13
    log = str(tmp_path / "log")
    app = beside(
        tmp_path,
        tides=[call("pay_back", log=log, order=2), waiting(tmp_path, "tides"), FOUND],
        winds=[waiting(tmp_path, "winds"), call("charge", log=log, order=2), FOUND],
    )
    told = await play_winds_first(runs, app, tmp_path)

    assert lines(log) == ["paid back 2", "charged 2", "paid back 2"]
    assert "charge(" not in told


@pytest.mark.parametrize("first", ["tides", "winds"])
async def test_where_nobody_knows_the_order_it_is_told(
    runs: Runs, tmp_path: Path, first: str
) -> None:
    """One pays back while another charges: be it before or behind, and whoever is over first."""
    # GR-13 BY-11
    log = str(tmp_path / "log")
    app = beside(
        tmp_path,
        tides=[call("charge_slowly", log=log, order=2), waiting(tmp_path, "tides"), FOUND],
        winds=[
            *(waiting(tmp_path, "begin"), call("pay_back", log=log, order=2)),
            *(waiting(tmp_path, "winds"), FOUND),
        ],
    )
    then = "winds" if first == "tides" else "tides"
    async with runs.working(app):
        run = await runs.start("desk")
        await written(Path(log))
        await let_go(tmp_path, "begin")
        await written(tmp_path / "winds")
        (tmp_path / "log.go").touch()
        await let_go(tmp_path, first)
        await ended(runs, run, PARTS[first])
        await let_go(tmp_path, then)
        told = await find_standing(run)

    assert lines(log) == ["charged 2", "paid back 2"]
    assert "a part made the same call at about that time: find out" in told


async def test_what_was_done_beside_is_taken_back_in_its_order(runs: Runs, tmp_path: Path) -> None:
    """The latest first, whoever of those that did it was over first."""
    # GR-13
    log = str(tmp_path / "log")
    app = beside(
        tmp_path,
        tides=[call("charge", log=log, order=2), waiting(tmp_path, "tides"), FOUND],
        winds=[waiting(tmp_path, "winds"), call("charge", log=log, order=3), FOUND],
    )
    await play_winds_first(runs, app, tmp_path)

    assert lines(log) == ["charged 2", "charged 3", "paid back 3", "paid back 2"]


async def test_what_a_lost_part_beside_may_have_taken_back(runs: Runs, tmp_path: Path) -> None:
    """One charges, another pays that back and is lost before the first is over."""
    # GR-13 BY-11
    log = str(tmp_path / "log")
    app = beside(
        tmp_path,
        tides=[call("charge", log=log, order=2), waiting(tmp_path, "tides"), FOUND],
        winds=[
            *(waiting(tmp_path, "winds"), call("pay_back", log=log, order=2)),
            *(waiting(tmp_path, "lost"), FOUND),
        ],
    )
    async with runs.working(app):
        run = await runs.start("desk")
        await written(tmp_path / "tides")
        await let_go(tmp_path, "winds")
        await written(tmp_path / "lost")
        await child(runs, run, PARTS["winds"]).handle.terminate("a test")
        while len((await run.handle.describe()).raw_description.pending_children) > 1:
            await run.pause()
        await let_go(tmp_path, "tides")
        told = await find_standing(run)

    assert lines(log) == ["charged 2", "paid back 2"]
    assert "a part that was lost may have taken it back: find out" in told
