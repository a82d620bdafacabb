"""A request that waits while its session goes on in new executions, and approvals of before."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from holdfast import Agent, App
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject
from holdfast.contracts.transcript import UserTurn
from holdfast.testing import Reply, ScriptTurn, call
from tests.attacks.test_tokens import ALICE, BOB, refund, trusting
from tests.sample import lines, told
from tests.sessions.talking import Talk, Talks
from tests.tokens import Signer, claims_about

TWO = """\
version: 1
rules:
  - {id: r, effect: approve, match: {tools: [refund]}, approval: {strong: true, count: 2}}
"""


def refunding(log: Path, policy: Path) -> App:
    """An app whose agent gives back what a message says; whatever it is told is a cut."""

    def script(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        if not isinstance(last, UserTurn):
            return told(turn)
        return call("refund", log=str(log), amount=float(last.text))

    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[refund],
        max_history_events=1,
    )
    return App(agents=[agent], scripts={"it": script}, policy=policy)


async def execution(talk: Talk) -> str | None:
    """What the server calls the one that goes on."""
    return (await talk.handle.describe()).run_id


async def cut(talk: Talk, before: str | None) -> ApprovalRequest:
    """Wait until the session goes on in another execution, and return the request that waits."""
    while await execution(talk) == before:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.05)
    return ApprovalRequest.model_validate(await talk.asked())


async def approve(talk: Talk, request: ApprovalRequest, token: str) -> str:
    """Send a signed approval, and return what became of it in one word."""
    said: JsonObject = {
        "request_id": request.request_id,
        "decision": "approve",
        "approver": "the ceo",
        "token": token,
    }
    answer: JsonObject = await talk.handle.execute_update("decide", said, result_type=dict)  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
    return str(answer.get("code", "accepted"))


def signed(talk: Talk, request: ApprovalRequest, signer: Signer) -> str:
    """What somebody signs to approve a request of the session."""
    who = {"sub": signer.subject, "jti": signer.kid, "run_id": talk.id}
    return signer.token(claims_about(request, datetime.now(UTC), **who))


async def test_approvals_are_good_for_their_call_across_cuts_and_for_no_other(
    talks: Talks, tmp_path: Path
) -> None:
    """One of two is given, the session is cut, the other is given; used ones release nothing."""
    # SE-01 RK-19 T-34
    log, policy = tmp_path / "log", tmp_path / "policy.yaml"
    policy.write_text(TWO, encoding="utf-8")
    trusting(talks.runs, tmp_path, ALICE, BOB)
    async with talks.working(refunding(log, policy)):
        talk = talks.talk(actor="ann")
        await talk.open()
        opened_in = await execution(talk)
        await talk.say("m-1", "29")
        request = await cut(talk, opened_in)
        tokens = [signed(talk, request, signer) for signer in (ALICE, BOB)]
        asked_in = await execution(talk)
        first = await approve(talk, request, tokens[0])
        await cut(talk, asked_in)
        waiting = lines(log)
        second = await approve(talk, request, tokens[1])
        answer = await talk.answer("m-1")
        used = [await approve(talk, request, token) for token in tokens]

        done_in = await execution(talk)
        await talk.say("m-2", "30")
        other = await cut(talk, done_in)
        asked_in = await execution(talk)
        moved = [await approve(talk, other, token) for token in tokens]
        await cut(talk, asked_in)
        still = [await approve(talk, other, token) for token in tokens]
        await talk.signal("stop", {"reason": "enough"})
        await talk.outcome("m-2")
        cuts = await talk.replayed()

    assert (first, waiting, second, answer) == ("accepted", [], "accepted", "refund ok")
    assert used == ["closed", "closed"]
    assert moved == still == ["invalid_token", "invalid_token"]
    assert lines(log) == ["refunded 29.0"]
    assert cuts > 3
