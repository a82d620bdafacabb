"""Sessions that are kept in a directory of their test."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.running import Runs
from tests.sessions.talking import Talks


@pytest.fixture
def talks(runs: Runs, tmp_path: Path) -> Talks:
    """Sessions on a server, whose worker has an archive."""
    return Talks(runs, f"file:{tmp_path / 'archive'}")


@pytest.fixture
def name() -> str:
    """An id for a session."""
    return f"session-{uuid4().hex[:8]}"
