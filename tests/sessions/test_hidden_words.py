"""What guardrails are against is read with no later message, whatever ended the work on it."""

from collections.abc import Callable

import pytest

from holdfast import Agent, App, Budget, Handoff
from holdfast.contracts.bounds import MAX_REQUEST_BYTES
from holdfast.contracts.effects import Compensation, Effect
from holdfast.contracts.guardrails import Layer, OnTrip
from holdfast.contracts.signals import StopSignal
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import AssistantTurn, UserTurn
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    judged_by,
    passed,
)
from holdfast.run import backtracking, compaction, gates, tripwires
from holdfast.run.context import leave_hidden
from holdfast.run.inbound.controls import after_stop
from holdfast.run.sessions import hiding
from holdfast.run.sessions.messages import end_message
from holdfast.run.transcript import append_items, build_continue_as_new_input, halt
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.builders import NOW, a_reply
from tests.sample import IMPATIENT
from tests.sessions.talking import Talks
from tests.sessions.test_guards_of_receivers import (
    ALL,
    begin,
    done,
    let_all_expire,
    reject_all,
    shown,
    taken_over,
    tripped_in_all,
)

ENOUGH = StopSignal(reason="enough")
GONE_ON = ("hello", "Hello.", "fetch it", "now go on")
"""What a model reads where what a call brought is hidden, with all that was said since."""


def stop(state: RunState) -> RunState:
    """Stop the work as a person does, and go on with the next message."""
    told = state if state.is_ending else after_stop(state, ENOUGH, NOW)
    ended = halt(told, Stop.because(StopReason.TOLD_TO_STOP, "enough"), NOW)
    assert ended.outcome == "stopped"
    return begin(end_message(ended, NOW), "now go on")


@pytest.mark.parametrize("layer", ["input", "post_action"])
def test_what_people_are_asked_about_when_the_work_is_stopped_is_hidden(layer: Layer) -> None:
    """Nobody has let it pass, and no guardrail looks at it again."""
    # GR-01
    state = taken_over(done(layer, "ask"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    state = state.with_guarding(guarded=len(state.conversation.items))
    [_] = state.oversight.requests
    told = after_stop(state, StopSignal(reason="enough"), NOW)
    stopped = halt(told, Stop.because(StopReason.TOLD_TO_STOP, "enough"), NOW)
    later = begin(end_message(stopped, NOW), "now go on")

    assert stopped.outcome == "stopped"
    assert shown(later) == ("hello", "Hello.", "fetch it", "now go on")


@pytest.mark.parametrize("layer", ["input", "post_action"])
@pytest.mark.parametrize("on_trip", ["ask", "block"])
def test_what_anybody_was_against_is_hidden_where_one_blocks(
    layer: Layer, on_trip: OnTrip
) -> None:
    """Though it stands further up, and another one had it looked at by people or blocked it."""
    # GR-01

    @guardrail(layer="input", watches=ALL, on_trip=on_trip)
    async def first(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return passed()

    state = taken_over(done(layer), first)
    state = tripwires.after_turn(state, tripped_in_all(state, first="hello"), NOW)
    state = tripwires.after_compensation(state, Compensation(), NOW)
    blocked = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert shown(blocked) == ("now go on",)


def test_what_nobody_was_asked_about_is_hidden_where_something_cannot_be_shown() -> None:
    """It ends the work, before people are asked about what another guardrail has found."""
    # GR-01

    @guardrail(layer="input", watches=ALL, on_trip="ask")
    async def first(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return passed()

    large = UserTurn(text="LARGE" + '"' * MAX_REQUEST_BYTES, origin="steer")
    state = append_items(taken_over(first, done("input", "ask")), large)
    state = tripwires.after_turn(state, tripped_in_all(state, first="LARGE"), NOW)
    state = state.with_guarding(guarded=len(state.conversation.items))
    later = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert shown(later) == GONE_ON


@pytest.mark.parametrize("layer", ["input", "post_action"])
@pytest.mark.parametrize("on_trip", ["ask", "block"])
def test_what_is_found_while_the_work_is_stopped_is_hidden(layer: Layer, on_trip: OnTrip) -> None:
    """A person may say stop while a guardrail looks that nobody can break off."""
    # GR-01
    state = taken_over(done(layer, on_trip))
    told = after_stop(state, ENOUGH, NOW)
    state = tripwires.after_turn(told, tripped_in_all(state), NOW)
    state = state.with_guarding(guarded=len(state.conversation.items))

    assert shown(stop(state)) == GONE_ON


def test_what_was_done_is_hidden_before_it_is_taken_back() -> None:
    """That takes time, and the work may be stopped meanwhile."""
    # GR-01
    state = taken_over(done("post_action"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    state = state.with_guarding(guarded=len(state.conversation.items))

    assert state.outcome is None
    assert shown(stop(state)) == GONE_ON


def test_only_what_all_have_let_pass_counts_as_looked_at() -> None:
    """A limit may end the work while judges look, one after the other."""
    # GR-01
    state = taken_over(done("input"), done("post_action"))
    checks, end = gates.select_blocking_checks(state), len(state.conversation.items)
    verdicts = tripped_in_all(state)

    looked = [
        hiding.find_looked_end(state, checks, verdicts[:count], end)
        for count in range(len(verdicts) + 1)
    ]

    # Goals at 0 and 2, the results of a turn that begins at 3, the latest message, what was done.
    assert looked == [0, 2, 3, 3, 3, end]


def judged_desk(read: list[str], judged: list[str]) -> App:
    """A desk without guardrails hands over to billing, where a judge looks at what was said."""

    def send_on(turn: ScriptTurn) -> Reply:
        charged = "charge me" in str(turn.transcript[-1])
        return call("transfer_to_billing", goal="it") if charged else say("Hm.")

    def charge(turn: ScriptTurn) -> Reply:
        read.append(str(turn.transcript))
        return say("Charged.")

    def judge(turn: ScriptTurn) -> Reply:
        judged.append(turn.goal.rpartition("\n")[2])
        bad = "VIRUS" in turn.goal
        return say(GuardrailResult(tripwire_triggered=bad, reason="it says so").model_dump_json())

    return App(
        agents=[
            Agent(
                name="desk",
                instructions="Find out who can help.",
                models=["scripted:desk"],
                settings=IMPATIENT,
                handoffs=[Handoff("billing", when="money")],
                budget=Budget(max_steps=3),
            ),
            Agent(
                name="billing",
                instructions="Charge them.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                guardrails=[judged_by("critic", "input")],
            ),
            Agent(
                name="critic",
                instructions="Judge.",
                models=["scripted:critic"],
                settings=IMPATIENT,
                output=GuardrailResult,
            ),
        ],
        scripts={"desk": send_on, "billing": charge, "critic": judge},
    )


async def test_a_limit_that_ends_judging_has_nothing_read(talks: Talks) -> None:
    """Neither what was found bad, nor what nobody has judged; what is good is judged once."""
    # GR-01 HO-09
    read: list[str] = []
    judged: list[str] = []
    async with talks.working(judged_desk(read, judged)):
        talk = talks.talk(agent="desk")
        for text in ("good", "VIRUS", "more"):
            await talk.exchange(text, text)
        await talk.say("charge", "charge me")
        ended = await talk.result("charge")
        await talk.exchange("on", "now go on")
        await talk.replayed()

    assert ended["status"] == "stopped"
    assert judged[:2] == ["good", "VIRUS"]
    assert judged.count("good") == 1
    assert "now go on" in read[-1]
    assert "good" in read[-1]
    assert "VIRUS" not in read[-1]


def summarised() -> RunState:
    """A session in which a summary, whose writer has read all, stands for all but the answer."""
    answer = AssistantTurn(model="scripted:billing", text="Charged.")
    state = append_items(taken_over(done("input")), answer)
    state = state.with_guarding(guarded=len(state.conversation.items))
    asked = compaction.request_summary(state)
    return compaction.after_summary(asked, a_reply(text="They spoke of VIRUS."), NOW)


@pytest.mark.parametrize("carried", [False, True], ids=["", "in a new execution"])
def test_what_was_blocked_is_in_no_summary(carried: bool) -> None:
    """Its writer has read it; so what it stood for is shown again, where it is still there."""
    # GR-01
    state = summarised()
    assert state.conversation.summary
    found = tripped_in_all(taken_over(done("input")))
    state = build_continue_as_new_input(state) if carried else state
    state = tripwires.after_turn(state, found, NOW)
    later = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert later.conversation.summary == ""


@pytest.mark.parametrize("carried", [False, True], ids=["", "in a new execution"])
def test_a_summary_of_what_was_said_before_stays(carried: bool) -> None:
    """Else who has a message blocked would have a session forget all that it knew."""
    # GR-01
    state = summarised()
    state = halt(state, Stop.because(StopReason.TOLD_TO_STOP, "enough"), NOW)
    state = begin(end_message(state, NOW), "VIRUS")
    state = build_continue_as_new_input(state) if carried else state
    state = tripwires.after_turn(state, tripped_in_all(state)[-1:], NOW)
    later = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert later.conversation.summary == "They spoke of VIRUS."
    assert "VIRUS" not in shown(later)


def test_what_a_project_says_is_hidden_where_it_was_blocked() -> None:
    """Else it would be read with the next message, since it stays whatever else is hidden."""
    # GR-01
    words = UserTurn(text="VIRUS", origin="project")
    state = append_items(taken_over(done("input")), words)
    state = tripwires.after_turn(state, tripped_in_all(state)[-1:], NOW)
    later = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert "VIRUS" not in shown(later)


def test_what_a_project_says_stays_where_something_else_was_blocked() -> None:
    """It is read once in a session."""
    # GR-01
    words = UserTurn(text="Be kind.", origin="project")
    state = append_items(taken_over(done("input")), words)
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    later = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert "Be kind." in shown(later)


def test_what_a_project_says_twice_is_hidden_in_both_places() -> None:
    """A session that opens again has it once more, and a release may have brought a guardrail."""
    # GR-01
    words = UserTurn(text="VIRUS", origin="project")
    old = taken_over()
    state = append_items(old, words, UserTurn(text="charge me", origin="message"), words)
    state = state.with_(agent=taken_over(done("input")).agent)
    state = state.with_guarding(guarded=len(state.conversation.items) - 1)
    [check] = gates.select_blocking_checks(state)
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    later = begin(end_message(state, NOW), "now go on")

    assert len(check.subjects) == 1
    assert state.outcome == "blocked"
    assert "VIRUS" not in shown(later)


def with_effect(state: RunState) -> RunState:
    """A session that has done something in this message which quotes a secret."""
    effect = Effect(summary='post(text="VIRUS")', tool="post", outcome="done", digest="d" * 64)
    return state.with_effects(done=(effect,))


def notices(state: RunState) -> str:
    """What the session itself tells its model."""
    said = leave_hidden(state.conversation.items, state.conversation.hidden)
    return str([one.text for one in said if isinstance(one, UserTurn) and one.origin == "notice"])


def test_what_was_done_quotes_nothing_that_was_blocked() -> None:
    """The next message's model is told that it was done, and not with which words."""
    # GR-01
    state = with_effect(taken_over(done("post_action")))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    state = tripwires.after_compensation(state, Compensation(not_undone=("post",)), NOW)
    blocked = begin(end_message(state, NOW), "now go on")

    assert state.outcome == "blocked"
    assert "the same call is refused:\\n- post'" in notices(blocked)
    assert "VIRUS" not in notices(blocked)


def test_what_was_done_is_told_where_nothing_is_hidden() -> None:
    """A model that knows its own calls goes on better."""
    # GR-01
    state = with_effect(taken_over())
    assert "VIRUS" in notices(stop(state))


def test_what_is_sent_back_is_hidden_where_the_work_ends_meanwhile() -> None:
    """Nobody would tell the next message's model to keep to anything."""
    # GR-01
    state = taken_over(done("post_action", "retry"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    state = state.with_guarding(guarded=len(state.conversation.items))
    told = after_stop(state, ENOUGH, NOW)
    undone = tripwires.after_compensation(told, Compensation(), NOW)

    assert shown(stop(state)) == GONE_ON
    assert shown(stop(undone)) == GONE_ON


def test_what_an_approach_came_to_is_hidden_where_the_work_ends_before_it_is_left() -> None:
    """Going back would have hidden it."""
    # GR-01
    state = backtracking.set_checkpoint(taken_over(), "")
    answer = AssistantTurn(model="scripted:billing", text="VIRUS")
    notice = UserTurn(text="Keep to this.", origin="constraint")
    state = append_items(state, answer, notice).with_approaches(dead_end="it failed")

    assert "VIRUS" not in shown(stop(state))


def test_what_people_are_asked_about_is_looked_at_anew_where_a_part_of_it_is_left() -> None:
    """A new execution begins with less of what was pruned: a rejection would hide nothing."""
    # GR-01
    state = taken_over(done("input", "ask"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    whole = state.with_guarding(guarded=len(state.conversation.items))
    pruned = whole.with_conversation(pruned_before=5)

    carried = build_continue_as_new_input(whole)
    assert carried.guarding.guarded == len(carried.conversation.items)
    assert build_continue_as_new_input(pruned).guarding.guarded == 0


def withdraw(state: RunState) -> RunState:
    """Have a person stop it, so that nobody is asked any more."""
    return after_stop(state, ENOUGH, NOW)


@pytest.mark.parametrize("end", [reject_all, let_all_expire, withdraw])
def test_what_was_said_of_what_is_not_there_any_more_is_hidden(
    end: Callable[[RunState], RunState],
) -> None:
    """People are asked about what a new execution left out: what quotes it may stand anywhere."""
    # GR-01
    state = taken_over(done("input", "ask"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    carried = build_continue_as_new_input(state.with_conversation(pruned_before=5))
    [_] = carried.oversight.requests
    ended = halt(end(carried), Stop.because(StopReason.TOLD_TO_STOP, "enough"), NOW)

    assert "I have it." in shown(carried)
    assert shown(begin(end_message(ended, NOW), "now go on")) == ("now go on",)


def test_what_was_hidden_before_is_there_all_the_same() -> None:
    """One more that is rejected hides nothing of what was said before both."""
    # GR-01
    state = taken_over(done("input", "ask"), done("post_action", "ask"))
    state = tripwires.after_turn(state, tripped_in_all(state), NOW)
    assert len(state.oversight.requests) > 1
    ended = halt(reject_all(state), Stop.because(StopReason.TOLD_TO_STOP, "enough"), NOW)

    assert shown(begin(end_message(ended, NOW), "now go on")) == GONE_ON
