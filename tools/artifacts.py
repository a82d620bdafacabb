"""Where the whole of a result lies that is too large for a model."""

import hashlib
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from holdfast.contracts.calls import ArtifactRef, ToolInvocation

MAX_NAME_CHARS = 100
"""Characters; file systems end at 255 bytes."""


class ArtifactStore(Protocol):
    """Keeps whole results."""

    def keep(self, invocation: ToolInvocation, content: bytes) -> ArtifactRef:
        """
        Keep a result under its run and call; keeping it again changes nothing.

        Raises OSError where it can't be kept.
        """
        ...


class FileArtifacts:
    """Keeps results as files under a folder: `<run>/<call>.json`, drafts beside them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, invocation: ToolInvocation, content: bytes) -> ArtifactRef:
        # Ids come from outside: quoted, no id can lead out of the folder.
        run = self._folder / as_file_name(invocation.first_execution_run_id)
        run.mkdir(parents=True, exist_ok=True)
        # A quoted id has no dot: no id of a call is the name of another call's draft.
        purpose = "" if invocation.purpose == "call" else f".{invocation.purpose}"
        path = run / f"{as_file_name(invocation.call_id)}{purpose}.json"
        partial = path.with_suffix(".partial")
        try:
            partial.write_bytes(content)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        return ArtifactRef(
            path=str(path),
            characters=len(content.decode()),
            digest=hashlib.sha256(content).hexdigest(),
        )


def as_file_name(name: str) -> str:
    """Turn an id into the name of a file or folder: it can't lead anywhere else, nor collide."""
    safe = quote(name, safe="").replace(".", "%2E")
    if len(safe) <= MAX_NAME_CHARS:
        return safe
    return f"{safe[:MAX_NAME_CHARS]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
