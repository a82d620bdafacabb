"""Requests of a run's parts, as the run shows them. Pure."""

from holdfast.contracts.approvals import Request, outline
from holdfast.contracts.bounds import size
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.patterns import is_run_id
from holdfast.contracts.signals import ApprovalSignal, Message
from holdfast.run.delegation.part_ids import name_run, qualify_request

MAX_RELAYED_BYTES = 100_000
"""What a run shows of the requests of one part: all of them are one signal."""

MIN_RELAYED_BYTES = 2_000
"""So much it shows in any case, and the first of them at least in outline."""

TOLD_BYTES = 3_000_000
"""What a part tells in all, but for so little: its whole goes on in no new execution meanwhile."""

SHARE = 20


def find_room(told: int) -> int:
    """
    Return how many bytes of its requests a part tells next, that has told so many.

    It is a share of what is left: each decision has it tell all that still waits once more.
    """
    return max(min(MAX_RELAYED_BYTES, (TOLD_BYTES - told) // SHARE), MIN_RELAYED_BYTES)


def select_shown(requests: tuple[Request, ...], run_id: str, room: int) -> tuple[Request, ...]:
    """
    Return what the run above shows of these in as much room, of the first an outline at least.

    The rest, and those too large, this run shows.
    """
    shown, left = list[Request](), room
    for request in requests:
        told, taken = request, size(request)
        if taken > left:
            asking = request.run_id or run_id
            told = outline(request, f"too large to be shown here: see run {asking}")
            taken = size(told)
        if taken > left and shown:
            break
        left -= taken
        shown.append(told)
    return tuple(shown)


def qualify(request: Request, part: str, run_id: str, first_execution_run_id: str) -> Request:
    """Return the request of a part as the run shows it that the part works for."""
    return request.with_(
        request_id=qualify_request(part, request.request_id),
        run_id=_find_asking_run(request, run_id, first_execution_run_id),
    )


def _find_asking_run(request: Request, run_id: str, first_execution_run_id: str) -> str:
    """
    Return the run that asks: the part with this id, or one that works for it, and no other.

    Its request's id names those in between. Whoever says that another run asks would have people
    sign what that one wants: so nobody's word counts, and where an id is too long to be known
    here the part alone is named, which knows it.
    """
    *between, _ = request.request_id.split("/")
    asking, execution = run_id, first_execution_run_id
    for part in between:
        asking, execution = name_run(asking, execution, part), ""
        if not is_run_id(asking):
            return run_id
    return asking


def find_forwarding_refusal(request: Request, said: Message) -> tuple[str, OutcomeCode] | None:
    """
    Say why nothing is forwarded: what isn't shown whole is decided by who has seen it.

    So is what is signed: nothing can be added to the words of an answer or a resolution, and the
    token of an approval says nothing of what was shown beside the arguments.
    """
    if said.digest is None and request.left_out:
        return f"{request.left_out}, and name its digest", "changed"
    if said.digest is None and said.token is not None and not isinstance(said, ApprovalSignal):
        return (
            f"what is signed about {said.request_id!r} names its digest as it was seen",
            "changed",
        )
    if said.digest not in {None, request.digest} and not request.left_out:
        return f"request {said.request_id!r} is not the one that was seen: see it again", "changed"
    return None
