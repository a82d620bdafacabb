"""What guardrails are sent fits into what the server takes, however it is written."""

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.control.guarded import Seen, desk_before_billing, guarded, on_word
from tests.histories import noted
from tests.memory.runs import MemoryRuns
from tests.sessions.test_guards_of_receivers import result_of


async def test_many_may_look_at_a_large_goal(memory_runs: MemoryRuns) -> None:
    """A character may have four bytes: copies for all of them don't go out at once."""
    seen = [Seen() for _ in range(8)]
    looking = [on_word(f"look_{n}", "bad", "input", one) for n, one in enumerate(seen)]
    goal = "🦔" * 74_000
    async with memory_runs.working(guarded([say("done")], *looking)):
        run = await memory_runs.start("it", goal)
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "done")
    assert [one.texts for one in seen] == [[goal]] * 8


@pytest.mark.parametrize(("last", "end"), [("go", "completed"), ("bad", "blocked")])
async def test_what_was_said_before_a_handoff_is_looked_at_in_parts(
    memory_runs: MemoryRuns, last: str, end: str
) -> None:
    """More than a megabyte would end the session, and what it was at, without a result."""
    # GR-01 HO-09
    seen = Seen()

    def send_on(turn: ScriptTurn) -> Reply:
        charged = "charge me" in str(turn.transcript[-1])
        return call("transfer_to_billing", goal="it") if charged else say("Hm.")

    def charge(_: ScriptTurn) -> Reply:
        return say("Charged.")

    app = desk_before_billing(send_on, charge, on_word("look", "bad", "input", seen, local=True))
    ends: list[str] = []
    texts = (*("x" * 140_000 for _ in range(7)), "y" * 130_000 + last, "charge me")
    async with memory_runs.working(app):
        for number, text in enumerate(texts):
            said: JsonObject = {"message_id": f"m-{number}", "text": text}
            run = await memory_runs.say("talk", {"agent": "desk"}, said)
            while (found := await result_of(run, f"m-{number}")) is None:
                await run.pause()
            ends.append(found.status)
        await memory_runs.find("talk").stories()

    assert ends == [*("completed" for _ in texts[1:]), end]
    assert [len(one) for one in seen.texts] == [len(text) for text in texts]


async def test_a_run_that_is_too_large_to_be_looked_at_ends_with_its_result(
    memory_runs: MemoryRuns,
) -> None:
    """Who looks at the whole of it, once it is over, can't decide, and only warns."""
    # GR-04
    looks = on_word("look", "bad", "after_run", local=True)
    script = [
        *(calls(call("look", place=str(n)), text="x" * 150_000) for n in range(5)),
        say("done"),
    ]
    async with memory_runs.working(guarded(script, looks)):
        run = await memory_runs.start("it")
        result = await run.result()
        warned = [one.summary for one in noted(await run.story()) if "warning" in one.summary]

    assert (result.status, result.answer) == ("completed", "done")
    assert "look can't decide" in str(warned)
