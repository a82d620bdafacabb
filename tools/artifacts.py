"""Where the whole of a result lies that is too large for a model."""

import hashlib
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from contracts.tools import ArtifactRef, ToolInvocation

LONGEST_NAME = 100
"""Characters; file systems end at 255 bytes."""


class ArtifactStore(Protocol):
    """Keeps whole results."""

    def keep(self, invocation: ToolInvocation, content: bytes) -> ArtifactRef:
        """Keep a result under its run and call; keeping it again changes nothing."""
        ...


class FileArtifacts:
    """Keeps results as files under a folder: `<run>/<call>.json`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, invocation: ToolInvocation, content: bytes) -> ArtifactRef:
        # Ids come from outside: quoted, no id can lead out of the folder.
        run = self._folder / _quoted(invocation.run_id)
        run.mkdir(parents=True, exist_ok=True)
        path = run / f"{_quoted(invocation.call_id)}.json"
        partial = path.with_suffix(".partial")
        partial.write_bytes(content)
        partial.replace(path)
        return ArtifactRef(
            path=str(path),
            characters=len(content.decode()),
            digest=hashlib.sha256(content).hexdigest(),
        )


def _quoted(name: str) -> str:
    quoted = quote(name, safe="").replace(".", "%2E")
    if len(quoted) <= LONGEST_NAME:
        return quoted
    return f"{quoted[:LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
