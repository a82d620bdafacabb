"""Found: secrets that a worker uses, and doesn't know."""

import threading
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest
from temporalio.client import Client

from holdfast import App
from holdfast.connection import CREDENTIALS, connect
from holdfast.settings import KnownSecrets
from holdfast.worker import build_known_secrets


class Slow(frozenset[str]):
    """A set of which the first union takes until somebody says so."""

    began: threading.Event
    go_on: threading.Event

    def __or__(self, other: AbstractSet[str]) -> frozenset[str]:  # pyright: ignore[reportIncompatibleMethodOverride] -- of texts alone
        found = frozenset[str](self) | frozenset[str](other)
        if not self.began.is_set():
            self.began.set()
            self.go_on.wait(20)
        return found


def test_two_threads_that_learn_at_once_forget_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets are rotated together, as mounts are, while results are cleared in threads."""
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"value-of-{name}")
        monkeypatch.setenv(f"HOLDFAST_SECRET_{name.upper()}_FILE", str(tmp_path / name))
    slow = Slow()
    slow.began, slow.go_on = threading.Event(), threading.Event()
    known = KnownSecrets(values=slow)
    late = threading.Thread(target=known)
    late.start()
    slow.began.wait(20)
    known()
    slow.go_on.set()
    late.join()

    assert known() == {"value-of-one", "value-of-two"}


@pytest.mark.parametrize("header", ["X_API_KEY", "PROXY_AUTHORIZATION"])
async def test_any_header_for_temporal_is_a_secret(
    client: Client, command_line: None, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    """The SDK sends each TEMPORAL_GRPC_META_..., by whatever name a gateway wants its key."""
    monkeypatch.setenv(f"TEMPORAL_GRPC_META_{header}", "k-1234567890abcdef")
    connected = await connect()

    assert "k-1234567890abcdef" in connected.rpc_metadata.values()
    assert f"TEMPORAL_GRPC_META_{header}" not in CREDENTIALS
    assert "k-1234567890abcdef" in build_known_secrets(App(agents=[]), connected)()


async def test_a_header_of_temporals_file_is_a_secret(
    client: Client, command_line: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So is one that stands in Temporal's configuration file, as the SDK's key does there."""
    file = tmp_path / "temporal.toml"
    file.write_text('[profile.default.grpc_meta]\nauthorization = "Bearer k-1234567890abcdef"\n')
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(file))
    connected = await connect()

    assert "Bearer k-1234567890abcdef" in connected.rpc_metadata.values()
    assert "Bearer k-1234567890abcdef" in build_known_secrets(App(agents=[]), connected)()
