"""What a worker's process has freed goes back to the system, also in a process that runs long."""

import ctypes
import subprocess
import sys

import pytest

MEASURE = """
import resource
from pathlib import Path
from threading import Thread

from holdfast import memory

kept = []

def held():
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize() / 1e6

def fill(large, small, count):
    # Something small lies behind each large thing, and stays: what is between them is free then.
    things = [(b"x" * large, kept.append(b"x" * small)) for _ in range(count)]
    del things
"""

SETTLED = """
memory.settle()
before = held()
fill(1_000_000, 1_000, 1)  # from then on glibc would have less lie by itself
fill(400_000, 1_000, 400)
print(held() - before)
"""

GIVEN_BACK = """
worker = Thread(target=fill, args=(100_000, 1_000, 1_500))  # other threads have other heaps
before = held()
worker.start()
worker.join()
memory.give_back()
print(held() - before)
"""

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no such options"
)


@pytest.mark.parametrize(
    "script", [pytest.param(SETTLED, id="large"), pytest.param(GIVEN_BACK, id="between")]
)
def test_what_is_freed_goes_back(script: str) -> None:
    """Of 150 MB that came and went little is left, though small things lie between them."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE + script], capture_output=True, text=True, check=True
    )

    assert float(done.stdout) < 15
