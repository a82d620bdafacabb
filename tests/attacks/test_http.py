"""Attacks through the one way out: on hosts that aren't listed, and on private networks."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import NoReturn

import pytest

from holdfast.contracts.errors import AnswerLost, ToolError
from holdfast.tools.egress.client import METHODS, Egress
from holdfast.tools.egress.exchange import MAX_BODY_BYTES, request
from tests.attacks.net import (
    BRIEF,
    ELSEWHERE,
    PUBLIC,
    Net,
    Serve,
    answering,
    cut,
    halved,
    redirecting,
)

EVERYBODY = ("*", "*:8080")


async def refused(net: Net, url: str, *hosts: str) -> ToolError:
    """Ask where the answer must be no, and nobody may be connected to."""
    with pytest.raises(ToolError) as raised:
        await net.egress().ask(request("GET", url), hosts or EVERYBODY)
    return raised.value


PRIVATE = {
    "loopback": "http://127.0.0.1/",
    "loopback by another number": "http://127.8.9.10/",
    "localhost": "http://localhost/",
    "localhost with a dot": "http://localhost./",
    "IPv6 loopback": "http://[::1]/",
    "link-local metadata": "http://169.254.169.254/latest/meta-data/",
    "metadata by IPv6": "http://[fd00:ec2::254]/",
    "metadata of Azure": "http://168.63.129.16/",
    "metadata of Alibaba": "http://100.100.100.200/",
    "private network": "http://10.0.0.7/",
    "unique local": "http://[fc00::1]/",
    "link-local IPv6": "http://[fe80::1]/",
    "multicast": "http://224.0.0.1/",
    "broadcast": "http://255.255.255.255/",
    "nothing": "http://0.0.0.0/",
    "documentation": "http://192.0.2.1/",
}

DISGUISED = {
    "decimal": "http://2130706433/",
    "octal": "http://0177.0.0.1/",
    "octal whole": "http://017700000001/",
    "hexadecimal": "http://0x7f000001/",
    "hexadecimal parts": "http://0x7f.0.0.1/",
    "short": "http://127.1/",
    "zero": "http://0/",
    "decimal metadata": "http://2852039166/",
    "decimal with a dot": "http://2130706433./",
    "IPv6-mapped loopback": "http://[::ffff:127.0.0.1]/",
    "IPv6-mapped metadata": "http://[::ffff:a9fe:a9fe]/",
    "IPv4-compatible loopback": "http://[::7f00:1]/",
    "NAT64 of loopback": "http://[64:ff9b::7f00:1]/",
    "NAT64 of a network's own": "http://[64:ff9b:1::808:808]/",
    "6to4 of loopback": "http://[2002:7f00:1::]/",
    "Teredo": "http://[2001:0:4136:e378:8000:63bf:807f:fffe]/",
    "nothing in IPv6": "http://[::]/",
}

UNREADABLE = {
    "user and password": "http://user:secret@example.com/",
    "a user that looks like a host": "http://example.com@10.0.0.1/",
    "a backslash": "http://example.com\\@10.0.0.1/",
    "a line break": "http://example.com/\r\nHost: 10.0.0.1",
    "a tab": "http://exam\tple.com/",
    "a space": "http://example.com /",
    "an encoded host": "http://example%2ecom/",
    "other letters": "http://éxample.com/",
    "digits in circles": "http://①②⑦.⓪.⓪.①/",
    "a full-width dot": "http://127。0。0。1/",
    "a zone": "http://[fe80::1%25eth0]/",
    "a port beyond all": "http://example.com:65536/",
    "port nothing": "http://example.com:0/",
    "no host": "http:///path",
    "a file": "file:///etc/passwd",
    "gopher": "gopher://127.0.0.1:25/",
    "no scheme": "//example.com/",
    "words": "example",
    "two dots": "http://example..com/",
    "a long label": f"http://{'a' * 64}.com/",
}


@pytest.mark.parametrize("url", PRIVATE.values(), ids=PRIVATE.keys())
async def test_asking_a_private_address(url: str) -> None:
    """No address but a public one is asked, not even if the policy lists everybody."""
    net = Net(names={"localhost": [["127.0.0.1", "::1"]]})

    error = await refused(net, url, *EVERYBODY, "[*]")

    assert "is no public one" in error.reason
    assert error.type == "permission_denied"
    assert error.next_valid_actions
    assert net.connected == []


@pytest.mark.parametrize("url", DISGUISED.values(), ids=DISGUISED.keys())
async def test_asking_a_number_in_disguise(url: str) -> None:
    """What stands for another address, to whatever reader, is refused before anybody reads it."""
    net = Net()

    assert "a number in disguise" in (await refused(net, url)).reason
    assert net.looked_up == []


@pytest.mark.parametrize("url", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_addresses_that_readers_may_take_differently(url: str) -> None:
    """What two readers could take for two hosts is asked of neither."""
    net = Net()

    assert "can't be asked" in (await refused(net, url)).reason
    assert net.looked_up == net.connected == []


@pytest.mark.parametrize(
    "answers",
    [["10.0.0.1"], ["127.0.0.1"], [PUBLIC, "192.168.1.1"], ["::ffff:10.0.0.1"], ["fe80::1%eth0"]],
    ids=["private", "loopback", "one of two", "mapped", "with a zone"],
)
async def test_a_name_that_leads_inside(answers: Sequence[str]) -> None:
    """A public name with any private address is refused."""
    net = Net(names={"rebind.example": [answers]})

    error = await refused(net, "http://rebind.example/")

    assert "is no public one" in error.reason
    assert not any(answer in error.reason for answer in answers)
    assert net.connected == []


async def test_a_name_that_changes_its_mind() -> None:
    """DNS rebinding: the address that was checked is the one that is connected to."""
    net = Net(names={"rebind.example": [[PUBLIC], ["127.0.0.1"]]})
    async with net.serving(answering()):
        answer = await net.egress().ask(request("GET", "http://rebind.example/"), EVERYBODY)

    assert answer.body == b"hello"
    assert (net.looked_up, net.connected) == (["rebind.example"], [PUBLIC])


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "//10.0.0.1/",
        "http://2130706433/",
        "http://public.example@127.0.0.1/",
        "file:///etc/passwd",
        "http://other.example/",
        "/again",
    ],
)
@pytest.mark.parametrize(
    ("method", "status"),
    [
        ("GET", "302 Found"),
        ("POST", "303 See Other"),
        ("POST", "307 Temporary Redirect"),
        ("DELETE", "308 Permanent Redirect"),
    ],
)
async def test_a_redirect_leads_nowhere(location: str, method: str, status: str) -> None:
    """A server can't send us on: where it would is told, and nobody else is asked."""
    net = Net(names={"public.example": [[PUBLIC]], "other.example": [[ELSEWHERE]]})
    async with (
        net.serving(redirecting(location, status)),
        net.serving(answering(), ELSEWHERE),
    ):
        answer = await net.egress().ask(request(method, "http://public.example/"), EVERYBODY)

    assert (str(answer.status), answer.headers["location"]) == (status[:3], location)
    assert (len(net.asked), net.connected) == (1, [PUBLIC])


async def test_a_host_off_the_list() -> None:
    """A host that isn't listed is refused before its name is looked up, and told what is."""
    # RK-14 RK-16
    net = Net(names={"other.example": [[PUBLIC]]})

    error = await refused(net, "http://other.example/", "public.example", "*.public.example")

    assert "isn't on the list (listed: public.example, *.public.example)" in error.reason
    assert error.type == "permission_denied"
    assert error.next_valid_actions[0] == "ask a listed host"
    assert net.looked_up == []


@pytest.mark.parametrize(
    "url",
    [
        "http://public.example.evil.example/",
        "http://evilpublic.example/",
        "http://public.example:8080/",
        "http://sub.public.example/",
    ],
)
async def test_a_host_that_resembles_a_listed_one(url: str) -> None:
    """A listed name lists itself on the usual ports, and nothing that begins or ends with it."""
    assert "isn't on the list" in (await refused(Net(), url, "public.example")).reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Evil", "a\r\nHost: 10.0.0.1"),
        ("X-Evil", "a\nb"),
        ("X-Evil: b\r\nHost", "a"),
        ("X Evil", "a"),
        ("", "a"),
        ("Host", "internal.example"),
        ("host", "internal.example"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "keep-alive"),
        ("Upgrade", "websocket"),
        ("Proxy-Authorization", "x"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("x_http_method_override", "DELETE"),
        ("X-HTTP-Method", "DELETE"),
        ("X-Method-Override", "DELETE"),
        ("X-Original-URL", "/admin"),
        ("X-Rewrite-URL", "/admin"),
        ("X-Forwarded-Host", "internal.example"),
        ("Forwarded", "host=internal.example"),
        ("X-HTTP-Host-Override", "internal.example"),
        ("X-Forwarded-Server", "internal.example"),
        ("X-Original-Host", "internal.example"),
        ("X-Original-Method", "DELETE"),
        ("X-Forwarded-Method", "DELETE"),
        ("X-Original-Uri", "/admin"),
        ("X-Forwarded-Uri", "/admin"),
        ("x_forwarded_prefix", "/admin"),
        ("X-Envoy-Original-Path", "/admin"),
        ("X-Rewrite-Uri", "/admin"),
        ("X.Override.URL", "/admin"),
        ("X-Http-Destinationurl", "http://internal.example/"),
        ("Destination", "http://internal.example/"),
        ("XForwardedHost", "internal.example"),
        ("Proxy", "http://internal.example/"),
        ("HTTP2-Settings", "AAMAAABk"),
        ("Content_Length", "5"),
        ("X-Evil", "\x00"),
        ("X-Evil", "é"),
    ],
)
async def test_headers_that_change_the_request(name: str, value: str) -> None:
    """No header smuggles another, frames the message, or names another host or method."""
    net = Net(names={"public.example": [[PUBLIC]]})
    with pytest.raises(ToolError) as raised:
        await net.egress().ask(request("GET", "http://public.example/", {name: value}), EVERYBODY)

    assert raised.value.type == "permission_denied"
    assert net.connected == []


@pytest.mark.parametrize(
    "name",
    ["Authorization", "X-Api-Key", "Idempotency-Key", "If-Match", "Range", "Cookie", "Origin"],
)
async def test_headers_that_say_what_is_the_callers(name: str) -> None:
    """Keys, conditions and ranges are sent as they are given."""
    net = Net(names={"public.example": [[PUBLIC]]})
    async with net.serving(answering()):
        await net.egress().ask(request("GET", "http://public.example/", {name: "x"}), EVERYBODY)

    assert f"{name.lower()}: x" in net.asked[0].lower()


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", ""])
async def test_methods_that_change_the_request(method: str) -> None:
    """No method but the usual ones."""
    with pytest.raises(ToolError, match="can't be used"):
        await Net().egress().ask(request(method, "http://public.example/"), EVERYBODY)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_body_that_names_another_method(method: str) -> None:
    """What only asks has no body, in which some servers look for another method."""
    net = Net(names={"public.example": [[PUBLIC]]})
    asked = request(method, "http://public.example/", body="_method=DELETE")
    with pytest.raises(ToolError, match="has no body") as raised:
        await net.egress().ask(asked, EVERYBODY)

    assert raised.value.type == "permission_denied"
    assert net.connected == []


async def test_a_body_without_end() -> None:
    """A body is read up to its limit, and the server is hung up on."""
    hung_up = asyncio.Event()

    async def endless(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 100_000)
                await writer.drain()
        finally:
            hung_up.set()

    net = Net(names={"public.example": [[PUBLIC]]})
    async with net.serving(endless):
        answer = await net.egress().ask(request("GET", "http://public.example/"), EVERYBODY)
        await hung_up.wait()

    assert (len(answer.body), answer.truncated) == (MAX_BODY_BYTES, True)


async def test_a_head_without_end() -> None:
    """Headers without end are refused."""

    async def endless(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in itertools.count():
            writer.write(f"x-{number}: {'y' * 1000}\r\n".encode())
            await writer.drain()

    net = Net(names={"public.example": [[PUBLIC]]})
    async with net.serving(endless):
        with pytest.raises(ToolError, match="can't be asked"):
            await net.egress().ask(request("GET", "http://public.example/"), EVERYBODY)


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["its head", "its body"])
async def test_a_slow_server(begin: bytes) -> None:
    """A server that sends a byte now and then is given up at the time limit of it all."""

    async def slow(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        while True:
            writer.write(b"H")
            await writer.drain()
            await asyncio.sleep(0.05)

    net = Net(names={"public.example": [[PUBLIC]]})
    async with net.serving(slow):
        with pytest.raises(ToolError) as raised:
            await net.egress(BRIEF).ask(request("GET", "http://public.example/"), EVERYBODY)

    error = raised.value
    assert (error.type, error.reason) == ("timeout", "no whole answer within 0.5 s")


async def mumbling(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail ready\r\n\r\n")


async def silent(_: bytes, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("serve", [cut, halved, mumbling, silent])
@pytest.mark.parametrize("method", sorted({*METHODS} - {"HEAD"}))
async def test_a_server_that_keeps_its_answer(serve: Serve, method: str) -> None:
    """Of a request that changes something nobody says that it did nothing, once it was sent."""
    net = Net(names={"public.example": [[PUBLIC]]})
    asked = request(method, "http://public.example/")
    expected = ToolError if method in {"GET", "OPTIONS"} else AnswerLost
    async with net.serving(serve):
        with pytest.raises(expected, match=r"whole|can't be asked"):
            await net.egress(BRIEF).ask(asked, EVERYBODY)

    assert len(net.asked) == 1


async def test_a_server_that_was_never_reached() -> None:
    """Before there is a connection nothing can have been done, whatever was to be."""
    net = Net(names={"public.example": [[PUBLIC]]})

    async def never(address: str, port: int, seconds: float | None) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError

    for egress in (net.egress(), Egress(net.resolve, never, BRIEF)):
        with pytest.raises(ToolError, match=r"can't be asked|no whole answer"):
            await egress.ask(request("POST", "http://public.example/"), EVERYBODY)
