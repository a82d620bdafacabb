"""What the server's search and the UI know of a run beside its history."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from temporalio.client import Client, WorkflowFailureError

from holdfast.testing import call, calls, say
from holdfast.workflows.execution.search_attributes import NAME, PENDING, STATUS, TENANT
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import scripted


async def test_a_run_is_found_by_agent_tenant_status_and_request(runs: Runs) -> None:
    """Search attributes say whose run it is, where it stands, and what waits, suspended or not."""
    async with runs.working(scripted([call("send", log="/dev/null", text="x"), say("sent")])):
        run = await runs.start("it", tenant="acme")
        request = await run.asked_for_approval()
        waiting = (await run.handle.describe()).typed_search_attributes
        await run.signal("suspend", {})
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        held = (await run.handle.describe()).typed_search_attributes
        await run.signal("resume", {})
        await run.approve(request.request_id)
        await run.result()
        done = (await run.handle.describe()).typed_search_attributes

    assert (waiting[NAME], waiting[TENANT], waiting[STATUS]) == ("it", "acme", "waiting")
    assert list(waiting[PENDING]) == ["approval::send"]
    assert (held[STATUS], list(held[PENDING])) == ("suspended", ["approval::send"])
    assert done[STATUS] == "completed"
    assert not done.get(PENDING)


async def test_a_server_without_the_attributes_runs_everything(skipping_runs: Runs) -> None:
    """A server that lacks the search attributes runs all the same, with one warning."""
    app = scripted([call("add", a=1, b=1), say("done")])
    with capture_logs() as logs:
        async with skipping_runs.working(app):
            results = [await (await skipping_runs.start("it")).result() for _ in range(3)]

    assert [result.status for result in results] == ["completed"] * 3
    assert [entry["event"] for entry in logs].count("search_attributes.missing") == 1


async def test_decisions_are_in_the_log_of_the_worker(runs: Runs) -> None:
    """What an auditor must not miss is a line of the worker's log too, with the run's id."""
    with capture_logs() as logs:
        async with runs.working(scripted([call("delete", record="x"), say("done")])):
            run = await runs.start("it")
            await run.result()

    audited = [entry for entry in logs if entry["event"] == "run.audited"]
    assert [(entry["run_id"], entry["text"]) for entry in audited] == [
        (run.handle.id, "delete: deny (destructive)")
    ]


async def test_details_say_what_a_run_waits_for(runs: Runs, client: Client) -> None:
    """The current details, which the UI shows, name the request and what it is about."""
    async with runs.working(scripted([call("send", log="/dev/null", text="x"), say("sent")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        handle = client.get_workflow_handle(run.handle.id)
        metadata = await handle.query("__temporal_workflow_metadata")
        await run.approve(request.request_id)
        await run.result()

    assert "`req-1`: approve `send(" in str(metadata)


async def test_lists_of_runs_say_what_a_stranger_s_run_is(runs: Runs) -> None:
    """A run that was started without a word about it gets its agent and its goal as a memo."""
    async with runs.working(scripted([say("done")])):
        run = await runs.start("it", "mend the\nroof")
        await run.result()

    assert await (await run.handle.describe()).memo() == {"summary": "it: mend the roof"}


async def test_who_is_asked_hears_of_it_while_other_calls_run(
    runs: Runs, client: Client, tmp_path: Path
) -> None:
    """A call that waits for people is found by search before the calls beside it have ended."""
    both = calls(call("send", log="/dev/null", text="x"), call("hold", log=str(tmp_path / "log")))
    async with runs.working(scripted([both, say("sent")])):
        run = await runs.start("it")
        while not (found := await _find_waiting(client, run)):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        (tmp_path / "log.go").touch()
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()

    assert found == ["approval::send"]


async def _find_waiting(client: Client, run: Run) -> list[str]:
    found = (await client.get_workflow_handle(run.handle.id).describe()).typed_search_attributes
    return list(found.get(PENDING) or ())


@pytest.mark.parametrize("letter", ["\U0001f600", "\u20ac", "x"], ids=ascii)
async def test_no_tenant_is_too_large_to_be_searched_for(
    memory_runs: MemoryRuns, letter: str
) -> None:
    """A name that the server would end the run for is refused on one line, any other is shown."""
    async with memory_runs.working(scripted([say("done")])):
        run = await memory_runs.start("it", tenant=letter * 166)
        result = await run.result()
        refused = await memory_runs.start("it", tenant="\U0001f600" * 171)
        with pytest.raises(WorkflowFailureError) as failure:
            await refused.result()

    assert result.status == "completed"
    assert "tenant: " in str(failure.value.cause)
    assert "2,000 is most" in str(failure.value.cause)


async def test_no_session_is_too_large_to_be_searched_for(memory_runs: MemoryRuns) -> None:
    """As a tenant: the server would end the run, which had no result then."""
    async with memory_runs.working(scripted([say("done")])):
        run = await memory_runs.start("it", session_id="\U0001f600" * 166)
        result = await run.result()
        refused = await memory_runs.start("it", session_id="\U0001f600" * 171)
        with pytest.raises(WorkflowFailureError) as failure:
            await refused.result()

    assert result.status == "completed"
    assert "session_id: " in str(failure.value.cause)
