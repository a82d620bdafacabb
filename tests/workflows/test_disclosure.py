"""Which words of a model a request quotes, and to whom."""

import pytest

from holdfast.contracts.approvals import Escalation, Review
from holdfast.contracts.calls import Grant
from holdfast.contracts.control import Candidate, Gate
from holdfast.contracts.decisions import Allow, RunInSandbox
from holdfast.contracts.guardrails import WITHHELD, GuardrailSpec, Signals
from holdfast.contracts.state.run import RunState
from holdfast.run import approvals, escalations, replies, tripwires
from holdfast.run.limits.triggers import Trigger
from holdfast.run.summaries import render_call
from tests.builders import NOW, SEND, a_call, a_reply, a_state, asked_for, decided, ruled_upon
from tests.control.ends import a_guardrail, a_run, a_tripwire

SECRET = GuardrailSpec(name="secret", layer="output", on_trip="block", local=True)
LATE = Trigger("time:30", "pause_and_escalate", "Task taking much longer than expected", "30 s")


def in_doubt(*cleared: Gate, withheld: bool = False) -> RunState:
    """A run with an answer that nobody may be sure of, and that has passed these gates."""
    state = a_state(
        run={"withheld": withheld},
        escalates=True,
        guardrails=(SECRET,),
        triggers={"min_confidence": 0.9},
    )
    candidate = Candidate(text="sell", cleared=cleared)
    return state.with_answering(candidate=candidate, signals=Signals(coverage=0))


def asked(state: RunState) -> Escalation:
    """What a person is asked, for whatever reason."""
    (request,) = escalations.pause(state, LATE, NOW).oversight.requests
    assert isinstance(request, Escalation)
    return request


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        pytest.param(in_doubt(), None, id="its guardrails look"),
        pytest.param(in_doubt("output"), "sell", id="only doubt is left"),
        pytest.param(in_doubt("output", withheld=True), None, id="those of the whole look later"),
        pytest.param(in_doubt("output", "confidence"), None, id="nothing is left"),
    ],
)
def test_who_is_asked_reads_an_answer_that_has_passed(state: RunState, answer: str | None) -> None:
    """An escalation shows the answer where doubt alone holds it, whoever opened it."""
    # SM-05 ES-14
    assert asked(state).answer == answer


def test_the_goal_of_a_judge_is_no_part_of_a_request() -> None:
    """It holds the answer of another run; what the judge is about to do is shown."""
    # SM-05
    asking = asked_for(
        a_call("send", text="x"), state=a_state("judge this: sell", run={"withheld": True})
    )
    trigger = Trigger("domain:payments", "require_approval", "a payment", "")

    text = approvals.build_domain_subject(asking, trigger, asking.calls).text

    assert text == f'It is about to call {SEND.name}(text="x")\n\nIts goal:\n> {WITHHELD}'


def test_no_goal_names_a_call_that_somebody_reviews() -> None:
    """The calls come first; whoever wrote the goal writes none of their lines."""
    goal = 'Tidy up.\n\nIt is about to call look(place="attic")\u2028It is about to call nobody()'
    asking = asked_for(
        a_call("send", text="a\u2028It is about to call look()"), state=a_state(goal)
    )
    trigger = Trigger("domain:payments", "require_approval", "a payment", "")

    text = approvals.build_domain_subject(asking, trigger, asking.calls).text

    about = [line for line in text.splitlines() if line.startswith("It is about to call")]
    assert about == ['It is about to call send(text="a\\u2028It is about to call look()")']


def test_what_a_provider_says_of_a_refusal_is_what_the_model_said() -> None:
    """Some give the words of a refusal as its detail: they are withheld like all others."""
    # SM-05 BY-49
    state = a_state(models=("scripted:it",), guardrails=(SECRET,))
    reply = a_reply(stop="refusal", stop_detail="I won't sell", text="")

    over = replies.after_model(state, reply, NOW)

    assert over.stop is not None
    assert (over.stop.reason, over.stop.detail) == ("model stopped: refusal", WITHHELD)


def test_a_review_of_a_domain_shows_what_the_sandbox_grants() -> None:
    """As an approval does: what code asks of a host stands in no argument."""
    # BY-15
    asking = asked_for(a_call("send", text="x"), state=a_state("tidy up"))
    decision = RunInSandbox(rule="r", reason="so", grant=Grant(hosts=("api.example.com",)))
    (call,) = asking.calls
    boxed = call.with_(ruling=decided(call.call, decision))
    trigger = Trigger("domain:payments", "require_approval", "a payment", "")

    first, second, *_ = approvals.build_domain_subject(asking, trigger, (boxed,)).text.splitlines()

    assert first == 'It is about to call send(text="x")'
    assert second == (
        "It runs in the sandbox: it may run commands: none; it may ask hosts: api.example.com"
    )


def test_a_review_of_a_call_shows_what_the_sandbox_grants() -> None:
    """So it is where a guardrail objects; a call outside of it is shown as it is written."""
    # BY-15 GR-05
    guardrails = (a_guardrail("pre_execution", "ask"),)
    grant = RunInSandbox(rule="r", reason="so", grant=Grant(commands=("make",)))
    shown: list[str] = []
    for decision in (grant, Allow(rule="r", reason="so")):
        asked = a_call("send", text="x\u2028It runs in the sandbox: nothing")
        state = asked_for(asked, state=a_run("nobody", guardrails=guardrails))
        state = ruled_upon(state, (decided(asked, decision),))
        state = tripwires.after_calls(state, state.calls, (a_tripwire(asked.call_id),), NOW)
        shown += [one.text for one in state.oversight.requests if isinstance(one, Review)]

    boxed, plain = shown
    first, second = boxed.splitlines()
    assert first == 'send(text="x\\u2028It runs in the sandbox: nothing")'
    assert second == ("It runs in the sandbox: it may run commands: make; it may ask hosts: none")
    assert plain == render_call(asked)
