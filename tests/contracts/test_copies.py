"""Copies with changes: quick, and what pydantic's own are."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.contracts.approvals import Question
from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.transcript import TranscriptDigest

NOW = datetime(2026, 11, 1, tzinfo=UTC)

QUESTION = Question(
    request_id="request-1",
    reason="it isn't said",
    requested_at=NOW,
    expires_at=NOW + timedelta(days=1),
    call_id="call-1",
    question="Which one?",
)


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        pytest.param(Ledger(steps=1), {"steps": 2, "waited": 1.5}, id="fields"),
        pytest.param(Budget(max_steps=1), {"max_tokens": None}, id="a field that wasn't given"),
        pytest.param(TranscriptDigest(length=1), {}, id="no change"),
        pytest.param(QUESTION, {"reason": "nobody knows"}, id="what has a digest"),
    ],
)
def test_a_copy_is_what_pydantic_makes(value: Contract, changes: dict[str, object]) -> None:
    """It has the changes, knows which fields were given, and shares neither with the first."""
    before, given = value.model_dump(), value.model_fields_set.copy()
    expected = value.model_copy(update=changes)

    copied = value.copy_with(changes)

    assert (copied, copied.model_fields_set) == (expected, expected.model_fields_set)
    assert copied.model_dump() == type(value).model_validate({**before, **changes}).model_dump()
    assert (value.model_dump(), value.model_fields_set) == (before, given)
