"""What a provider's SDK adds to a step: each wire format beside the scripted model."""

from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple

from temporalio.client import Client

from bench.goals import Tally
from bench.processes import worker_process
from bench.provider import provider
from bench.raw import RAW_OVER_HTTP
from bench.samples import Sample, Subject, measured, ready

AGENTS = ("anthropic", "openai", "openai-chat")


class Lengths(NamedTuple):
    """Steps of the three measurements: a short run, and two that show how time grows."""

    short: int = 10
    middle: int = 100
    long: int = 400


MOST_CPU = 6.0
"""Milliseconds of worker CPU that an SDK may add to a step of a short run."""

MOST_GROWTH = 1.3
"""How many times what it took in the middle a step may take in the long run."""

BURST_STEPS, BURST_ROUNDS = 20, 4
"""Steps of each run of a burst."""

MOST_BURST_CPU = 1.5
"""How many times the CPU of a raw loop through the same SDK a step of a burst may take."""


async def sdks(client: Client, tally: Tally, lengths: Lengths, repeats: int | None) -> None:
    """Print what a step takes through each SDK, at three lengths."""
    print(f"\nThrough a provider's SDK: {', '.join(map(str, lengths))} steps, streamed")
    print(f"{'':24}" + "".join(f"{f'{n}: ms':>10}{'CPU ms':>9}" for n in lengths), flush=True)
    async with AsyncExitStack() as stack:
        address = client.service_client.config.target_host
        found = await stack.enter_async_context(provider())
        worker = await stack.enter_async_context(
            worker_process(address, "ours", environment=found)
        )
        subjects = [Subject("scripted", worker, "ordinary")]
        subjects += [Subject(name, worker, f"via {name}") for name in AGENTS]
        await ready(client, *subjects)
        floor: Sample | None = None
        for subject in subjects:
            rows = [await _median(client, subject, steps, repeats) for steps in lengths]
            floor = floor or rows[0]
            figures = "".join(f"{row.ms:10.1f}{row.cpu_ms:9.2f}" for row in rows)
            print(f"{subject.name:24}{figures}  {_judged(tally, subject, rows, floor)}".rstrip())


async def burst(client: Client, tally: Tally, runs: int, repeats: int | None) -> None:
    """Print what a step takes in many runs at once, beside a raw loop through the same SDK."""
    print(f"\nThrough OpenAI's SDK: {runs} runs at once, {BURST_STEPS} steps each", flush=True)
    async with AsyncExitStack() as stack:
        address = client.service_client.config.target_host
        found = await stack.enter_async_context(provider())
        start = partial(worker_process, address, environment=found)
        raw = await stack.enter_async_context(start("raw"))
        ours = await stack.enter_async_context(start("ours"))
        floor = Subject("raw loop", raw, raw=RAW_OVER_HTTP)
        subjects = (floor, Subject("ours", ours, "via openai"))
        await ready(client, *subjects)
        samples: dict[str, list[Sample]] = {subject.name: [] for subject in subjects}
        for _ in range(repeats or BURST_ROUNDS):
            for subject in subjects:
                sample = await measured(client, subject, BURST_STEPS, runs)
                samples[subject.name].append(sample)
    bare, own = map(Sample.median, samples.values())
    print(f"{floor.name:24}{bare.ms:10.1f}{bare.cpu_ms:9.2f}")
    ratio = own.cpu_ms / bare.cpu_ms
    said = tally.judge("burst through an SDK: CPU", ratio, MOST_BURST_CPU) or "kept"
    print(f"{'ours':24}{own.ms:10.1f}{own.cpu_ms:9.2f} {ratio:6.2f}x  {said}")


async def _median(client: Client, subject: Subject, steps: int, repeats: int | None) -> Sample:
    rounds = repeats or min(9, max(2, 400 // steps))
    return Sample.median([await measured(client, subject, steps) for _ in range(rounds)])


def _judged(tally: Tally, subject: Subject, rows: list[Sample], floor: Sample) -> str:
    if subject.name == "scripted":
        return ""
    short, middle, long = rows
    said = (
        tally.judge(
            f"{subject.name}: CPU more than scripted", short.cpu_ms - floor.cpu_ms, MOST_CPU, " ms"
        ),
        tally.judge(f"{subject.name}: growth", long.ms / middle.ms, MOST_GROWTH),
    )
    return "; ".join(filter(None, said)) or "kept"
