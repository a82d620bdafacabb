"""A flood as a session goes on anew: nothing is cancelled behind a local activity."""

from collections.abc import Iterator

from holdfast.contracts.sessions.messages import OutcomeReport
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.workflows.inbound.inbox import (
    MAX_MESSAGES_PER_EXECUTION,
    MAX_REFUSALS_PER_WINDOW,
)
from tests.memory.runs import MemoryRuns
from tests.sample import scripted


async def test_a_flood_is_gathered_no_more_behind_what_was_archived(
    memory_runs: MemoryRuns,
) -> None:
    """
    Gathering ends a timer, and is over once the session goes on.

    What began and ended around a local activity no replay can tell, where a query has divided the
    workflow task between them.
    """

    def answer(turn: ScriptTurn) -> Reply:
        for _ in range({1: MAX_REFUSALS_PER_WINDOW + 5, 2: 3}.get(turn.number, 0)):
            memory_runs.tell_soon("talk", "nonsense", {})
        return say("done") if turn.number == 3 else call("look", place=f"{turn.number}")

    async with memory_runs.working(scripted(answer, max_history_events=55)):
        run = await memory_runs.say(
            "talk", {"agent": "it"}, {"message_id": "m-1", "text": "hello"}
        )
        await run.rest()
        cancelled = list(cancelled_behind_local_activities(memory_runs))
        executions, gathered = run.executions, list(timers(memory_runs))

    assert executions > 1
    assert gathered
    assert cancelled == []


async def test_a_flood_keeps_no_message_out_of_a_session_that_waits_for_one(
    memory_runs: MemoryRuns,
) -> None:
    """
    Between two messages, too, it goes on in a new execution: a server takes 10,000 signals in one.

    It would have heard nobody until its idle time was over, not even who closes it.
    """
    async with memory_runs.working(scripted(lambda _: say("done"))):
        run = await memory_runs.say(
            "talk", {"agent": "it"}, {"message_id": "m-1", "text": "hello"}
        )
        await run.rest()
        for _ in range(MAX_MESSAGES_PER_EXECUTION):
            memory_runs.tell_soon("talk", "nonsense", {})
        over = await run.rest()
        executions = run.executions
        await run.signal("message", {"message_id": "m-2", "text": "hello again"})
        await run.rest()
        outcome = await run.query("outcome", OutcomeReport, {"message_id": "m-2"})
        await run.stories()

    assert not over
    assert executions == 2
    assert outcome.state == "done"


def timers(runs: MemoryRuns) -> Iterator[str]:
    """Yield what each timer was for by which a flood was gathered."""
    for each in runs.server.executions["talk"]:
        for record in each.tasks.records:
            for _, commands in record.heard:
                for one in commands:
                    words = str(one.user_metadata.summary.data)
                    if one.HasField("start_timer") and "gathering" in words:
                        yield words


def cancelled_behind_local_activities(runs: MemoryRuns) -> Iterator[int]:
    """Yield each timer that was cancelled as soon as a local activity had ended."""
    for each in runs.server.executions["talk"]:
        for record in each.tasks.records:
            for act, commands in record.heard:
                if any(job.resolve_activity.is_local for job in act.jobs):
                    for one in commands:
                        if one.HasField("cancel_timer"):
                            yield one.cancel_timer.seq
