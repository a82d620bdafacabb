"""Time, CPU and history of a step: ours beside the floor, alternately, on one server."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple

from temporalio.client import Client

from bench.goals import GOALS, HEAD, Tally
from bench.processes import worker_process
from bench.samples import Sample, Subject, measured, ready
from bench.worker import AS_IS, LAZY

MANY = 40
"""Runs at once; 20 steps each."""


class Load(NamedTuple):
    """How much is measured how often."""

    label: str
    rounds: int
    steps: int
    runs: int = 1


async def one_at_a_time(
    client: Client, tally: Tally, lengths: Sequence[int], repeats: int | None
) -> None:
    """Print the table of lone runs of several lengths."""
    print(f"\nOne run at a time\n{HEAD}", flush=True)
    async with AsyncExitStack() as stack:
        subjects = await _subjects(client, stack)
        for length in lengths:
            rounds = repeats or min(9, max(2, 600 // length))
            load = Load(f"{length:,} steps", rounds, length)
            await _compared(client, tally, subjects, load)


async def at_once(client: Client, tally: Tally, runs: int, repeats: int | None) -> None:
    """Print the table of many runs at once."""
    print(f"\nMany runs at once: {runs} of 20 steps each\n{HEAD}", flush=True)
    async with AsyncExitStack() as stack:
        subjects = await _subjects(client, stack)
        load = Load(f"{runs} x 20", repeats or 2, 20, runs)
        await _compared(client, tally, subjects, load)


async def without_cache(client: Client, steps: int, repeats: int | None) -> None:
    """
    Print what a step takes where model calls ask the run for its transcript.

    Without the cache each asks for all of it. With two workers those ask that run in the other
    one, for what they haven't seen: few, unless no activity begins where its workflow is.
    """
    print(f"\nThe transcript is elsewhere: {steps} steps\n{HEAD}", flush=True)
    async with AsyncExitStack() as stack:
        address = client.service_client.config.target_host
        subjects = list[Subject]()
        for name, kind, agent, workers, variant in (
            ("raw loop", "raw", None, 1, AS_IS),
            ("ours, as it is", "ours", "ordinary", 1, AS_IS),
            ("ours, no cache", "uncached", "ordinary", 1, AS_IS),
            ("ours, two workers", "ours", "ordinary", 2, AS_IS),
            ("ours, none eager", "ours", "ordinary", 1, LAZY),
            ("ours, two, none eager", "ours", "ordinary", 2, LAZY),
        ):
            process = partial(worker_process, address, kind, variant=variant)
            worker = await stack.enter_async_context(process())
            for _ in range(1, workers):
                await stack.enter_async_context(process(queue=worker.queue))
            subjects.append(Subject(name, worker, agent))
        await ready(client, *subjects)
        load = Load(f"{steps} steps", repeats or 2, steps)
        await _compared(client, Tally(), subjects, load)


async def _subjects(client: Client, stack: AsyncExitStack) -> list[Subject]:
    address = client.service_client.config.target_host
    raw = await stack.enter_async_context(worker_process(address, "raw"))
    ours = await stack.enter_async_context(worker_process(address, "ours"))
    subjects = [
        Subject("raw loop", raw),
        Subject("ours", ours, "ordinary"),
        Subject("ours, local reads", ours, "local"),
        Subject("ours, with guardrails", ours, "guarded"),
    ]
    await ready(client, *subjects)
    return subjects


async def _compared(client: Client, tally: Tally, subjects: Sequence[Subject], load: Load) -> None:
    """Measure all subjects in turn, again and again, so that a busy moment hits each alike."""
    samples: dict[str, list[Sample]] = {subject.name: [] for subject in subjects}
    for _ in range(load.rounds):
        for subject in subjects:
            sample = await measured(client, subject, load.steps, load.runs)
            samples[subject.name].append(sample)
    floor, *ours = (Sample.median(samples[subject.name]) for subject in subjects)
    tally.floor(load.label, floor)
    for subject, sample in zip(subjects[1:], ours, strict=True):
        tally.ours(load.label, subject.name, sample, floor, GOALS.get(subject.name))
