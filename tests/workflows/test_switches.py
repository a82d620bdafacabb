"""The kill switch: denied from the next call on, in every run, until it is lifted."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from holdfast import App, Budget, Tiers, tool
from holdfast.activities.kill_switch.switch_history import SwitchHistory
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.switches import Switch, SwitchKind, SwitchSignal, SwitchState
from holdfast.contracts.tools import Risk
from holdfast.runner import RUNNER, build_replayer, disable_deadlock_detection
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.workflows.switches import HoldfastSwitches
from holdfast.workflows.switches import render_details as switches_details
from tests.running import Run, Runs
from tests.sample import TOOLS, lines, note, scripted
from tests.workflows.tiered import staffed

REASON = "it reaches the wrong people"
STOPPED = "I was told to stop."


@tool(risk=Risk.DRAFT_ONLY)
async def gate(log: str) -> str:
    """Note that it has begun, and wait until it may go on."""
    note(log, "begun")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.005)
    return "went on"


def obedient(turn: ScriptTurn) -> Reply:
    """Poll again and again, or do what the goal says; stop when anything is denied."""
    if any(isinstance(result, ToolFailure) for result in turn.results):
        return say(STOPPED)
    match turn.goal.split():
        case ["once"]:
            return say("done") if turn.results else call("poll")
        case ["send", log]:
            return call("send", log=log, text="hello")
        case ["gate", log]:
            return calls(call("gate", log=log), call("write", log=log, text="x"))
        case _:
            return call("poll")


@pytest.fixture
def app() -> App:
    return scripted(obedient, tools=(*TOOLS, gate), budget=Budget(max_steps=100_000))


async def switch(runs: Runs, name: str, kind: SwitchKind, thing: str, by: str = "dana") -> None:
    """Switch something, as any Temporal client can."""
    signal = SwitchSignal(kind=kind, name=thing, by=by, reason=REASON if name == "off" else "")
    await runs.client.start_workflow(
        "HoldfastSwitches",
        id=runs.switches,
        task_queue=runs.switches,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        start_signal=name,
        start_signal_args=[signal],
    )


async def until(true: Callable[[], Awaitable[object]]) -> None:
    """Wait for something elsewhere; the test's own time limit bounds this."""
    while not await true():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def polling(runs: Runs, **brief: JsonValue) -> Run:
    """Start a run that polls, and wait until it does."""
    run = await runs.start("it", "poll", **brief)

    async def polls() -> bool:
        return (await run.status()).step > 2

    await until(polls)
    return run


async def denial(run: Run) -> ToolFailure:
    """Wait for the end of a run, and return what it was denied."""
    assert (await run.result()).answer == STOPPED
    last = (await run.results())[-1]
    assert isinstance(last, ToolFailure)
    return last


@pytest.mark.parametrize(
    ("kind", "thing"), [("tool", "poll"), ("agent", "it"), ("tenant", "acme")]
)
async def test_denied_from_the_next_call_on(
    runs: Runs, app: App, kind: SwitchKind, thing: str
) -> None:
    """A run at work is denied its next call, and hears who switched off what, and why."""
    # BY-31
    async with runs.working(app):
        run = await polling(runs, tenant="acme")
        await switch(runs, "off", kind, thing)
        denied = await denial(run)

    assert (denied.status, denied.type) == ("denied", "permission_denied")
    assert denied.reason == f"{kind} {thing!r} is switched off by dana: {REASON}"
    assert denied.next_valid_actions


async def test_an_agent_is_off_with_those_that_work_for_it(runs: Runs) -> None:
    """What an agent does by the hands of others, it does."""
    app = staffed({"coder": obedient}, tiers=Tiers(full="coder"), budget=Budget(max_steps=100_000))
    async with runs.working(app):
        run = await runs.start("it", "poll")
        part = Run(runs.client.get_workflow_handle(f"{run.handle.id}.1-full"))

        async def polls() -> bool:
            try:
                return (await part.status()).step > 2
            except RPCError:
                return False  # it hasn't begun

        await until(polls)
        await switch(runs, "off", "agent", "it")
        result = await run.result()

    assert (result.status, result.answer) == ("completed", STOPPED)


async def test_what_is_not_named_goes_on(runs: Runs, app: App) -> None:
    """Switching one tenant off leaves the others at work."""
    async with runs.working(app):
        one = await polling(runs, tenant="acme")
        other = await polling(runs, tenant="globex")
        await switch(runs, "off", "tenant", "acme")
        await denial(one)
        steps = (await other.status()).step

        async def goes_on() -> bool:
            return (await other.status()).step > steps + 2

        await until(goes_on)
        await switch(runs, "off", "tenant", "globex", by="eve")

        assert "switched off by eve" in (await denial(other)).reason


async def test_an_approval_releases_nothing_that_is_off(
    runs: Runs, app: App, tmp_path: Path
) -> None:
    """What was switched off while a run waited for a person isn't done, though they approve."""
    # T-20 BY-31
    log = tmp_path / "sent"
    async with runs.working(app):
        waiting = await runs.start("it", f"send {log}")
        request = await waiting.asked_for_approval()
        other = await polling(runs)
        await switch(runs, "off", "agent", "it")
        await denial(other)  # so this worker knows
        await waiting.approve(request.request_id)
        denied = await denial(waiting)

    assert (denied.name, denied.status) == ("send", "denied")
    assert "is switched off by dana" in denied.reason
    assert lines(log) == []


async def test_between_two_writes_of_a_turn(runs: Runs, app: App, tmp_path: Path) -> None:
    """What was decided together is checked again one by one, right before it runs."""
    # T-20
    log = tmp_path / "log"

    async def begun() -> list[str]:
        return lines(log)

    async with runs.working(app):
        writing = await runs.start("it", f"gate {log}")
        await until(begun)
        other = await polling(runs)
        await switch(runs, "off", "agent", "it")
        await denial(other)  # so this worker knows
        Path(f"{log}.go").touch()
        denied = await denial(writing)
        first = (await writing.results())[0]

    assert (first.name, first.status) == ("gate", "ok")
    assert (denied.name, denied.status) == ("write", "denied")
    assert lines(log) == ["begun"]


async def test_on_lifts_it(runs: Runs, app: App) -> None:
    """Once it is on again, whoever said so, calls are made as before."""
    async with runs.working(app):
        run = await polling(runs)
        await switch(runs, "off", "tool", "poll")
        await denial(run)
        await switch(runs, "on", "tool", "poll", by="eve")

        async def works() -> bool:
            run = await runs.start("it", "once")
            await run.result()
            return isinstance((await run.results())[0], ToolSuccess)

        await until(works)


async def test_a_worker_that_starts_knows(runs: Runs, app: App) -> None:
    """A switch outlives all workers: the next one denies from its first call on."""
    await switch(runs, "off", "tool", "poll")
    for _ in range(2):
        async with runs.working(app):
            run = await runs.start("it", "once")

            assert (await denial(run)).status == "denied"


async def test_a_refund_may_still_be_looked_for(runs: Runs, tmp_path: Path) -> None:
    """To find out what happened is allowed, though the tool that does it is switched off."""
    log = tmp_path / "paid"
    async with runs.working(scripted([call("pay_slowly", log=str(log), amount=5), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await switch(runs, "off", "tool", "find_payment")
        await run.approve(request.request_id)
        await run.result()

        assert (await run.success()).data == "paid"


class Keeper:
    """The workflow of the switches and nothing else, at work."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    @property
    def handle(self) -> WorkflowHandle[object, object]:
        return self._client.get_workflow_handle(self.name)

    async def state(self) -> SwitchState:
        return await self.handle.query("switches", result_type=SwitchState)

    async def heard(self, signal: str, *arguments: JsonValue) -> None:
        await self.handle.signal(signal, args=arguments)


@pytest.fixture
async def keeper(runs: Runs) -> AsyncGenerator[Keeper]:
    async with keeping(runs.client, runs.switches):
        await SwitchHistory(runs.client, runs.switches).start(None)
        yield Keeper(runs.client, runs.switches)


@asynccontextmanager
async def keeping(client: Client, queue: str) -> AsyncGenerator[None]:
    keeper = Worker(client, task_queue=queue, workflows=[HoldfastSwitches], workflow_runner=RUNNER)
    async with disable_deadlock_detection(keeper):
        yield


GARBAGE: list[tuple[str, list[JsonValue]]] = [
    ("off", []),
    ("off", ["tool", "send", "dana"]),
    ("off", [{"kind": "tool"}]),
    ("off", [{"kind": "tool", "name": "send", "by": "dana", "at": "now"}]),
    ("off", [None]),
    ("on", ["\ud7ff" * 1000]),
    ("stop", [{"kind": "tool", "name": "send", "by": "dana"}]),
    ("approval", [{"request_id": "req-1", "decision": "approve", "approver": "me"}]),
]


async def test_garbage_harms_nobody(keeper: Keeper, runs: Runs) -> None:
    """Whatever arrives is counted, fails no workflow task, and what is off stays off."""
    await switch(runs, "off", "tool", "send")
    for signal, arguments in GARBAGE:
        await keeper.heard(signal, *arguments)
    await switch(runs, "off", "agent", "it", by="eve")
    state = await keeper.state()
    history = await keeper.handle.fetch_history()

    assert [(one.kind, one.by) for one in state.switches] == [("tool", "dana"), ("agent", "eve")]
    assert state.ignored == len(GARBAGE)
    assert not [
        event
        for event in history.events
        if event.HasField("workflow_task_failed_event_attributes")
    ]


async def test_worker_and_workflow_read_the_same(keeper: Keeper, runs: Runs) -> None:
    """What the workflow answers is what workers read from its history, save for milliseconds."""
    for number, (kind, name) in enumerate([("tool", "a"), ("agent", "b"), ("tenant", "c")] * 2):
        await switch(runs, "on" if number == 4 else "off", kind, name)  # pyright: ignore[reportArgumentType] -- one of the three
    asked = await keeper.state()
    read = await SwitchHistory(runs.client, runs.switches).read()

    assert [one.name for one in read.switches] == ["a", "c"]
    assert [one.model_dump(exclude={"at"}) for one in asked.switches] == [
        one.model_dump(exclude={"at"}) for one in read.switches
    ]


async def test_a_long_history_is_cut_and_nothing_lost(
    keeper: Keeper, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each execution begins with all that was off, and with the count of what was garbage."""
    monkeypatch.setattr("holdfast.workflows.switches.MAX_SWITCH_EVENTS", 6)
    first = (await keeper.handle.describe()).run_id
    for number in range(10):
        await switch(runs, "off", "tool", f"t{number}")
        await keeper.heard("garbage")
    await switch(runs, "on", "tool", "t3")

    async def settled() -> bool:
        return (await keeper.state()).ignored == 10

    await until(settled)
    state = await keeper.state()

    assert [one.name for one in state.switches] == [f"t{n}" for n in range(10) if n != 3]
    assert (await keeper.handle.describe()).run_id != first


async def test_no_words_keep_it_from_going_on(
    keeper: Keeper, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state that no payload has room for would leave it without a next execution."""
    monkeypatch.setattr("holdfast.workflows.switches.MAX_SWITCH_EVENTS", 150)
    first = (await keeper.handle.describe()).run_id
    for number in range(140):
        about: dict[str, JsonValue] = {"kind": "tool", "name": f"t{number}", "by": "mallory"}
        await keeper.handle.signal("off", {**about, "reason": "\N{FIRE}" * 2_000})

    async def gone_on() -> bool:
        return (await keeper.handle.describe()).run_id != first

    await until(gone_on)

    assert "everything" in {one.kind for one in (await keeper.state()).switches}


def test_details_take_little_work_however_much_is_off() -> None:
    """What switches all off stands first, then the latest; characters that nobody sees count."""
    hidden, now = "\u202e" * 290, datetime.now(UTC)
    many = [
        Switch(kind="tool", name=f"t{number}", by="dana", reason=hidden, at=now)
        for number in range(700)
    ]
    every = Switch(kind="everything", name="*", by="dana", reason=hidden, at=now)
    switches = (*many[:5], every, *many[5:])
    lines = switches_details(SwitchState(switches=switches)).splitlines()[2:]

    assert len(lines) == 22
    assert lines[0].startswith("- everything `*`: off since")
    assert lines[-2].startswith("- tool `t699`: off since")
    assert lines[-1] == "- and 680 more, which the query `switches` names"


async def test_people_see_what_is_off(keeper: Keeper, runs: Runs) -> None:
    """The UI's current details list what is off, since when, by whom and why."""
    nothing = await details(keeper)
    await switch(runs, "off", "tool", "send")
    something = await details(keeper)
    description = await keeper.handle.describe()

    assert nothing == "Nothing is switched off."
    assert "\n- tool `send`: off since 20" in something
    assert f" UTC by `dana`: `{REASON}`" in something
    assert await description.static_summary() == "What is switched off for all runs"


async def details(keeper: Keeper) -> str:
    """What the UI shows of a workflow beside its history."""
    query = "__temporal_workflow_metadata"
    return (await keeper.handle.query(query, result_type=WorkflowMetadata)).current_details


async def test_it_replays_in_the_sandbox(keeper: Keeper, runs: Runs) -> None:
    """Nothing that it does depends on anything but its history."""
    await switch(runs, "off", "tool", "send")
    await keeper.heard("garbage")
    await keeper.state()
    history = await keeper.handle.fetch_history()

    await build_replayer(HoldfastSwitches, inner=SandboxedWorkflowRunner()).replay_workflow(
        history
    )
