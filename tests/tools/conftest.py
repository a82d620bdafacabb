"""Processes of synchronous tools, ready before the first test."""

import pytest

from holdfast.tools.process import warm_up


@pytest.fixture(scope="session", autouse=True)
def forked_from_a_warm_process() -> None:
    """Fork children from a process that has imported the tools, as a worker does."""
    warm_up(["tests.tools.sample_tools"])
