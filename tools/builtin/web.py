"""The tool that asks the net, where a policy lists whom it may ask."""

import zlib
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from holdfast.contracts.tools import ResourceScope, Risk
from holdfast.tools.context import ToolContext
from holdfast.tools.egress.exchange import MAX_BODY_BYTES, HttpAnswer
from holdfast.tools.tool import tool

_ANY_HEADER = 47
"""zlib finds out itself whether it is gzip or deflate."""


@dataclass(frozen=True)
class Answer:
    """What a server answered; `truncated` when it was longer than what may be read."""

    status: int
    headers: dict[str, str]
    text: str
    truncated: bool


@tool(
    risk=Risk.NETWORK_OPEN_WORLD,
    scope=ResourceScope(kind="host", argument="url"),
    timeout=60,
    expected_result="a listed server is asked once",
    rollback="none: what a server was asked, it was asked",
)
def http_request(
    url: Annotated[str, Field(min_length=1, max_length=8_000)],
    ctx: ToolContext,
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET",
    headers: dict[str, str] | None = None,
    body: Annotated[str, Field(max_length=200_000)] | None = None,
) -> Answer:
    """
    Ask a server over HTTP and return what it answers, as text.

    A redirect is not followed: its header `location` names the address to ask next.
    """
    answer = _decompress(ctx.http(method, url, headers, body))
    return Answer(answer.status, answer.headers, answer.text, answer.truncated)


def _decompress(answer: HttpAnswer) -> HttpAnswer:
    """Unpack here, where a bomb hurts nobody, what a server packed although nobody asked it to."""
    if answer.headers.get("content-encoding", "").lower() not in {"gzip", "x-gzip", "deflate"}:
        return answer
    unpacking = zlib.decompressobj(_ANY_HEADER)
    try:
        body = unpacking.decompress(answer.body, MAX_BODY_BYTES)
    except zlib.error:
        return answer
    cut = answer.truncated or bool(unpacking.unconsumed_tail)
    return HttpAnswer(answer.status, answer.headers, body, cut)
