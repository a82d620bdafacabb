"""What tests of the command line begin with."""

from uuid import uuid4

import pytest


@pytest.fixture
def name() -> str:
    """An id for a run."""
    return f"run-{uuid4().hex[:8]}"
