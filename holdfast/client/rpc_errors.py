"""What a server says when it can't do what it was asked, in words that say what to do."""

from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from holdfast.contracts.errors import HoldfastError, NoWorker

START_A_WORKER = "start one with 'holdfast dev APP' or 'holdfast worker APP'"

_NO_ANSWER = {
    RPCStatusCode.CANCELLED,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.FAILED_PRECONDITION,
}


def is_without_worker(error: RPCError) -> bool:
    """Whether the server found nobody who works at a run, within the time that one has."""
    return error.status in _NO_ANSWER


def no_worker(run: str) -> NoWorker:
    """Say that nobody who works at a run answers."""
    return NoWorker(f"no worker answers for run {run!r}: {START_A_WORKER}")


def translate_error(error: RPCError, client: Client, run: str) -> HoldfastError | RPCError:
    """Say that there is no such run, if that is what the server says."""
    details = error.grpc_status.details
    if error.status is not RPCStatusCode.NOT_FOUND or any(
        detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in details
    ):
        return error
    return HoldfastError(
        f"no run {run!r} in namespace {client.namespace!r}; 'holdfast list' shows the runs"
    )
