"""What a call leaves out: defaults that nobody was shown, or that another release has changed."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import pytest
from pydantic import BaseModel, Field

from holdfast import App, Risk, Tool, tool
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import ToolCall, ToolFailure
from holdfast.contracts.transcript import AssistantTurn
from holdfast.guardrails import conflict_detection
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.trace.reader import read_trace
from tests.attacks.test_tokens import ALICE, claims, trusting
from tests.control.guarded import Seen, on_word, replayed
from tests.control.test_call_guardrails import held, visible
from tests.holdfast.own_work import spans
from tests.holdfast.traces import finished
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import hold, lines, note, scripted

SHOWN: JsonObject = {"to": "ada", "amount": 10}


class Order(BaseModel):
    """What is ordered."""

    item: str
    count: int = Field(default_factory=lambda: next(ORDERED))


ORDERED: Iterator[int] = itertools.count(1)


def pay(amount: int, risk: Risk = Risk.WRITE_INTERNAL) -> Tool:
    """A tool with this default, which is what a release changes."""

    async def pay(log: str, to: str, amount: int = amount) -> str:
        """Pay somebody what they are owed."""
        note(log, f"paid {amount} to {to}")
        return "paid"

    return tool(risk=risk)(pay)


def paying(log: Path, amount: int, risk: Risk = Risk.WRITE_INTERNAL, **agent: object) -> App:
    """An app whose agent pays somebody, and doesn't say how much."""
    script = [call("pay", log=str(log), to="ada"), say("done")]
    return scripted(script, tools=(pay(amount, risk),), **agent)  # pyright: ignore[reportArgumentType] -- whatever a test overrides


async def written(run: AnyRun) -> JsonObject:
    """What the model wrote, as the transcript has it."""
    turns = (item for item in (await run.transcript()).items if isinstance(item, AssistantTurn))
    (asked,) = next(turns).calls
    assert isinstance(asked, ToolCall)
    return asked.arguments


@pytest.mark.parametrize("when", ["before the release", "after it"])
async def test_a_default_is_approved_as_it_was_shown(
    runs: Runs, tmp_path: Path, when: str
) -> None:
    """People see it, the digest covers it, and what they approve is what is paid."""
    log = tmp_path / "log"
    async with runs.working(paying(log, 10)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    if when == "before the release":
        await run.approve(request.request_id, digest=request.digest)
    async with runs.working(paying(log, 10_000)):
        if when == "after it":
            assert await run.asked_for_approval() == request
            await run.approve(request.request_id, digest=request.digest)
        await run.result()
        wrote = await written(run)
        await replayed(run)

    shown: JsonObject = {"log": str(log), **SHOWN}
    assert request.arguments == shown
    assert request.action == f'pay(log="{log}", to="ada", amount=10)'
    assert request.arguments_digest == digest(shown)
    assert lines(log) == ["paid 10 to ada"]
    assert wrote == {"log": str(log), "to": "ada"}


async def test_a_signature_covers_what_was_left_out(runs: Runs, tmp_path: Path) -> None:
    """A token that was signed while the default was small pays no large one."""
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE)
    async with runs.working(paying(log, 10, Risk.FINANCIAL)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    token = ALICE.token(claims(run, request))
    await run.approve(request.request_id, token=token, digest=request.digest)
    async with runs.working(paying(log, 10_000, Risk.FINANCIAL)):
        await run.result()

    assert request.arguments_digest == digest({"log": str(log), **SHOWN})
    assert lines(log) == ["paid 10 to ada"]


async def test_a_default_is_made_once(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A factory makes another value each time: what was shown is what runs, deep inside too."""
    made = itertools.count(1)

    @tool(risk=Risk.WRITE_INTERNAL)
    async def order(
        log: str, order: Order, key: Annotated[int, Field(default_factory=lambda: next(made))]
    ) -> str:
        """Order something for somebody."""
        note(log, f"{order.count} {order.item} {key}")
        return "ordered"

    log = tmp_path / "log"
    script = [call("order", log=str(log), order={"item": "tea"}), say("done")]
    async with memory_runs.working(scripted(script, tools=(order,))):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()

    asked = request.arguments["order"]
    assert isinstance(asked, dict)
    assert lines(log) == [f"{asked['count']} tea {request.arguments['key']}"]


async def test_guardrails_see_what_runs(runs: Runs, tmp_path: Path) -> None:
    """Before and after a call; and its span in the trace has what its digest is of."""
    log, before, after = tmp_path / "log", Seen(), Seen()
    looking = (
        on_word("before", "never", "pre_execution", before),
        on_word("after", "never", "post_action", after, tools=("pay",)),
    )
    async with runs.working(paying(log, 10, guardrails=looking)):
        run = await runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        trace = read_trace(await finished(run))
        await replayed(run)

    shown: JsonObject = {"log": str(log), **SHOWN}
    assert [one.data for one in before.subjects] == [shown]
    assert [one.data for one in after.subjects] == [shown]
    (span,) = spans(trace, "function")
    assert span.attributes["arguments"] == shown
    assert span.attributes["arguments_digest"] == digest(shown)


async def test_what_is_left_out_has_a_bound(memory_runs: MemoryRuns) -> None:
    """Defaults of many calls fit into no payload together; what names all has no part in it."""

    @tool(risk=Risk.DRAFT_ONLY)
    async def tell(to: str, text: str = "x" * 45_000) -> str:
        """Tell everybody a long story."""
        return f"{to} {len(text)}"

    several = (call("tell", to=name) for name in ("ada", "bob", "cyd"))
    script = [calls(*several, call("tell", to="dan", text="x")), say("done")]
    async with memory_runs.working(scripted(script, tools=(tell,))):
        run = await memory_runs.start("it")
        await run.result()
        told = await run.results()

    assert [one.status for one in told] == ["ok", "ok", "error", "ok"]
    assert isinstance(told[2], ToolFailure)
    assert told[2].reason.endswith("name each argument")


async def test_conflicts_are_found_by_a_default(runs: Runs, tmp_path: Path) -> None:
    """Two runs that leave out which account they book on are at the same one."""
    account = uuid4().hex

    @tool(risk=Risk.READ_ONLY)
    async def reserve(log: str, title: str = account) -> str:
        """Reserve an account for this run."""
        note(log, f"reserved {title}")
        return "reserved"

    def script(turn: ScriptTurn) -> Reply:
        log = str(tmp_path / turn.goal)
        if turn.number == 1:
            return call("reserve", log=log)
        return call("hold", log=log) if turn.number == 2 else say("done")

    app = scripted(
        script,
        tools=(reserve, hold),
        guardrails=(conflict_detection("title", tools=("reserve",)),),
    )
    async with runs.working(app):
        one = await runs.start("it", "one")
        await held(tmp_path / "one")
        await visible(runs, one, account)
        two = await runs.start("it", "two")
        await held(tmp_path / "two")
        refused = await two.failure()
        for name in ("one", "two"):
            (tmp_path / f"{name}.go").touch()
        await one.result()
        await two.result()

    assert refused.status == "denied"
    assert f"run {one.handle.id!r} holds title:{account}" in refused.reason
