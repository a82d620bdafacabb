"""Whoever may signal sends a run payloads by thousands: an empty one has two bytes."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Header, Payload, Payloads
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionSignaledEventAttributes
from temporalio.client import Client, WorkflowHistory

from holdfast.histories import HistoriesTooLarge, Room, cut_lists
from holdfast.runner import build_replayer
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.payloads import MAX_PAYLOADS, TolerantCodec
from tests.attacks.test_codecs import RUBBISH, Strict, sending, shout
from tests.attacks.test_regulated import working
from tests.holdfast.test_client import asked
from tests.sample import lines


class Counting(Strict):
    """Counts how often it is asked to read."""

    asked = 0

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.asked += 1
        return await super().decode(payloads)


def signaled(*payloads: Payload, header: Header | None = None) -> HistoryEvent:
    """An event of a signal."""
    said = WorkflowExecutionSignaledEventAttributes(
        signal_name="steer", input=Payloads(payloads=payloads), header=header
    )
    return HistoryEvent(event_id=1, workflow_execution_signaled_event_attributes=said)


async def test_no_codec_is_asked_about_payloads_by_thousands() -> None:
    """Nobody sends so many together: they are as unreadable as rubbish, and still several."""
    codec = Counting()

    read = await TolerantCodec(codec).decode([RUBBISH] * (MAX_PAYLOADS + 1))

    assert codec.asked == 0
    assert [one.metadata["encoding"] for one in read] == [b"binary/unreadable"] * 2


async def test_others_have_their_turn_while_rubbish_is_read() -> None:
    """A codec that never waits reads fifty payloads, and then it is everybody else's turn."""
    codec, seen = Counting(), list[int]()
    tolerant = TolerantCodec(codec)

    async def look() -> None:
        while True:
            seen.append(codec.asked)
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    for _ in range(3):
        await tolerant.decode([RUBBISH] * MAX_PAYLOADS)
    looking.cancel()

    # Of a hundred it is asked together, then with one of its own, and then of each.
    gaps = [later - earlier for earlier, later in pairwise(seen)]
    assert len(seen) >= 6
    assert max(gaps) <= 50 + 3


async def test_a_flood_of_payloads_is_refused_and_its_run_goes_on(
    client: Client, tmp_path: Path
) -> None:
    """Each such signal is refused; its history tells what is left out, and replays."""
    log = tmp_path / "sent"
    async with working(client, sending(log)) as (holdfast, queue):
        run = await holdfast.start("it", "go", queue=queue)
        request = await asked(run)
        for name in ("steer", "suspend"):
            await shout(client, run.id, name, RUBBISH, *[Payload()] * 100_000)
        await run.approve(request.request_id, approver="zoe")
        result, status = await run.result(), await run.status()
        (history,) = await run.history()

    assert (result.status, status.refused_total, len(lines(log))) == ("completed", 2, 1)
    sent = [
        event.workflow_execution_signaled_event_attributes.input.payloads
        for event in history.events
        if event.HasField("workflow_execution_signaled_event_attributes")
    ]
    assert [len(some) for some in sent] == [101, 101]
    assert "99,901 more payloads are left out" in sent[0][-1].data.decode()
    await build_replayer(AgentRun).replay_workflow(history)


def test_of_an_event_a_hundred_of_each_kind_are_kept() -> None:
    """Lists, headers and what a payload says of itself; how it is to be read stays."""
    many = {f"a{place:04}": b"" for place in range(3_000)}
    payload = Payload(metadata={**many, "encoding": b"json/plain"}, data=b"{}")
    header = Header(fields={name: Payload() for name in many})
    event = signaled(payload, *[Payload()] * 3_000, header=header)

    cut_lists(event)

    said = event.workflow_execution_signaled_event_attributes
    assert (len(said.input.payloads), len(said.header.fields)) == (MAX_PAYLOADS + 1, MAX_PAYLOADS)
    (first, *_, note) = said.input.payloads
    assert (len(first.metadata), first.metadata["encoding"]) == (MAX_PAYLOADS, b"json/plain")
    assert note.data == b'"2,901 more payloads are left out"'


def test_an_event_of_ours_stays_as_it_is() -> None:
    """As many payloads as may be are none too many."""
    event = signaled(*[RUBBISH] * MAX_PAYLOADS)
    before = event.SerializeToString(deterministic=True)

    cut_lists(event)

    assert event.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize(
    "payloads",
    [
        pytest.param([Payload()] * 1_000, id="empty"),
        pytest.param([Payload(metadata={str(n): b"" for n in range(1_000)})], id="metadata"),
    ],
)
def test_small_payloads_count_for_what_they_take(payloads: Sequence[Payload]) -> None:
    """To write an empty one takes many times its bytes: they fill the room of a reader."""
    history = WorkflowHistory("it", [signaled(*payloads)])

    with pytest.raises(HistoriesTooLarge):
        Room(100_000).take(history)
