"""
Plays scenarios anew and stores what they leave: `python -m tests.histories.renew [NAME...]`.

With `--traces` what is stored is read anew, and nothing played: for a change of readers alone.
"""

import asyncio
import contextlib
import re
import socket
import sys
import tempfile
from pathlib import Path

from holdfast.dev_server import dev_server
from tests.histories import golden, stored
from tests.histories.playing import play
from tests.histories.scenarios import SCENARIOS


async def renew(names: list[str]) -> None:
    """Store the histories of these scenarios, and the traces that they are read as today."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        async with dev_server() as environment:
            for name in names:
                data = stored.pack(await play(SCENARIOS[name], environment.client, Path()))
                require_neutral(name, data, folder)
                stored.history_file(name).write_bytes(data)
                read(name)
                sys.stdout.write(f"{name}: {len(data):,} bytes\n")


def read(name: str) -> None:
    """Store the trace that the histories of a scenario are read as today."""
    text = golden.render(stored.unpack(stored.history_file(name).read_bytes()))
    stored.trace_file(name).write_text(text, encoding="utf-8")


def require_neutral(name: str, data: bytes, folder: str) -> None:
    """Raise ValueError where a history names this machine: then nothing is stored."""
    own = (folder, str(stored.FOLDER.parents[1]), str(Path.home()), socket.gethostname())
    named = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in own))
    for text in stored.texts(data):
        if found := named.search(text):
            raise ValueError(f"{name} names this machine, {found[0]!r}: {text[:500]}")


def main(wanted: list[str]) -> int:
    """Renew what is named, or everything."""
    traces_alone = "--traces" in wanted
    wanted = [name for name in wanted if name != "--traces"]
    if unknown := set(wanted) - SCENARIOS.keys():
        sys.stderr.write(f"no scenario {', '.join(sorted(unknown))}\n")
        return 2
    names = wanted or list(SCENARIOS)
    if traces_alone:
        for name in names:
            read(name)
    else:
        asyncio.run(renew(names))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
