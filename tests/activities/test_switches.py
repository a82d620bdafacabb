"""A worker knows what is switched off by following one workflow's history."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DeleteWorkflowExecutionRequest,
    PollWorkflowTaskQueueRequest,
)
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.common import RetryPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import PayloadCodec
from temporalio.worker import Worker

from holdfast.activities.kill_switch import switch_history, switches
from holdfast.activities.kill_switch.switch_history import SwitchHistory
from holdfast.activities.kill_switch.switches import TemporalKillSwitch
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import Switch, SwitchKind, SwitchSignal
from holdfast.runner import RUNNER, disable_deadlock_detection
from holdfast.workflows.switches import HoldfastSwitches
from tests.activities.cable import plugged


@pytest.fixture
def queue() -> str:
    """A task queue of this test's own."""
    return f"test-{uuid4().hex[:8]}"


@pytest.fixture
async def board(client: Client, queue: str) -> AsyncGenerator[TemporalKillSwitch]:
    async with TemporalKillSwitch(client, queue) as made:
        yield made


def of(client: Client, queue: str) -> WorkflowHandle[object, object]:
    return client.get_workflow_handle(queue)


async def switch(
    client: Client, queue: str, state: str, name: str = "send", kind: SwitchKind = "tool"
) -> None:
    """Switch something, as an operator would."""
    await of(client, queue).signal(state, SwitchSignal(kind=kind, name=name, by="dana"))


def names(found: Sequence[Switch]) -> list[str]:
    return [switch.name for switch in found]


async def seen(board: TemporalKillSwitch, true: Callable[[list[str]], bool]) -> list[str]:
    """Wait until the board knows of it; the test's own time limit bounds this."""
    while not true(found := names(await board.current())):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.001)
    return found


async def refusal(board: TemporalKillSwitch, why: str = "") -> str:
    """Wait until nobody can tell for this reason, and return what is said about that."""
    while True:
        try:
            await board.current()
        except HoldfastError as error:
            if why in str(error):
                return str(error)
        await asyncio.sleep(0.001)


@asynccontextmanager
async def working(client: Client, queue: str) -> AsyncGenerator[None]:
    """Have the workflow of the switches run, and nothing else."""
    keeper = Worker(client, task_queue=queue, workflows=[HoldfastSwitches], workflow_runner=RUNNER)
    async with disable_deadlock_detection(keeper):
        yield


async def test_nothing_is_off_in_the_beginning(
    client: Client, queue: str, board: TemporalKillSwitch
) -> None:
    """The first question starts the workflow that is followed, and finds nothing switched off."""
    assert await board.current() == ()
    description = await of(client, queue).describe()
    assert (description.workflow_type, description.task_queue) == ("HoldfastSwitches", queue)


async def test_a_switch_works_while_no_worker_runs(
    client: Client, queue: str, board: TemporalKillSwitch
) -> None:
    """Workers read the signals themselves: the workflow needn't have seen them."""
    # BY-31
    await board.current()
    await switch(client, queue, "off")
    off = await seen(board, bool)
    await switch(client, queue, "on")

    assert off == ["send"]
    assert await seen(board, lambda found: not found) == []


async def test_a_fresh_worker_knows_what_is_off(client: Client, queue: str) -> None:
    """What was switched off before a worker started is off in its first answer."""
    await SwitchHistory(client, queue).start(None)
    await switch(client, queue, "off")

    async with (
        TemporalKillSwitch(client, queue) as first,
        TemporalKillSwitch(client, queue) as second,
    ):
        known = await asyncio.gather(first.current(), second.current())

    assert [names(found) for found in known] == [["send"], ["send"]]


async def test_knowing_costs_nothing(board: TemporalKillSwitch) -> None:
    """Once read, an answer waits for nothing: a turn can afford it."""
    await board.current()

    with pytest.raises(StopIteration):
        board.current().send(None)


async def test_a_long_history_goes_on_elsewhere(
    client: Client, queue: str, board: TemporalKillSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers follow the switches into each next execution, and forget nothing on the way."""
    monkeypatch.setattr("holdfast.workflows.switches.MAX_SWITCH_EVENTS", 8)
    await board.current()
    first = (await of(client, queue).describe()).run_id
    async with working(client, queue):
        for number in range(12):
            await switch(client, queue, "off", f"tool{number}")
            await seen(board, lambda found, number=number: f"tool{number}" in found)
        async with TemporalKillSwitch(client, queue) as fresh:
            known = names(await fresh.current())

    assert known == [f"tool{number}" for number in range(12)]
    assert (await of(client, queue).describe()).run_id != first


@pytest.mark.parametrize("end", ["terminate", "cancel"])
async def test_ending_the_workflow_switches_nothing_on(
    client: Client, queue: str, board: TemporalKillSwitch, end: str
) -> None:
    """When somebody ends the switches' workflow, the next begins with what was off."""
    async with working(client, queue):
        await board.current()
        await switch(client, queue, "off")
        await seen(board, bool)
        handle = client.get_workflow_handle(
            queue, run_id=(await of(client, queue).describe()).run_id
        )
        await (handle.terminate() if end == "terminate" else handle.cancel())
        while (await of(client, queue).describe()).run_id == handle.run_id:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        await switch(client, queue, "off", "refund")

        assert await seen(board, lambda found: len(found) > 1) == ["send", "refund"]


async def test_who_comes_late_to_start_them_switches_nothing_on(
    client: Client, queue: str, board: TemporalKillSwitch
) -> None:
    """It looked at one that had ended; meanwhile another was started, heard, and ended too."""
    history = SwitchHistory(client, queue)
    await history.start(None)
    await switch(client, queue, "off", "refund")
    await of(client, queue).terminate()
    before = await history.latest()
    await history.start(before)
    await switch(client, queue, "off")
    await switch(client, queue, "off", "mail")
    await of(client, queue).terminate()

    late = SwitchSignal(kind="tool", name="mail", by="dana")
    await history.start(before, "on", late)

    assert set(names((await history.read()).switches)) == {"refund", "send"}
    assert set(await seen(board, lambda found: len(found) > 1)) == {"refund", "send"}


AGAIN = RetryPolicy(initial_interval=timedelta(milliseconds=1))


@pytest.mark.parametrize(
    ("retry_policy", "cron_schedule"),
    [
        pytest.param(AGAIN, "", id="by a retry policy"),
        pytest.param(None, "@every 1s", id="by a schedule"),
    ],
)
async def test_what_the_server_begins_again_switches_nothing_on(
    client: Client, queue: str, retry_policy: RetryPolicy | None, cron_schedule: str
) -> None:
    """It has the input of once, when nothing was off: what the execution before knew counts."""
    first = await client.start_workflow(
        "HoldfastSwitches",
        id=queue,
        task_queue=queue,
        run_timeout=timedelta(seconds=1),
        retry_policy=retry_policy,
        cron_schedule=cron_schedule,
    )
    await switch(client, queue, "off")
    while (found := await of(client, queue).describe()).run_id == first.result_run_id:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)
    await switch(client, queue, "off", "refund")
    history = SwitchHistory(client, queue)

    assert found.status is WorkflowExecutionStatus.RUNNING
    assert set(names((await history.read()).switches)) == {"send", "refund"}
    await of(client, queue).terminate()


async def test_switches_that_the_server_would_begin_again_end_at_once(
    client: Client, queue: str, board: TemporalKillSwitch
) -> None:
    """The workflow refuses such a start; the next one begins with what was off by then."""
    first = await client.start_workflow(
        "HoldfastSwitches", id=queue, task_queue=queue, retry_policy=AGAIN
    )
    await switch(client, queue, "off")
    async with working(client, queue):
        with pytest.raises(WorkflowFailureError) as refused:
            await client.get_workflow_handle(first.id, run_id=first.result_run_id).result()
        off = await seen(board, bool)
        found = await of(client, queue).describe()

    assert "without retry policy" in str(refused.value.cause)
    assert off == ["send"]
    assert found.status is WorkflowExecutionStatus.RUNNING


async def test_after_a_broken_connection_everything_is_read_again(
    client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that lost the server decides nothing until it knows again; then it knows all."""
    async with plugged(client) as (cable, far), TemporalKillSwitch(far, queue) as board:
        await board.current()
        monkeypatch.setattr(switches, "TIMEOUT_SECONDS", 0.5)
        cable.cut()
        said = await refusal(board)
        await switch(client, queue, "off")
        cable.mend()
        monkeypatch.setattr(switches, "TIMEOUT_SECONDS", 60)

        assert names(await board.current()) == ["send"]
    assert said.startswith("nobody knows what is switched off, so nothing may run: ")


async def test_a_silent_connection_is_a_broken_one(
    client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker doesn't act for longer than a poll takes on what may have changed."""
    monkeypatch.setattr(switch_history, "POLL_TIMEOUT", switch_history.POLL_TIMEOUT * 0.4)
    async with plugged(client) as (cable, far), TemporalKillSwitch(far, queue) as board:
        await board.current()
        monkeypatch.setattr(switches, "TIMEOUT_SECONDS", 0.2)
        cable.freeze()
        began = time.monotonic()
        await refusal(board)
        took = time.monotonic() - began

    assert took < 60  # it would have lasted for ever


async def test_a_dead_worker_holds_a_switch_up_for_seconds_only(
    client: Client, queue: str, board: TemporalKillSwitch
) -> None:
    """A signal isn't recorded while a worker has the workflow's task; a dead one loses it soon."""
    await board.current()
    taken = await client.workflow_service.poll_workflow_task_queue(
        PollWorkflowTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=queue), identity="dies now"
        )
    )
    await switch(client, queue, "off")

    assert taken.history.events
    assert await seen(board, bool) == ["send"]


async def test_a_stranger_under_the_name_is_not_believed(
    client: Client, queue: str, board: TemporalKillSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another workflow under the id of the switches keeps everything from running."""
    monkeypatch.setattr(switches, "TIMEOUT_SECONDS", 0.5)
    await client.start_workflow("Other", id=queue, task_queue=queue)

    why = f"workflow '{queue}' is a 'Other': end it"
    assert why in await refusal(board, why)


async def test_switches_that_cant_be_read_let_nothing_run(
    client: Client, queue: str, board: TemporalKillSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state that nobody can read isn't an empty one, also when its workflow has failed."""
    monkeypatch.setattr(switches, "TIMEOUT_SECONDS", 0.5)
    broken = {"switches": [{"kind": "region"}]}
    await client.start_workflow("HoldfastSwitches", broken, id=queue, task_queue=queue)
    why = "what is switched off can't be read"
    said = await refusal(board, why)
    async with working(client, queue):
        with pytest.raises(WorkflowFailureError):
            await of(client, queue).result()

    assert why in said
    assert why in await refusal(board, why)


async def test_deleted_switches_begin_anew(
    client: Client, queue: str, board: TemporalKillSwitch
) -> None:
    """Whoever deletes the switches' workflow starts over with nothing switched off."""
    await board.current()
    await switch(client, queue, "off")
    await seen(board, bool)
    execution = WorkflowExecution(workflow_id=queue)
    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=execution)
    )

    assert await seen(board, lambda found: not found) == []


async def test_who_gives_up_waiting_takes_nothing_from_the_others(
    client: Client, queue: str
) -> None:
    """An activity that is cancelled while it waits for the switches leaves the rest at work."""
    async with plugged(client) as (cable, far), TemporalKillSwitch(far, queue) as board:
        cable.freeze()
        impatient = asyncio.create_task(board.current())
        patient = asyncio.create_task(board.current())
        await asyncio.sleep(0)
        impatient.cancel()
        cable.mend()

        assert await patient == ()


async def test_a_closed_board_answers_nobody(board: TemporalKillSwitch, client: Client) -> None:
    """A worker that stops follows nothing any more, and lets no call begin on what it knew."""
    await board.current()
    await board.close()
    await board.close()

    with pytest.raises(HoldfastError, match="this worker stops"):
        await board.current()


class Reversed(PayloadCodec):
    """Makes payloads unreadable to the server, as encryption does."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"reversed"}, data=payload.SerializeToString()[::-1])
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(payload.data[::-1]) for payload in payloads]


async def test_switches_are_read_through_the_codec(client: Client, queue: str) -> None:
    """Where payloads are encrypted, so are the switches, and workers read them all the same."""
    converter = pydantic_data_converter.__class__(
        pydantic_data_converter.payload_converter_class, Reversed()
    )
    encrypted = await Client.connect(
        client.service_client.config.target_host, data_converter=converter
    )
    async with TemporalKillSwitch(encrypted, queue) as board:
        await board.current()
        await switch(encrypted, queue, "off")

        assert await seen(board, bool) == ["send"]
