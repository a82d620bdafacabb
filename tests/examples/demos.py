"""Playing the demos, each a process of its own, as `make` does."""

import asyncio
import sys
from pathlib import Path


async def play(demo: str, folder: Path) -> str:
    """Return what a demo says, which has to end well, in a folder of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", demo),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    said = out.decode()
    assert process.returncode == 0, said
    return said
