"""What bound a sender binds who goes on with its run: domains, reviews, limits, prohibitions."""

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import Agent, App, Handoff, HandoffData, Requirement, Risk, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.control import Delegation, Triggers
from holdfast.contracts.errors import AppError
from holdfast.contracts.journal import HandoffRecord
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.sessions.messages import MessageSignal, SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.guardrails import review_approval
from holdfast.run.delegation.handoffs import (
    PreparedHandoff,
    build_record,
    hand_over,
    limit_receiver,
)
from holdfast.run.sessions import messages
from holdfast.run.sessions.opening import start_session
from holdfast.run.transcript import halt
from holdfast.testing import Script, call, say
from tests.builders import IDS, NOW, a_call, a_state, an_agent, asked_for
from tests.control.controlled import asked_to_review
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, TOOLS, lines, note
from tests.workflows.test_handoffs import TRANSFER, bureau, later
from tests.workflows.test_permissions import policy


async def test_a_receiver_does_nothing_unread_in_a_domain_of_the_sender(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The sender's run waits for people there, and goes on waiting with another agent."""
    # ES-08
    log = str(tmp_path / "log")
    triage = Agent(
        name="triage",
        models=["scripted:triage"],
        handoffs=[Handoff("billing", when="money questions")],
        triggers=Triggers(sensitive_domains=("health",)),
        instructions="x",
        settings=IMPATIENT,
    )
    billing = Agent(
        name="billing",
        models=["scripted:billing"],
        tools=TOOLS,
        instructions="x",
        settings=IMPATIENT,
    )
    words: Script = later(call("write", log=log, text="a"), say("It is done."))
    app = App(agents=[triage, billing], scripts={"triage": [TRANSFER], "billing": words})
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", domain="health")
        review = await asked_to_review(run)
        before = lines(log)
        await run.approve(review.request_id)
        result = await run.result()

    assert (review.subject, before) == ("domain:health", [])
    assert result.answer == "It is done."


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("effect: forbid, match: {tools: [load]}", True),
        ("effect: forbid, match: {tools: [unload]}", False),
        ("effect: sandbox, match: {tools: [load]}", True),
        ("effect: sandbox, match: {tools: [load]}, when: 'args.gaol == 1'", True),
        ("effect: sandbox, match: {tools: [unload]}", False),
        ("effect: approve, match: {tools: [load]}", True),
        ("effect: ask, match: {tools: [load]}", True),
        ("effect: approve, match: {tools: [unload]}", False),
    ],
)
async def test_nothing_is_loaded_by_a_forbidden_tool(
    memory_runs: MemoryRuns, tmp_path: Path, rule: str, kept: bool
) -> None:
    """
    What loads for a receiver is ruled on like what finds out about a write.

    It runs in no sandbox, and nobody is asked about it: so it doesn't where a rule keeps it there,
    or might, nor where one has people asked.
    """
    # HO-06 PF-01
    log = tmp_path / "log"

    @tool(risk=Risk.READ_ONLY)
    async def load(goal: str) -> HandoffData:
        """Load what billing needs to know."""
        note(str(log), "loaded")
        return HandoffData(architecture="one ledger")

    rules = policy(tmp_path, f"{{id: no, {rule}}}")
    app = bureau([TRANSFER, say("No.")], later(say("No.")), prepare=load, rules=rules)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        (found,) = await run.results()

    assert lines(str(log)) == ([] if kept else ["loaded"])
    assert isinstance(found, ToolFailure) is kept
    assert "'load', which loads what the other agent needs" in str(found) or not kept


async def test_who_looks_at_a_tool_looks_where_it_loads(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A guardrail of calls of one tool reads the goal that a handoff would load by it."""
    # HO-06 GR-19
    log = tmp_path / "log"

    @tool(risk=Risk.READ_ONLY)
    async def load(goal: str) -> HandoffData:
        """Load what billing needs to know."""
        note(str(log), "loaded")
        return HandoffData(architecture="one ledger")

    looks = on_word("seven", "order 7", "pre_execution", tools=("load",))
    script = [TRANSFER, say("No.")]
    app = bureau(script, later(say("No.")), prepare=load, tools=(load,), guardrails=[looks])
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        await run.result()
        (found,) = await run.results()

    assert lines(str(log)) == []
    assert isinstance(found, ToolFailure)
    assert found.reason == "guardrail seven: it says order 7"


def test_a_guardrail_of_the_sender_stays_what_it_was() -> None:
    """One of the receiver that has its name, by another release, takes its place nowhere."""
    strict = Agent(
        name="a",
        instructions="x",
        models=["scripted:a"],
        guardrails=[review_approval(groups=("finance",), count=2, strength="strong")],
    )
    lax = Agent(name="b", instructions="x", models=["scripted:a"], guardrails=[review_approval()])
    state = a_state().with_(agent=strict.snapshot())

    receiver = limit_receiver(state.agent, state.brief, lax.snapshot())
    back = limit_receiver(receiver, state.brief, lax.snapshot())

    assert receiver.guardrails == back.guardrails == strict.snapshot().guardrails


@pytest.mark.parametrize("to", ["b", "c"])
def test_whoever_goes_on_has_no_other_guardrail_of_one_name(to: str) -> None:
    """It would be bound by that of the other agent; agents that never meet may have their own."""
    strict = review_approval(groups=("finance",), count=2, strength="strong")
    looks = {"a": strict, to: review_approval()}
    agents = [
        Agent(
            name=name,
            instructions="x",
            models=["scripted:a"],
            guardrails=[looks[name]] if name in looks else [],
            handoffs=[Handoff(after, when="always")] if after else [],
        )
        for name, after in (("a", "b"), ("b", "c"), ("c", ""))
    ]

    with pytest.raises(AppError, match=f"'review_approval' is another one for '{to}'"):
        App(agents=agents, scripts={"a": [say("x")]})
    alone = [replace(one, handoffs=[]) for one in agents]
    App(agents=alone, scripts={"a": [say("x")]})


def test_reviews_take_what_the_sender_wants_too() -> None:
    """A guardrail of the sender that asks people goes on asking those that it may."""
    strict = Requirement(
        strength="strong", groups=("finance",), count=2, valid_for=60, expires_after=60
    )
    lax = Requirement(groups=("anybody",), valid_for=3600)
    agent = Agent(name="a", instructions="x", models=["scripted:a"], review=strict)
    other = Agent(name="b", instructions="x", models=["scripted:a"], review=lax)
    state = a_state().with_(agent=agent.snapshot())

    receiver = limit_receiver(state.agent, state.brief, other.snapshot())
    back = limit_receiver(other.snapshot(), state.brief, agent.snapshot())

    assert receiver.review == strict.copy_with({"groups": ("anybody",)})
    assert back.review == strict


@pytest.mark.parametrize(
    ("takes", "counts"),
    [
        (Requirement(), True),
        (Requirement(strength="strong"), False),
        (Requirement(count=2), False),
        (Requirement(groups=("finance",)), False),
    ],
)
def test_what_was_reviewed_for_the_sender_is_no_stricter_review(
    takes: Requirement, counts: bool
) -> None:
    """A plain approval of a domain is none of who takes two people, a group, or signatures."""
    state = a_state().with_oversight(reviewed=("domain:payments",))
    agent = Agent(name="b", instructions="x", models=["scripted:a"], review=takes)
    prepared = PreparedHandoff(agent.snapshot(), a_record_of_handoff(state), "go on")

    assert hand_over(state, prepared).oversight.reviewed == (
        ("domain:payments",) if counts else ()
    )


@pytest.mark.parametrize(
    ("sender", "receiver", "wanted"),
    [
        (("otp", "hwk"), ("hwk",), ("hwk",)),
        (("hwk",), ("otp", "hwk"), ("hwk",)),
        (("otp",), ("hwk",), ("otp",)),
        ((), ("hwk",), ("hwk",)),
        (("otp",), (), ("otp",)),
    ],
)
def test_no_handoff_lets_a_weaker_sign_in_do(
    sender: tuple[str, ...], receiver: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    """A review is signed by who signed in as both agents want it, where one way suits both."""
    state = a_state().with_(agent=a_reviewed_agent("a", sender))

    assert (
        limit_receiver(state.agent, state.brief, a_reviewed_agent("b", receiver)).review.methods
        == wanted
    )


def a_reviewed_agent(name: str, methods: tuple[str, ...]) -> AgentSnapshot:
    review = Requirement(strength="strong", methods=methods)
    agent = Agent(name=name, instructions="x", models=["scripted:a"], review=review)
    return agent.snapshot()


def test_later_messages_of_a_session_have_the_receivers_limits_too() -> None:
    """The work on each begins with those of the agent that the session was opened with."""
    # SE-06
    given = SessionInput(agent="it")
    began = start_session(
        given, an_agent(budget={"max_steps": 20, "max_tool_calls": 9}), NOW, **IDS
    )
    receiver = an_agent(name="billing", budget={"max_steps": 3})
    for number in range(2):
        said = MessageSignal(message_id=f"m-{number}", text="hello")
        began, _ = messages.accept_message(began, said, NOW)
        began = messages.take_message(began, NOW)
        if number == 0:
            record = a_record_of_handoff(began)
            began = hand_over(began, PreparedHandoff(receiver, record, "go on"))
            began = messages.end_message(halt(began, STOPPED, NOW), NOW)

    assert (began.agent.name, began.agent.budget.max_steps) == ("billing", 3)
    assert began.agent.budget.max_tool_calls == 9


STOPPED = Stop.because(StopReason.TOLD_TO_STOP, "enough")


def a_record_of_handoff(state: RunState) -> HandoffRecord:
    delegation = Delegation(tool="transfer_to_billing", at_once=1, budget_share=1, handoff=True)
    call = asked_for(a_call("transfer_to_billing", goal="x")).calls[0]
    return build_record(state, call, "billing", NOW, (), delegation=delegation)
