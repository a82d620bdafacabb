"""Places for workflow tasks: who finds one, and who waits."""

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

import pytest
from temporalio.common import WorkerDeploymentVersion
from temporalio.worker import SlotPermit, SlotReleaseContext

from holdfast.contracts.bounds import MAX_CALLS_PER_REPLY
from holdfast.serving.slots import MAX_OF_A_KIND, MAX_REBUILT, MAX_TASKS, WorkflowSlots


@dataclass
class Asked:
    """What the SDK says of whom a place is for."""

    is_sticky: bool
    slot_type: Literal["workflow", "activity", "local-activity"] = "workflow"
    task_queue: str = "holdfast"
    worker_identity: str = "worker"
    worker_build_id: str = ""
    worker_deployment_version: WorkerDeploymentVersion | None = None


KNOWN, UNKNOWN = Asked(is_sticky=True), Asked(is_sticky=False)


def take_all(slots: WorkflowSlots, asked: Asked) -> list[SlotPermit]:
    """Take places until there is none."""
    return list(iter(lambda: slots.try_reserve_slot(asked), None))


def release(slots: WorkflowSlots, permit: SlotPermit) -> None:
    """Give a place back."""
    slots.release_slot(SlotReleaseContext(slot_info=None, permit=permit))


async def settle() -> None:
    """Let everybody who can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("local", "most"),
    [(0, MAX_REBUILT), (7, MAX_REBUILT + 7), (MAX_TASKS, MAX_OF_A_KIND)],
)
def test_who_is_not_in_memory_has_a_part_of_the_places(local: int, most: int) -> None:
    """As many more as runs wait for local activities; the others are left to runs in memory."""
    slots = WorkflowSlots()
    with ExitStack() as under_way:
        for number in range(local):
            under_way.enter_context(slots.while_local(f"execution {number}"))

        assert len(take_all(slots, UNKNOWN)) == most
        assert len(take_all(slots, KNOWN)) == MAX_TASKS - most
        assert slots.try_reserve_slot(KNOWN) is None


def test_a_run_is_counted_once_however_much_it_waits_for() -> None:
    """A model may ask for two hundred quick reads, beside who asks about runs that are over."""
    slots = WorkflowSlots()
    with ExitStack() as under_way:
        for _ in range(MAX_CALLS_PER_REPLY):
            under_way.enter_context(slots.while_local("execution"))
        assert len(take_all(slots, UNKNOWN)) == MAX_REBUILT + 1

    assert slots.try_reserve_slot(UNKNOWN) is None


def test_runs_in_memory_leave_some_to_others() -> None:
    """However long each of them waits for what it does itself."""
    slots = WorkflowSlots()

    assert len(take_all(slots, KNOWN)) == MAX_OF_A_KIND
    assert len(take_all(slots, UNKNOWN)) == MAX_TASKS - MAX_OF_A_KIND


async def test_who_waits_has_the_place_that_is_given_back() -> None:
    """Runs in memory first, and among them who came first."""
    slots = WorkflowSlots()
    unknown, known = take_all(slots, UNKNOWN), take_all(slots, KNOWN)
    new = asyncio.create_task(slots.reserve_slot(UNKNOWN))
    await settle()
    first, second = (asyncio.create_task(slots.reserve_slot(KNOWN)) for _ in range(2))
    await settle()

    release(slots, unknown.pop())
    await settle()
    assert (first.done(), second.done(), new.done()) == (True, False, False)
    release(slots, known.pop())
    await settle()
    assert (second.done(), new.done()) == (True, False)
    release(slots, known.pop())
    await settle()
    assert new.done()


async def test_who_waits_has_a_place_once_a_local_activity_begins() -> None:
    """What its run does meanwhile takes nobody's time."""
    slots = WorkflowSlots()
    take_all(slots, UNKNOWN)
    new = asyncio.create_task(slots.reserve_slot(UNKNOWN))
    await settle()
    assert not new.done()

    with slots.while_local("execution"):
        await settle()
        assert new.done()


@pytest.mark.parametrize("given", [False, True])
async def test_no_place_is_lost_with_who_waited_for_it(given: bool) -> None:
    """A worker that is stopped asks for none any more, be it just as there is one."""
    slots = WorkflowSlots()
    permits = take_all(slots, UNKNOWN)
    new = asyncio.create_task(slots.reserve_slot(UNKNOWN))
    await settle()

    if given:
        release(slots, permits.pop())
    new.cancel()
    await settle()
    assert new.cancelled()
    if not given:
        release(slots, permits.pop())
    assert len(take_all(slots, UNKNOWN)) == 1


async def test_places_are_given_back_in_threads_of_the_sdk() -> None:
    """Nothing is lost by that, however many do so at once."""
    slots = WorkflowSlots()
    permits = [*take_all(slots, UNKNOWN), *take_all(slots, KNOWN)]
    waiting = [
        asyncio.create_task(slots.reserve_slot(KNOWN if number < MAX_OF_A_KIND else UNKNOWN))
        for number in range(MAX_TASKS)
    ]
    await settle()

    back = [asyncio.to_thread(release, slots, permit) for permit in permits]
    await asyncio.gather(*back)
    got = await asyncio.gather(*waiting)

    assert len(set(got)) == MAX_TASKS
    assert slots.try_reserve_slot(KNOWN) is None
