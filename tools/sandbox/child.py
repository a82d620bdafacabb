"""One call in a sandbox: find the tool, run it, and tell the worker what came of it."""

import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, NoReturn, cast

from holdfast.contracts.errors import AnswerLost, HoldfastError, ToolError, words
from holdfast.contracts.tools import LONGEST_REASON, ToolInvocation
from holdfast.tools.context import ToolContext
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest
from holdfast.tools.sandbox.messages import (
    Asks,
    Done,
    Job,
    Progress,
    Raised,
    Ready,
    Refused,
    line,
)
from holdfast.tools.tool import Tool, imported


class _Worker:
    """The other side; nobody but this process can speak to it."""

    def __init__(self, channel: int) -> None:
        self._socket = socket.socket(fileno=channel)
        self._lines = self._socket.makefile("rb")
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._fall_silent)

    def hear(self) -> dict[str, Any]:
        return json.loads(self._lines.readline())

    def tell(self, message: object) -> None:
        with self._lock:
            self._socket.sendall(line(message))

    def ask(self, request: HttpRequest) -> HttpAnswer:
        with self._lock:
            self._socket.sendall(line(Asks(request)))
            said = self.hear()
        if (refused := said["refused"]) is not None:
            raise Refused(**refused).error()
        if (lost := said["lost"]) is not None:
            raise AnswerLost(lost)
        return HttpAnswer.read(said["answer"])

    def _fall_silent(self) -> None:
        os.close(self._socket.detach())


def serve(channel: int) -> None:
    """Serve one call, whose outcome is one message."""
    worker = _Worker(channel)
    worker.tell(Ready())
    said = worker.hear()
    job = Job(said["module"], said["qualname"], ToolInvocation.model_validate(said["invocation"]))
    # Nothing that a tool prints is a message.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    context = ToolContext.of(
        job.invocation,
        _no_secret,
        lambda value: worker.tell(Progress(value)),
        worker.ask,
    )
    with _Reporting(worker):
        found = imported(job.module, job.qualname)
        if not isinstance(found, Tool):
            raise TypeError(f"{job.module}:{job.qualname} is no tool")
        values = found.bound(job.invocation.arguments, context)
        worker.tell(Done(found.json(_returned(found, values)).decode()))
    # Threads that a tool left behind don't keep its process.
    os._exit(0)


def _returned(tool: Tool, values: dict[str, object]) -> object:
    if not tool.is_async:
        return tool.function(**values)
    import asyncio

    function = cast(Callable[..., Awaitable[object]], tool.function)  # is_async says so

    async def called() -> object:
        return await function(**values)

    return asyncio.run(called())


def _no_secret(name: str) -> NoReturn:
    raise HoldfastError(
        f"no secret {name!r}: there are none in the sandbox; let a tool outside use it"
    )


class _Reporting:
    """Whatever a tool raises in its process is raised again in the worker."""

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> bool:
        if isinstance(error, ToolError):
            self._worker.tell(Refused.of(error))
        elif error is not None:
            self._worker.tell(Raised(type(error).__name__, words(error)[:LONGEST_REASON]))
        return True
