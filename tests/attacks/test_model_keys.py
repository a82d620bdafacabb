"""Attack: what a worker proves itself with, to models and to Temporal, is told by whoever can."""

import asyncio
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, ChatServer, Risk, tool
from holdfast.testing import call, say
from tests.adapters.dialects import DIALECTS
from tests.adapters.provider_server import ProviderServer
from tests.attacks.servers import JSON, serving
from tests.attacks.test_secrets import histories, leaks, texts
from tests.running import Runs

_KNOWN = {
    "ANTHROPIC_AUTH_TOKEN": "token of the first provider",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: pass of a gateway",
    "OPENAI_ADMIN_KEY": "key of the second provider",
    "GROQ_API_KEY": "key of a server that is well known",
    "HOUSE_MODELS_PASS": "pass of a server of the app's own",
    "TEMPORAL_API_KEY": "key of the cluster's own server",
}
"""Variables that providers' SDKs are known to read, whatever their adapters say."""

_NAMED = {
    name: sha256(name.encode()).hexdigest()[:24]
    for dialect in DIALECTS.values()
    for name in sorted(dialect.adapter().credentials)
    if not name.endswith("_FILE")
}
CREDENTIALS = _NAMED | _KNOWN
"""Whatever any provider reads to prove itself, and what Temporal's client does."""


@tool(risk=Risk.READ_ONLY)
async def print_environment() -> dict[str, str]:
    """Return what a tool finds in its worker's environment."""
    found = {name: os.environ[name] for name in CREDENTIALS}  # noqa: TID251 -- the attack
    file = os.environ["ANTHROPIC_IDENTITY_TOKEN_FILE"]  # noqa: TID251 -- the attack
    return {**found, "file": Path(file).read_text(encoding="utf-8")}


async def test_no_credential_of_a_provider_leaves(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a provider reads to prove itself is secret, whoever the provider is."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    token = tmp_path / "identity"
    token.write_text("token in a provider's file\n", encoding="utf-8")
    monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN_FILE", str(token))
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=(print_environment,),
    )
    servers = {
        "house": ChatServer(base_url="http://localhost:1/v1", key_variable="HOUSE_MODELS_PASS")
    }
    app = App(
        agents=[agent],
        chat_servers=servers,
        scripts={"it": (call("print_environment"), say("done"))},
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        found = (await run.success()).data
        history = await histories(runs, run)

    assert found == {**dict.fromkeys(CREDENTIALS, "[redacted]"), "file": "[redacted]\n"}
    secrets = (*CREDENTIALS.values(), "token in a provider's file")
    assert [secret for secret in secrets if leaks(history, secret)] == []


QUOTING: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: b64encode(f"Bearer {key}\r\n".encode()).decode(),
    "URL": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "hex": lambda key: key.encode().hex(),
    "hex with colons": lambda key: key.encode().hex(":"),
    "hex with slashes": lambda key: "/".join(f"{byte:02x}" for byte in key.encode()),
    "hex with colons in base64": lambda key: b64encode(key.encode().hex(":").encode()).decode(),
    "JSON": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
    "HTML": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "HTML of hex": lambda key: "".join(f"&#x{ord(letter):x};" for letter in key),
    "cut short": lambda key: key[:-8],
    "cut at its beginning": lambda key: key[8:],
    "cut by us": lambda key: ", ".join([key] * 30),
}


async def test_no_words_of_a_server_take_its_key_into_history(
    runs: Runs, provider: ProviderServer, subtests: pytest.Subtests
) -> None:
    """A server has the key, and may quote it in an error as it likes."""
    # PP-04
    models = [dialect.model for dialect in DIALECTS.values()]
    keys = [dialect.key for dialect in DIALECTS.values()]
    agent = Agent(name="it", instructions="Do as you are told.", models=models)
    async with runs.working(App(agents=[agent])):
        for name, quote in QUOTING.items():
            with subtests.test(name):
                before = len(provider.requests)
                for key in keys:
                    error: JsonValue = {"message": f"what is {quote(key)} to me?"}
                    provider.answer({"error": error}, status=400)
                run = await runs.start("it")
                result = await run.result()
                told = [text for one in await histories(runs, run) for text in texts(one)]
                whole = "\n".join(told)

                asked = len(provider.requests) - before
                assert (result.status, asked) == ("failed", len(models))
                assert "what is" in whole
                quoted = {said for key in keys for said in (key, quote(key))}
                assert [half for said in quoted for half in halves(said) if half in whole] == []


PASSWORD = "mole-7f3e-cart-91b2"
"""Of an address: what is sent in place of a key, to a server or to what stands before it."""


async def quote_proof(head: bytes, writer: asyncio.StreamWriter) -> None:
    """Refuse a request, in the words by which it was to be let in, as they were sent and read."""
    proof = next(line for line in head.decode().splitlines() if "asic " in line).split()[-1]
    read = b64decode(proof).decode()
    body = json.dumps({"error": {"message": f"who is Basic {proof}, {read}?"}}).encode()
    begin = f"HTTP/1.1 400 No\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(begin.encode() + body)
    await writer.drain()


@pytest.mark.usefixtures("provider")
async def test_no_words_of_a_server_take_the_password_of_its_address_into_history(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who says in an address how to sign in proves it by that, and the server may quote it."""
    token = f"{PASSWORD.swapcase()}-4D"
    async with serving(quote_proof) as address:
        for dialect in DIALECTS.values():
            behind = address.replace("//", f"//svc:{PASSWORD}@")
            monkeypatch.setenv(dialect.address_variable, behind + dialect.root)
        house = ChatServer(base_url=address.replace("//", f"//{token}@") + "/v1")
        models = [*(one.model for one in DIALECTS.values()), "openai-chat:house/m"]
        agent = Agent(name="it", instructions="Do as you are told.", models=models)
        async with runs.working(App(agents=[agent], chat_servers={"house": house})):
            run = await runs.start("it")
            result = await run.result()
            told = [text for one in await histories(runs, run) for text in texts(one)]

    assert result.status == "failed"
    assert "\n".join(told).count("who is Basic") >= len(models)
    assert [one for one in (PASSWORD, token) if leaks("\n".join(told), one)] == []


def halves(quoted: str) -> Iterator[str]:
    """What would tell half of a key."""
    half = len(quoted) // 2
    return (quoted[place : place + half] for place in range(half + 1))
