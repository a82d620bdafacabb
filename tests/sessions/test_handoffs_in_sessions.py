"""
Another agent goes on in a session: with this message and those to come, until it closes.

Or it answers the agent of the session, which goes on itself.
"""

from dataclasses import replace
from pathlib import Path

from temporalio.client import WorkflowExecutionStatus

from holdfast import Agent, App, Budget, Handoff
from holdfast.contracts.journal import HandoffRecord
from holdfast.contracts.sessions.messages import MessageSignal, SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import UserTurn
from holdfast.delegation import Ceiling
from holdfast.run.delegation.handoffs import PreparedHandoff, hand_over
from holdfast.run.sessions.messages import accept_message, end_message, take_message
from holdfast.run.sessions.opening import start_session
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.builders import IDS, NOW
from tests.sample import IMPATIENT, TOOLS, lines
from tests.sessions.talking import Talks

BILLING = Agent(
    name="billing",
    instructions="Answer what is about money.",
    models=["scripted:billing"],
    settings=IMPATIENT,
    budget=Budget(max_tool_calls=7),
)

RECORD = HandoffRecord(
    handoff_id="first/c1",
    from_agent="triage",
    to_agent="billing",
    timestamp=NOW,
    task_id="run-1",
    goal="charge it",
    context_passed=("goal",),
)


def triage(ceiling: Ceiling | None = None) -> Agent:
    """An agent that lets billing go on."""
    return Agent(
        name="triage",
        instructions="Find out who can help.",
        models=["scripted:triage"],
        settings=IMPATIENT,
        handoffs=[Handoff("billing", when="money")],
        budget=Budget(max_steps=30),
        ceiling=ceiling or Ceiling(),
    )


def send_on(turn: ScriptTurn) -> Reply:
    """Hand over what is about money, and answer the rest."""
    asked = str(turn.transcript[-1])
    return call("transfer_to_billing", goal="charge it") if "charge" in asked else say("Hello.")


async def test_who_took_over_answers_until_the_session_closes(talks: Talks) -> None:
    """Then its agent is the one that it was opened with, and knows all that was said."""
    # HO-09
    app = App(
        agents=[triage(), BILLING],
        scripts={"triage": send_on, "billing": lambda turn: say(f"billing {turn.number}")},
    )
    async with talks.working(app):
        talk = talks.talk(agent="triage")
        assert await talk.exchange("m-1", "hello") == "Hello."
        await talk.exchange("m-2", "charge me")
        await talk.exchange("m-3", "and again")
        first = [one.agent for one in (await talk.conversation()).items if one.role != "user"]
        assert await talk.replayed() == 1
        await talk.close()
        assert await talk.exchange("m-4", "thanks") == "Hello."

    assert first == ["triage", "billing", "billing"]


async def test_another_agent_answers_the_agent_of_the_session(
    talks: Talks, tmp_path: Path
) -> None:
    """What it asks is decided through the session, whose agent and words stay what they were."""
    # HO-09 HO-05
    log = tmp_path / "log"
    billed = Handoff("billing", when="money", return_expected=True, timeout_seconds=600)

    def charge(turn: ScriptTurn) -> Reply:
        sends = call("send", log=str(log), text="the bill")
        return sends if turn.number == 1 else say(f"charged, {turn.results[-1].status}")

    def relay(turn: ScriptTurn) -> Reply:
        told, last = turn.last("transfer_to_billing"), turn.transcript[-1]
        if not isinstance(last, UserTurn):
            return say(f"billing says: {told['answer']}" if isinstance(told, dict) else "nothing")
        return send_on(turn)

    app = App(
        agents=[replace(triage(), handoffs=[billed]), replace(BILLING, tools=TOOLS)],
        scripts={"triage": relay, "billing": charge},
    )
    async with talks.working(app):
        talk = talks.talk(agent="triage", actor="ada")
        await talk.say("m-1", "charge me")
        asked = await talk.asked()
        own = await talk.decide(str(asked["request_id"]), "ada")
        await talk.decide(str(asked["request_id"]), "dana")
        first = await talk.result("m-1")
        assert await talk.exchange("m-2", "hello") == "Hello."
        said = [one.agent for one in (await talk.conversation()).items if one.role != "user"]
        report = await talk.session()
        assert await talk.replayed() == 1
        await talk.close()

    assert (asked["request_id"], own) == ("1-billing/req-1", "self_approval")
    assert (first["answer"], first["steps"]) == ("billing says: charged, ok", 4)
    assert (said, report.agent) == (["triage", "triage"], "triage")
    assert len(lines(log)) == 1


async def test_two_messages_each_have_another_agent_answer(talks: Talks) -> None:
    """Each is a run of its own, and what it used counts to its message and to the session."""
    # HO-09 BY-52
    billed = Handoff("billing", when="money", return_expected=True)

    def relay(turn: ScriptTurn) -> Reply:
        asks = isinstance(turn.transcript[-1], UserTurn)
        return call("transfer_to_billing", goal="charge it") if asks else say("It is charged.")

    app = App(
        agents=[replace(triage(), handoffs=[billed]), BILLING],
        scripts={"triage": relay, "billing": lambda _: say("charged")},
    )
    async with talks.working(app):
        talk = talks.talk(agent="triage")
        await talk.exchange("m-1", "charge me")
        await talk.exchange("m-2", "once more")
        steps = [(await talk.result(name))["steps"] for name in ("m-1", "m-2")]
        parts = [
            (await talks.talk(f"{talk.id}.{number}-billing").handle.describe()).status
            for number in (1, 2)
        ]
        totals = await talk.close()

    assert steps == [3, 3]
    assert parts == [WorkflowExecutionStatus.COMPLETED] * 2
    assert totals["steps"] == 6


def open_with(agent: Agent, budget: Budget | None = None) -> RunState:
    """A session that works on its first message."""
    given = SessionInput(agent=agent.name, session_budget=budget)
    state = start_session(given, agent.snapshot(), NOW, **IDS)
    return begin(state, "m-1")


def begin(state: RunState, message_id: str) -> RunState:
    """Take a message and begin to work on it."""
    taken, _ = accept_message(state, MessageSignal(message_id=message_id, text="hi"), NOW)
    return take_message(taken, NOW)


def test_limits_of_a_handoff_hold_for_later_messages() -> None:
    """Those of the receiver and of the ceiling: nothing that was lowered comes back."""
    sender = triage(Ceiling(budget=Budget(max_steps=5)))
    state = open_with(sender, Budget(max_steps=20))
    state = hand_over(state, PreparedHandoff(BILLING.snapshot(), RECORD, "go on"))
    now = state.agent.budget
    state = begin(end_message(state, NOW), "m-2")

    assert (now.max_steps, now.max_tool_calls) == (5, 7)
    assert (state.agent.budget.max_steps, state.agent.budget.max_tool_calls) == (5, 7)
    assert state.ceiling is not None
    assert state.ceiling.max_steps == 5


def test_each_message_may_be_handed_over_as_often_as_a_run() -> None:
    """A long talk that is handed over now and then is no loop."""
    # HO-09
    state = open_with(triage())
    state = hand_over(state, PreparedHandoff(BILLING.snapshot(), RECORD, "go on"))
    before = state.parts.handoffs
    state = begin(end_message(state, NOW), "m-2")

    assert (before, state.parts.handoffs) == (1, 0)


def test_a_ceiling_holds_for_later_messages_without_a_budget_of_the_session() -> None:
    """No extension of a later message's budget raises it."""
    state = open_with(triage(Ceiling(budget=Budget(max_steps=5))))
    state = hand_over(state, PreparedHandoff(BILLING.snapshot(), RECORD, "go on"))
    state = begin(end_message(state, NOW), "m-2")

    assert state.ceiling == Budget(max_steps=5)
