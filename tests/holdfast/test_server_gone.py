"""A server that goes while a command speaks with it is named, with what becomes of runs."""

import pytest
from temporalio.service import RPCError, RPCStatusCode

from holdfast.cli import main


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(RPCStatusCode.UNKNOWN, "transport error", id="killed"),
        pytest.param(RPCStatusCode.UNAVAILABLE, "connection refused", id="stopped"),
    ],
)
def test_a_server_that_is_gone_is_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: RPCStatusCode,
    message: str,
) -> None:
    """Whoever watched a run reads that it goes on, and how to come back to it."""

    def gone(_: str | None) -> None:
        raise RPCError(message, status, b"")

    monkeypatch.setattr(main, "build_app", gone)

    assert main.run(["list"]) == 1
    assert (
        capsys.readouterr().err.split()
        == (
            f"holdfast: the Temporal server is gone ({message}): once it is back runs go on, and "
            "'holdfast list' and 'holdfast watch RUN' show them"
        ).split()
    )
