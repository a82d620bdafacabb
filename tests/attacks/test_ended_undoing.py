"""A run is ended from outside while it takes something back: nobody takes that back again."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from holdfast import App, Risk, tool
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.control.guarded import on_word
from tests.running import Runs
from tests.sample import lines, note, scripted, told
from tests.sessions.talking import Talks
from tests.workflows.test_permissions import policy
from tests.workflows.test_retries import first_then, retried
from tests.workflows.tiered import written

DONE = ["charged", "paid back"]


@tool(risk=Risk.WRITE_INTERNAL, timeout=30)
async def pay_back_slowly(log: str) -> str:
    """Pay back what was charged, and take long to say so the first time."""
    note(log, "paid back")
    if lines(Path(log)) == DONE:
        await asyncio.sleep(20)
    return "paid back"


@tool(risk=Risk.WRITE_INTERNAL, undo="pay_back_slowly")
async def charge_slowly(log: str) -> str:
    """Charge somebody for an order."""
    note(log, "charged")
    return "charged"


def charging(folder: Path, script: Script) -> App:
    """An agent whose answer is blocked, so that it pays back what it has charged."""
    return scripted(
        script,
        tools=(charge_slowly, pay_back_slowly),
        guardrails=[on_word("never", "bad", "output")],
        policy=policy(
            folder,
            "{id: ok, effect: allow, match: {tools: [charge_slowly, pay_back_slowly]}}",
        ),
    )


@pytest.mark.parametrize("end", ["cancel", "terminate"])
async def test_what_was_being_taken_back_who_tries_it_again_takes_back_no_more(
    runs: Runs, tmp_path: Path, end: str
) -> None:
    """Nobody knows whether it was paid back: the model that tries again may not pay it back."""
    # GR-13 BY-11 NR-06
    log = tmp_path / "log"
    charge, pay_back = (call(one, log=str(log)) for one in ("charge_slowly", "pay_back_slowly"))
    app = charging(tmp_path, first_then([charge, say("bad")], [pay_back, told]))
    async with runs.working(app):
        run = await runs.start("it")
        await written(log, len(DONE))
        await (run.handle.cancel() if end == "cancel" else run.handle.terminate())
        with pytest.raises(WorkflowFailureError):
            await run.result()
        result = await (await retried(runs, run)).result()

    assert lines(log) == DONE
    assert result.answer == "pay_back_slowly denied"


async def test_what_was_being_taken_back_its_session_takes_back_no_more(
    runs: Runs, tmp_path: Path
) -> None:
    """A session that is opened again knows what was under way when it was ended."""
    # GR-13 BY-11 SE-04
    log = tmp_path / "log"

    def obey(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        if last.kind == "user":
            return call(last.text, log=str(log))
        return say("bad" if len(lines(log)) == 1 else told(turn).text)

    talks = Talks(runs)
    async with talks.working(charging(tmp_path, obey)):
        talk = talks.talk()
        await talk.say("m-1", "charge_slowly")
        await written(log, len(DONE))
        await talk.handle.terminate()
        answer = await talk.exchange("m-2", "pay_back_slowly")

    assert lines(log) == DONE
    assert answer == "pay_back_slowly denied"
