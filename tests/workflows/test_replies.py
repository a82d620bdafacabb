"""What a model's reply means for the run, beyond words and calls."""

import pytest

from holdfast.contracts.model import ModelReply
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, Part, UserTurn
from holdfast.contracts.usage import CallUsage, UsageMetrics
from holdfast.run import fallbacks, replies, requests, steps, turns
from holdfast.workflows import views
from tests.builders import MODEL, NOW, a_call, a_reply, a_state, an_attempt

SEARCH = Part(kind="hosted_call", name="web_search", text="weather in Köln", native={"id": "s1"})
THOUGHT = Part(kind="reasoning", text="hm", native={"signature": "abc"})
HI = UserTurn(text="hurry", origin="steer")


def after(state: RunState, *answers: ModelReply) -> RunState:
    for answer in answers:
        state = replies.after_model(state, answer, NOW)
    return state


def paused(text: str = "I am searching.") -> ModelReply:
    return a_reply(stop="pause", text=text, parts=(SEARCH,))


def unfit() -> ModelReply:
    return a_reply(text="nope", objections=("it is no JSON",))


def last(state: RunState) -> UserTurn:
    item = state.conversation.items[-1]
    assert isinstance(item, UserTurn)
    return item


def test_what_a_model_thought_stays_in_its_turn() -> None:
    """The pieces of a reply are kept whole: the model wants them back, and people read them."""
    state = after(a_state(), a_reply(a_call(), parts=(THOUGHT, Part(kind="call"))))

    turn = state.conversation.items[-1]
    assert isinstance(turn, AssistantTurn)
    assert turn.parts == (THOUGHT, Part(kind="call"))


def test_a_pause_is_no_answer() -> None:
    """A model that isn't done is asked again, with what it said so far at the end."""
    # BY-49
    state = after(a_state(), paused())

    assert (state.outcome, state.chain.paused) == (None, True)
    assert steps.next_step(state, NOW) == steps.CallModel(MODEL)
    assert isinstance(turns.append_steering(state).conversation.items[-1], AssistantTurn)
    assert after(state, a_reply(text="18 degrees")).answering.answer == "18 degrees"


def test_pauses_count_as_steps() -> None:
    """A model that never gets done runs into the limit of steps."""
    state = after(a_state(budget={"max_steps": 2}), paused(), paused())

    step = steps.next_step(state, NOW)
    assert isinstance(step, steps.Halt)
    assert step.stop.reason == "max_steps (2) reached"


def test_people_are_heard_after_a_pause() -> None:
    """Words don't come between a model and the rest of its turn; they come behind it."""
    state = requests.queue_steering(after(a_state(), paused()), HI, NOW)
    assert isinstance(turns.append_steering(state).conversation.items[-1], AssistantTurn)

    done = after(state, a_reply(text="18 degrees"))

    assert done.outcome is None
    assert last(turns.append_steering(done)) == HI


def test_another_model_goes_on_where_one_paused() -> None:
    """A turn that one model began another can't finish, so it is told to go on."""
    state = fallbacks.after_failure(
        after(a_state(), paused()), an_attempt("overloaded"), CallUsage(), NOW
    )

    assert last(state) == UserTurn(text="Go on.", origin="notice")
    assert not state.chain.paused


def test_an_answer_that_does_not_fit_goes_back() -> None:
    """The model reads what was wrong, and answers again."""
    # SV-06 BY-45
    state = after(a_state(), unfit())

    assert replies.build_audit_lines(a_state(), unfit()) == (
        ("answer sent back", "it is no JSON"),
    )
    assert (state.outcome, state.answering.answer) == (None, None)
    assert last(state).text == (
        "This answer doesn't fit its JSON Schema: it is no JSON. "
        "Answer again, with nothing but JSON that fits."
    )
    done = after(state, a_reply(text='{"a": 1}', output={"a": 1}))
    assert turns.build_result(done).output == {"a": 1}
    assert done.answering.answer == '{"a": 1}'


def test_answers_that_never_fit_stop_the_run() -> None:
    """Repair is bounded: too many unfit answers in a row are too many failures."""
    # BY-45
    state = after(a_state(budget={"max_consecutive_failures": 2}), unfit(), unfit())

    assert state.stop is not None
    assert (state.outcome, state.answering.answer) == ("stopped", None)
    assert state.stop.reason == "max_consecutive_failures (2) reached"
    assert state.stop.detail == "the answer doesn't fit its schema: it is no JSON"


def test_answers_that_never_fit_escalate_where_somebody_is_asked() -> None:
    """With somebody to ask the run waits instead of stopping."""
    # T-08
    state = a_state(budget={"max_consecutive_failures": 2}, escalates=True)

    state = after(state, unfit(), unfit())

    assert [request.kind for request in state.oversight.requests] == ["escalation"]


def test_what_ran_at_the_provider_is_audited_and_counted() -> None:
    """A hosted call has no activity of its own, so it gets a line, and counts."""
    # HT-01 AD-23 T-28
    reply = a_reply(text="18 degrees", parts=(SEARCH, Part(kind="text", text="18 degrees")))

    assert replies.build_audit_lines(a_state(), reply) == (
        ("hosted tool", "web_search: weather in Köln"),
    )
    state = after(a_state(), reply)
    assert (state.ledger.hosted_calls, state.ledger.tool_calls, state.calls) == (1, 0, ())
    assert views.usage(state).hosted_calls == 1


def test_each_note_of_an_adapter_is_told_once() -> None:
    """What a server can't do is said when it first shows, not in every turn."""
    # PP-02
    reply = a_reply(a_call(), notes=("no strict schemas", "no usage"))
    state = after(a_state(), reply)

    assert replies.build_audit_lines(a_state(), reply) == (
        ("noted", "no strict schemas"),
        ("noted", "no usage"),
    )
    assert replies.build_audit_lines(state, reply) == ()
    assert views.status(after(state, reply)).notes == ("no strict schemas", "no usage")


def test_thousands_of_hosted_calls_get_few_lines() -> None:
    """Each line is an event of history, and a provider may run what it likes; all are counted."""
    reply = a_reply(text="18 degrees", parts=(SEARCH,) * 3000)

    lines = replies.build_audit_lines(a_state(), reply)

    assert len(lines) == 21
    assert lines[-1] == ("hosted tool", "2980 more calls of that kind")
    assert after(a_state(), reply).ledger.hosted_calls == 3000


def test_long_notes_are_shortened() -> None:
    """A note may quote a stranger; the state keeps it for the rest of the run."""
    state = after(a_state(), a_reply(a_call(), notes=("x" * 10_000,)))

    assert [len(note) for note in state.chain.notes] == [500]
    assert replies.build_audit_lines(state, a_reply(a_call(), notes=("x" * 10_000,))) == ()


def test_notes_are_bounded() -> None:
    """However much an adapter has to say, the state doesn't grow for ever."""
    noisy = a_reply(a_call(), notes=tuple(f"note {number}" for number in range(80)))

    assert len(after(a_state(), noisy).chain.notes) == 50


def test_failed_attempts_are_billed() -> None:
    """What attempts without a reply used counts towards the budget, and is shown apart."""
    # T-24 BY-47
    spent = CallUsage(input_tokens=7)
    state = after(
        a_state(), a_reply(a_call(), usage=CallUsage(input_tokens=10), failed_usage=spent)
    )

    report = views.usage(fallbacks.after_failure(state, an_attempt("overloaded"), spent, NOW))

    assert (report.usage.input_tokens, report.failed_usage.input_tokens) == (24, 14)


def test_the_details_of_usage_add_up_by_provider() -> None:
    """Counters that only one provider has are summed under its name, and need no change here."""
    # PS-14 PS-15 PP-07 T-26
    one = CallUsage(cache_write_tokens=12, native={"anthropic": {"cache_read_input_tokens": 34}})
    two = CallUsage(reasoning_tokens=5, native={"new": {"x_tokens": 3}})
    state = after(
        a_state(), *(a_reply(a_call(n=n), usage=u) for n, u in enumerate((one, two, two)))
    )

    usage = views.usage(state).usage

    assert (usage.cache_write_tokens, usage.reasoning_tokens) == (12, 10)
    assert usage.native == {"anthropic": {"cache_read_input_tokens": 34}, "new": {"x_tokens": 6}}
    assert type(turns.build_result(state).usage) is UsageMetrics


def test_an_adapters_own_keys_are_not_shown() -> None:
    """What begins with an underscore is for the next request, and not in the result."""
    # PS-11 PS-09
    kept = after(
        a_state(), a_reply(a_call(), provider_state={"conversation_id": "c", "_last": "x"})
    )
    only_own = after(a_state(), a_reply(a_call(), provider_state={"_last": "x"}))

    assert turns.build_model_call(kept, MODEL).provider_state["scripted"] == {
        "conversation_id": "c",
        "_last": "x",
    }
    assert turns.build_result(kept).provider_state == {"scripted": {"conversation_id": "c"}}
    assert turns.build_result(only_own).provider_state is None


@pytest.mark.parametrize(
    ("reply", "detail", "advice"),
    [
        pytest.param(
            a_reply(stop="refusal", stop_detail="cyber", text="I can't."),
            "cyber: I can't.",
            "read the detail; rephrase the task, or use another model",
            id="refusal",
        ),
        pytest.param(
            a_reply(stop="max_tokens", stop_detail="in the middle of a call of send", text=""),
            "in the middle of a call of send",
            "raise max_output_tokens in the agent's settings, or ask for less at once",
            id="cut in a call",
        ),
        pytest.param(
            a_reply(stop="other", stop_detail="steered", text=""),
            "steered",
            "read the detail, then start the run again",
            id="something else",
        ),
    ],
)
def test_a_stop_says_what_the_provider_said(reply: ModelReply, detail: str, advice: str) -> None:
    """Each unusual stop ends the run with its cause, its detail, and what to do next."""
    # BY-49 T-48
    stop = after(a_state(models=(MODEL,)), reply).stop

    assert stop is not None
    assert (stop.reason, stop.detail) == (f"model stopped: {reply.stop}", detail)
    assert stop.next_safe_action == advice


def uncached(*, cached: int = 0, size: int = replies.MIN_CACHED_TOKENS) -> ModelReply:
    """A reply whose provider says how much it read from a cache."""
    counted = {"acme": {"cached_tokens": cached}}
    used = CallUsage(input_tokens=size, cached_tokens=cached, native=counted)
    return a_reply(stop="pause", text="I am searching.", usage=used)


def test_a_cache_that_holds_nothing_is_noted_from_the_third_turn_on() -> None:
    """Once, and only of a provider that counts its cache and was sent enough to keep."""
    # BY-25
    second = after(a_state(), uncached(), uncached())
    third = after(second, uncached())
    (note,) = third.chain.notes

    assert second.chain.notes == ()
    assert note.startswith(f"{MODEL} reads nothing from its cache")
    lines = replies.build_audit_lines(second, uncached())
    assert [line.text for line in lines if line.event == "noted"] == list(third.chain.notes)
    assert after(third, uncached()).chain.notes == third.chain.notes
    for fine in (uncached(cached=1), uncached(size=replies.MIN_CACHED_TOKENS - 1), paused()):
        assert after(second, fine).chain.notes == ()


def test_a_model_that_has_just_begun_has_no_cache_yet() -> None:
    """Another model than the one that spoke before reads nothing of its cache."""
    # BY-25
    second = after(a_state(), uncached(), uncached())

    assert after(second, uncached().with_(model="acme:other")).chain.notes == ()


class Mark(str):
    """The mark of a call's id, which counts how often one is held against another."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Mark.looks += 1
        return str.__eq__(self, str(other))

    __hash__ = str.__hash__


def test_however_many_calls_there_were_an_id_is_looked_for_once() -> None:
    """A run that goes on for long doesn't hold its worker up longer with each reply."""
    marks = tuple(Mark(f"{number:08x}") for number in range(2_000))
    calls = tuple(a_call(call_id=f"call_{number}") for number in range(200))

    state = after(a_state().with_(call_marks=marks), a_reply(*calls))

    assert len(state.call_marks) == 2_200
    assert Mark.looks < 2_000


def test_whatever_is_called_after_thousands_of_calls_has_an_id_of_ours() -> None:
    """What is known of ids stays small; no id is another call's, whoever had it before."""
    # SE-04
    first = tuple(a_call(call_id=f"call_{number}", number=number) for number in range(2))
    full = tuple(f"{number:08x}" for number in range(replies.MAX_CALL_MARKS - 1))
    one = after(a_state().with_(call_marks=full), a_reply(*first))
    two = replies.after_model(one.with_(calls=()), a_reply(*first), NOW)
    elsewhere = replies.after_model(one.with_(calls=(), execution="another"), a_reply(*first), NOW)
    ids = [call.call.call_id for state in (one, two, elsewhere) for call in state.calls]

    assert len(two.call_marks) == len(one.call_marks) == replies.MAX_CALL_MARKS
    assert ids[0] == "call_0"
    assert len(set(ids)) == 6
    assert not {"call_0", "call_1"} & set(ids[1:])
