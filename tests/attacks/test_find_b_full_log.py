"""Found: what was done is unknown where the log's disk is as full as that of the artifacts."""

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
    """A log whose disk is full when the first line comes after `fill`, and has room again."""

    full = False
    refused = 0

    def write(self, text: str) -> int:
        if self.full:
            self.full = False
            self.refused += 1
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(text)

    def flush(self) -> None: ...


LOG = FullOnce()


@pytest.fixture
def _logging() -> Generator[None]:
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(LOG),  # pyright: ignore[reportArgumentType]
        cache_logger_on_first_use=False,
    )
    yield
    structlog.configure(**before)


@tool(risk=Risk.WRITE_INTERNAL, max_result_chars=20)
async def order(log: str) -> str:
    """Order what is missing, and say at length what was ordered."""
    note(log, "ordered")
    LOG.full = True
    return "ordered: " + "lamps, " * 100


@pytest.mark.usefixtures("_logging")
async def test_a_write_that_cant_be_kept_nor_logged_has_happened(
    runs: Runs, tmp_path: Path
) -> None:
    """HOLDFAST_LOG_FILE mostly lies on the same disk as HOLDFAST_HOME."""
    log = tmp_path / "log"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "artifacts").write_text("no folder: nothing can be kept below it")
    async with runs.working(scripted([call("order", log=str(log)), told], tools=[order])):
        run = await runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        await run.result()
        [result] = await run.results()

    assert lines(log) == ["ordered"]
    assert LOG.refused == 1
    assert result.status == "ok"
