"""Where the whole of a result lies that is too large for a model."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias
from urllib.parse import quote

from holdfast.contracts.calls import ArtifactRef, ToolInvocation

Part: TypeAlias = Literal["whole", "full part"]
"""What is kept: the whole of what a model reads, or what people and audit have beside that."""

MAX_NAME_CHARS = 100
"""Characters; file systems end at 255 bytes."""


class ArtifactStore(Protocol):
    """Keeps whole results."""

    def keep(
        self, invocation: ToolInvocation, content: bytes, part: Part = "whole"
    ) -> ArtifactRef:
        """
        Keep a result under its run and call; keeping it again changes nothing.

        Raises OSError where it can't be kept.
        """
        ...

    def read(self, invocation: ToolInvocation, name: str) -> bytes:
        """Return a whole that the run of a call has kept; raises OSError where there is none."""
        ...

    def is_read_by(self, agent: str) -> bool:
        """Whether an agent has the tool that reads on in what is kept."""
        ...


class FileArtifacts:
    """
    Keeps results as files under a folder: `<run>/<call>.json`, drafts beside them.

    Only the user of the worker gets in, as into workspaces. A full part is no `.json`: no name
    that a model makes up leads there.
    """

    def __init__(self, folder: Path, readers: Iterable[str] = ()) -> None:
        self._folder = folder
        self._readers = frozenset(readers)

    def keep(
        self, invocation: ToolInvocation, content: bytes, part: Part = "whole"
    ) -> ArtifactRef:
        run = self._find_folder(invocation)
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self._folder, run):
            folder.mkdir(mode=0o700, exist_ok=True)
        # A quoted id has no dot: no id of a call is the name of another call's draft.
        purpose = "" if invocation.purpose == "call" else f".{invocation.purpose}"
        suffix = ".json" if part == "whole" else ".full"
        path = run / f"{as_file_name(invocation.call_id)}{purpose}{suffix}"
        partial = path.with_suffix(f"{path.suffix}.partial")
        try:
            opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(opened, "wb") as file:
                file.write(content)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        return ArtifactRef(
            path=str(path),
            characters=len(content.decode()),
            digest=hashlib.sha256(content).hexdigest(),
        )

    def read(self, invocation: ToolInvocation, name: str) -> bytes:
        path = self._find_folder(invocation) / f"{name}.json"
        if not name or path.parent != self._find_folder(invocation):
            raise FileNotFoundError(name)
        return path.read_bytes()

    def is_read_by(self, agent: str) -> bool:
        return agent in self._readers

    def _find_folder(self, invocation: ToolInvocation) -> Path:
        # Ids come from outside: quoted, no id can lead out of the folder.
        return self._folder / as_file_name(invocation.first_execution_run_id)


def as_file_name(name: str) -> str:
    """Turn an id into the name of a file or folder: it can't lead anywhere else, nor collide."""
    safe = quote(name, safe="").replace(".", "%2E")
    if len(safe) <= MAX_NAME_CHARS:
        return safe
    return f"{safe[:MAX_NAME_CHARS]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
