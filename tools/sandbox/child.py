"""One call in a sandbox: find the tool, run it, and tell the worker what came of it."""

import json
import os
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, NoReturn, cast

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import AnswerLost, HoldfastError, ToolError, safe_str
from holdfast.tools.context import ToolContext
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest
from holdfast.tools.sandbox.messages import (
    EgressRequest,
    ErrorReporter,
    Job,
    Progress,
    Ready,
    Refused,
    encode_line,
    encode_result,
)
from holdfast.tools.tool import Tool, import_object

_NICENESS = 10
"""What foreign code is worth beside the worker that waits for it."""


class _Worker:
    """The other side; nobody but this process can speak to it."""

    def __init__(self, reading: int, writing: int) -> None:
        self._ends: tuple[int, ...] = (reading, writing)
        self._lines = open(reading, "rb", closefd=False)  # noqa: SIM115 -- it stays open
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._close_in_fork)

    def receive(self) -> dict[str, Any]:
        return json.loads(self._lines.readline())

    def send(self, message: object) -> None:
        self.send_line(encode_line(message))

    def send_line(self, line: bytes) -> None:
        with self._lock:
            self._write(line)

    def ask(self, request: HttpRequest) -> HttpAnswer:
        with self._lock:
            self._write(encode_line(EgressRequest(request)))
            said = self.receive()
        if (refused := said["refused"]) is not None:
            raise Refused(**refused).error()
        if (lost := said["lost"]) is not None:
            raise AnswerLost(lost)
        return HttpAnswer.read(said["answer"])

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._ends[1], rest) :]

    def _close_in_fork(self) -> None:
        # Once: in a fork of the fork these numbers are those of files of its own.
        ends, self._ends = self._ends, ()
        for descriptor in ends:
            os.close(descriptor)


def serve(reading: int, writing: int) -> None:
    """Serve one call, whose outcome is one message."""
    worker = _Worker(reading, writing)
    worker.send(Ready())
    said = worker.receive()
    # Only now: on a busy machine one that gave way to others before might not be ready in time.
    os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    job = Job(said["module"], said["qualname"], ToolInvocation.model_validate(said["invocation"]))
    # Nothing that a tool prints is a message.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    context = ToolContext.of(
        job.invocation,
        _refuse_secret,
        lambda value: worker.send(Progress(value)),
        worker.ask,
    )
    with ErrorReporter(worker.send):
        with _LoadRefusal(job.qualname):
            found = import_object(job.module, job.qualname)
            if not isinstance(found, Tool):
                raise TypeError(f"{job.module}:{job.qualname} is no tool")
        values = found.bind(job.invocation.arguments, context)
        worker.send_line(encode_result(found.json(_run_tool(found, values))))
    # Threads that a tool left behind don't keep its process.
    os._exit(0)


class _LoadRefusal:
    """Whatever keeps a tool from being loaded, as a variable that its module wants: none began."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            why = f"{type(error).__name__}: {safe_str(error)}"
            raise ToolError(
                "internal_error",
                f"{self._name} can't be loaded in the sandbox: {why}",
                ("use another tool", "ask a person to look at the app"),
            ) from error


def _run_tool(tool: Tool, values: dict[str, object]) -> object:
    if not tool.is_async:
        return tool.function(**values)
    import asyncio

    function = cast(Callable[..., Awaitable[object]], tool.function)  # is_async says so

    async def call() -> object:
        return await function(**values)

    return asyncio.run(call())


def _refuse_secret(name: str) -> NoReturn:
    raise HoldfastError(
        f"no secret {name!r}: there are none in the sandbox; let a tool outside use it"
    )
