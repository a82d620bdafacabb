"""Every adapter, and for each test a server that the SDKs find as they find the real one."""

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.base import ProviderAdapter
from tests.adapters.conversations import KEY
from tests.adapters.dialects import ADAPTERS, Dialect, Samples
from tests.adapters.provider_server import ProviderServer, serving

PATIENCE = timedelta(seconds=30)

OTHER_CREDENTIALS = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CONFIG_DIR",
    "OPENAI_ADMIN_KEY",
)


@pytest.fixture(params=ADAPTERS.values(), ids=list(ADAPTERS))
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture
def adapter(dialect: Dialect) -> ProviderAdapter:
    return dialect.adapter(PATIENCE)


@pytest.fixture
def samples(dialect: Dialect) -> Samples:
    return dialect.samples


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[ProviderServer]:
    for variable in OTHER_CREDENTIALS:
        monkeypatch.delenv(variable, raising=False)
    with serving() as server:
        monkeypatch.setenv("HOME", str(tmp_path))
        for dialect in ADAPTERS.values():
            monkeypatch.setenv(dialect.key_variable, KEY)
            monkeypatch.setenv(dialect.address_variable, server.address + dialect.root)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server
