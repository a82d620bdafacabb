"""What a sandboxed call has granted hosts do doesn't stay in its workspace, whatever its class."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast import Tiers, Tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Grant
from holdfast.contracts.errors import ModelRejected
from holdfast.testing import call, fail, say
from holdfast.trace.reader import read_trace
from tests.attacks import hostile
from tests.attacks.net import ELSEWHERE, PUBLIC, Net, answering
from tests.control.controlled import replayed
from tests.running import Runs
from tests.sample import scripted, told
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import staffed

PAY = 'ctx.http("POST", "http://public.example/pay", body="100 EUR")'
TWO = Tiers(full="coder", simplified="clerk")
BROKEN = fail(ModelRejected("no wool", kind="auth"))
OF_ITS_WORKSPACE = pytest.mark.parametrize(
    "tool", [hostile.run_code, hostile.render], ids=lambda tool: tool.contract.name
)


@pytest.fixture
async def net(sandbox_home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Net]:
    """A net in which somebody takes payments."""
    assert sandbox_home.exists()
    net = Net(names={"public.example": [[PUBLIC]]})
    monkeypatch.setattr("holdfast.worker.Egress", net.egress)
    async with net.serving(answering()):
        yield net


def granting(folder: Path, tool: Tool) -> Path:
    """A policy by which calls of a tool may ask the host."""
    match = f"{{tools: [{tool.contract.name}], hosts: [public.example]}}"
    return policy(folder, f"{{id: ok, effect: allow, match: {match}}}")


def asking(folder: Path, host: str) -> Path:
    """A policy by which people approve code that may then ask a host."""
    folder.mkdir()
    match = f"{{tools: [run_code], hosts: [{host}]}}"
    return policy(folder, f"{{id: ask, effect: approve, match: {match}}}")


@OF_ITS_WORKSPACE
async def test_the_next_tier_repeats_no_request(
    runs: Runs, tmp_path: Path, net: Net, tool: Tool
) -> None:
    """The workspace of a part that failed is gone; what was paid is not."""
    # BY-11 NR-06
    pay = call(tool.contract.name, code=PAY)
    scripts = {"coder": [pay, BROKEN], "clerk": [pay, say("done")]}
    app = staffed(scripts, tiers=TWO, tools=[tool], policy=granting(tmp_path, tool))
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        await replayed(runs, run)

    assert len(net.asked) == 1
    assert [(one.tool, one.local) for one in result.effects] == [(tool.contract.name, False)]


@pytest.mark.parametrize("domain", ["sales", "payments"])
async def test_code_whose_class_says_that_it_reaches_nobody_asks_no_host(
    runs: Runs, tmp_path: Path, net: Net, domain: str
) -> None:
    """Such a call is repeated, and reviewed by nobody: a rule that grants it hosts denies it."""
    # BY-05 BY-11 ES-08
    pay = call("run", code=PAY)
    app = scripted([pay, told], tools=[hostile.run], policy=granting(tmp_path, hostile.run))
    async with runs.working(app):
        run = await runs.start("it", domain=domain)
        await run.result()
        denied = await run.failure()
        await replayed(runs, run)

    assert net.asked == []
    assert denied.reason == (
        "policy:ok grants it hosts, and 'run' is declared compute_only: what may ask hosts is "
        "network_open_world"
    )


@OF_ITS_WORKSPACE
async def test_a_request_that_was_made_before_a_crash_is_not_made_again(
    runs: Runs, tmp_path: Path, net: Net, tool: Tool
) -> None:
    """Only a ToolError says that nothing was done, also of a call in the sandbox."""
    # BY-05
    pay = call(tool.contract.name, code=f"{PAY}\nraise ConnectionError('cut')")
    app = scripted([pay, pay, told], tools=[tool], policy=granting(tmp_path, tool))
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        results = await run.results()
        trace = read_trace(await replayed(runs, run))

    assert len(net.asked) == 1
    assert [one.status for one in results] == ["outcome_unknown", "denied"]
    assert [made.result for made in trace.calls] == results
    assert [one.tool for one in result.unresolved] == [tool.contract.name]


async def test_code_is_approved_with_the_hosts_that_it_may_ask(
    runs: Runs, tmp_path: Path, net: Net
) -> None:
    """A release lets it ask another host after the approval: that is shown, and approved, anew."""
    # BY-15
    net.names["other.example"] = [[ELSEWHERE]]
    script = [call("run_code", code=PAY.replace("public", "other")), told]
    folders = [tmp_path / "before", tmp_path / "after"]
    before, after = (
        scripted(script, tools=[hostile.run_code], policy=asking(folder, host))
        for folder, host in zip(folders, ["public.example", "other.example"], strict=True)
    )
    yes: JsonObject = {"decision": "approve", "approver": "alice"}
    async with net.serving(answering(), ELSEWHERE):
        async with runs.working(before):
            run = await runs.start("it")
            shown = await run.asked_for_approval()
            await run.signal("suspend", {})
            await run.decide({**yes, "request_id": shown.request_id})
        async with runs.working(after):
            await run.signal("resume", {})
            again = await run.asked_for_approval()
            asked = list(net.asked)
            await run.decide({**yes, "request_id": again.request_id, "digest": again.digest})
            await run.result()
            await replayed(runs, run)

    assert [one.grant for one in (shown, again)] == [
        Grant(hosts=("public.example",)),
        Grant(hosts=("other.example",)),
    ]
    assert (again.request_id, asked, len(net.asked)) == ("req-2", [], 1)
