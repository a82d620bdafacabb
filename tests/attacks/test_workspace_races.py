"""Calls of one run that race in its workspace, beside whoever keeps, restores and reads it."""

import asyncio
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import HoldfastError
from holdfast.tools.workspaces import Workspaces
from tests.attacks.outside import Attack

SECONDS = 4

SWAPPING = """
import os, random, shutil, time
chance = random.Random({seed})
end, n = time.monotonic() + {seconds}, 0
names = ["a", "b", "c", "a/x", "b/x", "c/x"]
def tried(what, *given):
    try:
        what(*given)
    except OSError:
        pass
while time.monotonic() < end:
    n += 1
    one, other = chance.choice(names), chance.choice(names)
    match chance.randrange(9):
        case 0: tried(os.symlink, {outside!r}, one)
        case 1: tried(os.symlink, {outside!r} + "/secret", one)
        case 2: tried(os.mkdir, one)
        case 3: tried(lambda: open(one, "w").write("words" * chance.randrange(2000)))
        case 4: tried(os.rename, one, other)
        case 5: tried(os.unlink, one)
        case 6: tried(shutil.rmtree, one)
        case 7: tried(os.chmod, one, chance.choice([0, 0o300, 0o500, 0o777]))
        case 8: tried(os.mkfifo, one)
    if n % 50 == 0:
        tried(os.chmod, ".", chance.choice([0, 0o500, 0o700]))
result = n
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the worker's own, which everybody might write if a mode of it were changed."""
    folder = tmp_path / "outside"
    folder.mkdir(mode=0o700)
    (folder / "secret").write_text("the worker's own words")
    (folder / "secret").chmod(0o600)
    return folder


async def test_calls_that_swap_things_beside_those_who_work_on_the_workspace(
    sandbox_home: Path, attack: Attack, invocation: ToolInvocation, outside: Path
) -> None:
    """Whatever the two make of it meanwhile, nothing outside is read or changed."""
    # BT-05
    run, workspaces = invocation.first_execution_run_id, Workspaces(sandbox_home)
    first = workspaces.snapshot(run)
    ready = asyncio.Barrier(3)

    async def admit() -> None:
        await ready.wait()

    racing = [
        asyncio.create_task(
            attack(SWAPPING.format(seed=seed, seconds=SECONDS, outside=str(outside)), admit=admit)
        )
        for seed in (1, 2)
    ]
    await admit()  # no sandbox starts in a workspace that is being restored
    ways: tuple[Callable[[], object], ...] = (
        lambda: workspaces.snapshot(run),
        lambda: workspaces.digest(run),
        lambda: [workspaces.read(run, path) for path in ("a", "a/x", "b", "b/x", "c/secret")],
        lambda: workspaces.restore(run, first.digest),
    )
    done = await asyncio.gather(*(repeat(way, racing) for way in ways))
    moves = await asyncio.gather(*racing)

    assert all(isinstance(one, int) and one > 100 for one in moves)
    assert all(count > 0 for count in done)
    found = [path.read_bytes() for path in sandbox_home.rglob("*") if is_file(path)]
    assert not any(b"the worker's own words" in content for content in found)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o700
    assert stat.S_IMODE((outside / "secret").stat().st_mode) == 0o600
    assert (outside / "secret").read_text() == "the worker's own words"
    assert [one.name for one in outside.iterdir()] == ["secret"]
    assert workspaces.restore(run, first.digest) == first
    assert workspaces.digest(run) == first.digest
    assert await attack("result = sorted(__import__('os').listdir('.'))") == []


def is_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


async def repeat(way: Callable[[], object], racing: Sequence[asyncio.Task[JsonValue]]) -> int:
    """Do it until the calls are over, and return how often; it may say that things changed."""
    count = 0
    while not all(one.done() for one in racing):
        count += 1
        try:
            await asyncio.to_thread(way)
        except (HoldfastError, OSError):
            await asyncio.sleep(0)
    return count
