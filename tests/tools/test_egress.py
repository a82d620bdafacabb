"""HTTP on behalf of a sandboxed tool, as it should go; attacks on it are elsewhere."""

import asyncio
import os
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from holdfast.contracts.errors import AnswerLost, HoldfastError, ToolError
from holdfast.tools.context import ToolContext
from holdfast.tools.egress.addresses import is_public
from holdfast.tools.egress.client import Egress
from holdfast.tools.egress.exchange import MAX_BODY_BYTES, HttpAnswer, request
from tests.attacks.net import BRIEF, ELSEWHERE, PUBLIC, Net, answering
from tests.builders import an_invocation

HOSTS = ("public.example", "other.example")


@pytest.fixture
def net() -> Net:
    return Net(names={"public.example": [[PUBLIC]], "other.example": [[ELSEWHERE]]})


async def asked(net: Net, method: str = "GET", path: str = "/", body: str = "") -> HttpAnswer:
    asking = request(method, f"http://public.example{path}", body=body)
    return await net.egress().ask(asking, HOSTS)


async def test_an_answer_comes_whole(net: Net) -> None:
    """Status, headers and body come back; headers that come twice are joined."""
    async with net.serving(answering("404 Not Found", b"no such page", x_one="1", X_ONE="2")):
        answer = await asked(net, path="/a%20b?q=ö#part")

    assert (answer.status, answer.body, answer.truncated) == (404, b"no such page", False)
    assert answer.headers["x-one"] == "1, 2"
    assert net.asked[0].startswith(
        "GET /a%20b?q=%C3%B6 HTTP/1.1\r\nhost: public.example\r\naccept-encoding: identity\r\n"
    )


async def test_a_body_is_sent(net: Net) -> None:
    """A request carries its body and its length."""
    async with net.serving(answering()):
        await asked(net, "POST", body="seven é")

    assert "content-length: 8" in net.asked[0]


async def test_the_next_address_is_tried(net: Net) -> None:
    """Of several addresses the first that answers is asked."""
    net.names["public.example"] = [["2606:2800:220:1::1", PUBLIC]]
    async with net.serving(answering()):
        assert (await asked(net)).body == b"hello"

    assert net.connected == ["2606:2800:220:1::1", PUBLIC]


async def test_nobody_there(net: Net) -> None:
    """A host that doesn't answer is told apart from one that may not be asked."""
    with pytest.raises(ToolError, match="All connection attempts failed") as raised:
        await asked(net)

    assert raised.value.type == "internal_error"


@pytest.mark.parametrize("found", [OSError("no such name"), ()], ids=["fails", "nothing"])
async def test_a_name_without_address(found: OSError | Sequence[str]) -> None:
    """A name that means nothing is told."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        if isinstance(found, OSError):
            raise found
        return found

    with pytest.raises(ToolError, match="its name has no address") as raised:
        await Egress(resolve).ask(request("GET", "http://public.example/"), HOSTS)

    assert raised.value.type == "not_found"


async def test_the_system_is_asked_for_names() -> None:
    """Without a net of its own, names are those of the system, and nothing private passes."""
    with pytest.raises(ToolError, match="is no public one"):
        await Egress().ask(request("GET", "http://localhost:1/"), ("localhost:1",))


async def test_proxies_of_the_environment_are_ignored(
    net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No variable sends what was checked somewhere else."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with net.serving(answering()):
        assert (await asked(net)).body == b"hello"

    assert net.connected == [PUBLIC]


async def test_an_answer_that_is_no_http(net: Net) -> None:
    """A server that speaks something else is told, and not its words."""

    async def mumble(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n\r\n")

    async with net.serving(mumble):
        with pytest.raises(ToolError, match="can't be asked"):
            await asked(net)


class Authority:
    """Signs certificates, as a public one would."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.certificate = self._signed(self._name, self._key, None)

    def serving(self, host: str) -> ssl.SSLContext:
        """What a server of this name needs."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        file = self._folder / "server.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + self._signed(name, key, host).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        return context

    def trusting(self) -> ssl.SSLContext:
        """What a client that trusts this authority needs."""
        pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        return ssl.create_default_context(cadata=pem.decode())

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, host: str | None
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
        )
        if host is not None:
            names = x509.SubjectAlternativeName([x509.DNSName(host)])
            made = made.add_extension(names, critical=False)
        return made.sign(self._key, hashes.SHA256())


async def test_a_secure_server_is_verified_by_its_name(net: Net, tmp_path: Path) -> None:
    """TLS goes to the address that was checked, and is verified by the name that was asked."""
    authority = Authority(tmp_path)
    seen: list[str | None] = []
    secure = authority.serving("public.example")
    secure.sni_callback = lambda _connection, name, _context: seen.append(name)
    async with net.serving(answering(), port=443, secure=secure):
        egress = net.egress(trust=authority.trusting)
        answer = await egress.ask(request("GET", "https://public.example/"), HOSTS)

    assert (answer.body, seen, net.connected) == (b"hello", ["public.example"], [PUBLIC])
    assert "\r\nhost: public.example\r\n" in f"\r\n{net.asked[0]}"


@pytest.mark.parametrize("trusted", [True, False], ids=["another name", "unknown authority"])
async def test_a_secure_server_that_is_somebody_else(
    net: Net, tmp_path: Path, *, trusted: bool
) -> None:
    """A certificate of another name, or of nobody that is trusted, ends the connection."""
    authority = Authority(tmp_path)
    secure = authority.serving("other.example" if trusted else "public.example")
    async with net.serving(answering(), port=443, secure=secure):
        egress = net.egress(trust=authority.trusting) if trusted else net.egress()
        with pytest.raises(ToolError, match="CERTIFICATE_VERIFY_FAILED"):
            await egress.ask(request("POST", "https://public.example/"), HOSTS)

    assert net.asked == []


@pytest.mark.parametrize(("method", "error"), [("GET", ToolError), ("POST", AnswerLost)])
async def test_a_secure_answer_that_is_spoilt(
    net: Net, tmp_path: Path, method: str, error: type[Exception]
) -> None:
    """What nobody can decipher is no answer: a read did nothing, and a POST who knows what."""

    async def spoil(_: bytes, writer: asyncio.StreamWriter) -> None:
        os.write(writer.get_extra_info("socket").fileno(), b"\x17\x03\x03\x00\x20" + b"?" * 32)

    authority = Authority(tmp_path)
    async with net.serving(spoil, port=443, secure=authority.serving("public.example")):
        egress = net.egress(trust=authority.trusting)
        with pytest.raises(error, match="BAD_RECORD_MAC"):
            await egress.ask(request(method, "https://public.example/"), HOSTS)


async def test_a_server_that_never_answers(net: Net) -> None:
    """Who waits in vain is told so at the limit."""

    async def silent(_: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with net.serving(silent):
        with pytest.raises(ToolError, match="no whole answer within") as raised:
            await net.egress(BRIEF).ask(request("GET", "http://public.example/"), HOSTS)

    assert raised.value.type == "timeout"


@pytest.mark.parametrize(
    ("url", "headers", "body"),
    [
        ("http://public.example/" + "x" * 8000, {}, b""),
        ("http://public.example/", {f"x-{number}": "1" for number in range(51)}, b""),
        ("http://public.example/", {}, b"x" * (MAX_BODY_BYTES + 1)),
    ],
    ids=["address", "headers", "body"],
)
def test_a_request_that_is_too_large(url: str, headers: dict[str, str], body: bytes) -> None:
    """What is too large to be sent is refused where it is asked."""
    with pytest.raises(ToolError, match="the request is too large") as raised:
        request("POST", url, headers, body)

    assert raised.value.type == "invalid_arguments"


def test_outside_the_sandbox_nobody_asks_for_a_tool() -> None:
    """A tool in the worker has the network itself, and is told so."""
    context = ToolContext.of(an_invocation(), str, print)

    with pytest.raises(HoldfastError, match="only in the sandbox: declare the tool"):
        context.http("GET", "http://public.example/")


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "172.32.0.1"],
)
def test_public_addresses(address: str) -> None:
    """What everybody may reach may be asked, whichever way it is written."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "::",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::808:808",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:807f:fffe",
    ],
)
def test_what_leads_inside_by_another_form_isnt_public(address: str) -> None:
    """A name may have such an address, whoever it belongs to."""
    assert not is_public(address)
