"""Who talks in a session hears that nobody can see what happens in it, and goes on."""

import asyncio
import io
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.service import RPCError, RPCStatusCode

from holdfast import worker
from holdfast.cli import sessions
from holdfast.cli.sessions import Chat
from holdfast.client import Holdfast, RunEvent
from holdfast.client.stream import EventStream, open_stream
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.trace.values import Trace
from tests.holdfast.test_client import asked
from tests.sessions.test_commands import APP

pytestmark = pytest.mark.usefixtures("command_line")


class Broken:
    """A stream that is read no further than a step."""

    def __init__(self, stream: EventStream, error: Exception) -> None:
        self._stream, self._error = stream, error

    @property
    def trace(self) -> Trace:
        return self._stream.trace

    async def steps(self) -> AsyncGenerator[RunEvent | None]:
        async with aclosing(self._stream.steps()) as steps:
            yield await anext(steps)
        raise self._error


@pytest.mark.parametrize(
    ("error", "why"),
    [
        pytest.param(
            RPCError("the server is busy", RPCStatusCode.RESOURCE_EXHAUSTED, b""),
            "RPCError: the server is busy",
            id="the server's",
        ),
        pytest.param(KeyError("x"), "KeyError: 'x'", id="our own"),
    ],
)
async def test_what_fails_is_told_and_what_waits_is_asked(
    client: Client,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    why: str,
) -> None:
    """In one line, once; what waits for a person is shown by what is read anew."""
    failures = [error, error]

    async def open_badly(
        client: Client, found: WorkflowExecutionDescription, after: str | None, seconds: float
    ) -> EventStream | Broken:
        stream = await open_stream(client, found, after, seconds)
        return Broken(stream, failures.pop()) if failures else stream

    monkeypatch.setattr(sessions, "open_stream", open_badly)
    monkeypatch.setattr(sessions, "RETRY_SECONDS", 0)
    monkeypatch.setattr(sys, "stdin", io.StringIO("send it\n"))
    holdfast, shown, told = Holdfast(client), "", ""
    async with worker.run_worker(client, APP):
        talk = holdfast.session(name, agent="sender", actor="eve")
        chatting = asyncio.create_task(Chat(holdfast, talk).run())
        while "digest" not in shown:
            await asyncio.sleep(0.05)
            out, err = capsys.readouterr()
            shown, told = shown + out, told + err
        request = await asked(talk.run)
        assert isinstance(request, ApprovalRequest)
        await talk.run.approve(request, approver="zoe")
        await chatting
        await talk.close()
        await client.get_workflow_handle(name).result()
    out, err = capsys.readouterr()

    assert not failures
    assert "\nsend ok\n" in f"\n{out}"
    assert "decide    holdfast approve" in shown
    assert told + err == (
        f"what happens in {name} can't be shown ({why}), and is looked for again; "
        f"'holdfast pending {name}' shows what waits\n"
    )
