"""How long it takes to rebuild a run from its history."""

import time
from contextlib import AsyncExitStack

from temporalio.client import Client
from temporalio.worker import Replayer

from bench.processes import worker_process
from bench.raw import RawLoop
from bench.samples import Subject, ready
from holdfast.runner import build_replayer
from holdfast.workflows.agent_run import AgentRun


async def replay(client: Client, steps: int) -> None:
    """Print what the replay of one run takes, of ours and of the floor."""
    print(f"\nReplay of one run of {steps:,} steps")
    print(f"{'':24}{'events':>8}{'ms':>10}{'ms per 1,000 events':>22}", flush=True)
    address = client.service_client.config.target_host
    ours = build_replayer(AgentRun)
    async with AsyncExitStack() as stack:
        for name, kind, agent, replaying in (
            ("raw loop", "raw", None, Replayer(workflows=[RawLoop])),
            ("ours", "ours", "ordinary", ours),
            ("ours, local reads", "ours", "local", ours),
        ):
            worker = await stack.enter_async_context(worker_process(address, kind))
            subject = Subject(name, worker, agent)
            await ready(client, subject)
            await _replayed(client, subject, replaying, steps)


async def _replayed(client: Client, subject: Subject, replayer: Replayer, steps: int) -> None:
    handle = await subject.start(client, steps)
    await handle.result()
    # The last execution, if the run continued as new.
    history = await client.get_workflow_handle(handle.id).fetch_history()
    began = time.perf_counter()
    await replayer.replay_workflow(history)
    ms, events = (time.perf_counter() - began) * 1000, len(history.events)
    print(f"{subject.name:24}{events:8,}{ms:10,.0f}{ms * 1000 / events:22.1f}", flush=True)
