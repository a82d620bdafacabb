"""
Runs about data that a law protects.

What history has of them only a codec makes readable, and only ids stand where none reaches: in
summaries, search attributes and logs. Nothing of them is kept by a provider that we don't have to
send it.
"""

from holdfast.contracts.approvals import Request
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.run import AgentSnapshot, RunMetadata
from holdfast.contracts.texts import MAX_LINE_CHARS, shorten


def find_objections(agent: AgentSnapshot) -> tuple[str, ...]:
    """Say what of an agent no regulated run may have."""
    hosted = (
        f"hosted tool {one.name!r} runs at its provider, which no regulated run may use: make it "
        "a tool of your own"
        for one in agent.hosted
    )
    holding = (
        f"guardrail {one.name!r} says in a search attribute what a run holds, which no regulated "
        "run may say: leave it out"
        for one in agent.guardrails
        if one.holds is not None
    )
    return (*hosted, *holding)


def require_own_conversation(brief: RunMetadata) -> None:
    """Refuse a regulated run whose provider would keep its conversation; raises InvalidInput."""
    if brief.regulated and brief.strategy != "stateless":
        raise InvalidInput(
            f"strategy {brief.strategy!r} has a provider keep what was said, and the run is "
            "regulated: leave it out"
        )


def find_receiver_objection(brief: RunMetadata, receiver: AgentSnapshot) -> str:
    """
    Say why an agent can't go on with a run, which is regulated from then on; empty where it may.

    A release may have made it regulated since the run began, as which nobody has looked at that.
    """
    if not receiver.regulated:
        return ""
    try:
        require_own_conversation(brief.copy_with({"regulated": True}))
    except InvalidInput as error:
        return str(error)
    return next(iter(find_objections(receiver)), "")


def label_requests(requests: tuple[Request, ...]) -> str:
    """Write on one line which requests wait, and no word of them."""
    return shorten("; ".join(map(label_request, requests[:MAX_LINE_CHARS])))


def label_request(request: Request) -> str:
    """Write which request waits, and no word of it: `req-1 · approval`."""
    return f"{request.request_id} · {request.kind}"
