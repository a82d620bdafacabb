"""What a worker's process has freed goes back to the system, also in a process that runs long."""

import ctypes
import subprocess
import sys

import pytest

MEASURE = """
import gc
import resource
from pathlib import Path
from threading import Thread

from holdfast.serving import memory

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

OVER = """
memory.settle()

class Execution:
    pass

def execute():
    one = Execution()
    one.itself, one.transcript = one, b"x" * 100_000_000
    gc.collect(1)
    gc.collect(1)  # old by now
    return held()

gc.collect()
before = held()
assert execute() - before > 90
memory.give_back()
print(held() - before)
"""

PATTERNS = """
import holdfast.app
import holdfast.tools.sandbox.messages

before = held()
import holdfast.tools.sandbox.talk
print(held() - before)
"""

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no such options"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SETTLED, id="large"),
        pytest.param(GIVEN_BACK, id="between"),
        pytest.param(OVER, id="cycle"),
    ],
)
def test_what_is_freed_goes_back(script: str) -> None:
    """Of 100 MB that came and went little is left, whatever lies between."""
    assert _measure(script) < 15


@pytest.mark.slow
def test_what_a_sandbox_says_is_checked_without_a_large_pattern() -> None:
    """A pattern that counts up to 100 letters of any script takes 10 MB by itself."""
    assert _measure(PATTERNS) < 3


def _measure(script: str) -> float:
    """Return how many MB a script says that it holds, run by itself."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE + script], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
