"""What it takes to begin: a command, and a worker before a model is asked."""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.goals import Tally

HOLDFAST = (str(Path(sys.executable).with_name("holdfast")),)
PYTHON = (sys.executable, "-c")

FLOOR = "import temporalio.client"

STARTS = {
    FLOOR: (*PYTHON, "import temporalio.client"),
    "holdfast --help": (*HOLDFAST, "--help"),
    "holdfast list --help": (*HOLDFAST, "list", "--help"),
    "holdfast show --help": (*HOLDFAST, "show", "--help"),
    "import holdfast.worker": (*PYTHON, "import holdfast.worker"),
}
"""The first is the floor: what the SDK's client takes of whoever asks a server."""

MOST_WORKER_MEGABYTES = 130


class Start(NamedTuple):
    """CPU of all threads, and the most memory that was resident: no less than ours here."""

    cpu_ms: float
    megabytes: float


def start(tally: Tally, repeats: int | None) -> None:
    """Print what each takes, the median of several."""
    print(f"\n{'To begin':28}{'CPU ms':>9}")
    floor = found = _measure(STARTS[FLOOR])
    for name, command in STARTS.items():
        runs = [_measure(command) for _ in range(repeats or 9)]
        found = Start(
            statistics.median(run.cpu_ms for run in runs),
            statistics.median(run.megabytes for run in runs),
        )
        floor = found if name == FLOOR else floor
        ratio = found.cpu_ms / floor.cpu_ms
        print(f"{name:28}{found.cpu_ms:9.0f} {ratio:6.2f}x", flush=True)
    print(f"A worker's imports take {found.megabytes:.0f} MB")
    tally.judge("a worker's imports: memory", found.megabytes, MOST_WORKER_MEGABYTES, " MB")


def _measure(command: Sequence[str]) -> Start:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench: {' '.join(command)} ended with {process.returncode}")
    return Start(1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024)
