"""A session of very many messages that goes on with an agent for whom guardrails look at each."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast import Agent, App
from holdfast.activities.sessions.archive import name_session
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, UserTurn
from holdfast.guardrails import Guardrail
from holdfast.run.sessions.opening import leave_session, start_session
from holdfast.run.transcript import append_items
from holdfast.testing import call, say
from tests.builders import NOW
from tests.control.guarded import Seen, desk_before_billing, on_word, tripwires
from tests.running import Runs
from tests.sessions.talking import Talk, Talks

MESSAGES, GUARDRAILS = 2_000, 4
"""A verdict on each has more than a megabyte, all together."""


def left(desk: Agent, name: str) -> RunState:
    """A session of an agent in which so much was said."""
    ids = {"run_id": name, "first_execution_run_id": "0", "execution": "0"}
    state = start_session(SessionInput(agent=desk.name), desk.snapshot(), NOW, **ids)
    answer = AssistantTurn(model="scripted:desk", text="Hm.")
    said = (UserTurn(text=f"word {n}", origin="message") for n in range(MESSAGES))
    return append_items(state, *(item for one in said for item in (one, answer)))


def office(*looks: Guardrail) -> App:
    """A desk that hands over to billing, for whom guardrails look."""
    return desk_before_billing(
        lambda _: call("transfer_to_billing", goal="it"), lambda _: say("Charged."), *looks
    )


@asynccontextmanager
async def talking(runs: Runs, folder: Path, *looks: Guardrail) -> AsyncGenerator[Talk]:
    """Have a worker for such a session, of which an archive has all that was said."""
    talks, app = Talks(runs, f"file:{folder}"), office(*looks)
    async with talks.working(app):
        talk = talks.talk(agent="desk")
        place = folder / name_session(runs.client.namespace, talk.id)
        place.mkdir(parents=True)
        archived = leave_session(left(app.agents[0], talk.id), (), {}, NOW)
        (place / "session.json").write_text(archived.model_dump_json(), encoding="utf-8")
        yield talk
        await talk.replayed()


async def test_so_many_verdicts_that_they_cant_be_sent_at_once_are_asked_for_in_parts(
    runs: Runs, tmp_path: Path
) -> None:
    """Where none was heard, all that was ever said would be taken for bad."""
    # GR-01 HO-09
    seen = [Seen() for _ in range(GUARDRAILS)]
    looks = [on_word(f"look_{n}", "bad", "input", one, local=True) for n, one in enumerate(seen)]
    async with talking(runs, tmp_path, *looks) as talk:
        answer = await talk.exchange("m-1", "charge me")

    assert answer == "Charged."
    assert [len(set(one.texts)) for one in seen] == [MESSAGES + 1] * GUARDRAILS


async def test_of_very_many_tripwires_the_audit_has_a_few_and_their_number(
    runs: Runs, tmp_path: Path
) -> None:
    """Each would be an event: an execution has 51,200 at most."""
    # GR-01 HO-09
    async with talking(runs, tmp_path, on_word("look", "word", "input", local=True)) as talk:
        await talk.exchange("m-1", "charge me")
        told = tripwires(await talk.handle.fetch_history())

    assert len(told) == 51
    assert told[-1] == f"tripwire: and {MESSAGES - 50:,} more"
