"""Attacks with numbers: whatever a start or a message says, no worker is busy with it for long."""

from collections.abc import Mapping
from uuid import uuid4

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

BUDGETS = {
    "more than all money": '{"max_cost": "1e20000000"}',
    "more money than a float": '{"max_cost": "1e5000"}',
    "next to no money": '{"max_cost": "1e-20000000"}',
    "a price of many digits": f'{{"max_cost": "0.{DIGITS}"}}',
    "thousands of digits": f'{{"max_tokens": {DIGITS[:4000]}}}',
    "more digits than a parser takes": f'{{"max_tokens": {DIGITS}}}',
    "longer than any time": '{"max_wall_time": 1e308}',
    "no number": '{"max_wall_time": NaN}',
    "nested deeply": "[" * 5_000 + "]" * 5_000,
}


ENCODINGS: Mapping[str, Mapping[str, bytes]] = {
    "none": {},
    "unknown": {"encoding": b"binary/encrypted"},
    "Protobuf without a type": {"encoding": b"json/protobuf"},
    "of an unknown type": {"encoding": b"json/protobuf", "messageType": b"no.such.Thing"},
    "no Protobuf": {
        "encoding": b"binary/protobuf",
        "messageType": b"temporal.api.common.v1.Payload",
    },
    "no text": {"encoding": b"\xff\xfe"},
    "bytes": {"encoding": b"binary/plain"},
    "null": {"encoding": b"binary/null"},
    "stored elsewhere": {"encoding": b"json/external-storage-reference"},
}


async def started(runs: Runs, text: str, metadata: Mapping[str, bytes] = JSON) -> Run:
    """Start a run with a payload as a stranger would write it."""
    payload = Payload(metadata=metadata, data=text.encode())
    handle = await runs.client.start_workflow(
        "AgentRun",
        args=[RawValue(payload)],
        id=f"numbers-{uuid4().hex[:8]}",
        task_queue=runs.queue,
        result_type=RunResult,
    )
    return Run(handle)


async def refused(run: Run) -> ApplicationError:
    """Wait for the end of a run whose input is none, and return why that is so."""
    with pytest.raises(WorkflowFailureError) as error:
        await run.result()
    cause = error.value.cause
    assert isinstance(cause, ApplicationError)
    assert cause.type == "InvalidInput"
    assert "\n" not in cause.message
    return cause


async def test_no_start_freezes_a_worker(runs: Runs, subtests: pytest.Subtests) -> None:
    """A limit that nobody can count with is refused on one line, and others are served."""
    async with runs.working(scripted([say("done")])):
        for name, budget in BUDGETS.items():
            with subtests.test(name):
                bad = f'{{"agent": "it", "input": "go", "budget": {budget}}}'
                cause = await refused(await started(runs, bad))
                good = await (await runs.start("it")).result()

                assert len(cause.message) < 1_000
                assert good.answer == "done"


async def test_no_encoding_keeps_a_run_from_ending(runs: Runs, subtests: pytest.Subtests) -> None:
    """What can't be read as the input of a run ends it, on one line."""
    async with runs.working(scripted([say("done")])):
        for name, metadata in ENCODINGS.items():
            with subtests.test(name):
                await refused(await started(runs, '{"agent": "it", "input": "go"}', metadata))


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
