"""Whole runs that ask a host of a small net: what they ask it, and what becomes of the answer."""

from pathlib import Path

import pytest

from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.testing import call, say
from holdfast.tools import http_request
from tests.attacks.net import ELSEWHERE, PUBLIC, Net, Serve, answering, cut, halved, redirecting
from tests.running import Runs
from tests.sample import scripted
from tests.workflows.test_permissions import policy

LISTED = "{id: web, effect: allow, match: {tools: [http_request], hosts: ['*.example']}}"


@pytest.fixture
def net(sandbox_home: Path, monkeypatch: pytest.MonkeyPatch) -> Net:
    """A net that the worker's way out leads into."""
    assert sandbox_home.exists()
    net = Net(names={"public.example": [[PUBLIC]], "admin.example": [[ELSEWHERE]]})
    monkeypatch.setattr("holdfast.worker.Egress", net.egress)
    return net


@pytest.mark.parametrize(
    "forbids",
    [
        "{id: never, effect: forbid, match: {hosts: [admin.example]}}",
        "{id: never, effect: forbid, when: 'args.url.contains(\"admin\")'}",
    ],
    ids=["a host", "a condition"],
)
async def test_a_redirect_is_a_call_of_its_own(
    runs: Runs, tmp_path: Path, net: Net, forbids: str
) -> None:
    """Where a server sends us is decided about like any other address; forbidden, nobody asks."""
    app = scripted(
        [
            call("http_request", url="http://public.example/go"),
            call("http_request", url="http://admin.example/drop"),
            say("done"),
        ],
        tools=[http_request],
        policy=policy(tmp_path, forbids, LISTED),
    )
    async with (
        net.serving(redirecting("http://admin.example/drop")),
        net.serving(answering(), ELSEWHERE),
        runs.working(app),
    ):
        run = await runs.start("it")
        await run.result()
        first, second = await run.results()

    assert isinstance(first, ToolSuccess)
    assert "'location': 'http://admin.example/drop'" in str(first.data)
    assert (second.status, net.connected) == ("denied", [PUBLIC])


@pytest.mark.parametrize("serve", [cut, halved])
async def test_a_lost_answer_is_no_reason_to_ask_again(
    runs: Runs, tmp_path: Path, net: Net, serve: Serve
) -> None:
    """What was posted may have happened when its answer is lost, and isn't posted again."""
    pay = call("http_request", url="http://public.example/pay", method="POST", body="100 EUR")
    app = scripted([pay, pay, say("done")], tools=[http_request], policy=policy(tmp_path, LISTED))
    async with net.serving(serve), runs.working(app):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        result = await run.result()
        lost, again = await run.results()

    assert len(net.asked) == 1
    assert isinstance(lost, ToolFailure)
    assert lost.status == "outcome_unknown"
    assert "AnswerLost: POST was sent to public.example" in lost.reason
    assert isinstance(again, ToolFailure)
    assert again.type == "non_idempotent_retry_blocked"
    assert [one.tool for one in result.unresolved] == ["http_request"]
