"""Running an activity elsewhere: who may write to the namespace may say what it came to."""

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.workflow import ActivityConfig

from holdfast.contracts.base import Contract
from holdfast.workflows.failures import UNREADABLE

Answer = TypeVar("Answer")


async def answered(
    activity: str, asked: Contract, answer: TypeAdapter[Answer], options: ActivityConfig
) -> Answer:
    """
    Return what an activity came to. Raises ApplicationError where nobody can read that.

    Left to Temporal, it would fail this workflow task, and each that is tried after it, for ever.
    """
    raw: RawValue | None = await workflow.execute_activity(
        activity, asked, result_type=RawValue, **options
    )
    try:
        return answer.validate_json(raw.payload.data if raw else b"")
    except ValidationError:
        raise ApplicationError(
            f"what {activity!r} came to can't be read", type=UNREADABLE
        ) from None
