"""What is sent to runs, checked here before a run has to refuse it."""

from typing import TypeVar

from pydantic import ValidationError

from holdfast.contracts.approvals import (
    ApprovalRequest,
    Escalation,
    Question,
    Request,
    Review,
)
from holdfast.contracts.base import Inbound
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import RunInput
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.run.summaries import describe_validation_error

Sent = TypeVar("Sent", bound=Inbound | RunInput | SessionInput)


def build(kind: type[Sent], **given: object) -> Sent:
    """Return what is sent, without what is null; raises HoldfastError if it can't be sent."""
    named = {name: value for name, value in given.items() if value is not None}
    try:
        return kind.model_validate(named)
    except ValidationError as error:
        raise HoldfastError(describe_validation_error(error)) from None


def is_name(given: object) -> bool:
    """Whether something may be called this, whoever chose it: a text that can be sent."""
    try:
        return isinstance(given, str) and bool(given.encode())
    except UnicodeEncodeError:
        return False


def name_request(request: str | Request) -> dict[str, str]:
    """Name a request: by its id, or as it was seen."""
    if isinstance(request, ApprovalRequest | Review | Question | Escalation):
        return {"request_id": request.request_id, "digest": request.digest}
    return {"request_id": request}
