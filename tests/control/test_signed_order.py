"""Signals that take a signature, and others behind them: the last says where the run stands."""

from pathlib import Path

import pytest

from holdfast import App
from holdfast.testing import call
from tests.control.controlled import chained
from tests.memory.runs import MemoryRuns


def sending(log: Path, policy: Path | None) -> App:
    """An app whose run waits for an approval, with a policy or without."""
    app = chained([call("send", log=str(log), text="hi")])
    return App(agents=app.agents, scripts=app.scripts, policy=policy)


@pytest.mark.parametrize(
    ("signed", "last", "status"),
    [("resume", "suspend", "suspended"), ("suspend", "resume", "waiting")],
)
async def test_the_last_that_counts_holds(
    memory_runs: MemoryRuns, tmp_path: Path, signed: str, last: str, status: str
) -> None:
    """What has to be judged is refused unsigned, though the policy that wants that is gone."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"version: 1\nsignals:\n  {signed}: {{}}\n", encoding="utf-8")
    log = tmp_path / "log"
    async with memory_runs.working(sending(log, policy)):
        run = await memory_runs.start("it")
        await run.asked_for_approval()
    await run.signal("answer", {"request_id": "req-9", "text": "what is judged meanwhile waits"})
    await run.signal(signed, {})
    await run.signal(last, {})
    async with memory_runs.working(sending(log, None)):
        for _ in range(5):
            await run.pause()
        found = await run.status()

    assert (found.status, found.refused_total) == (status, 2)
