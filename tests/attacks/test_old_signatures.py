"""Signatures that were good when they were given: by who has left, or with a key that is gone."""

import json
from pathlib import Path

import pytest

from holdfast import Requirement
from tests.attacks.test_old_approvals import ISSUERS, MALLORY, TWO, approve, booking
from tests.attacks.test_tokens import ALICE, BOB, lines, refunding, trusting
from tests.running import Runs
from tests.tokens import PROVIDER, Signer, a_signer

ALICE_AGAIN = a_signer("ES256", kid="alice-1")
MALLORY_AGAIN = a_signer("RS256", kid="idp-1", subject="mallory")
GONE = "accepted; the approval of {!r} counts no more"


def vouching(folder: Path, signer: Signer) -> None:
    """Have the provider's file hold this key."""
    keys = json.dumps({"keys": [signer.public]})
    (folder / "idp.json").write_text(keys, encoding="utf-8")


def members(*names: str) -> str:
    """A policy by which two of these approve; the provider has a claim for groups too."""
    issuers = ISSUERS.replace("idp.json", "idp.json, groups: roles")
    groups = f"groups: {{finance: [{', '.join(names)}]}}\n"
    return issuers + groups + TWO.replace("count: 2", "count: 2, groups: [finance]")


async def test_who_left_the_policys_group_has_not_approved(runs: Runs, tmp_path: Path) -> None:
    """Her provider could have said that she is in it, but the policy alone did."""
    # PF-09 BY-15
    log, policy = tmp_path / "log", tmp_path / "policy.yaml"
    policy.write_text(members("mallory", "alice", "bob"), encoding="utf-8")
    vouching(tmp_path, MALLORY)
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(refunding(log, 29.0, policy=policy)):
        run = await runs.start("it")
        await approve(run, MALLORY, iss=PROVIDER)
    policy.write_text(members("alice", "bob"), encoding="utf-8")
    async with runs.working(
        refunding(log, 29.0, policy=policy), client=await runs.another_client()
    ):
        second = await approve(run, BOB)
        waiting = await run.pending()
        await run.handle.cancel()

    assert second == GONE.format("mallory")
    assert (len(waiting), lines(log)) == (1, [])


@pytest.mark.parametrize("whose", ["alice", "mallory"])
async def test_a_key_that_was_replaced_under_its_name_has_signed_nothing(
    runs: Runs, tmp_path: Path, whose: str
) -> None:
    """Stolen, so taken off the list, a person's own or a provider's; the new one has its `kid`."""
    # RK-19 BY-15
    log, policy = tmp_path / "log", tmp_path / "policy.yaml"
    policy.write_text(ISSUERS + TWO, encoding="utf-8")
    vouching(tmp_path, MALLORY)
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(refunding(log, 29.0, policy=policy)):
        run = await runs.start("it")
        if whose == "alice":
            await approve(run, ALICE)
            trusting(runs, tmp_path, ALICE_AGAIN, BOB)
        else:
            await approve(run, MALLORY, iss=PROVIDER)
            vouching(tmp_path, MALLORY_AGAIN)
        second = await approve(run, BOB)
        waiting = await run.pending()
        await run.handle.cancel()

    assert second == GONE.format(whose)
    assert (len(waiting), lines(log)) == (1, [])


async def test_a_review_counts_no_key_that_was_replaced(runs: Runs, tmp_path: Path) -> None:
    """Nor does a review of a domain, of which the first of two signatures is by such a key."""
    # RK-19 BY-15
    log, two = tmp_path / "log", Requirement(count=2, strength="strong")
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(booking(log, "effect: allow", review=two)):
        run = await runs.start("it", domain="payments")
        await approve(run, ALICE)
        trusting(runs, tmp_path, ALICE_AGAIN, BOB)
        second = await approve(run, BOB)
        waiting = await run.pending()
        await run.handle.cancel()

    assert second == GONE.format("alice")
    assert (len(waiting), lines(log)) == (1, [])
