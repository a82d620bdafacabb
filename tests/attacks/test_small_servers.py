"""A server that takes less than runs send: they would be held for ever by what it refuses."""

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from holdfast.contracts.errors import AppError
from holdfast.dev_server import find_temporal_binary
from holdfast.testing import say
from holdfast.workflows.payloads import data_converter
from tests.running import Runs
from tests.sample import scripted

SMALL = ("--dynamic-config-value", "limit.blobSize.error=262144")


@pytest.mark.slow
async def test_no_worker_serves_where_less_is_taken_than_runs_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so on one line, and which setting of the server has to be another one."""
    # T-33
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    async with await WorkflowEnvironment.start_local(  # pyright: ignore[reportUnknownMemberType] -- the SDK leaves a type argument open
        data_converter=data_converter,
        dev_server_existing_path=str(find_temporal_binary()),
        dev_server_log_level="never",
        dev_server_extra_args=SMALL,
    ) as environment:
        with pytest.raises(AppError, match=r"262,144 bytes .* limit\.blobSize\.error"):
            async with Runs(environment.client).working(scripted([say("done")])):
                pass
