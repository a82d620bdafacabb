"""Which run holds what, while others wait for it, end, and go on anew."""

from pathlib import Path
from uuid import uuid4

from temporalio.client import Client

from holdfast.contracts.calls import ToolFailure
from holdfast.guardrails import conflict_detection
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.activities.test_guardrails_holders import RESOURCES, searching
from tests.control.guarded import guarded, over
from tests.control.test_call_guardrails import held, visible
from tests.running import Runs

__all__ = ["searching"]


async def test_who_was_refused_a_resource_keeps_it_from_nobody(
    runs: Runs, tmp_path: Path, searching: Client
) -> None:
    """The holder goes on in a new execution and is terminated; who waited on has never had it."""
    # GR-22
    resource = uuid4().hex

    def script(turn: ScriptTurn) -> Reply:
        log = str(tmp_path / turn.goal)
        if turn.number == 1:
            return call("create_draft", log=log, title=resource)
        return call("hold", log=log) if turn.number == 2 else say("done")

    conflict = conflict_detection("title", tools=("create_draft",))
    app = guarded(script, conflict, max_history_events=1)
    async with runs.working(app):
        holder = await runs.start("it", "holder", tenant="acme")
        await held(tmp_path / "holder")
        await visible(runs, holder, resource)
        refused = await runs.start("it", "refused", tenant="acme")
        await held(tmp_path / "refused")
        [first] = await refused.results()
        shown = (await refused.handle.describe()).typed_search_attributes.get(RESOURCES)
        is_anew = await holder.execution() != holder.first_execution
        await holder.handle.terminate()
        while await holder_count(searching, resource):
            await refused.pause()
        later = await runs.start("it", "later", tenant="acme")
        await held(tmp_path / "later")
        [second] = await later.results()
        for name in ("refused", "later"):
            (tmp_path / f"{name}.go").touch()
        await over(refused)
        await over(later)

    assert is_anew
    assert isinstance(first, ToolFailure)
    assert f"run {holder.handle.id!r} holds title:{resource}" in first.reason
    assert not shown
    assert second.status == "ok"


async def holder_count(client: Client, resource: str) -> int:
    """Return how many open runs the server finds by a resource; lists are late."""
    query = f"AgentResources = 'title:{resource}' AND ExecutionStatus = 'Running'"
    return (await client.count_workflows(query)).count
