"""What the client refuses before anybody is asked, and what is no run of an agent."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast import HoldfastError
from holdfast.client import Holdfast, MessageRefused, Run
from holdfast.client.messages import build
from holdfast.contracts.approvals import Request
from holdfast.contracts.base import Inbound
from holdfast.contracts.run import RunInput, StatusReport
from holdfast.contracts.signals import RefusedMessage

pytestmark = pytest.mark.usefixtures("command_line")


def test_a_refusal_is_in_our_words() -> None:
    """What a model objects to is told without the prefix that pydantic puts before it."""
    again = {"run_id": "run-1"}
    with pytest.raises(HoldfastError, match=r"^the argument: the run that is tried again says"):
        build(RunInput, agent="clerk", input="go", retry_of=again, tenant="acme")


async def test_what_is_no_text_is_refused_at_once(client: Client) -> None:
    """One line instead of an error of Python's, whatever is a number that should be a name."""
    holdfast: Any = Holdfast(client)
    run: Any = Holdfast(client).run("run-of-nobody")
    refused: list[str] = []
    for attempt in (
        lambda: holdfast.start("clerk", "go", id=7),
        lambda: holdfast.start("clerk", "go", queue=7),
        lambda: holdfast.start(7, "go"),
        lambda: run.approve(7, approver="zoe"),
        lambda: run.answer(7, "red"),
        lambda: holdfast.runs(agent=7),
        lambda: holdfast.runs(waiting_for=7),
        lambda: holdfast.runs(status="sleeping"),
        lambda: anext(holdfast.pending(tenant=7)),
        lambda: anext(holdfast.pending(group=7)),
    ):
        with pytest.raises(HoldfastError) as error:
            await attempt()
        refused.append(str(error.value))
    with pytest.raises(HoldfastError, match="7 can't be the id of a run"):
        holdfast.run(7)

    assert [line for line in refused if "\n" in line] == []
    assert "choose another id than 7" in refused[0]
    assert refused[5:7] == ["agent is a text, and not 7", "waiting_for is a text, and not 7"]


@pytest.mark.parametrize("limit", [0, -1, 10**30], ids=["none", "negative", "huge"])
async def test_a_list_has_a_length(client: Client, limit: int) -> None:
    """It isn't everything where nothing is asked for, and nobody waits for all that there is."""
    with pytest.raises(HoldfastError, match="a list has 1 to 10,000 runs"):
        await Holdfast(client).runs(limit=limit)


async def test_another_workflow_is_no_run(client: Client) -> None:
    """Whoever asks for what a run has is told what it is."""
    name = f"other-{uuid4().hex[:8]}"
    handle = await client.start_workflow("Other", id=name, task_queue=name)
    run = Holdfast(client).run(name)
    said: list[str] = []
    for attempt in (run.status, run.usage, run.pending, run.result, run.history, run.describe):
        with pytest.raises(HoldfastError) as error:
            await attempt()
        said.append(str(error.value))
    await handle.terminate()

    assert set(said) == {f"{name!r} is no run of an agent but a 'Other'"}


class SlowToJudge(Run):
    """A run in which nothing waits, and which judges what it was sent when asked a third time."""

    def __init__(self) -> None:
        no_client: Any = None
        super().__init__(no_client, "run-1")
        self.asked = 0
        self.sent: list[str] = []

    async def pending(self) -> tuple[Request, ...]:
        return ()

    async def signal(self, name: str, message: Inbound) -> None:
        self.sent.append(name)

    async def status(self) -> StatusReport:
        self.asked += bool(self.sent)
        refused = (
            RefusedMessage(
                signal="answer",
                request_id="req-7",
                sender="",
                reason="no request 'req-7'",
                at=datetime(2026, 1, 1, tzinfo=UTC),
                code="unknown_request",
            ),
        )
        known = refused if self.asked > 2 else ()
        return StatusReport.model_construct(refused=known, refused_total=len(known))


async def test_what_nobody_asked_is_not_taken_while_it_is_judged() -> None:
    """An answer to nothing isn't said to be taken because nothing waits for it."""
    run = SlowToJudge()
    with pytest.raises(MessageRefused, match="req-7"):
        await run.answer("req-7", "the red one")

    assert run.sent == ["answer"]
