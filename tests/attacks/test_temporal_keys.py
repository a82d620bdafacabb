"""Attack: what a worker proves itself with to Temporal, wherever it stands, is told by a tool."""

from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.service import HttpConnectProxyConfig, TLSConfig

from holdfast import App
from holdfast.connection import connect, find_secrets
from holdfast.tools.redaction import Redactor
from holdfast.worker import build_known_secrets

KEY = "k-12345678"


def shown(client: Client, text: str) -> str:
    return Redactor(build_known_secrets(App(agents=[]), find_secrets(client))).text(text)


@pytest.mark.usefixtures("command_line")
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("X_API_KEY", KEY),
        ("PROXY_AUTHORIZATION", f"Bearer {KEY}"),
        ("AUTHORIZATION", f"Basic {KEY}"),
    ],
)
async def test_any_header_for_temporal_is_a_secret(
    monkeypatch: pytest.MonkeyPatch, header: str, value: str
) -> None:
    """The SDK sends each TEMPORAL_GRPC_META_..., by whatever name a gateway wants its key."""
    monkeypatch.setenv(f"TEMPORAL_GRPC_META_{header}", value)
    connected = await connect()

    assert value in connected.rpc_metadata.values()
    assert shown(connected, f"sent {value}") == "sent [redacted]"
    assert shown(connected, f"key={KEY}, which is no good") == "key=[redacted], which is no good"


@pytest.mark.usefixtures("command_line")
async def test_a_header_of_temporals_file_is_a_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So is one that stands in Temporal's configuration file; the namespace, of all, is none."""
    file = tmp_path / "temporal.toml"
    file.write_text(
        "[profile.default.grpc_meta]\n"
        f'authorization = "Bearer {KEY}"\n'
        'temporal-namespace = "accounting"\n'
    )
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(file))
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "accounting")
    connected = await connect()

    assert "accounting" in connected.rpc_metadata.values()
    assert shown(connected, f"/{KEY}/accounting") == "/[redacted]/accounting"


async def test_keys_of_any_client_are_secret() -> None:
    """Also those of one that an app has connected itself."""
    client = await Client.connect(
        "localhost:1",
        lazy=True,
        tls=TLSConfig(client_cert=b"public", client_private_key=b"a key in a file\n"),
        rpc_metadata={"gateway-bin": b"a key in bytes", "empty": ""},
        http_connect_proxy_config=HttpConnectProxyConfig("proxy:1", ("ada", "a pass of a proxy")),
    )

    assert find_secrets(client) == {"a key in a file\n", "a key in bytes", "a pass of a proxy"}
