"""Who a sandboxed call runs as."""

import hashlib
import os
from pathlib import Path

INNER_UID = 1000
"""The user's number inside, where the worker is no root and a user namespace hides its own."""

_FREE_UIDS = (range(2_000_000_000, 2_100_000_000), range(30_000, 60_000))
"""Numbers that belong to nobody; the second range exists in containers with few numbers, too."""


def derive_uid(run: str) -> int | None:
    """
    Return the number that a run's calls have where the worker is root; null where it isn't.

    The kernel lets root have any number of processes, so a call must be somebody else; and each
    run is somebody of its own, or the limit would count the processes of all of them together.
    """
    if os.geteuid() != 0:
        return None
    free = next((numbers for numbers in _FREE_UIDS if _can_use(numbers)), _FREE_UIDS[0])
    return free[int(hashlib.sha256(run.encode()).hexdigest(), 16) % len(free)]


def _can_use(numbers: range) -> bool:
    """Whether this container may use the numbers: a user namespace may lack most."""
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        first, _, count = map(int, line.split())
        if first <= numbers.start and numbers.stop <= first + count:
            return True
    return False
