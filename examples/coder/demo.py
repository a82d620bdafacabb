"""The demo: a wrong fix, the way back, the right one, and an answer that isn't let out."""

import asyncio
import os
import sys
import tempfile
import textwrap
import uuid
from pathlib import Path

from examples import stage
from examples.coder.app import REPOSITORY, models
from examples.coder.story import SCRIPTED, Chapter, chapters, logged_key
from holdfast import histories
from holdfast.connection import connect
from holdfast.contracts.texts import escape_invisible
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace

APP = "examples.coder.app:app"
GOAL = "The receipt of three guests who ate for 10.00 shows 9.99. Mend it."
MENDED = ["bill/shares.py"]
WIDTH = 100


def main() -> int:
    """Run the demo; 0 when all of it happened."""
    with tempfile.TemporaryDirectory() as folder:
        flaw = asyncio.run(Sandbox(Path(folder)).flaw())
    if flaw is not None:
        sys.stderr.write(f"demo: the tests need a sandbox: {flaw}\n")
        return 1
    run = f"coder-{uuid.uuid4().hex[:6]}"
    return stage.perform(APP, run, lambda: _play(run))


def _play(run: str) -> int:
    stage.tell("An agent mends a failing test, in a copy of the repository that is its own.")
    with stage.started("run", "coder", GOAL, "--id", run) as live:
        exit_code = live.wait(3 * stage.PATIENCE)
    trace = asyncio.run(_trace(run))
    told = tuple(chapters(trace))
    stage.tell("In short, from the run's history alone:")
    for chapter in told:
        _show(chapter)
    home = Path(os.environ.get("HOLDFAST_HOME") or ".holdfast")
    workspace = home / "workspaces" / trace.first_execution
    stage.tell(f"The mended copy is {workspace}; all that happened, and how long it took:")
    print(f"  holdfast trace {run}")
    if models() == ["scripted:coder"]:
        _check(trace, told, workspace)
    return exit_code


async def _trace(run: str) -> Trace:
    return read_trace(await histories.fetch(await connect(), run))


def _show(chapter: Chapter) -> None:
    for number, line in enumerate(chapter.text.splitlines()):
        whole = f"  {'' if number else chapter.kind:<13} {escape_invisible(line)}"
        print(textwrap.fill(whole, WIDTH, subsequent_indent=" " * 16, replace_whitespace=False))


def _check(trace: Trace, told: tuple[Chapter, ...], workspace: Path) -> None:
    """Raise DemoFailed where something didn't come about that the script is there to show."""
    kinds = tuple(chapter.kind for chapter in told)
    if kinds != SCRIPTED:
        raise stage.DemoFailed(f"it should have gone: {', '.join(SCRIPTED)}")
    files = (path.relative_to(REPOSITORY) for path in REPOSITORY.rglob("*") if path.is_file())
    changed = [
        str(path)
        for path in files
        if (workspace / path).read_bytes() != (REPOSITORY / path).read_bytes()
    ]
    if changed != MENDED:
        raise stage.DemoFailed(f"the copy should differ in {MENDED}, and differs in {changed}")
    key = logged_key(trace)
    if not key or trace.result is None or key in trace.result.model_dump_json():
        raise stage.DemoFailed("the key that the tests logged should be read, and not be told")


if __name__ == "__main__":
    sys.exit(main())
