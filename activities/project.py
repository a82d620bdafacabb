"""The project that a run works on: a workspace filled with it, kept, and made what it was."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import require_run_caller
from holdfast.activities.heartbeats import Heartbeater
from holdfast.contracts.errors import HoldfastError, InvalidInput
from holdfast.contracts.project import (
    OpenProject,
    ProjectContext,
    RestoreWorkspace,
    SnapshotWorkspace,
    WorkspaceSnapshot,
)
from holdfast.event_log import log
from holdfast.policy import project
from holdfast.policy.project import Document, FileLocations
from holdfast.tools.fair_threads import TENANT, FairThreads
from holdfast.tools.redaction import Redactor
from holdfast.tools.workspaces import Workspaces

INVALID_INPUT = "InvalidInput"
REFUSED = "WorkspaceRefused"
FAILED = "WorkspaceFailed"
"""Types of failures; only the last may be gone when it is tried again."""

_MAX_ERROR_CHARS = 1_000
_MAX_LOG_LINES = 20

_T = TypeVar("_T")
_Asked: TypeAlias = OpenProject | SnapshotWorkspace | RestoreWorkspace

_ASK_SECONDS = 10.0
"""So long a thread waits for the loop, which waits two seconds for the server."""

# Not the loop's threads: guardrails, replies and the ends of calls need those. A disk may be slow.
WORKERS = FairThreads(4, "workspace")

_OPENERS = 2
"""Threads for each folder that projects lie in: one on a mount that hangs keeps no other."""


class ProjectActivities:
    """Works on the workspaces of this worker: the one that has the sandbox, or shares its home."""

    def __init__(self, workspaces: Workspaces, redactor: Redactor) -> None:
        self._workspaces = workspaces
        self._redactor = redactor
        self._openers: dict[str, FairThreads] = {}  # an app says which folders there are

    @activity.defn
    async def open_project(self, asked: OpenProject) -> ProjectContext:
        """
        Copy the project into the run's workspace, and read what its files say of it.

        What was copied already stays. The worker's own secrets leave no file.
        """
        require_run_caller(asked.run_id)
        if asked.folder not in self._openers:
            self._openers[asked.folder] = FairThreads(_OPENERS, "open-project")
        threads = self._openers[asked.folder]
        return await self._run_in_thread(asked, lambda: self._open(asked), threads)

    @activity.defn
    async def snapshot_workspace(self, asked: SnapshotWorkspace) -> WorkspaceSnapshot:
        """Keep what is in the run's workspace now."""
        require_run_caller(asked.run_id)
        return await self._run_in_thread(
            asked, lambda: self._workspaces.snapshot(asked.first_execution_run_id)
        )

    @activity.defn
    async def restore_workspace(self, asked: RestoreWorkspace) -> WorkspaceSnapshot:
        """Make the run's workspace what it was at a snapshot."""
        require_run_caller(asked.run_id)
        return await self._run_in_thread(
            asked,
            lambda: self._workspaces.restore(asked.first_execution_run_id, asked.digest),
        )

    async def _run_in_thread(
        self, asked: _Asked, work: Callable[[], _T], threads: FairThreads = WORKERS
    ) -> _T:
        """
        Do what blocks beside the loop, in threads in which each tenant has its turn.

        What the server has given up another attempt may have done, and its run has gone on since:
        that is asked when its turn has come. It may have waited, and a thread begins sooner than
        the loop of a worker that stood still hears of it.
        """
        async with Heartbeater() as heartbeater:
            loop = asyncio.get_running_loop()

            def work_in_turn() -> _T:
                asking = asyncio.run_coroutine_threadsafe(heartbeater.is_given_up(), loop)
                if asking.result(_ASK_SECONDS):
                    why = "nobody waits for it any more: its worker stood still meanwhile"
                    raise self._failure(why, FAILED)
                return work()

            with self._translate_errors():
                TENANT.set(asked.tenant)
                return await threads.run(asked.run_id, work_in_turn)

    def _open(self, asked: OpenProject) -> ProjectContext:
        run, places = asked.first_execution_run_id, project.list_locations(asked.path)
        left_out = self._workspaces.fill(run, Path(asked.folder))
        named = () if asked.regulated else left_out[:_MAX_LOG_LINES]
        for one in named:
            log.info("project.left_out", path=self._redact(one.path), reason=one.reason)
        if unnamed := len(left_out) - len(named):
            log.info("project.left_out_more", number=unnamed)
        context = project.merge(self._documents(run, places))
        return context.model_copy(update={"workspace": self._workspaces.digest(run)})

    def _documents(self, run: str, places: tuple[FileLocations, ...]) -> Iterator[Document]:
        for place in places:
            for path in place.paths:
                if found := self._workspaces.read(run, path):
                    # Hidden characters go first: they could hide a secret, too.
                    text = self._redactor.text(project.decode_visible(found.content))
                    yield Document(path, place.source, found.digest, text, found.more)
                    break

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Turn what can go wrong into one line without secrets, and say whether to try again."""
        try:
            yield
        except InvalidInput as error:
            raise self._failure(str(error), INVALID_INPUT) from None
        except HoldfastError as error:
            raise self._failure(str(error), REFUSED) from None
        except OSError as error:
            raise self._failure(
                f"the workspace can't be used now: {error.strerror or type(error).__name__}",
                FAILED,
            ) from None

    def _failure(self, message: str, kind: str) -> ApplicationError:
        return ApplicationError(self._redact(message), type=kind, non_retryable=kind != FAILED)

    def _redact(self, text: str) -> str:
        """Names of files are words of whoever wrote them."""
        return self._redactor.text(project.decode_visible(text.encode(errors="replace")))[
            :_MAX_ERROR_CHARS
        ]
