"""
Writes the history of a run with everything in it: for each release, and when a format changes.

`python -m tests.durability.recording tests/durability/released/0.1-transcripts.json`
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
from pathlib import Path

from holdfast import call, calls, histories, say
from holdfast.dev_server import dev_server
from tests.control.controlled import broken, chained, used
from tests.running import Runs

HERE = Path(__file__).parents[2]
"""No path of this machine, and not its name, gets into the file."""


async def recorded(home: Path) -> str:
    """Run it: calls, an unknown tool, a model that fails, an approval, many executions."""
    os.chdir(home)
    send = call("send", log="sent.log", text="hi")
    first = [
        used(calls(call("add", a=2, b=3), call("look", place="attic")), 2),
        used(call("nope"), 2),
        broken("overloaded"),
    ]
    second = [say("never"), say("never"), used(send, 2), used(say("All done."), 2, 2)]
    async with dev_server(database=home / "temporal.db") as server:
        runs = Runs(server.client)
        async with runs.working(chained(first, second, max_history_events=1)):
            run = await runs.start("it")
            await run.approve((await run.asked_for_approval()).request_id, "dana")
            await run.result()
        return histories.write(await histories.fetch(server.client, run.handle.id))


def main() -> None:
    """Write the file."""
    target = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        text = asyncio.run(recorded(Path(folder)))
    anywhere = text.replace(f"{HERE}/", "").replace(socket.gethostname(), "worker")
    target.write_text(json.dumps(json.loads(anywhere)), encoding="utf-8")


if __name__ == "__main__":
    main()
