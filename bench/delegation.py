"""What a task for another agent and a handoff take: beside a child workflow, and a plain step."""

from contextlib import AsyncExitStack
from typing import NamedTuple

from temporalio.client import Client

from bench.goals import HEAD, Tally
from bench.processes import worker_process
from bench.samples import Sample, Subject, measured, ready

TASKS = 10


class _Load(NamedTuple):
    label: str
    steps: int
    rounds: int


async def delegate(client: Client, repeats: int | None) -> None:
    """Print tasks beside child workflows of as many steps, and a handoff beside a plain step."""
    print(f"\nAgents for agents\n{HEAD}", flush=True)
    async with AsyncExitStack() as stack:
        address = client.service_client.config.target_host
        raw = await stack.enter_async_context(worker_process(address, "raw"))
        ours = await stack.enter_async_context(worker_process(address, "ours"))
        tasks = (
            Subject("child workflows", raw, raw="RawParent"),
            Subject("ours, tasks", ours, "delegating", model_calls=3),
        )
        turns = (
            Subject("raw loop", raw),
            Subject("ours, a step", ours, "ordinary"),
            Subject("ours, a handoff", ours, "handing"),
        )
        await ready(client, *tasks, *turns)
        await _compared(client, tasks, _Load(f"{TASKS} tasks", TASKS, repeats or 5))
        await _compared(client, turns, _Load("1 step", 1, repeats or 15))


async def _compared(client: Client, subjects: tuple[Subject, ...], load: _Load) -> None:
    samples: dict[str, list[Sample]] = {subject.name: [] for subject in subjects}
    for _ in range(load.rounds):
        for subject in subjects:
            samples[subject.name].append(await measured(client, subject, load.steps))
    tally = Tally()
    floor, *ours = (Sample.median(samples[subject.name]) for subject in subjects)
    tally.floor(load.label, floor, subjects[0].name)
    for subject, sample in zip(subjects[1:], ours, strict=True):
        tally.ours(load.label, subject.name, sample, floor, None)
