"""Whose signatures count now: read from files, fetched from a real server, and what goes wrong."""

import asyncio
import gzip
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest
from pydantic import JsonValue

from holdfast.activities.authority import keys
from holdfast.activities.authority.keys import Keys
from holdfast.contracts.approvals import JudgeInput
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import AppError
from holdfast.policy.approvals import find_key_claims, judge
from holdfast.policy.signatures import MAX_JWKS_BYTES
from holdfast.policy.trust import LOCAL_ISSUER, Issuer, Trust, TrustedIssuer
from tests.activities.key_server import KeyServer, key_set, publishing
from tests.builders import EXECUTION, NOW, a_request, an_approval
from tests.tokens import PROVIDER, Signer, a_signer, claims_about

ALICE = a_signer()
IDP = a_signer("ES256", kid="idp-1")
NEXT = a_signer("ES256", kid="idp-2")
REFUND = a_request(strength="strong", challenge="c" * 64)


def hearing(*tokens: str | None) -> JudgeInput:
    return JudgeInput(
        execution=EXECUTION,
        run_id="run-1",
        agent="it",
        requester="zoe",
        messages=tuple(an_approval(token=token) for token in tokens),
        requests=(REFUND,),
        closed=(),
        now=NOW,
    )


def by(signer: Signer, issuer: str = PROVIDER) -> JudgeInput:
    """One message with a good token of this signer."""
    return hearing(signer.token(claims_about(REFUND, iss=issuer)))


@dataclass
class Clock:
    """A clock that a test moves."""

    time: float = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def server() -> Generator[KeyServer]:
    with publishing() as published:
        yield published


@pytest.fixture
def approvers(tmp_path: Path) -> Path:
    return tmp_path / "approvers.json"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provided(server: KeyServer, approvers: Path, clock: Clock) -> Keys:
    """Keys with an identity provider that publishes one key."""
    server.publishes(IDP)
    return Keys([Issuer(issuer=PROVIDER, jwks=server.address)], None, approvers, clock)


async def of(keyring: Keys, asked: JudgeInput, issuer: str = PROVIDER) -> TrustedIssuer:
    found = [
        one
        for one in await keyring.find_issuers(find_key_claims(asked))
        if one.issuer.issuer == issuer
    ]
    assert len(found) == 1
    return found[0]


async def kids(keyring: Keys, asked: JudgeInput, issuer: str = PROVIDER) -> list[JsonValue]:
    trusted = await of(keyring, asked, issuer)
    assert not trusted.problem
    return [key["kid"] for key in trusted.keys]


async def test_people_s_keys_are_read_each_time(approvers: Path) -> None:
    """A key counts from the moment it is trusted, and no longer than until it is removed."""
    local = Keys([], None, approvers)
    asked = by(ALICE, LOCAL_ISSUER)
    before = await kids(local, asked, LOCAL_ISSUER)
    approvers.write_text(key_set(ALICE), encoding="utf-8")
    trusted = await kids(local, asked, LOCAL_ISSUER)
    approvers.write_text(key_set(), encoding="utf-8")
    after = await kids(local, asked, LOCAL_ISSUER)

    assert (before, trusted, after) == ([], ["key-1"], [])


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        pytest.param("{", 0o644, "Expecting property name", id="no JSON"),
        pytest.param("[]", 0o644, "it is no set of keys", id="no set"),
        pytest.param('{"keys": 1}', 0o644, "it is no set of keys", id="keys no list"),
        pytest.param('{"keys": [], "keys": []}', 0o644, "names something twice", id="twice"),
        pytest.param("[" * 100_000, 0o644, "nested too deeply", id="deep"),
        pytest.param(" " * (MAX_JWKS_BYTES + 1), 0o644, "more than 262,144 bytes", id="large"),
        pytest.param('{"keys": []}', 0o666, "everybody may write", id="open to all"),
    ],
)
async def test_a_file_that_cannot_be_trusted_trusts_nobody(
    approvers: Path, text: str, mode: int, said: str
) -> None:
    """What is wrong with a file of keys becomes the reason of a refusal, never a failure."""
    approvers.write_text(text, encoding="utf-8")
    approvers.chmod(mode)
    trusted = await of(Keys([], None, approvers), by(ALICE, LOCAL_ISSUER), LOCAL_ISSUER)

    assert trusted.keys == ()
    assert said in trusted.problem
    assert "\n" not in trusted.problem


async def test_a_folder_is_no_file_of_keys(approvers: Path) -> None:
    """What the system says about a file is passed on."""
    approvers.mkdir()
    trusted = await of(Keys([], None, approvers), by(ALICE, LOCAL_ISSUER), LOCAL_ISSUER)

    assert trusted.problem == f"{approvers}: Is a directory"


async def test_a_provider_s_file_lies_beside_the_policy(tmp_path: Path, approvers: Path) -> None:
    """A provider's keys may be a file, named as seen from the policy; it has to be there."""
    provider = Issuer(issuer=PROVIDER, jwks="idp/keys.json")
    keyring = Keys([provider], tmp_path, approvers)
    missing = await of(keyring, by(IDP))
    (tmp_path / "idp").mkdir()
    (tmp_path / "idp" / "keys.json").write_text(key_set(IDP), encoding="utf-8")

    assert missing.problem == f"there is no file {tmp_path / 'idp' / 'keys.json'}"
    assert await kids(keyring, by(IDP)) == ["idp-1"]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(hearing(), id="no message"),
        pytest.param(hearing(None), id="no token"),
        pytest.param(hearing("x.y.z"), id="garbage"),
        pytest.param(by(ALICE, LOCAL_ISSUER), id="another issuer's"),
        pytest.param(by(IDP, "https://evil.example"), id="an unknown issuer's"),
    ],
)
async def test_nobody_is_asked_without_need(
    provided: Keys, server: KeyServer, asked: JudgeInput
) -> None:
    """A provider is asked only when a token says that it is from there; all are always named."""
    found = await provided.find_issuers(find_key_claims(asked))

    assert server.asked == 0
    assert [(one.issuer.issuer, one.keys, one.problem) for one in found] == [
        (LOCAL_ISSUER, (), ""),
        (PROVIDER, (), ""),
    ]


async def test_fetched_keys_are_kept_for_minutes(
    provided: Keys, server: KeyServer, clock: Clock
) -> None:
    """A provider's keys are fetched once in five minutes, unpacked and without following."""
    first = await kids(provided, by(IDP))
    clock.time += keys.FRESH_SECONDS - 1
    second = await kids(provided, by(IDP))
    asked = server.asked
    clock.time += 1
    third = await kids(provided, by(IDP))

    assert (first, second, third) == (["idp-1"],) * 3
    assert (asked, server.asked) == (1, 2)
    assert server.encodings == ["identity"] * 2


async def test_a_new_key_is_found_at_once(provided: Keys, server: KeyServer, clock: Clock) -> None:
    """A key that isn't known is asked for, but not more often than once a minute."""
    await kids(provided, by(IDP))
    server.publishes(IDP, NEXT)
    clock.time += keys.UNKNOWN_KEY_PAUSE_SECONDS - 1
    early = await kids(provided, by(NEXT))
    clock.time += 1
    found = await kids(provided, by(NEXT))
    for _ in range(10):
        await kids(provided, hearing(a_signer(kid="x").token(claims_about(REFUND, iss=PROVIDER))))

    assert (early, found) == (["idp-1"], ["idp-1", "idp-2"])
    assert server.asked == 2


async def test_one_request_at_a_time(provided: Keys, server: KeyServer) -> None:
    """Many runs that wait for the same keys cost one request."""
    server.go_on.clear()
    waiting = [asyncio.create_task(kids(provided, by(IDP))) for _ in range(50)]
    await asyncio.to_thread(until, lambda: server.asked == 1)
    server.go_on.set()
    found = await asyncio.gather(*waiting)

    assert found == [["idp-1"]] * 50
    assert (server.asked, server.most_at_once) == (1, 1)


def until(happened: Callable[[], bool]) -> None:
    pause = Event()
    while not happened():
        pause.wait(0.01)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param({"status": 404}, "answers with 404", id="not found"),
        pytest.param({"status": 500, "body": b"{}"}, "answers with 500", id="fault"),
        pytest.param(
            {"status": 302, "headers": {"location": "http://127.0.0.1:1/"}},
            "answers with 302",
            id="redirect",
        ),
        pytest.param({"body": b"<html>"}, "Expecting value", id="no JSON"),
        pytest.param({"body": b"\xff\xfe\x00"}, "codec can't decode", id="no text"),
        pytest.param({"body": b'{"keys": {}}'}, "it is no set of keys", id="no set"),
        pytest.param({"body": b" " * 2_000_000}, "more than 262,144 bytes", id="large"),
        pytest.param(
            {"body": gzip.compress(b" " * 2_000_000), "headers": {"content-encoding": "gzip"}},
            "decode",
            id="packed",
        ),
        pytest.param({"headers": {"x": "y\r\n\r\nz"}, "body": b""}, "Expecting value", id="empty"),
    ],
)
async def test_whatever_comes_instead_of_keys_is_a_reason(
    provided: Keys, server: KeyServer, answer: dict[str, object], said: str
) -> None:
    """An answer that holds no keys makes no key trusted, and says what it was."""
    server.body = b""
    for name, value in answer.items():
        setattr(server, name, value)

    trusted = await of(provided, by(IDP))

    assert trusted.keys == ()
    assert trusted.problem.startswith(server.address)
    assert said in trusted.problem
    assert "\n" not in trusted.problem


async def test_a_silent_provider_is_given_up(
    provided: Keys, server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run doesn't wait for ever for a provider; the approver reads who didn't answer."""
    monkeypatch.setattr(keys, "TIMEOUT_SECONDS", 0.2)
    server.go_on.clear()

    issuers = await provided.find_issuers(find_key_claims(by(IDP)))
    (verdict,) = judge(by(IDP), Trust(issuers=issuers))

    assert (verdict.accepted, verdict.code) == (False, "invalid_token")
    assert verdict.reason.startswith(f"the keys of '{PROVIDER}' can't be read: {server.address} ")
    assert "doesn't answer within" in verdict.reason


async def test_nobody_listens(approvers: Path) -> None:
    """A provider that isn't there is a reason too."""
    keyring = Keys([Issuer(issuer=PROVIDER, jwks="http://127.0.0.1:1/keys")], None, approvers)
    trusted = await of(keyring, by(IDP))

    assert trusted.problem.startswith("http://127.0.0.1:1/keys: ")


async def test_old_keys_outlive_a_short_failure(
    provided: Keys, server: KeyServer, clock: Clock
) -> None:
    """While a provider is down its last keys count for an hour, and not a moment longer."""
    await kids(provided, by(IDP))
    fetched_at, server.status = clock.time, 503
    clock.time = fetched_at + keys.STALE_SECONDS - 1
    still = await kids(provided, by(IDP))
    clock.time = fetched_at + keys.STALE_SECONDS
    over = await of(provided, by(IDP))
    server.publishes(NEXT)
    clock.time += keys.RETRY_SECONDS
    again = await kids(provided, by(NEXT))

    assert (still, over.keys, again) == (["idp-1"], (), ["idp-2"])
    assert over.problem.endswith("answers with 503")


async def test_a_failing_provider_is_left_in_peace(
    provided: Keys, server: KeyServer, clock: Clock
) -> None:
    """After a failure a provider is asked again in ten seconds, however many want to know."""
    server.status = 503
    for _ in range(10):
        await of(provided, by(IDP))
    once = server.asked
    clock.time += keys.RETRY_SECONDS
    await of(provided, by(IDP))

    assert (once, server.asked) == (1, 2)


@pytest.mark.parametrize("names", [[PROVIDER, PROVIDER], [LOCAL_ISSUER]])
def test_an_issuer_is_named_once(approvers: Path, names: list[str]) -> None:
    """Two sources of keys for one name, or one that passes for people's own keys, are an error."""
    issuers = [Issuer(issuer=name, jwks="keys.json") for name in names]

    with pytest.raises(AppError, match="is there twice"):
        Keys(issuers, None, approvers)


async def test_odd_keys_harm_no_others(provided: Keys, server: KeyServer) -> None:
    """A key of a kind that we don't know, or no key at all, is beside the point."""
    odd: list[JsonObject] = [{"kty": "AKP", "alg": "ML-DSA-44"}, {"kid": None}, {"kid": ["idp-1"]}]
    server.body = json.dumps({"keys": [7, *odd, IDP.public], "more": 1}).encode()

    issuers = await provided.find_issuers(find_key_claims(by(IDP)))
    (verdict,) = judge(by(IDP), Trust(issuers=issuers))

    assert verdict.accepted
