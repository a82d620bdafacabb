"""A run that is tried again, after an end that came while something of it was under way."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from holdfast import App, Risk, Tiers, Triggers, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.transcript import ToolTurn
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.attacks.test_ended_sessions import FREE, book
from tests.control.controlled import asked_to_resolve, resolve
from tests.control.guarded import on_word
from tests.control.test_held_undoing import blocked, held
from tests.running import Run, Runs
from tests.sample import lines, look, note, scripted, told
from tests.workflows.test_permissions import policy
from tests.workflows.test_retries import BROKEN, first_then, retried, said
from tests.workflows.tiered import staffed, written


@tool(risk=Risk.WRITE_INTERNAL, timeout=60)
async def transfer(log: str) -> str:
    """Transfer an amount of money, and take long to say so."""
    if note(log, "transferred") == 1:
        await asyncio.Event().wait()
    return "transferred"


async def ended(run: Run, how: str) -> None:
    await (run.handle.cancel() if how == "cancel" else run.handle.terminate())
    with pytest.raises(WorkflowFailureError):
        await run.result()


def blocked_then(log: Path, words: list[str], *replies: Reply) -> App:
    """What is tried again keeps what its model is told, and says these *replies*."""
    app = blocked(log)

    def again(turn: ScriptTurn) -> Reply:
        words.append(said(turn)[-1].text)
        return replies[turn.number - 1]

    app.scripts["it"] = first_then(app.scripts["it"], again)
    return app


@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_what_was_under_way_when_a_person_aborted_the_run_is_not_done_again(
    runs: Runs, tmp_path: Path, how: str
) -> None:
    """A person aborts, the write goes on, somebody ends the run: it may have happened."""
    log = tmp_path / "log"
    fresh = call("transfer", log=str(log))
    app = scripted(
        first_then([fresh], [fresh, told]),
        tools=[transfer],
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [transfer]}}"),
        escalates=True,
        triggers=Triggers(expected_time=2),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        await asked_to_resolve(run)
        await resolve(run, "abort")
        while (status := await run.status()).status != "stopped":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await ended(run, how)
        again = await retried(runs, run)
        result = await again.result()

    assert status.in_flight == ("tool transfer",)
    assert lines(log) == ["transferred"], result.answer


@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_a_call_that_was_only_drafted_was_not_under_way(
    runs: Runs, tmp_path: Path, how: str
) -> None:
    """It waited for its approval, and nobody gave one: the next run asks for it."""
    log = tmp_path / "log"
    words: list[str] = []

    def again(turn: ScriptTurn) -> Reply:
        words.append(said(turn)[-1].text)
        return told(turn) if turn.number > 1 else call("post", log=str(log), text="x")

    async with runs.working(scripted(first_then([call("post", log=str(log), text="x")], again))):
        run = await runs.start("it")
        await run.asked_for_approval()
        await ended(run, how)
        retry = await retried(runs, run)
        while (status := await retry.status()).status == "running":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        page = await retry.transcript()
        if status.status == "waiting":
            await retry.handle.terminate()
    (first, *_) = (item for item in page.items if isinstance(item, ToolTurn))

    assert [line.split()[0] for line in lines(log)][:1] == ["draft"]
    assert "post" not in [line.split()[0] for line in lines(log)]
    assert [one.status for one in first.results] == ["aborted"]
    assert "Nobody knows whether this happened" not in words[0]
    assert status.status == "waiting"


@pytest.mark.timeout(120)
async def test_what_was_taken_back_before_the_end_is_not_told_as_done(
    runs: Runs, tmp_path: Path
) -> None:
    """A run is cancelled between two undos: the first was taken back, and may be done again."""
    log, words = tmp_path / "log", list[str]()
    app = blocked_then(log, words, call("put_up", log=str(log), title="three"), say("good"))
    async with runs.working(app):
        run = await runs.start("it")
        await held(run, log)
        await ended(run, "cancel")
        retry = await retried(runs, run)
        await retry.result()
        result = (await retry.results())[-1]

    assert lines(log) == ["began three", "ended three"]  # it is down
    assert 'title="three"' not in words[0], words[0]
    assert not isinstance(result, ToolFailure), result.reason


@pytest.mark.timeout(120)
async def test_an_undo_that_was_under_way_at_the_end_may_have_happened(
    runs: Runs, tmp_path: Path
) -> None:
    """A run is terminated while it takes something back: nobody knows whether that stands."""
    log, words = tmp_path / "log", list[str]()
    app = blocked_then(log, words, say("good"))
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        await ended(run, "terminate")
        Path(f"{log}.go").touch()
        while "ended three" not in lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        retry = await retried(runs, run)
        await retry.result()
    done = words[0].partition("Nobody knows")[0]

    assert 'title="three"' not in done, words[0]


async def test_a_retry_whose_work_others_did_is_tried_again_itself(
    runs: Runs, tmp_path: Path
) -> None:
    """It asked no model itself, and withholds words; the run before it knows less."""
    # NR-06 FB-11
    goals: list[str] = []

    def obey(turn: ScriptTurn) -> Reply:
        if turn.number > 1:
            return BROKEN
        goals.append(turn.goal)
        return BROKEN if len(goals) == 1 else call("book", log=str(tmp_path / "log"), place="Rome")

    app = staffed(
        {"coder": obey},
        tiers=Tiers(full="coder"),
        guardrails=[on_word("no_bad", "bad", "output")],
        tools=[book],
        policy=policy(tmp_path, FREE),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        again = await retried(runs, run)
        await again.result()
        last = await retried(runs, again)
        ended = await last.result()

    assert (ended.status, len(goals)) == ("stopped", 3)
    assert lines(tmp_path / "log") == ["booked Rome"]


async def test_who_tries_again_what_others_worked_at_may_quote_what_they_read(
    runs: Runs, tmp_path: Path
) -> None:
    """Of words that are withheld nobody knows what they quote: they are believed no more."""
    # NR-06 BY-24
    goals: list[str] = []

    def obey(turn: ScriptTurn) -> Reply:
        if turn.number > 1:
            return say("done") if len(goals) > 1 else BROKEN
        goals.append(turn.goal)
        if len(goals) == 1:
            return call("look", place="a page of a stranger")
        return call("book", log=str(tmp_path / "log"), place="Rome")

    wary = "{id: wary, effect: forbid, match: {tools: [book]}, when: trust == 'untrusted'}"
    app = staffed(
        {"coder": obey},
        tiers=Tiers(full="coder"),
        guardrails=[on_word("no_bad", "bad", "output")],
        tools=[book, look],
        policy=policy(tmp_path, wary, FREE),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        ended = await (await retried(runs, run)).result()

    assert (ended.status, len(goals)) == ("completed", 2)
    assert lines(tmp_path / "log") == []
