"""A log without room hides nothing that was done, and what must stand in it is waited for."""

import errno
from collections.abc import Generator
from pathlib import Path

import pytest
import structlog

from holdfast import Risk, tool
from holdfast.testing import call
from tests.running import Runs
from tests.sample import lines, note, scripted, told


class FullOnce:
    """A log whose disk is full when an event first comes, and has room for it the next time."""

    def __init__(self) -> None:
        self.full_at = ""
        self.refused: list[str] = []
        self.written: list[str] = []

    def write(self, text: str) -> int:
        if self.full_at in text and not self.refused:
            self.refused.append(text)
            raise OSError(errno.ENOSPC, "No space left on device")
        self.written.append(text)
        return len(text)

    def flush(self) -> None: ...


@pytest.fixture
def full_once() -> Generator[FullOnce]:
    before = structlog.get_config()
    stream = FullOnce()
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(stream),  # pyright: ignore[reportArgumentType]
        cache_logger_on_first_use=False,
    )
    yield stream
    structlog.configure(**before)


@tool(risk=Risk.WRITE_INTERNAL, max_result_chars=20)
async def order(log: str) -> str:
    """Order what is missing, and say at length what was ordered."""
    note(log, "ordered")
    return "ordered: " + "lamps, " * 100


@pytest.mark.parametrize(("event", "comes_again"), [("artifact", False), ("run.audited", True)])
async def test_a_write_has_happened_whatever_has_room(
    runs: Runs, tmp_path: Path, home: Path, full_once: FullOnce, event: str, comes_again: bool
) -> None:
    """HOLDFAST_LOG_FILE mostly lies on the disk of HOLDFAST_HOME; an audit line isn't left out."""
    log = tmp_path / "log"
    full_once.full_at = event
    (home / "artifacts").write_text("no folder: nothing can be kept below it")
    async with runs.working(scripted([call("order", log=str(log)), told], tools=[order])):
        run = await runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        await run.result()
        [result] = await run.results()

    assert lines(log) == ["ordered"]
    assert result.status == "ok"
    assert len(full_once.refused) == 1
    assert (full_once.refused[0] in full_once.written) is comes_again
