"""Watching a run to its end."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, contextmanager
from typing import Annotated, NoReturn

import typer
from temporalio.api.enums.v1 import PendingWorkflowTaskState
from temporalio.client import WorkflowExecutionDescription
from temporalio.service import RPCError

from holdfast.activities.statuses import PAUSED
from holdfast.cli import options, render, screen
from holdfast.cli.asking import ApprovalPrompt
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.client import Holdfast, Run, RunEvent
from holdfast.client.event_data import TextDelta, TextReset
from holdfast.client.live import LIVE_SECONDS
from holdfast.client.rpc_errors import START_A_WORKER, describe_pause
from holdfast.client.spans import join_spans
from holdfast.client.stream import EventStream, open_stream
from holdfast.contracts.texts import one_line
from holdfast.run.limits import triggers
from holdfast.trace.transcript import Progress
from holdfast.trace.values import Trace

EXIT_STOPPED = 3

FIND_WORKER = "find_worker"
STALL_TIMEOUT_SECONDS = 5.0
"""Seconds; a worker that is there takes a workflow task within milliseconds."""


@blocking
async def watch(
    run: options.RunId,
    as_json: options.JsonLines = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="ID", help="With --json: only what came after the event ID."),
    ] = None,
) -> None:
    """
    Follow a run that exists, as 'run' does, until it ends; Ctrl-C leaves it to itself.

    Exit code: 0 completed, 3 stopped or blocked, 1 failed.
    """
    if after is not None and not as_json:
        raise typer.BadParameter("--after needs --json: a transcript is shown whole")
    holdfast = await options.connect()
    await show_to_end(holdfast, holdfast.run(run), as_json=as_json, after=after)


async def show_to_end(
    holdfast: Holdfast,
    run: Run,
    *,
    as_json: bool,
    after: str | None = None,
    with_trace: bool = False,
) -> NoReturn:
    """Show a run until its end, and exit with the code that says how it ended."""
    stream = await open_stream(holdfast.client, await run.describe(), after, LIVE_SECONDS)
    with _detaching(run.id):
        trace = await Watch(run, as_json=as_json).until_over(stream)
    if with_trace:
        tree = await join_spans(holdfast.client, trace, reasoning=False)
        Screen().json(tree.model_dump_json())
    raise typer.Exit(_exit_code(trace))


class Watch:
    """One run, watched: its transcript as it grows, and what it waits for; or its events."""

    def __init__(self, run: Run, *, as_json: bool) -> None:
        self._run = run
        self._as_json = as_json
        self._out = Screen(errors=as_json)
        self._progress = Progress()
        self._shown: set[str] = set()
        self._root = ""
        asks = not as_json and sys.stdin.isatty() and self._out.is_terminal
        self._prompt = ApprovalPrompt(run, self._out, asks=asks)

    async def until_over(self, stream: EventStream) -> Trace:
        """
        Show the run until it is over.

        What had happened when the stream was opened is shown as it stands behind all of it: what
        was asked and decided then asks nobody again.
        """
        caught_up = False
        async with aclosing(stream.steps()) as steps:
            try:
                while (step := await self._next(steps)) is not StopAsyncIteration:
                    caught_up = caught_up or step is None
                    if isinstance(step, RunEvent):
                        self._take(step)
                    if caught_up and not self._as_json:
                        self._show(stream.trace)
            finally:
                await self._prompt.close()
                self._out.end_words()
        return stream.trace

    def _take(self, event: RunEvent) -> None:
        """Print an event as JSON; or words of the run itself, to who reads along."""
        self._root = self._root or event.run_id
        if self._as_json:
            Screen().json(event.model_dump_json())
        elif self._out.is_terminal and event.run_id == self._root:
            match event.data:
                case TextDelta(text=text):
                    self._out.words(text)
                case TextReset():
                    self._out.end_words()
                case _:
                    pass

    async def _next(
        self, steps: AsyncGenerator[RunEvent | None]
    ) -> RunEvent | type[StopAsyncIteration] | None:
        coming = asyncio.ensure_future(anext(steps, StopAsyncIteration))
        try:
            while not (await asyncio.wait({coming}, timeout=STALL_TIMEOUT_SECONDS))[0]:
                for line in await self._explain_stall():
                    self._tell(line)
        finally:
            coming.cancel()
            await asyncio.wait({coming})
        return coming.result()

    def _show(self, trace: Trace) -> None:
        if (idle := _find_idle_domain(trace)) is not None:
            self._tell(idle)
        lines = list(self._progress.fresh(trace))
        interrupted = self._prompt.question
        self._prompt.set_open_requests(trace)
        if not lines:
            return
        self._out.end_words()
        # The line in which somebody types is left, and begun again below the news.
        if interrupted:
            self._out.line("")
        for line in lines:
            render.show_line(self._out, line)
        if self._prompt.question:
            self._out.question(self._prompt.question)

    async def _explain_stall(self) -> list[str]:
        """Say why nothing happens, where the server knows."""
        try:
            return list(_reasons(await self._run.describe()))
        except RPCError as error:
            return [f"Temporal does not answer ({error.status.name.lower()}); waiting for it"]

    def _tell(self, line: str) -> None:
        if line not in self._shown:
            self._shown.add(line)
            screen.warn(line)  # standard output is the transcript


def _find_idle_domain(trace: Trace) -> str | None:
    """Say that a run was given a domain that its agent makes nothing of: a slip, perhaps."""
    brief, agent = trace.brief, trace.agent
    if brief is None or agent is None or not brief.domain:
        return None
    known = triggers.collect_sensitive_domains(agent.triggers, brief)
    if brief.domain.strip().casefold() in known:
        return None
    return (
        f"nothing waits for a review in domain {brief.domain!r}: those of agent {agent.name!r} "
        f"are {', '.join(sorted(known)) or 'none'}"
    )


def _reasons(description: WorkflowExecutionDescription) -> Iterator[str]:
    if description.status == PAUSED:
        yield describe_pause(description.id)
        return
    raw = description.raw_description
    scheduled = PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
    if raw.HasField("pending_workflow_task") and raw.pending_workflow_task.state == scheduled:
        queue = description.task_queue
        yield f"no worker answers on task queue {queue!r}: {START_A_WORKER}"
    for activity in raw.pending_activities:
        if activity.attempt <= 1:
            continue
        reason = one_line(activity.last_failure.message)
        if activity.activity_type.name == FIND_WORKER:
            until = activity.expiration_time.ToDatetime()
            ends = f"'{screen.command('cancel', description.id)}' ends that"
            yield f"{reason}; one that has is looked for until {until:%H:%M:%S} UTC, {ends}"
            continue
        begins = activity.next_attempt_schedule_time
        begin = f" at {begins.ToDatetime():%H:%M:%S} UTC" if begins.seconds else ""
        yield f"{activity.activity_type.name}, attempt {activity.attempt}{begin}: {reason}"


@contextmanager
def _detaching(run: str) -> Generator[None]:
    """Say, to whoever leaves a run with Ctrl-C, that it goes on, and how to come back to it."""
    try:
        yield
    except asyncio.CancelledError:
        screen.warn(
            f"{run} goes on without you: '{screen.command('watch', run)}' comes back to it, "
            f"'{screen.command('cancel', run)}' ends it",
            hang=None,
        )
        raise


def _exit_code(trace: Trace) -> int:
    match trace.status:
        case "completed":
            return 0
        case "stopped" | "blocked":
            return EXIT_STOPPED
        case "failed" | "cancelled" | "terminated" | "timed_out":
            return 1
        case "running" | "waiting" | "idle" | "suspending" | "suspended":
            return 1
