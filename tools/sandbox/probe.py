"""A tool that looks at its own sandbox, so that a worker knows whether it holds."""

import os
from pathlib import Path

from holdfast.contracts.tools import Risk
from holdfast.tools.tool import tool


@tool(risk=Risk.COMPUTE_ONLY, sandboxed=True, timeout=30)
def look_around() -> list[str]:
    """Say what is wrong with the sandbox that this runs in."""
    status = dict(
        line.split(":\t", 1)
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    )
    found = [f"its {name} is {status[name]}" for name in _CAPABILITIES if int(status[name], 16)]
    if os.getuid() == 0:
        found.append("it runs as root")
    if status["NoNewPrivs"] != "1":
        found.append("it can gain privileges")
    if status["Seccomp"] != "2":
        found.append("its system calls aren't filtered")
    if len(Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()) > _ONLY_LOOPBACK:
        found.append("it has a network")
    return found


_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
_ONLY_LOOPBACK = 3
"""Lines: two of headings, and one interface."""
