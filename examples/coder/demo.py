"""The demo: a wrong fix, the way back, the right one, and an answer that may not go out as it is."""

import asyncio
import sys
import tempfile
import uuid
from pathlib import Path

from examples import stage
from examples.coder.app import models
from examples.coder.repository.bill.signing import PARTS
from examples.coder.story import SCRIPTED, Chapter, chapters
from holdfast import histories
from holdfast.trace.reader import read_trace
from tools.sandbox.sandbox import Sandbox

APP = "examples.coder.app:app"
GOAL = "The receipt of three guests who ate for 10.00 shows 9.99. Mend it."


def main() -> int:
    """Run the demo; 0 when all of it happened."""
    with tempfile.TemporaryDirectory() as folder:
        if flaw := asyncio.run(Sandbox(Path(folder)).flaw()):
            sys.stderr.write(f"demo: there is no sandbox to run the tests in: {flaw}\n")
            return 1
        run = f"coder-{uuid.uuid4().hex[:6]}"
        return stage.perform(APP, run, lambda: _play(run, Path(folder, "history.json")))


def _play(run: str, history: Path) -> int:
    stage.tell("An agent mends a small repository, in a copy that is its own.")
    with stage.started("run", "coder", GOAL, "--id", run) as live:
        exit_code = live.wait(stage.PATIENCE)
    stage.tell("What happened, from the run's history alone:")
    stage.call("export", run, "--output", str(history))
    trace = read_trace(histories.read(history))
    told = tuple(chapters(trace))
    for chapter in told:
        _show(chapter)
    print(f"\n  all of it: holdfast trace {run}")
    return exit_code or _missing(told, trace.result.model_dump_json() if trace.result else "")


def _show(chapter: Chapter) -> None:
    first, *more = chapter.text.splitlines() or [""]
    print(f"  {chapter.kind:<13} {first}")
    for line in more:
        print(f"  {'':<13}   {line}")


def _missing(told: tuple[Chapter, ...], result: str) -> int:
    """Say what didn't come about; a real model may well do without the wrong fix."""
    kinds = tuple(chapter.kind for chapter in told)
    if models() == ["scripted:coder"] and kinds != SCRIPTED:
        raise stage.DemoFailed(f"it should have gone: {', '.join(SCRIPTED)}")
    if "".join(PARTS) in result:
        raise stage.DemoFailed("the signing key is in the result")
    return 0


if __name__ == "__main__":
    sys.exit(main())
