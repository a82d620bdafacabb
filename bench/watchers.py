"""Watchers of one run in a process of their own, so that who decides has nothing of them."""

import argparse
import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from holdfast.client import Run


@asynccontextmanager
async def watchers(address: str, run_id: str, many: int) -> AsyncGenerator[None]:
    """Have so many watch a run until it is over; the block begins when all were told of it."""
    if not many:
        yield
        return
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.watchers", run_id),
        *("--address", address, "--many", str(many)),
        stdout=PIPE,
        env={**os.environ},  # noqa: TID251 -- to hand it on
    )
    if process.stdout is None or not await process.stdout.readline():
        raise SystemExit("bench: those who should watch ended before they began")
    yield
    await process.wait()


async def _watch(address: str, run_id: str, many: int) -> None:
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    run = Run(client, run_id)
    streams = [run.events(live_seconds=1.0) for _ in range(many)]
    await asyncio.gather(*(anext(stream) for stream in streams))
    print(flush=True)
    await asyncio.gather(*(_drain(stream) for stream in streams))


async def _drain(stream: AsyncGenerator[object]) -> None:
    async for _ in stream:
        pass


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--address", required=True)
    parser.add_argument("--many", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    given = _parse()
    asyncio.run(_watch(given.address, given.run, given.many))
    os._exit(0)  # the SDK's threads may abort an interpreter that is shutting down
