"""Attack: a provider's SDK changes an identity for tokens that nobody else knows, nor bounds."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Agent, App
from tests.adapters.dialects import DIALECTS
from tests.adapters.provider_server import ProviderServer
from tests.running import Runs

MODEL = "anthropic:claude-sonnet-5"
TOKEN = "profile-9f8e7d6c5b4a3f2e1d0c"


def have_identity(_: Path, patch: pytest.MonkeyPatch) -> None:
    """As a pod in a cluster has."""
    patch.setenv("ANTHROPIC_IDENTITY_TOKEN", "the-identity-of-this-worker")
    patch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1")
    patch.setenv("ANTHROPIC_ORGANIZATION_ID", "org-1")


def have_profile(authentication: dict[str, str]) -> Callable[[Path, pytest.MonkeyPatch], None]:
    """As the provider's own command line leaves behind."""

    def write(folder: Path, patch: pytest.MonkeyPatch) -> None:
        (folder / "configs").mkdir()
        (folder / "credentials").mkdir()
        profile = {"organization_id": "org-1", "authentication": authentication}
        token = folder / "credentials" / "default.json"
        token.write_text(json.dumps({"access_token": TOKEN}))
        token.chmod(0o600)
        config = folder / "configs" / "default.json"
        config.write_text(json.dumps(profile))
        config.chmod(0o600)
        patch.setenv("ANTHROPIC_CONFIG_DIR", str(folder))

    return write


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(have_identity, id="identity"),
        pytest.param(
            have_profile({"type": "oidc_federation", "federation_rule_id": "fdrl_1"}),
            id="profile of an identity",
        ),
        pytest.param(have_profile({"type": "user_oauth"}), id="profile of a person"),
    ],
)
async def test_no_identity_is_changed_for_a_token(
    runs: Runs,
    provider: ProviderServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    """
    A server may quote such a token, which no redaction knows.

    Whoever gives it may send it byte by byte, or packed, to a client that takes whatever comes.
    """
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    prepare(tmp_path, monkeypatch)
    agent = Agent(name="it", instructions="Be brief.", models=[MODEL])
    async with runs.working(App(agents=[agent])):
        result = await (await runs.start("it")).result()

    assert provider.requests == []
    assert result.status == "failed"
    assert result.output is None
    assert "set ANTHROPIC_API_KEY for the worker" in str(result)


async def test_a_key_counts_before_an_identity(
    runs: Runs, provider: ProviderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that has both asks with what is known to be secret."""
    have_identity(tmp_path, monkeypatch)
    provider.answer({"error": {"message": "no"}}, status=400)
    agent = Agent(name="it", instructions="Be brief.", models=[MODEL])
    async with runs.working(App(agents=[agent])):
        await (await runs.start("it")).result()

    [request] = provider.requests
    assert request.headers["authorization"] == f"Bearer {DIALECTS['anthropic'].key}"
