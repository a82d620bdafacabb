"""Which run holds what, while others wait for it, end, and go on anew."""

from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast.contracts.calls import ToolFailure
from holdfast.guardrails import conflict_detection
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.activities.test_guardrails_holders import RESOURCES, searching
from tests.control.guarded import decided, guarded, on_word, over
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


@pytest.mark.parametrize("who", ["people", "another guardrail"])
async def test_a_call_that_is_refused_holds_nothing(
    runs: Runs,
    tmp_path: Path,
    searching: Client,
    who: Literal["people", "another guardrail"],
) -> None:
    """Whoever refuses it: a run that goes on with other work has never had what it wanted."""
    # GR-22
    resource, mine = uuid4().hex, uuid4().hex

    def script(turn: ScriptTurn) -> Reply:
        log = str(tmp_path / turn.goal)
        wants = [call("create_draft", log=log, title=resource), call("hold", log=log), say("done")]
        if turn.goal == "refused":
            wants.insert(0, call("create_draft", log=log, title=mine))
        return wants[turn.number - 1]

    on_trip = "ask" if who == "people" else "deny"
    conflict = conflict_detection("title", tools=("create_draft",), on_trip=on_trip)
    firm = on_word("firm", resource, "pre_execution", on_trip="deny")
    app = guarded(script, conflict, *(() if who == "people" else (firm,)))
    async with runs.working(app):
        if who == "people":
            holder = await runs.start("it", "holder", tenant="acme")
            await held(tmp_path / "holder")
            await visible(runs, holder, resource)
        refused = await runs.start("it", "refused", tenant="acme")
        if who == "people":
            [request] = await refused.asked()
            await decided(refused, request, "reject")
        await held(tmp_path / "refused")
        [_, second, *_] = await refused.results()
        shown = (await refused.handle.describe()).typed_search_attributes.get(RESOURCES)
        (tmp_path / "refused.go").touch()
        await over(refused)

    assert isinstance(second, ToolFailure)
    assert second.status == "denied"
    assert shown is not None
    assert [one.partition(" ")[0] for one in shown] == [f"title:{mine}"] * 2


async def holder_count(client: Client, resource: str) -> int:
    """Return how many open runs the server finds by a resource; lists are late."""
    query = f"AgentResources = 'title:{resource}' AND ExecutionStatus = 'Running'"
    return (await client.count_workflows(query)).count
