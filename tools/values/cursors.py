"""Where a model reads on in a result that was too large for it. Pure."""

import hashlib
from pathlib import PurePath
from typing import NamedTuple

from holdfast.contracts.calls import ArtifactRef
from holdfast.tools.values.excerpts import Place

_DIGEST_CHARS = 16


class Cursor(NamedTuple):
    """
    A place in a result that is kept under a name.

    It has the beginning of the result's digest: who wasn't given it can't make it up, as an agent
    that a run was handed to, and that hasn't read the result.
    """

    name: str
    digest: str
    place: Place

    def __str__(self) -> str:
        return f"{self.name}:{self.digest}:{self.place}"

    def fits(self, content: bytes) -> bool:
        """Whether this is a result that it was made for."""
        return hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS] == self.digest

    @classmethod
    def to(cls, artifact: ArtifactRef, place: Place) -> "Cursor":
        """Return the cursor to a place in what was kept."""
        return cls(PurePath(artifact.path).stem, artifact.digest[:_DIGEST_CHARS], place)

    @classmethod
    def parse(cls, written: str) -> "Cursor | None":
        """Read a cursor; null where it is none."""
        name, _, rest = written.rpartition(":")
        name, _, digest = name.rpartition(":")
        place = Place.parse(rest)
        return None if place is None or not name else cls(name, digest, place)
