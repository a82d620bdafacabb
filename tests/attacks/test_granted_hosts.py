"""What a sandboxed call has granted hosts do doesn't stay in its workspace, whatever its class."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast import Tiers, Tool
from holdfast.contracts.errors import ModelRejected
from holdfast.testing import call, fail, say
from holdfast.tools.egress import client
from tests.attacks import hostile
from tests.attacks.net import PUBLIC, Net, answering
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
    monkeypatch.setattr(client, "Egress", net.egress)
    async with net.serving(answering()):
        yield net


def granting(folder: Path, tool: Tool) -> Path:
    """A policy by which calls of a tool may ask the host."""
    match = f"{{tools: [{tool.contract.name}], hosts: [public.example]}}"
    return policy(folder, f"{{id: ok, effect: allow, match: {match}}}")


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

    assert len(net.asked) == 1
    assert [one.status for one in results] == ["outcome_unknown", "denied"]
    assert [one.tool for one in result.unresolved] == [tool.contract.name]
