"""
Starts that no worker can read: the SDK gives up before anybody is told of them.

A failure of 97 causes is as deep as a client can write it (`continued_failure` of a start). In an
event, and that in an answer, no client reads it: the request for work that is answered with it is
repeated later and later, up to ten seconds, and so is the only one for new runs, if it is. So is
what asks for such a history, unless it is asked for without.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from temporalio.client import Client
from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkerConfig

from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.client import Holdfast
from holdfast.client.archiving import ArchiveSweep
from holdfast.testing import say
from tests.holdfast.unreadable import start_too_deep
from tests.running import Runs
from tests.sample import scripted

AT_ONCE = 20
"""Starts of that kind that keep nobody waiting."""


class _Workers(SimplePlugin):
    """Knows for what queues the workers of a client are, and how often each asks for new runs."""

    def __init__(self) -> None:
        super().__init__("workers")  # pyright: ignore[reportUnknownMemberType] -- the SDK leaves a type argument open
        self.polls = dict[object, float]()

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        given = cast("Mapping[str, float]", config)
        if given["workflows"]:
            # As the SDK shares them out, where runs are kept in memory.
            share = given["nonsticky_to_sticky_poll_ratio"] if given["max_cached_workflows"] else 1
            most = given["max_concurrent_workflow_task_polls"] or 5
            self.polls[given["task_queue"]] = most * share
        return config


async def test_starts_that_nobody_can_read_keep_no_run_and_no_switch_waiting(runs: Runs) -> None:
    """A worker asks for more new runs at once than that, and where the kill switch is served."""
    # T-33
    workers, config = _Workers(), runs.client.config()
    config["plugins"] = [workers]
    async with runs.working(scripted([say("done")]), client=Client(**config)):
        pass

    assert set(workers.polls) == {runs.queue, runs.switches}
    assert min(workers.polls.values()) >= AT_ONCE


class _Asked(DirectoryArchive):
    """Knows of what it was asked whether it is there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked = list[str]()

    async def has(self, path: str) -> bool:
        self.asked.append(path)
        return await super().has(path)


async def test_what_nobody_can_read_is_looked_at_once_for_the_archive(
    runs: Runs, tmp_path: Path
) -> None:
    """Each took ten seconds, and again each time; what else has ended is archived behind it."""
    # TR-13
    archive, queue = _Asked(tmp_path), f"{runs.queue}-nobody"
    sweep, names = ArchiveSweep(runs.client, archive, queue), [f"{queue}-{n}" for n in range(3)]
    for name in names[:2]:
        await start_too_deep(runs.client, name, "AgentRun", queue)
        await runs.client.get_workflow_handle(name).terminate()
    plain = await runs.client.start_workflow("AgentRun", 5, id=names[2], task_queue=queue)
    await plain.terminate()
    while len({path.split("/")[2].split(".")[0] for path in archive.asked}) < len(names):
        await asyncio.sleep(0.05)
        await sweep.sweep()
    await sweep.sweep()

    assert [path.parent.name.split(".")[0] for path in tmp_path.rglob("history.json")] == names[2:]
    assert len(archive.asked) == len(names)


async def test_who_lists_runs_is_told_of_one_that_nobody_can_read(runs: Runs) -> None:
    """No list fails for it: it has no agent, as what isn't one of ours has none."""
    # TR-12
    name = f"deep-{runs.queue}"
    await start_too_deep(runs.client, name, "AgentRun", f"{name}-nobody")
    try:
        while name not in (  # noqa: ASYNC110 -- lists are late
            found := {
                one.run_id: one.agent for one in await Holdfast(runs.client).runs(limit=1000)
            }
        ):
            await asyncio.sleep(0.05)
    finally:
        await runs.client.get_workflow_handle(name).terminate()

    assert found[name] is None
