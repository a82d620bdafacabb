"""The project that a run works on: its files, and what they say about how to work on it."""

from operator import not_
from typing import Annotated, Literal

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.calls import DEFAULT_TENANT, ToldTenant

Source = Literal["agents", "claude", "session", "package", "readme"]
"""Kinds of files in the order of their priority."""


class ProjectSpec(Contract):
    """A folder on the workers that have the sandbox; each run works on a copy of its own."""

    folder: str


class OpenProject(Contract):
    """
    Input of the activity `open_project`: fills a workspace and reads what the project says.

    `path` is the file that the task is about, relative to the project, if it says so. Of a
    `regulated` run no name of a file is logged. Each `tenant` has its turn.
    """

    run_id: str
    first_execution_run_id: str
    folder: str
    path: str = ""
    regulated: bool = Field(default=False, exclude_if=not_)
    tenant: ToldTenant = DEFAULT_TENANT


class ProjectFile(Contract):
    """A file whose words were read; `digest` is the SHA-256 of its bytes, `cut` if not whole."""

    path: str
    source: Source
    digest: str
    characters: int
    cut: bool = Field(default=False, exclude_if=not_)


class ProjectContext(Contract):
    """
    What a project says about itself. Untrusted: nothing in it grants anything.

    The parsed sections are those of the highest priority file that has them. `texts` is what else
    the model is shown, in the order of `files`. `workspace` is the digest of the files.
    """

    files: tuple[ProjectFile, ...] = ()
    texts: tuple[str, ...] = ()
    build_commands: tuple[str, ...] = ()
    test_commands: tuple[str, ...] = ()
    code_style: dict[str, str] = Field(default_factory=dict[str, str])
    architecture_notes: str = ""
    deployment_notes: str = ""
    security_notes: str = ""
    workspace: str = ""


class SnapshotWorkspace(Contract):
    """Input of the activity `snapshot_workspace`."""

    run_id: str
    first_execution_run_id: str
    tenant: ToldTenant = DEFAULT_TENANT


class RestoreWorkspace(Contract):
    """Input of the activity `restore_workspace`: back to the snapshot with this digest."""

    run_id: str
    first_execution_run_id: str
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    tenant: ToldTenant = DEFAULT_TENANT


class WorkspaceSnapshot(Contract):
    """Output of both: the digest of all files, and how much they are."""

    digest: str
    files: int
    bytes: int
