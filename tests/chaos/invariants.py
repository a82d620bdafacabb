"""What holds for every run, whatever was said to it and whatever went away under it."""

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeAlias

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.common import RawValue

from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ResolutionSignal,
)
from holdfast.contracts.state.unheard import UnheardMessage
from holdfast.contracts.transcript import AssistantTurn, ToolTurn
from holdfast.workflows.inbound import messages
from holdfast.workflows.inbound.inbox import InboundMessage
from tests.chaos.playing import Played
from tests.chaos.scripts import MARKS
from tests.histories import Story, names, noted

Complaints: TypeAlias = Generator[str]

APPROVED = {"send", "post", "refund", "shout", "pay_slowly", "fail_outside"}
"""Tools that nothing but an approval lets run; each needs one of its own."""

NEVER = {"delete", "nope", "refund"}
"""Tools that are denied, unknown, or need a proof that nobody here can give."""

EFFECTS = ("send", "post", "write", "place", "spill", "pay_slowly", "fail_outside", "write_slowly")

READS = ("add", "look", "poll", "flaky", "account", "flood", "hang", "find")

MOST_TOKENS = 60
"""What one reply of a script is billed with at most: the reservation for the next."""

MOST_CALLS = 4
"""What one reply of a script asks for at most. The draft of a call counts beside it."""


def one_result_for_each_call(played: Played) -> Complaints:
    """Each turn's calls have one result each, in their order; the last turn's may be open."""
    items = played.items
    for place, item in enumerate(items):
        if not isinstance(item, AssistantTurn) or not item.calls:
            continue
        asked = [call.call_id for call in item.calls]
        following = items[place + 1] if place + 1 < len(items) else None
        if following is None and played.result is None:
            continue
        got = following.results if isinstance(following, ToolTurn) else ()
        if [result.call_id for result in got] != asked:
            yield f"calls {asked} got {[result.call_id for result in got]}"
    turns = [item for item in items if isinstance(item, AssistantTurn)]
    ids = [call.call_id for turn in turns for call in turn.calls]
    yield from (f"two calls are {name}" for name, count in Counter(ids).items() if count > 1)


def budget_is_kept(played: Played) -> Complaints:
    """Nothing exceeds its limit by more than one reservation: a call of a model, or its drafts."""
    usage, budget = played.usage, played.status.budget
    if usage.steps > budget.max_steps:
        yield f"{usage.steps} steps of {budget.max_steps}"
    # A call that was broken off is charged with what it may have used, which ends the run.
    tokens = usage.usage.total_tokens - usage.failed_usage.total_tokens
    if budget.max_tokens is not None and tokens >= budget.max_tokens + MOST_TOKENS:
        yield f"{tokens} tokens of {budget.max_tokens}"
    if budget.max_tool_calls is not None and usage.tool_calls > budget.max_tool_calls + MOST_CALLS:
        yield f"{usage.tool_calls} calls of {budget.max_tool_calls}"


def ends_with_a_reason(played: Played) -> Complaints:
    """A run has an answer, or says why it has none, or waits for somebody, and says for what."""
    result = played.result
    if result is None:
        waits = played.pending or played.status.status in {"suspending", "suspended"}
        if not waits:
            yield f"it rests as {played.status.status}, and nobody knows why"
        yield from (f"{request} has no reason" for request in played.pending if not request.reason)
    elif result.status == "completed":
        if not result.answer:
            yield "it completed without an answer"
    elif result.stop is None or not (result.stop.reason and result.stop.next_safe_action):
        yield f"it {result.status}, and nobody knows why"


def effects_happen_once(played: Played) -> Complaints:
    """What a call changed, it changed once; its token tells it from every other."""
    begun = [
        line for line in played.effects if not line.startswith(("end ", "draft ", "removed "))
    ]
    tokens = Counter(line for line in begun if line != "written")
    yield from (f"{line!r} happened {count} times" for line, count in tokens.items() if count > 1)
    asked = [name for name in _tools_run(played.stories) if name in EFFECTS]
    if len(begun) > len(asked):
        yield f"{len(begun)} effects of {len(asked)} calls"


def nothing_runs_unapproved(played: Played) -> Complaints:
    """Each call that needs an approval runs after one of its own; what is denied never runs."""
    approvals = 0
    for history in played.histories:
        for name, accepted in _approvals_and_tools(history):
            approvals += accepted - (name in APPROVED)
            if approvals < 0:
                yield f"{name} ran before it was approved"
            if name in NEVER:
                yield f"{name} ran"


def nothing_runs_after_the_end(played: Played) -> Complaints:
    """When a run has been stopped or blocked, no tool begins any more."""
    for story in played.stories:
        over = False
        for activity in noted(story):
            if over and activity.name in (*EFFECTS, *READS):
                yield f"{activity.summary} ran after the end"
            ended = activity.summary.startswith(("stopped: ", "blocked: "))
            over |= activity.name == "record" and ended


def guardrails_come_first(played: Played) -> Complaints:
    """
    Nothing runs before the goal was looked at, and no call before it was.

    A bad goal, and bad words, end the run: nothing begins any more.
    """
    if not played.script.agent.startswith("guarded"):
        return
    bad = [line for line in played.effects if MARKS["pre_execution"] in line]
    yield from (f"{line!r} happened, and the call was denied" for line in bad)
    if played.script.goal != "go" and played.effects:
        yield f"{played.effects} happened, and the goal was blocked"
    stop = played.result.stop if played.result else None
    by_person = stop is not None and stop.ended_by == "dana"
    blocked = played.status.status in {"blocked", "suspended"}
    if played.script.goal != "go" and not (blocked or by_person):
        yield f"a bad goal, and the run is {played.status.status}"
    for history in played.histories:
        yield from _unguarded(history)


def answers_passed(played: Played) -> Complaints:
    """No answer of a guarded run says what its guardrails don't let out."""
    answer = played.result.answer if played.result else None
    if played.script.agent.startswith("guarded") and answer and MARKS["output"] in answer:
        yield f"the answer is {answer!r}"


def what_was_undone_was_done(played: Played) -> Complaints:
    """Each thing that is taken away was placed before, and is taken away once."""
    placed: Counter[str] = Counter()
    for line in played.effects:
        word, _, thing = line.partition(" ")
        placed[thing] += (word == "placed") - (word == "removed")
        if placed[thing] < 0:
            yield f"{thing!r} was taken away once more than it was placed"


INVARIANTS: tuple[Callable[[Played], Complaints], ...] = (
    one_result_for_each_call,
    budget_is_kept,
    ends_with_a_reason,
    effects_happen_once,
    nothing_runs_unapproved,
    nothing_runs_after_the_end,
    guardrails_come_first,
    answers_passed,
    what_was_undone_was_done,
)


def complaints(played: Played) -> list[str]:
    """Everything that doesn't hold for this run."""
    return [f"{rule.__name__}: {complaint}" for rule in INVARIANTS for complaint in rule(played)]


def _tools_run(stories: Iterable[Story]) -> list[str]:
    return [name for story in stories for name in names(story)]


def _approvals_and_tools(history: WorkflowHistory) -> Generator[tuple[str, int]]:
    """Yield each activity that was asked for, and how many approvals each judgement accepted."""
    said: list[tuple[str, str]] = []
    for event in history.events:
        said += _decisions(event)
        asked = event.activity_task_scheduled_event_attributes.activity_type.name
        if asked:
            yield asked, 0
        details = event.marker_recorded_event_attributes.details
        if "data" not in details or "result" not in details:
            continue
        if json.loads(details["data"].payloads[0].data)["activity_type"] != "judge":
            continue
        accepted = 0
        for verdict in json.loads(details["result"].payloads[0].data)["verdicts"]:
            judged = next(one for one in said if one[0] == verdict["request_id"])
            said.remove(judged)
            accepted += verdict["accepted"] and judged[1] == "approve"
        yield "judge", accepted


def _decisions(event: HistoryEvent) -> Generator[tuple[str, str]]:
    """Yield which requests the messages of an event are about, and whether they approve."""
    signalled = event.workflow_execution_signaled_event_attributes
    update = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
    name = {"decide": "approval"}.get(update.name, signalled.signal_name)
    given = signalled.input if signalled.signal_name else update.args
    yield from _decision(name, [RawValue(payload) for payload in given.payloads])
    for payload in event.workflow_execution_started_event_attributes.input.payloads:
        for carried in json.loads(payload.data).get("unheard", ()):
            one = InboundMessage.from_unheard(UnheardMessage.model_validate(carried))
            yield from _decision(one.signal, one.payloads)


def _decision(name: str, given: Sequence[RawValue]) -> Generator[tuple[str, str]]:
    match messages.read(name, given):
        case ApprovalSignal(request_id=request_id, decision=decision):
            yield request_id, decision
        case AnswerSignal(request_id=request_id) | ResolutionSignal(request_id=request_id):
            yield request_id, ""
        case _:
            pass


def _unguarded(history: WorkflowHistory) -> Complaints:
    """Name the calls that began without a verdict of their own, or after a bad input was found."""
    looking: dict[int, list[str]] = {}
    looked_at: set[str] = set()
    blocked = False
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            asked = event.activity_task_scheduled_event_attributes
            given = json.loads(asked.input.payloads[0].data)
            if asked.activity_type.name.startswith("guardrail:"):
                looking[event.event_id] = [one.get("call_id", "") for one in given["subjects"]]
            elif "purpose" in given and given["purpose"] != "undo":
                if blocked:
                    yield f"{asked.activity_type.name} began after a tripwire"
                if given["call_id"] not in looked_at:
                    yield f"{asked.activity_type.name} began before anybody looked at it"
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            done = event.activity_task_completed_event_attributes
            verdicts = _verdicts(done.result.payloads[0].data, looking, done.scheduled_event_id)
            for call_id, guardrail, tripped in verdicts:
                blocked |= tripped and guardrail in {"no_bad_input", "no_bad_results"}
                if not tripped:
                    looked_at.add(call_id)


def _verdicts(
    result: bytes, looking: dict[int, list[str]], asked: int
) -> list[tuple[str, str, bool]]:
    """Return call, guardrail and whether it tripped, of each verdict of an activity."""
    if asked not in looking:
        return []
    return [
        (one.get("call_id", ""), one["guardrail"], one["tripwire_triggered"])
        for one in json.loads(result)["verdicts"]
    ]
