"""The embedded server: what it needs, and what it refuses."""

import re
import sys
from pathlib import Path

import pytest

from holdfast.contracts.errors import HoldfastError
from holdfast.dev_server import dev_server, find_temporal_binary


def test_server_comes_with_the_installation() -> None:
    """The server that is installed beside this interpreter is the one that is started."""
    assert find_temporal_binary() == Path(sys.executable).with_name("temporal")


@pytest.mark.slow
async def test_runs_outlive_the_server(tmp_path: Path) -> None:
    """What one server kept, the next one knows."""
    # GF-01
    database = tmp_path / "temporal.db"
    async with dev_server(database=database) as environment:
        await environment.client.start_workflow("AgentRun", {}, id="kept", task_queue="none")
    async with dev_server(database=database) as environment:
        description = await environment.client.get_workflow_handle("kept").describe()

    assert description.workflow_type == "AgentRun"


@pytest.mark.slow
async def test_two_servers_never_share_a_database(tmp_path: Path) -> None:
    """A database that a server has open is refused to another."""
    database = tmp_path / "temporal.db"
    async with dev_server(database=database):
        with pytest.raises(HoldfastError, match=re.escape(f"{database} is in use by another")):
            async with dev_server(database=database):
                pass


async def test_other_files_are_no_database(tmp_path: Path) -> None:
    """A file that holds something else is refused, and left as it was."""
    file = tmp_path / "notes.txt"
    file.write_text("remember the milk", encoding="utf-8")

    with pytest.raises(HoldfastError, match="is no database of runs"):
        async with dev_server(database=file):
            pass

    assert file.read_text(encoding="utf-8") == "remember the milk"
