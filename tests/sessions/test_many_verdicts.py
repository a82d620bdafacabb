"""A session of very many messages that goes on with an agent for whom guardrails look at each."""

from pathlib import Path

from holdfast import Agent, App, Handoff
from holdfast.activities.sessions.archive import name_session
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, UserTurn
from holdfast.run.sessions.opening import leave_session, start_session
from holdfast.run.transcript import append_items
from holdfast.testing import Script, call, say
from tests.builders import NOW
from tests.control.guarded import Seen, on_word
from tests.running import Runs
from tests.sample import IMPATIENT
from tests.sessions.talking import Talks

MESSAGES, GUARDRAILS = 2_000, 4
"""A verdict on each has more than a megabyte, all together."""


def left(desk: Agent, name: str) -> RunState:
    """A session of an agent in which so much was said."""
    ids = {"run_id": name, "first_execution_run_id": "0", "execution": "0"}
    state = start_session(SessionInput(agent=desk.name), desk.snapshot(), NOW, **ids)
    answer = AssistantTurn(model="scripted:desk", text="Hm.")
    said = (UserTurn(text=f"word {n}", origin="message") for n in range(MESSAGES))
    return append_items(state, *(item for one in said for item in (one, answer)))


async def test_so_many_verdicts_that_they_cant_be_sent_at_once_are_asked_for_in_parts(
    runs: Runs, tmp_path: Path
) -> None:
    """Where none was heard, all that was ever said would be taken for bad."""
    # GR-01 HO-09
    seen = [Seen() for _ in range(GUARDRAILS)]
    desk = Agent(
        name="desk",
        instructions="Find out who can help.",
        models=["scripted:desk"],
        settings=IMPATIENT,
        handoffs=[Handoff("billing", when="money")],
    )
    billing = Agent(
        name="billing",
        instructions="Charge them.",
        models=["scripted:billing"],
        settings=IMPATIENT,
        guardrails=[
            on_word(f"look_{n}", "bad", "input", one, local=True) for n, one in enumerate(seen)
        ],
    )
    scripts: dict[str, Script] = {
        "desk": lambda _: call("transfer_to_billing", goal="it"),
        "billing": lambda _: say("Charged."),
    }
    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    async with talks.working(App(agents=[desk, billing], scripts=scripts)):
        talk = talks.talk(agent="desk")
        place = tmp_path / "archive" / name_session(runs.client.namespace, talk.id)
        place.mkdir(parents=True)
        archived = leave_session(left(desk, talk.id), (), {}, NOW)
        (place / "session.json").write_text(archived.model_dump_json(), encoding="utf-8")
        answer = await talk.exchange("m-1", "charge me")
        await talk.replayed()

    assert answer == "Charged."
    assert [len(set(one.texts)) for one in seen] == [MESSAGES + 1] * GUARDRAILS
