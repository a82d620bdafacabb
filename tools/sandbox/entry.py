"""
The first code in a sandbox: gives up what power is left, sets limits, and runs one tool.

It runs as a program: `entry.py READING WRITING SETUP`, with nothing but the standard library to
import.
"""

import ctypes
import json
import os
import resource
import sys
from collections.abc import Mapping

_CAPABILITIES = 0x20080522
"""The version of the two words that follow."""

_PR_SET_DUMPABLE = 4
_FIRST, _ITSELF = 1, 0
_STANDARD_STREAMS = 3
_MAX_DESCRIPTORS = 4096


def main() -> None:
    """Prepare this process, then serve one call."""
    channel, setup = sorted(map(int, sys.argv[1:3])), json.loads(sys.argv[3])
    # The first process, too: whoever is the same user might make it do what they can't.
    for process in (_FIRST, _ITSELF):
        _limit(process, setup["limits"])
    _drop_privileges(setup["user"])
    os.chdir("/workspace")
    first = _STANDARD_STREAMS
    for kept in channel:
        os.closerange(first, kept)
        os.set_inheritable(kept, False)  # noqa: FBT003 -- as the standard library has it
        first = kept + 1
    os.closerange(first, _MAX_DESCRIPTORS)
    sys.path[:] = ["/code", *sys.path, *setup["libraries"]]
    from holdfast.tools.sandbox.child import serve

    serve(*map(int, sys.argv[1:3]))


def _drop_privileges(user: int | None) -> None:
    """Become the run's own user for good: no number of root's stays, and so no capability."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    system = ctypes.CDLL(None)
    if system.capset((ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()) != 0:
        sys.exit("the sandbox can't give up its capabilities")
    # Others of the same user can't look into this process, nor speak through its channel.
    if system.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        sys.exit("the sandbox can't close its process to others")


def _limit(process: int, limits: Mapping[str, int]) -> None:
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        _, most = resource.prlimit(process, number)
        lowest = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(process, number, (lowest, lowest))


if __name__ == "__main__":
    main()
