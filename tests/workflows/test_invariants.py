"""What holds in every run, whatever models, tools and people do: random walks through steps."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.contracts.approvals import (
    JudgeInput,
    Request,
)
from holdfast.contracts.calls import AnyCall, MalformedCall, ToolResult
from holdfast.contracts.decisions import Decided, MayRun, Ruling, RunAsDraftOnly, RunInSandbox
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ResolutionSignal,
)
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptDigest, UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.policy.approvals import judge
from holdfast.policy.trust import Trust
from holdfast.run import context, fallbacks, replies, requests, steps, turns, verdicts
from holdfast.run.transcript import build_continue_as_new_input, halt, prune
from tests.builders import (
    EXECUTION,
    NOW,
    a_call,
    a_failure,
    a_malformed_call,
    a_reply,
    a_resolution,
    a_state,
    a_success,
    allowed,
    an_answer,
    an_approval,
    an_attempt,
    decided,
    denied,
    ruled_upon,
    to_answer,
    to_approve,
    unknown,
)

Message = ApprovalSignal | AnswerSignal | ResolutionSignal

ROOM, LONG = 10_000, 200
"""Bytes of what a model is shown at most, and the turns of a long run."""

STEPS = 40
"""How far a walk goes, in steps of the run."""

TOOLS = ["look", "poll", "send", "write", "nope"]


def to_draft(call: AnyCall) -> Decided:
    return decided(call, RunAsDraftOnly(rule="r", reason="", draft="look", then="approval"))


def to_sandbox(call: AnyCall) -> Decided:
    return decided(call, RunInSandbox(rule="r", reason=""))


RULINGS = st.sampled_from(
    [
        *(allowed, allowed, denied, to_approve, to_answer, to_draft, to_sandbox),
        partial(to_approve, strength="strong"),
        partial(to_approve, count=2),
        partial(to_approve, escalate_after=100.0, escalate_to=("others",)),
    ]
)


FITTING: Mapping[str, tuple[str, ...]] = {
    "approval": ("approve", "approve", "reject"),
    "question": ("answer",),
    "escalation": ("resume", "abort"),
}
RARELY = st.sampled_from([False] * 9 + [True])
OFTEN = st.sampled_from([True] * 3 + [False])


def spoken(what: str, request_id: str) -> Message:
    match what:
        case "approve" | "reject" as decision:
            return an_approval(request_id, decision=decision)
        case "token":
            return an_approval(request_id, token="x.y.z")
        case "answer":
            return an_answer(request_id)
        case action:
            return a_resolution(action, request_id, guidance="try something else")


@st.composite
def messages(draw: st.DrawFn, waiting: tuple[Request, ...]) -> Message:
    """What a person says: often what a request waits for, else anything about anything."""
    if waiting and draw(OFTEN):
        request = draw(st.sampled_from(waiting))
        return spoken(draw(st.sampled_from(FITTING[request.kind])), request.request_id)
    what = draw(st.sampled_from(["approve", "reject", "token", "answer", "resume", "abort"]))
    return spoken(what, f"req-{draw(st.integers(1, 8))}")


class Walk:
    """One run and its clock, driven step by step by whatever is drawn."""

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw
        self.state = a_state(
            budget={
                "max_steps": self._draw(st.integers(1, 8)),
                "loop_repeat_threshold": self._draw(st.integers(1, 4)),
                "max_consecutive_failures": self._draw(st.integers(1, 8)),
            },
            escalates=self._draw(st.booleans()),
            max_context_bytes=self._draw(st.sampled_from([1000, 5000, 500_000])),
        )
        self.now = NOW
        self.budget = self.state.agent.budget.max_steps
        self.ran: list[CallState] = []
        self.seen = [self.state]

    def go(self) -> None:
        """Take steps until the run is over or the walk is long enough."""
        for _ in range(STEPS):
            self.now += timedelta(seconds=self._draw(st.sampled_from([0, 1, 300])))
            self._listen()
            if not self._step():
                break
            self.seen.append(self.state)

    def _listen(self) -> None:
        """Let people say something, or not, as they like and whether it fits or not."""
        while self._draw(st.booleans()):
            if self._draw(RARELY):
                self.state = turns.set_suspension(self.state, on=self._draw(st.booleans()))
            elif self._draw(RARELY):
                self.state = requests.queue_steering(
                    self.state, UserTurn(text="hey", origin="steer"), NOW
                )
            else:
                self._hear(self._draw(messages(self.state.oversight.requests)))
            self.seen.append(self.state)

    def _hear(self, message: Message) -> None:
        (verdict,) = judge(
            JudgeInput(
                execution=EXECUTION,
                run_id=self.state.run_id,
                agent=self.state.agent.name,
                requester=self.state.brief.actor,
                messages=(message,),
                requests=self.state.oversight.requests,
                closed=self.state.oversight.closed,
                now=self.now,
            ),
            Trust(),
        )
        state, _ = verdicts.after_verdict(self.state, message, verdict, self.now)
        self.state = turns.close_turn_if_complete(state, self.now)

    def _step(self) -> bool:
        state = self.state
        match steps.next_step(state, self.now, history_is_long=self._draw(RARELY)):
            case steps.CallModel():
                self.state = self._asked(turns.append_steering(state))
            case steps.Authorize(calls):
                rulings = tuple(self._ruling(call) for call in calls)
                ruled = ruled_upon(state, rulings, self.now)
                self.state = turns.close_turn_if_complete(ruled, self.now)
            case steps.AwaitPeople(until):
                self.state = self._waited(until)
            case steps.AwaitResume():
                self.state = turns.set_suspension(state, on=False)
            case steps.RunTools(batch):
                self.ran += batch
                results = tuple(self._result(call.call) for call in batch)
                self.state = turns.after_tools(state, results, self.now)
            case steps.Prune(before):
                self.state = prune(state, before)
            case steps.ContinueAsNew():
                self.state = RunState.model_validate_json(
                    build_continue_as_new_input(state).model_dump_json()
                )
            case steps.Halt(stop):
                self.state = halt(state, stop, self.now)
            case steps.Finish():
                return False
            case other:
                raise AssertionError(f"this agent has no control that would {other}")
        return True

    def _waited(self, until: datetime) -> RunState:
        if self._draw(OFTEN):
            return self.state
        self.now = max(until, self.now)
        return turns.close_turn_if_complete(verdicts.after_timeout(self.state, self.now), self.now)

    def _asked(self, state: RunState) -> RunState:
        if self._draw(RARELY):
            return fallbacks.after_failure(state, an_attempt("overloaded"), CallUsage(), NOW)
        turn = state.ledger.steps + 1
        fewest = 0 if self._draw(RARELY) else 1
        names = self._draw(st.lists(st.sampled_from(TOOLS), min_size=fewest, max_size=3))
        calls = tuple(
            a_malformed_call(name, call_id=f"c{turn}_{place}")
            if self._draw(RARELY)
            else a_call(name, call_id=f"c{turn}_{place}", n=self._draw(st.integers(0, 2)))
            for place, name in enumerate(names)
        )
        return replies.after_model(state, a_reply(*calls), NOW)

    def _ruling(self, asked: CallState) -> Ruling:
        call = asked.call
        if isinstance(call, MalformedCall) or call.name == "nope":
            return unknown(call)
        rule = self._draw(RULINGS)
        # The engine asks for one draft of a call.
        return to_approve(call) if rule is to_draft and asked.draft is not None else rule(call)

    def _result(self, call: AnyCall) -> ToolResult:
        size = self._draw(st.sampled_from([1, 400, 2000]))
        return a_success(call, "x" * size) if self._draw(OFTEN) else a_failure(call)


def complete(state: RunState) -> bool:
    """Whether each turn's calls have one result each, in order; the last turn's may be open."""
    items = state.conversation.items
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else None
        if isinstance(item, ToolTurn) and (
            place == 0 or not isinstance(items[place - 1], AssistantTurn)
        ):
            return False
        if not isinstance(item, AssistantTurn) or not item.calls:
            continue
        asked = [call.call_id for call in item.calls]
        if following is None:
            return [call.call.call_id for call in state.calls] == asked
        if not isinstance(following, ToolTurn):
            return False
        if [result.call_id for result in following.results] != asked:
            return False
    return not state.calls


def digest_follows(state: RunState) -> bool:
    return state.conversation.head == TranscriptDigest(digest=state.conversation.origin).extend(
        state.conversation.items
    )


def asks_about_open_calls(state: RunState) -> bool:
    """Whether each request is about a call that has no result yet."""
    open_ = {call.call.call_id for call in state.calls if call.result is None}
    return all(
        request.kind == "escalation" or request.call_id in open_
        for request in state.oversight.requests
    )


def over_is_over(state: RunState) -> bool:
    """Whether a run with an outcome has no open calls and requests, and finishes."""
    if state.outcome is None:
        return True
    end = steps.next_step(state, NOW, history_is_long=True)
    return end == steps.Finish() and not state.calls and not state.oversight.requests


def held_is_held(state: RunState) -> bool:
    """Whether a suspended run does nothing."""
    next_ = steps.next_step(state, NOW)
    return not state.suspended or isinstance(next_, steps.AwaitResume | steps.Finish)


HOLDS = (complete, digest_follows, asks_about_open_calls, over_is_over, held_is_held)
"""After every step: one result for each call, one digest for each transcript, and an end."""


@settings(max_examples=120)
@given(st.data())
def test_what_holds_in_every_run(data: st.DataObject) -> None:
    """All of HOLDS, no turn beyond the budget, no call that wasn't allowed, and none twice."""
    # T-21 LP-02 LP-09 HG-13 HG-01 T-49 PF-01 PF-17
    walk = Walk(data)

    walk.go()

    assert [rule.__name__ for rule in HOLDS if not all(map(rule, walk.seen))] == []
    _require_budget(walk)
    _require_permission(walk)


def _require_budget(walk: Walk) -> None:
    """No failure, no message and no new execution gives a run more turns than it may have."""
    counted = [state.ledger.steps for state in walk.seen]
    assert max(counted) <= walk.budget
    assert counted == sorted(counted)


def _require_permission(walk: Walk) -> None:
    """What runs was allowed by its latest decision; no call, and no draft of it, runs twice."""
    ran = [(call.call.call_id, call.drafting is not None) for call in walk.ran]
    rulings = [call.ruling for call in walk.ran]
    assert len(ran) == len(set(ran))
    assert all(
        isinstance(ruling, Decided) and isinstance(ruling.decision, MayRun) for ruling in rulings
    )


def test_a_long_run_is_shown_to_its_model_as_a_short_one() -> None:
    """After each of 200 turns what a model is shown keeps its bound, and so does what is kept."""
    # PI-05
    state = a_state(max_context_bytes=ROOM, budget={"max_steps": LONG})
    shown: list[int] = []
    for turn in range(1, LONG):
        call = a_call("look", call_id=f"c{turn}", n=turn)
        state = replies.after_model(state, a_reply(call), NOW)
        state = ruled_upon(state, (allowed(call),), NOW)
        state = turns.after_tools(state, (a_success(call, "x" * 400),), NOW)
        match steps.next_step(state, NOW):
            case steps.Prune(before):
                state = prune(state, before)
            case step:
                assert isinstance(step, steps.CallModel)
        said = state.conversation
        shown.append(context.total_size(context.apply_view(said.items, said.view, ROOM)))

    assert max(shown) <= ROOM
    assert context.total_size(state.conversation.items) > 10 * ROOM
    carried = build_continue_as_new_input(state).conversation.items
    assert context.total_size(carried) <= ROOM
