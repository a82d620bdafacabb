"""What each model was asked stands in history once: the rest of it is named, and can be proven."""

import json
from typing import cast

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.worker import Interceptor, Replayer, WorkflowInterceptorClassInput

from holdfast.activities.transcripts import HOLD_TRANSCRIPT, HoldTranscript
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.model import ModelCall, ModelReply
from holdfast.contracts.transcript import (
    REFERENCE_DIGITS,
    AssistantTurn,
    NewItem,
    ReplyReference,
    ResultReference,
    ToolTurn,
    ToolTurnReference,
    TranscriptDigest,
    TranscriptItem,
)
from holdfast.runner import RUNNER
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.agent_session import AgentSession
from holdfast.workflows.payloads import data_converter
from holdfast.workflows.switches import HoldfastSwitches
from tests.histories import stored

each_story = pytest.mark.parametrize("name", stored.names())


class Auditor:
    """Rebuilds from one execution's history alone what its models were shown."""

    def __init__(self) -> None:
        self.items: tuple[TranscriptItem, ...] = ()
        self.named = 0
        self._contents: dict[str, JsonObject] = {}

    def take(self, name: str, answer: Payloads) -> None:
        """Take what an activity returned, under the digest that a later call may name it by."""
        value: JsonValue = (
            json.loads(answer.payloads[0].data or b"null") if answer.payloads else None
        )
        if not isinstance(value, dict):
            return
        if name == "call_model":
            reply = ModelReply.model_validate(value)
            turn = AssistantTurn(
                model=reply.model, text=reply.text, calls=reply.calls, parts=reply.parts
            )
            content = turn.model_dump(mode="json")
        else:
            content = {key: value for key, value in value.items() if key != "spans"}
        self._contents[digest(content)[:REFERENCE_DIGITS]] = content

    def ask(self, call: ModelCall) -> None:
        """Rebuild what a call means; its rolling digest says whether it is that."""
        items = tuple(map(self._resolve, call.items))
        self.items = (*self.items[: call.head.length - len(items)], *items)
        assert TranscriptDigest(digest=call.origin).extend(self.items) == call.head

    def _resolve(self, item: NewItem) -> TranscriptItem:
        match item:
            case ReplyReference():
                self.named += 1
                return AssistantTurn.model_validate(self._contents[item.digest])
            case ToolTurnReference():
                whole = [
                    self._contents[one.digest] if isinstance(one, ResultReference) else one
                    for one in item.results
                ]
                self.named += len(whole)
                return ToolTurn.model_validate({"results": whole, "filled": item.filled})
            case _:
                return item


def audited(history: WorkflowHistory) -> Auditor:
    """Read the history of one execution as an auditor would who has nothing else."""
    auditor, names = Auditor(), dict[int, str]()
    for event in history.events:
        match event.event_type:
            case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                asked = event.activity_task_scheduled_event_attributes
                names[event.event_id] = asked.activity_type.name
                if asked.activity_type.name == "call_model":
                    auditor.ask(ModelCall.model_validate_json(asked.input.payloads[0].data))
            case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                done = event.activity_task_completed_event_attributes
                auditor.take(names[done.scheduled_event_id], done.result)
            case EventType.EVENT_TYPE_MARKER_RECORDED:
                marker = event.marker_recorded_event_attributes
                auditor.take("", marker.details.get("result", Payloads()))
            case _:
                pass
    return auditor


@pytest.mark.slow
@each_story
def test_history_alone_proves_what_a_model_was_shown(name: str) -> None:
    """What a call names stands before it in the same execution, and the digest of all agrees."""
    for chain in stored.unpack(stored.history_file(name).read_bytes()):
        for history in chain:
            audited(history)


def test_contents_stand_in_history_once() -> None:
    """A reply and the results of its calls are named, a denial and a person's words are said."""
    [chain] = stored.unpack(stored.history_file("steering").read_bytes())

    assert audited(chain[0]).named > 0


def a_replayer(*interceptors: Interceptor) -> Replayer:
    """Replays as a worker does that keeps no transcripts."""
    return Replayer(
        interceptors=interceptors,
        workflows=[AgentRun, AgentSession, HoldfastSwitches],
        workflow_runner=RUNNER,
        data_converter=data_converter,
    )


class Holder(Interceptor):
    """Keeps what workflows leave for activities."""

    def __init__(self) -> None:
        self.left: list[str] = []

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> None:
        theirs = cast("dict[str, HoldTranscript]", input.unsafe_extern_functions)  # pyright: ignore[reportUnknownMemberType] -- of any functions
        theirs[HOLD_TRANSCRIPT] = self._hold

    def _hold(self, run_id: str, *_: object) -> None:
        self.left.append(run_id)


async def test_a_replay_takes_no_transcript_away() -> None:
    """Whoever asks an execution that is over has it replayed, while the next one asks a model."""
    holder = Holder()
    for history in stored.unpack(stored.history_file("continue_as_new").read_bytes())[0]:
        await a_replayer(holder).replay_workflow(history)

    assert holder.left == []


@pytest.mark.slow
@each_story
async def test_a_worker_that_keeps_nothing_goes_on_with_what_others_named(name: str) -> None:
    """Whether contents stand once or twice decides no command: either replays the other."""
    for chain in stored.unpack(stored.history_file(name).read_bytes()):
        for history in chain:
            await a_replayer().replay_workflow(history)
