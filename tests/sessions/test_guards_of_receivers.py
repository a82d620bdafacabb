"""What guardrails of who takes a session over have against messages of before."""

import asyncio
from collections.abc import Callable

import pytest

from holdfast import Agent, App, Handoff, Risk, tool
from holdfast.contracts.approvals import Review, Verdict
from holdfast.contracts.effects import Compensation
from holdfast.contracts.guardrails import GuardrailVerdict, Layer, Mode, OnTrip
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.messages import MessageSignal, OutcomeReport, SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.run import approvals, gates, steps, tripwires, verdicts
from holdfast.run.context import leave_hidden
from holdfast.run.sessions.messages import accept_message, end_message, take_message
from holdfast.run.sessions.opening import start_session
from holdfast.run.texts.requests import MAX_DETAILED_REQUESTS, requests_line, run_details
from holdfast.run.transcript import append_items, halt
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.builders import IDS, NOW, a_call, a_success, an_approval
from tests.counting import count_calls
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.sample import IMPATIENT

ALL = ("goal", "results", "words")
ENOUGH = Stop.because(StopReason.TOLD_TO_STOP, "enough")


@tool(risk=Risk.READ_ONLY)
async def fetch(page: str) -> str:
    """Fetch a page that a stranger wrote."""
    return f"{page} says VIRUS"


def looking(mode: Mode = "blocking", first: Callable[[], None] | None = None) -> Guardrail:
    """Trip on a word in whatever comes in; the first look at it is broken off by what is done."""
    told: list[None] = []

    async def look(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        found = "VIRUS" in subject.text
        if found and first is not None and not told:
            told.append(first())
            await asyncio.Event().wait()
        return tripped("it says so") if found else passed()

    return guardrail(layer="input", watches=ALL, mode=mode)(look)


def desk_and_billing(looks: Guardrail, read: list[str]) -> App:
    """A desk without guardrails, which fetches, and hands over what is about money."""

    def send_on(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        if isinstance(last, ToolTurn):
            return say("I have it.")
        charged = isinstance(last, UserTurn) and last.text == "charge me"
        return call("transfer_to_billing", goal="it") if charged else call("fetch", page="p")

    def charge(turn: ScriptTurn) -> Reply:
        read.append(str(turn.transcript))
        return say("Charged.")

    return App(
        agents=[
            Agent(
                name="desk",
                instructions="Find out who can help.",
                models=["scripted:desk"],
                settings=IMPATIENT,
                tools=[fetch],
                handoffs=[Handoff("billing", when="money")],
            ),
            Agent(
                name="billing",
                instructions="Charge them.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                guardrails=[looks],
            ),
        ],
        scripts={"desk": send_on, "billing": charge},
    )


async def tell(runs: MemoryRuns, *texts: str) -> list[str]:
    """Say one after the other in a session of the desk; return what came of each."""
    said: list[str] = []
    for text in texts:
        run = await runs.say("talk", {"agent": "desk"}, {"message_id": text, "text": text})
        while (found := await result_of(run, text)) is None:
            await run.pause()
        said.append(found.status)
    await runs.find("talk").stories()
    return said


async def result_of(run: MemoryRun, message_id: str) -> RunResult | None:
    """Return what the work on a message came to, once it is over."""
    return (await run.query("outcome", OutcomeReport, {"message_id": message_id})).result


@pytest.mark.parametrize("mode", ["blocking", "parallel"])
async def test_what_a_receiver_has_blocked_is_read_with_no_later_message(
    memory_runs: MemoryRuns, mode: Mode
) -> None:
    """Though it was said before it took over; and it holds no later message up."""
    # GR-01 HO-09
    read: list[str] = []
    async with memory_runs.working(desk_and_billing(looking(mode), read)):
        said = await tell(memory_runs, "fetch it", "charge me", "now go on")

    assert said == ["completed", "blocked", "completed"]
    assert "now go on" in read[-1]
    assert "VIRUS" not in read[-1]


@pytest.mark.parametrize("mode", ["blocking", "parallel"])
async def test_what_a_receiver_had_yet_to_look_at_it_looks_at_with_the_next_message(
    memory_runs: MemoryRuns, mode: Mode
) -> None:
    """Else whoever may stop the work would have it read unseen."""
    # GR-01 HO-09
    read: list[str] = []
    looks = looking(mode, lambda: memory_runs.tell_soon("talk", "stop", {"reason": "never mind"}))
    async with memory_runs.working(desk_and_billing(looks, read)):
        said = await tell(memory_runs, "fetch it", "charge me", "now go on", "and again")

    assert said == ["completed", "stopped", "blocked", "completed"]
    assert "and again" in read[-1]
    assert "VIRUS" not in read[-1]


FETCHES = a_call("fetch", "c1", page="p")
SAID = (
    UserTurn(text="hello", origin="message"),
    AssistantTurn(model="scripted:desk", text="Hello."),
    UserTurn(text="fetch it", origin="message"),
    AssistantTurn(model="scripted:desk", calls=(FETCHES,)),
    ToolTurn(results=(a_success(FETCHES, "VIRUS"),)),
    AssistantTurn(model="scripted:desk", text="I have it."),
)


def taken_over(*looks: Guardrail) -> RunState:
    """A session that works on a message, whose guardrails have looked at nothing of before."""
    agent = Agent(
        name="billing", instructions="Charge.", models=["scripted:billing"], guardrails=looks
    )
    state = start_session(SessionInput(agent="billing"), agent.snapshot(), NOW, **IDS)
    return begin(append_items(state, *SAID), "charge me")


def begin(state: RunState, text: str) -> RunState:
    """Take a message and begin to work on it."""
    message = MessageSignal(message_id=text, text=text)
    return take_message(accept_message(state, message, NOW)[0], NOW)


def shown(state: RunState) -> tuple[str, ...]:
    """What people and models said that a model may still read, but for notices."""
    said = leave_hidden(state.conversation.items, state.conversation.hidden)
    words = [one for one in said if not isinstance(one, ToolTurn) and not is_notice(one)]
    assert len([one for one in said if isinstance(one, ToolTurn)]) in {0, 1}
    return tuple(one.text for one in words)


def is_notice(item: UserTurn | AssistantTurn) -> bool:
    return isinstance(item, UserTurn) and item.origin == "notice"


def tripped_in_all(state: RunState, **words: str) -> tuple[GuardrailVerdict, ...]:
    """What guardrails that trip on a word, each its own, say of all they have yet to look at."""
    return tuple(
        GuardrailVerdict(
            guardrail=check.spec.name,
            subject=gates.digest_subject(subject),
            call_id=subject.call_id,
            tripwire_triggered=words.get(check.spec.name, "VIRUS") in subject.text,
            reason="it says so",
        )
        for check in gates.select_blocking_checks(state)
        for subject in check.subjects
    )


def done(layer: Layer, on_trip: OnTrip = "block") -> Guardrail:
    """Look at what comes in, or at what the tool has done."""

    async def look(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return passed()

    async def look_back(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return passed()

    if layer == "input":
        return guardrail(layer=layer, watches=ALL, on_trip=on_trip)(look)
    return guardrail(layer=layer, tools=("fetch",), on_trip=on_trip)(look_back)


@pytest.mark.parametrize("layer", ["input", "post_action"])
def test_what_was_said_before_stays(layer: Layer) -> None:
    """What was blocked is hidden with its call and all that was said since, which may quote it."""
    state = taken_over(done(layer))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    state = tripwires.after_compensation(state, Compensation(), NOW)
    blocked = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert shown(blocked) == ("hello", "Hello.", "fetch it", "now go on")


def test_what_people_reject_is_hidden_as_what_was_blocked() -> None:
    """A guardrail that asks blocks where they say no."""
    state = taken_over(done("input", "ask"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    [review] = state.oversight.requests
    assert isinstance(review, Review)
    state = approvals.after_refusal(state, review, "no", NOW, by="dana")

    assert state.outcome == "blocked"
    assert shown(end_message(state, NOW)) == ("hello", "Hello.", "fetch it")


def test_all_that_nobody_looked_at_is_looked_at_with_the_next_message() -> None:
    """But for the message that was stopped; and no guardrail looks twice at what has passed."""
    state = begin(end_message(halt(taken_over(done("input")), ENOUGH, NOW), NOW), "now go on")
    [check] = gates.select_blocking_checks(state)
    passes = state.with_guarding(guarded=len(state.conversation.items))
    later = begin(end_message(halt(passes, ENOUGH, NOW), NOW), "and again")
    [once] = gates.select_blocking_checks(later)

    assert [one.kind for one in check.subjects] == ["goal", "goal", "results", "goal"]
    assert [one.text for one in check.subjects][-1] == "now go on"
    assert [one.text for one in once.subjects] == ["and again"]


def test_however_many_people_are_asked_about_that_takes_linear_work() -> None:
    """Thousands of messages may be handed over that a guardrail has people asked about."""

    def ask(count: int) -> int:
        more = (UserTurn(text=f"VIRUS {n}", origin="message") for n in range(count))
        state = append_items(taken_over(done("input", "ask")), *more)
        verdicts = tripped_in_all(state)
        asked: list[RunState] = []
        work = count_calls(lambda: asked.append(tripwires.after_turn(state, verdicts, NOW)))
        assert len(asked[0].oversight.requests) > count
        return work

    assert ask(200) < 3 * ask(100)


def asked_about(count: int) -> RunState:
    """A session whose people are asked about so many calls, each of a turn of its own."""
    calls = [a_call("fetch", f"k{number}", page="p") for number in range(count)]
    turns = (
        item
        for one in calls
        for item in (
            AssistantTurn(model="scripted:desk", calls=(one,)),
            ToolTurn(results=(a_success(one, "VIRUS"),)),
        )
    )
    state = append_items(taken_over(done("post_action", "ask")), *turns)
    asked = tripwires.after_turn(state, tripped_in_all(state), NOW)
    assert len(asked.oversight.requests) == count + 1  # and that of before
    return asked


def reject_all(state: RunState) -> RunState:
    """Reject all that people are asked about at once."""
    accepted = Verdict(accepted=True, request_id="", reason="yes", code="accepted", approver="eve")
    asked = [one.request_id for one in reversed(state.oversight.requests)]
    said = [an_approval(name, decision="reject", approver="eve") for name in asked]
    after, _ = verdicts.after_verdicts(state, [(one, accepted) for one in said], NOW)
    assert not after.oversight.requests
    return after


def let_all_expire(state: RunState) -> RunState:
    """Have nobody decide in time."""
    return verdicts.expire_requests(state, max(one.expires_at for one in state.oversight.requests))


def flood(state: RunState) -> object:
    """Have the run go on in a new execution, because very many signals came."""
    return steps.next_step(state, NOW, flooded=True)


def stop(state: RunState) -> RunState:
    """Have a person stop it."""
    return halt(state, ENOUGH, NOW)


@pytest.mark.parametrize("act", [flood, reject_all, let_all_expire, stop])
def test_however_many_people_are_asked_about_what_follows_takes_linear_work(
    act: Callable[[RunState], object],
) -> None:
    """A workflow task that takes too long is tried for ever, and the run stands still."""
    few, many = asked_about(50), asked_about(100)
    assert count_calls(lambda: act(many)) < 3 * count_calls(lambda: act(few))


@pytest.mark.parametrize("end", [reject_all, let_all_expire])
def test_of_many_reviews_all_that_nobody_approved_is_hidden(
    end: Callable[[RunState], RunState],
) -> None:
    """With all that was said since the first of them."""
    after = end_message(halt(end(asked_about(3)), ENOUGH, NOW), NOW)
    assert shown(begin(after, "now go on")) == ("hello", "Hello.", "fetch it", "now go on")


def test_of_very_many_requests_the_first_are_shown_beside_the_run() -> None:
    """What is shown is written anew whenever that changes, and in each replay."""
    waiting = asked_about(99).oversight.requests
    assert run_details("it", waiting).endswith("\n- and 50 more")
    assert run_details("it", waiting).count("`req-") == MAX_DETAILED_REQUESTS
    assert requests_line(waiting) == requests_line(waiting[:50])
