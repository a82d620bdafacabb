"""
What a step costs, beside a bare Temporal loop with the same activities on the same server.

Takes about six minutes on a quiet machine; Linux only, for the CPU time of other processes.
"""

import argparse
import asyncio
import importlib.metadata
import os
import sys
import time

from temporalio.client import Client

from bench import delegation, live, long, recovery, replay, scale, sdks, sessions, start, steps
from bench.decisions import decisions, looks
from bench.goals import Tally
from bench.processes import server

PARTS = (
    "decisions",
    "start",
    "steps",
    "many",
    "cache",
    "sdks",
    "recovery",
    "replay",
    "live",
    "sessions",
    "delegation",
)
LONG, SCALE = "long", "scale"
"""A run of 10,000 steps, and 2,000 runs that wait: each takes minutes, and is asked for."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=(*PARTS, LONG, SCALE),
        default=PARTS,
        metavar="PART",
        help=" ".join((*PARTS, LONG, SCALE)),
    )
    parser.add_argument(
        "--lengths", nargs="+", type=int, default=[10, 50, 200, 1000], help="steps of lone runs"
    )
    parser.add_argument("--repeats", type=int, help="of each measurement; more for short runs")
    parser.add_argument("--runs", type=int, default=steps.MANY, help="runs at once")
    parser.add_argument("--cache-steps", type=int, default=200)
    parser.add_argument("--replay-steps", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=1000, help="of one long session")
    parser.add_argument("--long-steps", type=int, default=10_000, help="of one long run")
    parser.add_argument("--waiting", type=int, default=2000, help="runs that wait for people")
    parser.add_argument(
        "--working", type=int, default=200, help="runs that work at once, of scale"
    )
    return parser.parse_args()


async def _measure(given: argparse.Namespace) -> None:
    began, tally = time.monotonic(), Tally()
    sdk = importlib.metadata.version("temporalio")
    print(f"temporalio {sdk}, Python {sys.version.split()[0]}, {os.cpu_count()} processors")
    print(
        "The raw loop has the SDK's defaults, its sandbox too; python -m bench.variants: without"
    )
    if "decisions" in given.only:
        decisions(tally)
        looks()
    if "start" in given.only:
        start.start(tally, given.repeats)
    if set(given.only) - {"decisions", "start"}:
        await _with_server(given, tally)
    tally.close()
    print(f"\n{time.monotonic() - began:.0f} s")


async def _with_server(given: argparse.Namespace, tally: Tally) -> None:
    async with server() as client:
        if "steps" in given.only:
            await steps.one_at_a_time(client, tally, given.lengths, given.repeats)
        if "many" in given.only:
            await steps.at_once(client, tally, given.runs, given.repeats)
        if "cache" in given.only:
            await steps.without_cache(client, given.cache_steps, given.repeats)
        if "sdks" in given.only:
            await sdks.sdks(client, tally, sdks.Lengths(), given.repeats)
            await sdks.burst(client, tally, given.runs, given.repeats)
        if "recovery" in given.only:
            await recovery.recover(client, tally, given.repeats)
        if "replay" in given.only:
            await replay.replay(client, given.replay_steps)
        if "delegation" in given.only:
            await delegation.delegate(client, given.repeats)
        if "live" in given.only:
            await live.live(client)
        await _at_length(client, given)


async def _at_length(client: Client, given: argparse.Namespace) -> None:
    if "sessions" in given.only:
        await sessions.sessions(client, given.messages)
    if LONG in given.only:
        await long.long(client, given.long_steps)
    if SCALE in given.only:
        await scale.scale(client, given.waiting, given.working)


if __name__ == "__main__":
    asyncio.run(_measure(_arguments()))
