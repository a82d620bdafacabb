"""Handoffs in runs that work for another one: who goes on there is bound as that run is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from holdfast import Agent, App, Budget, Handoff, Risk, SubAgent
from holdfast.client import Run as WatchedRun
from holdfast.client.event_data import HandoffMade
from holdfast.contracts.calls import ToolFailure
from holdfast.delegation import Ceiling
from holdfast.testing import Script, call, say
from tests.running import Runs
from tests.sample import IMPATIENT, TOOLS, lines
from tests.workflows.delegating import FOUND, Findings, Question, ask
from tests.workflows.tiered import child

ON = call("transfer_to_archive", goal="read the old papers")


def library(
    researcher: Script,
    archive: Script,
    *,
    returns: bool = False,
    ceiling: Ceiling | None = None,
    scripted: Script | None = None,
) -> App:
    """An app whose agent `desk` has a researcher work for it, which may hand over to `archive`."""

    def agent(name: str, handoffs: Sequence[Handoff] = (), **more: object) -> Agent:
        terms: dict[str, object] = {
            "instructions": "Do it.",
            "models": [f"scripted:{name}"],
            "settings": IMPATIENT,
            "tools": TOOLS,
            "budget": Budget(max_steps=30),
            **more,
        }
        return Agent(name=name, handoffs=handoffs, **terms)  # pyright: ignore[reportArgumentType] -- what a test overrides

    return App(
        agents=[
            agent(
                "desk",
                subagents=[SubAgent("researcher", input=Question, output=Findings)],
                ceiling=ceiling or Ceiling(),
            ),
            agent("researcher", [Handoff("archive", when="old papers", return_expected=returns)]),
            agent("archive"),
        ],
        scripts={
            "desk": scripted or [ask("tides"), say("It is so.")],
            "researcher": researcher,
            "archive": archive,
        },
    )


async def test_who_goes_on_with_a_task_answers_in_its_shape(runs: Runs, tmp_path: Path) -> None:
    """One task is begun by one agent and ended by another; what that asks comes up to the root."""
    # HO-09 GF-02 BY-52
    log = tmp_path / "log"
    sends = call("send", log=str(log), text="hello")
    app = library([ON], [say("never said"), sends, say("words"), FOUND])
    async with runs.working(app):
        run = await runs.start("desk")
        (asked,) = await run.asked()
        await run.approve(asked.request_id)
        result, success = await run.result(), await run.success()
        part = child(runs, run, "1-researcher")
        told = (await part.status()).agent
        events = [event async for event in WatchedRun(runs.client, run.handle.id).events()]
        await run.story()
        await part.story()

    assert asked.request_id == "1-researcher/req-1"
    assert (success.data, told) == ({"facts": ["it is so"]}, "archive")
    assert (result.status, result.steps) == ("completed", 2 + 4)
    assert [(one.part, one.tool) for one in result.effects] == [("1-researcher", "send")]
    [made] = [event for event in events if isinstance(event.data, HandoffMade)]
    assert made.path == ("desk", "researcher")
    assert len(lines(log)) == 1


async def test_who_goes_on_with_a_task_is_bound_by_its_sender(runs: Runs) -> None:
    """The ceiling and the share of whoever gave the task bind all that go on with it."""
    # BY-20
    sends = call("send", log="nowhere", text="hello")
    endless = [call("add", a=number, b=1) for number in range(20)]
    app = library(
        [ON],
        [say("never said"), sends, *endless],
        ceiling=Ceiling(without_risks=(Risk.WRITE_INTERNAL,)),
    )
    async with runs.working(app):
        run = await runs.start("desk")
        result, failure = await run.result(), await run.failure()
        part = child(runs, run, "1-researcher")
        unknown = (await part.results())[1]
        end = await part.result()

    assert isinstance(unknown, ToolFailure)
    assert unknown.type == "unknown_tool"
    assert "max_steps (7) reached" in failure.reason  # a quarter of 30
    assert (end.steps, result.steps) == (7, 9)


async def test_a_task_has_another_agent_answer(runs: Runs) -> None:
    """Below a task a handoff whose answer comes back is a run below its run."""
    # HO-09 HO-05 BY-52
    asks = call("ask_user", question="Which year?")
    app = library([ON, FOUND], [asks, say("In 1066.")], returns=True)
    async with runs.working(app):
        run = await runs.start("desk")
        (asked,) = await run.asked()
        await run.signal("answer", {"request_id": asked.request_id, "text": "the first"})
        result = await run.result()
        part = child(runs, run, "1-researcher")
        found = await part.success()
        await run.story()
        await part.story()

    assert asked.request_id == "1-researcher/1-archive/req-1"
    assert found.data == {"answer": "In 1066."}
    assert (result.status, result.steps) == ("completed", 2 + 2 + 2)


async def test_a_run_goes_on_anew_between_tasks_and_handoffs(runs: Runs, tmp_path: Path) -> None:
    """No execution ends while a task is worked on; the next one knows who goes on."""
    # HO-09 BY-20
    log = tmp_path / "log"
    sends = call("send", log=str(log), text="hello")
    app = library(
        [ON],
        [say("never said"), say('{"facts": ["old"]}')],
        scripted=[sends, ask("tides"), ask("winds"), say("So.")],
    )
    agents = [replace(one, max_history_events=1) for one in app.agents]
    async with runs.working(App(agents=agents, scripts=app.scripts)):
        run = await runs.start("desk")
        await run.approve((await run.asked())[0].request_id)
        result, found = await run.result(), await run.results()
        part = child(runs, run, "2-researcher")
        told = (await part.status()).agent
        executions = len(await runs.histories(run))

    assert (result.status, told) == ("completed", "archive")
    assert [one.status for one in found] == ["ok", "ok", "ok"]
    assert [one.tool for one in result.effects] == ["send"]
    assert executions > 1
