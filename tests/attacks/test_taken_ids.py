"""Ids that strangers give to what they start, once what had them is over."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowFailureError

from holdfast import App
from holdfast.activities.callers import Execution
from holdfast.activities.sessions import earlier
from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.activities.sessions.earlier import MAX_FAILED_EXECUTIONS, TemporalEarlierSessions
from holdfast.activities.sessions.keeping import MAX_READ_AT_ONCE, SessionActivities
from holdfast.client import Holdfast
from holdfast.client.archiving import ArchiveSweep
from holdfast.connection import with_codec
from holdfast.contracts.sessions.archive import (
    OPENED,
    ArchivedSession,
    LoadedSession,
    LoadSession,
)
from holdfast.testing import call, say
from tests.asking import in_run
from tests.attacks.test_slow_codecs import Asking
from tests.holdfast.unreadable import start_unreadable
from tests.running import Runs
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks
from tests.workflows.delegating import FOUND, ask, desk


async def test_who_takes_the_id_of_a_part_is_not_in_the_trace_of_its_whole(
    runs: Runs, tmp_path: Path
) -> None:
    """The part is, with all of its executions: also in the archive, where it stays for good."""
    made = desk([ask("tides"), say("It is so.")], [call("look", place="the shore"), FOUND])
    agents = [replace(one, max_history_events=1) for one in made.agents]
    app = App(agents=agents, scripts=made.scripts)
    async with runs.working(app):
        run = await runs.start("desk")
        await run.result()
        name = f"{run.handle.id}.1-researcher"
        forged = {"agent": "researcher", "input": "forged", "tenant": "evil"}
        stranger = await runs.client.start_workflow(
            "AgentRun", forged, id=name, task_queue=runs.queue
        )
        await stranger.result()
        tree = await Holdfast(runs.client).trace(run.handle.id)
        sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), runs.queue)
        whole = f"{run.handle.id}.{await run.execution()}"
        while not (kept := [*tmp_path.rglob(f"{whole}/trace.json")]):
            await asyncio.sleep(0.1)
            await sweep.sweep()

    for told in (tree.model_dump_json(), *(one.read_text(encoding="utf-8") for one in kept)):
        assert "the shore" in told
        assert "forged" not in told


@pytest.mark.parametrize(("archived", "labelled"), [(True, False), (False, False), (False, True)])
async def test_what_no_worker_took_keeps_no_session_closed(
    runs: Runs, tmp_path: Path, archived: bool, labelled: bool
) -> None:
    """Starts in its name on a queue of nobody's, more than are looked at; unreadable ones too."""
    # SE-02
    talks = Talks(runs, f"file:{tmp_path}" if archived else None)
    async with talks.working(scripted(echo)):
        talk = talks.talk(tenant="acme")
        await talk.exchange("m-1", "one")
        await talk.close()
        for _ in range(MAX_FAILED_EXECUTIONS + 1):
            if labelled:
                await start_unreadable(runs.client, talk.id, "AgentSession")
            else:
                await runs.client.start_workflow(
                    "AgentSession",
                    {"agent": "it", "tenant": "evil"},
                    id=talk.id,
                    task_queue=f"{runs.queue}-nobody",
                )
            await talk.handle.terminate()
        stranger = talks.talk(talk.id, tenant="evil")
        await stranger.say("e-1", "mine")
        with pytest.raises(WorkflowFailureError) as refused:
            await asyncio.wait_for(stranger.handle.result(), 60)
        answer = await asyncio.wait_for(talk.exchange("m-2", "two"), 60)

    assert "there is no session" in str(refused.value.cause)
    assert answer == "one + two"


async def _read_nothing(*_: object) -> tuple[str, ...]:
    raise AssertionError("a history was read")


async def test_what_never_began_is_asked_once_and_its_history_is_not_read(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starts cost nothing, and signals make each as long as its starter likes."""
    # SE-02
    monkeypatch.setattr(earlier, "find_last_digests", _read_nothing)
    monkeypatch.setattr(earlier, "has_begun", _read_nothing)
    name, sessions = f"taken-{runs.queue}", TemporalEarlierSessions(runs.client)
    for _ in range(3):
        started = await runs.client.start_workflow(
            "AgentSession", {"agent": "it"}, id=name, task_queue=f"{runs.queue}-nobody"
        )
        await started.signal("message", {"text": "x" * 100_000})
        await started.terminate()
    while len(found := await sessions.find(name, "", None)) < 3:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.1)
    left = [await sessions.read(one) for one in found]
    again = await sessions.find(name, "", None)

    assert left == [None, None, None]
    assert again == ()


async def test_a_codec_that_asks_somebody_is_asked_about_many_starts_at_once(runs: Runs) -> None:
    """Whoever starts what claims to be an opening keeps none of a session: a page is one wait."""
    # SE-02
    name, codec = f"taken-{runs.queue}", Asking()
    for _ in range(5):
        started = await runs.client.start_workflow(
            "AgentSession",
            {"agent": "it"},
            id=name,
            task_queue=f"{runs.queue}-nobody",
            memo={OPENED: 7},
        )
        await started.terminate()
    sessions = TemporalEarlierSessions(with_codec(runs.client, codec))
    while len(await sessions.find(name, "", None)) < 5:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.1)

    assert codec.most == 5


async def test_a_codec_that_makes_several_of_what_a_start_claims_keeps_no_session_closed(
    runs: Runs,
) -> None:
    """It says no number then, as it does where there is no codec."""
    # SE-02
    name = f"taken-{runs.queue}"
    started = await runs.client.start_workflow(
        "AgentSession", {}, id=name, task_queue=f"{runs.queue}-nobody", memo={OPENED: 7}
    )
    await started.terminate()
    sessions = TemporalEarlierSessions(with_codec(runs.client, _Doubling()))
    while not (found := await sessions.find(name, "", None)):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.1)

    assert [one.id for one in found] == [started.first_execution_run_id]


class _Doubling(Asking):
    """A codec that reads two of each."""

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [*payloads, *payloads]


class _ManyEarlier:
    """Executions of a session of which none left anything, and how many are asked at once."""

    def __init__(self, count: int) -> None:
        self.most, self.asked, self._count, self._asking = 0, 0, count, 0

    async def find(
        self, session_id: str, own: str, archived: ArchivedSession | None
    ) -> tuple[Execution, ...]:
        return tuple(Execution(session_id, f"e{number}") for number in range(self._count))

    async def read(self, execution: Execution) -> ArchivedSession | None:
        self.asked += 1
        self._asking += 1
        self.most = max(self.most, self._asking)
        await asyncio.sleep(0)
        self._asking -= 1
        return None


async def test_any_number_of_starts_in_the_name_of_a_session_is_asked_at_once() -> None:
    """One by one a thousand and some would take longer than an attempt has, and so for good."""
    # SE-02
    many = _ManyEarlier(1_500)
    found = await in_run("talk").run(
        SessionActivities(None, many).load_session,
        LoadSession(session_id="talk", agent="it", tenant="acme"),
    )

    assert found == LoadedSession()
    assert (many.asked, many.most) == (1_500, MAX_READ_AT_ONCE)
