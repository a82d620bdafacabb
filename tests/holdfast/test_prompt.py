"""Asking the person at the terminal: what waits is shown, however late a busy run tells of it."""

import asyncio
import io
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from holdfast.cli import asking
from holdfast.cli.asking import ApprovalPrompt
from holdfast.cli.screen import Screen
from holdfast.client import NoWorker, Run
from holdfast.contracts.approvals import Request
from holdfast.trace.entries import BackgroundTask
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace
from tests.builders import a_request
from tests.histories import stored

REQUEST = a_request("req-1")
OF_A_PART = a_request("1-it/req-1", run_id="run-1.1-it")


class BusyRun(Run):
    """A run that answers what it is asked in turn, and its parts do."""

    def __init__(self, answers: Iterator[tuple[Request, ...] | NoWorker]) -> None:
        self.id = "run-1"
        self._answers = answers

    async def pending(self) -> tuple[Request, ...]:
        answer = next(self._answers)
        if isinstance(answer, NoWorker):
            raise answer
        return answer

    def find_asking(self, request: Request) -> Run:
        return BusyRun(self._answers) if request.run_id else self


def a_trace(request: Request) -> Trace:
    """A history that knows of the request."""
    (chain, *_) = stored.unpack(stored.history_file("undo").read_bytes())
    trace = read_trace(chain)
    works = BackgroundTask(
        key="part", kind="child", name="part", run_id="part", at=trace.started_at
    )
    return replace(trace, entries=[works], relays={"part": (request.request_id,)}, ended_at=None)


@pytest.mark.parametrize(
    ("request_", "answers"),
    [
        pytest.param(REQUEST, [(), (REQUEST,)], id="the run has yet to take it"),
        pytest.param(REQUEST, [NoWorker("busy"), (REQUEST,)], id="the run is busy"),
        pytest.param(
            OF_A_PART,
            [(OF_A_PART,), NoWorker("busy"), (OF_A_PART,), (a_request("req-1"),)],
            id="its part is busy",
        ),
    ],
)
async def test_a_request_that_comes_late_is_shown(
    monkeypatch: pytest.MonkeyPatch,
    request_: Request,
    answers: list[tuple[Request, ...] | NoWorker],
) -> None:
    """Once, and all of it: nobody would be asked to decide it otherwise."""
    monkeypatch.setattr(asking, "RETRY_SECONDS", 0)
    out = io.StringIO()
    prompt = ApprovalPrompt(
        BusyRun(iter(answers)), Screen(Console(file=out, width=500)), asks=False
    )
    prompt.set_open_requests(a_trace(request_))
    async with asyncio.timeout(60):
        while "digest" not in out.getvalue():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0)
    await prompt.close()

    assert out.getvalue().count(f"  {request_.request_id}  ") == 1
