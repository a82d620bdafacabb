"""What was tried with the worker, and what it brings: `python -m bench.variants`."""

import argparse
import asyncio
import statistics
from typing import NamedTuple

from temporalio.client import Client

from bench.processes import server, worker_process
from bench.samples import Sample, Subject, measured, ready
from bench.worker import (
    AS_IS,
    AUTOSCALING,
    LAZY,
    PYDANTIC,
    SANDBOXED,
    SANDBOXED_ONCE,
    UNSANDBOXED,
    UVLOOP,
    has_uvloop,
)


class Row(NamedTuple):
    """One variant beside the worker as it is, measured in turn."""

    variant: Sample
    ms: float
    cpu: float


# What differs from the worker as it is: ours has no sandbox and pydantic's converter anyway.
TRIED = {
    "ours": (SANDBOXED, SANDBOXED_ONCE, AUTOSCALING, LAZY, UVLOOP),
    "raw": (UNSANDBOXED, AUTOSCALING, LAZY, UVLOOP, PYDANTIC),
}


async def _row(
    client: Client, as_is: Subject, variant: str, kind: str, given: argparse.Namespace
) -> Row:
    address = client.service_client.config.target_host
    async with worker_process(address, kind, variant=variant) as worker:
        changed = Subject(variant, worker, as_is.agent)
        await ready(client, changed)
        pairs = [
            (
                await measured(client, as_is, given.steps),
                await measured(client, changed, given.steps),
            )
            for _ in range(given.repeats)
        ]
    return Row(
        variant=Sample.median(after for _, after in pairs),
        ms=statistics.median(after.ms / before.ms for before, after in pairs),
        cpu=statistics.median(after.cpu_ms / before.cpu_ms for before, after in pairs),
    )


async def _table(
    client: Client, name: str, kind: str, agent: str | None, given: argparse.Namespace
) -> None:
    address = client.service_client.config.target_host
    print(f"\n{name}, {given.steps} steps; times are against the worker as it is, in turn")
    print(f"{'':40}{'ms/step':>9}{'':8}{'CPU ms/step':>13}{'':8}{'bytes':>8}{'events':>8}")
    async with worker_process(address, kind) as worker:
        as_is = Subject(AS_IS, worker, agent)
        await ready(client, as_is)
        base = await measured(client, as_is, given.steps)
        print(
            f"{AS_IS:40}{base.ms:9.1f}{'':8}{base.cpu_ms:13.2f}{'':8}"
            f"{base.size:8,.0f}{base.events:8.1f}",
            flush=True,
        )
        for variant in TRIED[kind]:
            if variant == UVLOOP and not has_uvloop():
                print(f"{variant:40}  skipped: not installed")
                continue
            row = await _row(client, as_is, variant, kind, given)
            print(
                f"{variant:40}{row.variant.ms:9.1f} {row.ms:6.2f}x"
                f"{row.variant.cpu_ms:13.2f} {row.cpu:6.2f}x"
                f"{row.variant.size:8,.0f}{row.variant.events:8.1f}",
                flush=True,
            )


async def _measure(given: argparse.Namespace) -> None:
    async with server() as client:
        await _table(client, "Ours", "ours", "ordinary", given)
        await _table(client, "Raw loop", "raw", None, given)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.variants", description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3, help="pairs of each variant")
    asyncio.run(_measure(parser.parse_args()))
