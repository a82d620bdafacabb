"""
Starts that no worker can read: the SDK gives up before anybody is told of them.

A failure of 97 causes is as deep as a client can write it (`continued_failure` of a start). In an
event, and that in an answer, no client reads it: the request for work that is answered with it is
repeated later and later, up to ten seconds, and so is the only one for new runs, if it is.
"""

from collections.abc import Mapping
from typing import cast

from temporalio.client import Client
from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkerConfig

from holdfast.testing import say
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
