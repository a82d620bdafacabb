"""Attacks with numbers: whatever a start or a message says, no worker is busy with it for long."""

from collections.abc import Mapping

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowFailureError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import RunResult
from holdfast.testing import call, say
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import scripted

JSON: Mapping[str, bytes] = {"encoding": b"json/plain"}
DIGITS = "9" * 100_000

BUDGETS = [
    pytest.param('{"max_cost": "1e20000000"}', id="more than all money"),
    pytest.param('{"max_cost": "1e5000"}', id="more money than a float"),
    pytest.param('{"max_cost": "1e-20000000"}', id="next to no money"),
    pytest.param(f'{{"max_cost": "0.{DIGITS}"}}', id="a price of many digits"),
    pytest.param(f'{{"max_tokens": {DIGITS[:4000]}}}', id="thousands of digits"),
    pytest.param(f'{{"max_tokens": {DIGITS}}}', id="more digits than a parser takes"),
    pytest.param('{"max_wall_time": 1e308}', id="longer than any time"),
    pytest.param('{"max_wall_time": NaN}', id="no number"),
    pytest.param("[" * 5_000 + "]" * 5_000, id="nested deeply"),
]


ENCODINGS = [
    pytest.param({}, id="none"),
    pytest.param({"encoding": b"binary/encrypted"}, id="unknown"),
    pytest.param({"encoding": b"json/protobuf"}, id="Protobuf without a type"),
    pytest.param(
        {"encoding": b"json/protobuf", "messageType": b"no.such.Thing"}, id="of an unknown type"
    ),
    pytest.param(
        {"encoding": b"binary/protobuf", "messageType": b"temporal.api.common.v1.Payload"},
        id="no Protobuf",
    ),
    pytest.param({"encoding": b"\xff\xfe"}, id="no text"),
    pytest.param({"encoding": b"binary/plain"}, id="bytes"),
    pytest.param({"encoding": b"binary/null"}, id="null"),
    pytest.param({"encoding": b"json/external-storage-reference"}, id="stored elsewhere"),
]


async def started(runs: Runs, text: str, metadata: Mapping[str, bytes] = JSON) -> Run:
    """Start a run with a payload as a stranger would write it."""
    payload = Payload(metadata=metadata, data=text.encode())
    handle = await runs.client.start_workflow(
        "AgentRun",
        args=[RawValue(payload)],
        id=f"{runs.queue}-numbers",
        task_queue=runs.queue,
        result_type=RunResult,
    )
    return Run(handle)


@pytest.mark.parametrize("budget", BUDGETS)
async def test_no_start_freezes_a_worker(runs: Runs, budget: str) -> None:
    """A limit that nobody can count with is refused on one line, and others are served."""
    async with runs.working(scripted([say("done")])):
        bad = await started(runs, f'{{"agent": "it", "input": "go", "budget": {budget}}}')
        with pytest.raises(WorkflowFailureError) as refused:
            await bad.result()
        good = await (await runs.start("it")).result()

    cause = refused.value.cause
    assert isinstance(cause, ApplicationError)
    assert cause.type == "InvalidInput"
    assert len(cause.message) < 1_000
    assert "\n" not in cause.message
    assert good.answer == "done"


@pytest.mark.parametrize("metadata", ENCODINGS)
async def test_no_encoding_keeps_a_run_from_ending(runs: Runs, metadata: dict[str, bytes]) -> None:
    """What can't be read as the input of a run ends it, on one line."""
    async with runs.working(scripted([say("done")])):
        bad = await started(runs, '{"agent": "it", "input": "go"}', metadata)
        with pytest.raises(WorkflowFailureError) as refused:
            await bad.result()

    cause = refused.value.cause
    assert isinstance(cause, ApplicationError)
    assert cause.type == "InvalidInput"
    assert "\n" not in cause.message


async def test_no_extension_freezes_a_worker(memory_runs: MemoryRuns) -> None:
    """What `extend` may raise a limit to has bounds of its own; a good extension still counts."""
    numbers: list[JsonValue] = ["1e20000000", "1e5000", "1e-20000000", DIGITS, 1e308, 10**4_000]
    async with memory_runs.working(
        scripted([call("send", log="/dev/null", text="x"), say("done")])
    ):
        run = await memory_runs.start("it")
        await run.asked_for_approval()
        for number in numbers:
            extension: JsonObject = {"max_cost": number}
            await run.signal(
                "resolution", {"request_id": "req-1", "action": "extend", "budget": extension}
            )
        refusals = await run.refusals(len(numbers))
        await run.approve("req-1")
        result = await run.result()

    assert all("budget.max_cost" in refusal for refusal in refusals)
    assert result.answer == "done"
