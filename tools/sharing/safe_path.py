"""What a worker starts looks for modules in the working directory last: tools may write there."""

import contextlib
import sys
from collections.abc import Generator
from os import environ  # noqa: TID251 -- no setting of ours, what Python itself reads
from pathlib import Path

_NAME = "PYTHONSAFEPATH"
_OURS = "holdfast"
"""Any value counts; of this one it is known who set it."""


@contextlib.contextmanager
def start_safely() -> Generator[None]:
    """Have a Python that is started in the block not look there before all else, as it would."""
    if environ.get(_NAME):
        yield
        return
    environ[_NAME] = _OURS
    try:
        yield
    finally:
        del environ[_NAME]


def _settle() -> None:
    """Be as any Python, in what was started so: the app may lie there, and tools start others."""
    if environ.get(_NAME) == _OURS:
        del environ[_NAME]
        sys.path.append(str(Path.cwd()))


_settle()
