"""Attacks on signed approvals: who tries to release money with a token that isn't meant for it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from holdfast import Agent, App, Budget, Risk, tool
from holdfast.contracts.approvals import (
    ApprovalRequest,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.signals import (
    MessageOutcome,
)
from holdfast.testing import Script, call
from tests.running import Run, Runs
from tests.sample import lines, note, told
from tests.tokens import PROVIDER, Signer, a_signer, b64, claims_about, compact, hs256

ALICE = a_signer(kid="alice-1")
BOB = a_signer(kid="bob-1", subject="bob")
FORGER = a_signer(kid="alice-1", subject="forger")
IDP = a_signer("ES256", kid="idp-1")


@tool(risk=Risk.FINANCIAL)
async def refund(log: str, amount: float) -> str:
    """Give somebody their money back."""
    note(log, f"refunded {amount}")
    return "refunded"


def refunding(log: Path, *amounts: float, policy: Path | None = None) -> App:
    """An app whose agent gives money back, so many times."""
    script: Script = [*(call("refund", log=str(log), amount=one) for one in amounts), told]
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[refund],
        budget=Budget(max_steps=9),
    )
    return App(agents=[agent], scripts={"it": script}, policy=policy)


def trusting(runs: Runs, folder: Path, *signers: Signer) -> None:
    """Trust these people's keys, where the worker of these runs looks."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    keys: list[JsonValue] = [signer.public for signer in signers]
    (home / "approvers.json").write_text(json.dumps({"keys": keys}), encoding="utf-8")


def claims(run: Run, request: ApprovalRequest, **changes: JsonValue) -> JsonObject:
    return claims_about(request, datetime.now(UTC), **{"run_id": run.handle.id, **changes})


async def send(run: Run, request: ApprovalRequest, token: str) -> MessageOutcome:
    return await run.decide(
        {
            "request_id": request.request_id,
            "decision": "approve",
            "approver": "the ceo",
            "token": token,
        }
    )


def forgeries(run: Run, request: ApprovalRequest) -> Mapping[str, str]:
    """Tokens that release nothing, by what is said of them."""
    good = claims(run, request)
    header: JsonObject = {"alg": "HS256", "kid": "alice-1"}
    signed, signature = ALICE.token(good).rsplit(".", 1)
    tampered = b64(json.dumps({**good, "sub": "bob"}).encode())
    time = datetime.now(UTC).timestamp()
    return {
        "the signature is not that of key 'alice-1'": FORGER.token(good),
        "the signature is not": f"{signed.split('.')[0]}.{tampered}.{signature}",
        "the algorithm 'none' proves nothing": ALICE.token(good, {"alg": "none"}),
        "the algorithm 'HS256' proves nothing": compact(header, good, hs256(ALICE.pem)),
        "the token's header says 'jwk'": FORGER.token(good, {"jwk": FORGER.public}),
        "has no key 'bob-1' that is trusted": BOB.token({**good, "sub": "bob"}),
        "the key belongs to 'alice', not to 'bob'": ALICE.token({**good, "sub": "bob"}),
        "the token has expired": ALICE.token({**good, "iat": time - 700, "exp": time - 100}),
        "the token lives for 900 s": ALICE.token(
            {**good, "exp": int(time) + 900, "iat": int(time)}
        ),
        "the token's run_id is not": ALICE.token({**good, "run_id": "another"}),
        "the token's arguments_digest is not": ALICE.token({**good, "arguments_digest": "0" * 64}),
        "the token's decision is not": ALICE.token({**good, "decision": "reject"}),
        "the token's nonce is not": ALICE.token({**good, "nonce": "0" * 64}),
        "'auth_time': Input should be a valid number": ALICE.token({**good, "auth_time": True}),
    }


async def test_forged_tokens_release_nothing(runs: Runs, tmp_path: Path) -> None:
    """Each bad token is refused with its reason, the run waits on, and a good one works once."""
    # RK-19 RK-09 T-14 T-15 T-16
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE)
    async with runs.working(refunding(log, 29.0)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        answers = {
            said: await send(run, request, token)
            for said, token in forgeries(run, request).items()
        }
        before, still = lines(log), await run.pending()
        refusals = await run.refusals(len(answers))
        good = await send(run, request, ALICE.token(claims(run, request)))
        result = await run.result()

    assert before == []
    assert [one.request_id for one in still] == ["req-1"]
    assert [one.code for one in answers.values()] == ["invalid_token"] * len(answers)
    assert [said for said, one in answers.items() if said not in one.reason] == []
    assert refusals == [one.reason for one in answers.values()]
    assert good.accepted
    assert (result.answer, lines(log)) == ("refund ok", ["refunded 29.0"])


async def test_a_token_is_good_for_one_call(runs: Runs, tmp_path: Path) -> None:
    """The token of a refund releases neither the same refund again nor one of another run."""
    # RK-19 BY-15 T-17
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE)
    async with runs.working(refunding(log, 29.0, 29.0)):
        run, other = await runs.start("it"), await runs.start("it")
        request = await run.asked_for_approval()
        elsewhere = await other.asked_for_approval()
        token = ALICE.token(claims(run, request))
        misdirected = await send(other, elsewhere, token)
        first = await send(run, request, token)
        late = await send(run, request, token)
        second = await run.asked_for_approval()
        replayed = await send(run, second, token)
        sent = lines(log)
        await other.handle.cancel()
        await run.handle.cancel()

    assert first.accepted
    assert (late.accepted, late.code) == (False, "closed")
    assert second.arguments == request.arguments
    assert "request_id, nonce is not that of this decision" in replayed.reason
    assert "run_id, nonce is not that of this decision" in misdirected.reason
    assert sent == ["refunded 29.0"]


async def test_a_revoked_key_releases_nothing(runs: Runs, tmp_path: Path) -> None:
    """A key that is taken off the list counts no more, without a restart of the worker."""
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(refunding(log, 29.0)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        trusting(runs, tmp_path, BOB)
        revoked = await send(run, request, ALICE.token(claims(run, request)))
        good = await send(run, request, BOB.token(claims(run, request, sub="bob")))
        result = await run.result()

    assert "has no key 'alice-1' that is trusted" in revoked.reason
    assert (good.accepted, result.answer) == (True, "refund ok")


async def test_an_identity_provider_vouches_for_people(runs: Runs, tmp_path: Path) -> None:
    """A provider that the policy names says who signed in when and how, and in which groups."""
    # RK-09 RK-19 BY-16
    log = tmp_path / "log"
    keys: list[JsonValue] = [IDP.public]
    (tmp_path / "idp.json").write_text(json.dumps({"keys": keys}), encoding="utf-8")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\n"
        f"issuers: [{{issuer: {PROVIDER}, jwks: idp.json, groups: groups, audience: shop}}]\n"
        "groups: {finance: [nobody]}\n"
        "rules:\n"
        "  - id: money\n"
        "    effect: approve\n"
        "    reason: money leaves\n"
        "    match: {tools: [refund]}\n"
        "    approval: {groups: [finance], methods: [hwk, otp], max_auth_age: 5m}\n",
        encoding="utf-8",
    )
    async with runs.working(refunding(log, 29.0, policy=policy)):
        run = await runs.start("it", actor="zoe")
        request = await run.asked_for_approval()
        good: JsonObject = {
            **claims(run, request, iss=PROVIDER, aud="shop"),
            "amr": ["pwd", "otp"],
            "groups": ["staff", "finance"],
        }
        time = datetime.now(UTC).timestamp()
        attempts: list[JsonObject] = [
            {**good, "groups": ["staff"]},
            {**good, "amr": ["pwd"]},
            {**good, "auth_time": time - 600},
            {**good, "sub": "zoe"},
            {**good, "aud": "holdfast"},
            good,
        ]
        answers = [await send(run, request, IDP.token(one)) for one in attempts]
        result = await run.result()

    assert [one.code for one in answers] == [
        *("wrong_group", "invalid_token", "stale_authentication", "self_approval"),
        *("invalid_token", "accepted"),
    ]
    assert (result.answer, lines(log)) == ("refund ok", ["refunded 29.0"])
