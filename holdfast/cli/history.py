"""Commands that read the history of a run: none of them needs a worker."""

import errno
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from temporalio.client import WorkflowHistory

from holdfast import histories
from holdfast.cli import options, render, screen
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.client.spans import parse_trace
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.contracts.texts import shorten
from holdfast.run.texts.figures import pluralize
from holdfast.runner import build_replayer
from holdfast.trace.values import Trace
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.agent_session import AgentSession
from holdfast.workflows.switches import HoldfastSwitches

_MAX_ID_CHARS = 1000
"""What a server takes as the id of any workflow."""

_MESSAGE = Pattern(r'message: "((?:[^"\\]|\\.)*)"')


@blocking
async def replay(run: options.RunOrFile, as_json: options.Json = False) -> None:
    """Replay a run with the code of today. Exit code 1 if it decides anything else."""
    found = await _load_histories(run)
    reason = await _find_replay_failure(found)
    events = sum(len(history.events) for history in found)
    name = found[0].workflow_id
    if as_json:
        counts = {"executions": len(found), "events": events}
        render.show_json({"run_id": name, **counts, "same": reason is None, "reason": reason})
        raise typer.Exit(0 if reason is None else 1)
    if reason is not None:
        raise HoldfastError(f"{name} does not replay: {reason}")
    screen.tell(f"{name} replays: {pluralize(events, 'event')}, the same decisions")


@blocking
async def export(
    run: options.RunId,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; standard output if left out.")
    ] = None,
) -> None:
    """Write the history of a run as JSON, all its executions. 'trace' and 'replay' read it."""
    text = histories.render_export(await (await options.connect()).run(run).history())
    if output is None:
        Screen().json(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HoldfastError(f"{output}: {error.strerror}") from None
    screen.tell(f"{run} is in {output}")


async def read_run(run: str) -> Trace:
    """Return the trace of a run, by its id or from a file with its history."""
    return _parse_trace(run, await _load_histories(run))


def is_file(run: str) -> bool:
    """Whether a run is named by a file with its history."""
    return _is_file(Path(run))


async def _load_histories(run: str) -> Sequence[WorkflowHistory]:
    path = Path(run)
    names_file = path.suffix == ".json" or "/" in run
    if _is_file(path):
        found = histories.read(path)
        if not names_file:
            screen.warn(f"{shorten(run)!r} is a file here: no run of that name is looked for")
        return found
    if names_file:
        raise HoldfastError(f"there is no file {shorten(run)!r}")
    if len(run) > _MAX_ID_CHARS:
        raise HoldfastError(
            f"no file and no run has a name of {len(run):,} characters, as {shorten(run)!r}"
        )
    return await (await options.connect()).run(run).history()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise HoldfastError(f"{path}: {error.strerror}") from None


def _parse_trace(run: str, found: Sequence[WorkflowHistory]) -> Trace:
    for event in (history.events[0] for history in found if history.events):
        kind = event.workflow_execution_started_event_attributes.workflow_type.name
        if kind not in {WORKFLOW_TYPE, SESSION_WORKFLOW_TYPE}:
            raise HoldfastError(f"{run} is no run of an agent: its workflow type is {kind!r}")
    return parse_trace(run, found)


async def _find_replay_failure(found: Sequence[WorkflowHistory]) -> str | None:
    """Return why a history does not replay; null if it does."""
    ours = build_replayer(AgentRun, AgentSession, HoldfastSwitches)
    with _silence():
        for history in found:
            if not histories.is_replayable(history):
                continue
            outcome = await ours.replay_workflow(history, raise_on_replay_failure=False)
            if outcome.replay_failure is not None:
                return _describe_failure(outcome.replay_failure)
    return None


@contextmanager
def _silence() -> Generator[None]:
    """Have the SDK log nothing: the reason is returned, and it would add a stack trace."""
    sdk = logging.getLogger("temporalio")
    before = sdk.level
    sdk.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        sdk.setLevel(before)


def _describe_failure(failure: Exception) -> str:
    """Core reports a failure as a dump of its structure; its messages say what went wrong."""
    dump = str(failure)
    found = [part.groups[1] for part in _MESSAGE.matches(dump) if part.groups[1]] or [dump]
    return shorten(": ".join(found).replace("\\n", " "), 500)
