"""What another release decided about a call doesn't begin, and is never tried twice."""

from functools import partial
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from holdfast import Reconciled, tool
from holdfast.activities.authority.authorities import AuthorityFile
from holdfast.activities.authority.basis import Basis
from holdfast.activities.callers import NOT_AS_DECIDED
from holdfast.contracts.calls import Purpose
from holdfast.contracts.tools import Risk
from holdfast.policy_files import load_policy
from holdfast.tools.registry import ToolRegistry
from tests.activities.test_secrets import Saying, told
from tests.builders import NOW
from tests.policy.test_authorities import REVOKED, STANDS, policy_in
from tests.sample import send


def nothing() -> Saying:
    return Saying(lambda _: None)


@pytest.mark.parametrize(
    ("name", "purpose", "basis"),
    [
        ("look", "call", "another"),
        ("look", "draft", "another"),
        ("look", "call", Risk.READ_ONLY),
        ("look", "prepare", Risk.READ_ONLY),
        ("put_back", "undo", Risk.READ_ONLY),
        ("put_back", "undo", ""),
        ("put_back", "reconcile", Risk.READ_ONLY),
    ],
    ids=["call", "draft", "the class alone", "load", "undo", "nothing ruled on", "reconcile"],
)
async def test_what_wasnt_decided_about_doesnt_begin(
    tmp_path: Path, name: str, purpose: Purpose, basis: str
) -> None:
    """A call, a draft, what loads for a receiver, an undo, and what finds out, now a write."""
    place = nothing()
    with pytest.raises(ApplicationError) as refused:
        await told(place, tmp_path, name=name, purpose=purpose, basis=basis)

    assert refused.value.type == NOT_AS_DECIDED
    assert refused.value.non_retryable
    assert place.calls == []


@pytest.mark.parametrize("purpose", ["call", "reconcile"])
async def test_nobody_knows_what_became_of_a_write_that_was_tried_as_a_read(
    tmp_path: Path, purpose: Purpose
) -> None:
    """Another worker tried it before, and was to try it again: here it is none to repeat."""
    place = nothing()
    result, _ = await told(
        place, tmp_path, name="put_back", purpose=purpose, basis=Risk.READ_ONLY, attempt=2
    )

    assert result.status == "outcome_unknown"
    assert place.calls == []


async def test_a_read_that_was_tried_may_be_decided_anew(tmp_path: Path) -> None:
    """Where a read is one for both, nothing has happened."""
    with pytest.raises(ApplicationError, match="two releases"):
        await told(nothing(), tmp_path, name="look", basis="another", attempt=2)


@pytest.mark.parametrize("attempt", [1, 2])
async def test_what_an_authority_allowed_begins_while_that_stands(
    tmp_path: Path, attempt: int
) -> None:
    """A call may wait a minute for its sandbox: what is taken back meanwhile is decided anew."""
    # BY-74
    policy, place = load_policy(policy_in(tmp_path, STANDS)), nothing()
    file = AuthorityFile(policy.authorities)
    basis = Basis("", policy, "", await file.find_standing(NOW)).digest(send)

    async def take_back() -> None:
        policy_in(tmp_path, REVOKED)

    call = partial(
        told,
        place,
        tmp_path,
        name="send",
        attempt=attempt,
        tools=ToolRegistry([send]),
        decides_by=Basis("", policy, ""),
        basis=basis,
    )
    await call()
    place.starts = take_back
    if attempt == 1:
        with pytest.raises(ApplicationError) as refused:
            await call()
        assert refused.value.type == NOT_AS_DECIDED
    else:
        result, _ = await call()
        assert result.status == "outcome_unknown"

    assert len(place.calls) == 1


async def test_who_finds_out_looks_for_nothing_that_was_never_ruled_on(
    tmp_path: Path,
) -> None:
    """A default of a newer release is no part of what was done: who looks for it finds nothing."""

    @tool(risk=Risk.READ_ONLY)
    async def find_rotation(account: str, region: str = "eu") -> Reconciled:
        """Find out whether credentials were rotated."""
        raise AssertionError(account, region)

    place, tools = nothing(), ToolRegistry([find_rotation])
    result, _ = await told(place, tmp_path, name="find_rotation", purpose="reconcile", tools=tools)

    assert result.status == "denied"
    assert place.calls == []
