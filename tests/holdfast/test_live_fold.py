"""What passes in a run is told once, and is void where what it belongs to has ended."""

import json
from collections.abc import Iterable

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import ActivityType, Payload, Payloads
from temporalio.api.enums.v1 import EventType as HistoryEventType
from temporalio.api.history.v1 import (
    ActivityTaskCancelRequestedEventAttributes,
    ActivityTaskCompletedEventAttributes,
    ActivityTaskFailedEventAttributes,
    ActivityTaskScheduledEventAttributes,
    ActivityTaskTimedOutEventAttributes,
    HistoryEvent,
)

from holdfast.client.cursor import Cursor
from holdfast.client.event_data import TextDelta, TextReset
from holdfast.client.live_fold import Beat, LiveFold, LivePosition, LiveTold, Look
from holdfast.contracts.usage import Attempts, LiveText


def asked(activity: str = "5", event: int = 7, **given: JsonValue) -> HistoryEvent:
    """A model is asked, or a tool for a call."""
    data = json.dumps({"turn": 1, "stream": True, **given})
    scheduled = ActivityTaskScheduledEventAttributes(
        activity_id=activity,
        activity_type=ActivityType(name="call_model"),
        input=Payloads(payloads=[Payload(data=data.encode())]),
    )
    return HistoryEvent(
        event_id=event,
        event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        activity_task_scheduled_event_attributes=scheduled,
    )


REPLIED = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    activity_task_completed_event_attributes=ActivityTaskCompletedEventAttributes(
        scheduled_event_id=7
    ),
)
CALLED_OFF = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
    activity_task_cancel_requested_event_attributes=ActivityTaskCancelRequestedEventAttributes(
        scheduled_event_id=7
    ),
)
TERMINATED = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
)
FAILED = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
    activity_task_failed_event_attributes=ActivityTaskFailedEventAttributes(scheduled_event_id=7),
)

TIMED_OUT = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
    activity_task_timed_out_event_attributes=ActivityTaskTimedOutEventAttributes(
        scheduled_event_id=7
    ),
)
STARTED = HistoryEvent(event_type=HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)


def look(said: str, *, attempt: int = 1, now: int = 0, offset: int = 0, seq: int = 1) -> Look:
    """What the server says of an activity that said this, and of which a later attempt may be."""
    live = LiveText(turn=1, attempt=attempt, seq=seq, offset=offset, text=said)
    return Look("e", (Beat("5", now or attempt, Attempts(live=live)),))


def told(events: Iterable[LiveTold]) -> list[str]:
    """What was told, in short."""
    found: list[str] = []
    for _, data in events:
        match data:
            case TextDelta():
                found.append(f"{data.attempt}.{data.seq}@{data.offset} {data.text}")
            case TextReset():
                found.append(f"{data.attempt} {data.reason}")
            case other:
                found.append(str(other.progress))
    return found


def listening(position: LivePosition | None = None) -> LiveFold:
    fold = LiveFold(position)
    assert not list(fold.read("e", asked()))
    return fold


def test_each_look_brings_what_is_new() -> None:
    """However much of it a heartbeat repeats."""
    fold = listening()
    looks = (look("In "), look("In "), look("In Köln."), look("Köln. Yes.", offset=3))

    assert [told(fold.look(one)) for one in looks] == [
        ["1.0@0 In "],
        [],
        ["1.1@3 Köln."],
        ["1.2@8  Yes."],
    ]


def test_an_older_heartbeat_behind_a_newer_one_brings_nothing() -> None:
    """They come from two sides of the worker, and the server keeps the one that came last."""
    fold = listening()

    assert told(fold.look(look("In Köln."))) == ["1.0@0 In Köln."]
    assert told(fold.look(look("In "))) == []


def test_a_failed_attempt_takes_its_words_along() -> None:
    """As soon as the server counts the next one, whether that has said anything or not."""
    # T-32
    fold = listening()

    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert told(fold.look(look("In ", now=2))) == ["1 failed"]
    assert told(fold.look(look("In ", now=2))) == []
    assert told(fold.look(look("At last", attempt=2))) == ["2.0@0 At last"]


def test_who_looks_too_seldom_is_told_so() -> None:
    """The text goes on where the heartbeat has it."""
    fold = listening()

    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert told(fold.look(look("of Köln", offset=90))) == ["1 missed", "1.0@90 of Köln"]
    assert told(listening().look(look("of Köln", offset=90))) == ["1.0@90 of Köln"]


def test_what_ends_without_a_reply_is_void() -> None:
    """A reply says all that was said; whatever else ends it, nothing of it counts."""
    fold, other, silent = listening(), listening(), listening()
    for one in (fold, other):
        assert told(one.look(look("In "))) == ["1.0@0 In "]

    assert told(fold.read("e", REPLIED)) == []
    assert told(other.read("e", FAILED)) == ["1 failed"]
    assert told(silent.read("e", FAILED)) == []
    assert told(fold.look(look("In Köln."))) == []


def test_no_end_takes_back_words_that_were_not_told() -> None:
    """A worker is lost, and what it said with it; the next attempt has said nothing yet."""
    # T-32
    fold = listening()

    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert told(fold.look(look("In ", now=2))) == ["1 failed"]
    assert told(fold.read("e", TIMED_OUT)) == []
    assert not fold.listens
    lost = listening()
    assert told(lost.look(look("In "))) == ["1.0@0 In "]
    assert told(lost.read("e", TIMED_OUT)) == ["1 timed_out"]


def test_executions_of_a_run_number_their_events_alike() -> None:
    """What an activity of one of them says is none of the words of another."""
    # T-32
    fold, behind = listening(), listening(LivePosition("d", 7, 1, 1, 3))

    assert told(fold.look(look("In ")._replace(execution="f"))) == []
    assert told(behind.look(look("In Köln."))) == ["1.0@0 In Köln."]
    assert told(fold.read("f", STARTED)) == []
    assert not fold.listens


@pytest.mark.parametrize("end", [CALLED_OFF, TERMINATED], ids=["called off", "terminated"])
def test_what_nobody_waits_for_any_more_is_void(end: HistoryEvent) -> None:
    """At once, though the activity goes on: of a tool that is called off more may come."""
    # BY-44 T-32
    fold = listening()
    tool = LiveFold()
    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert not list(tool.read("e", asked(stream=False, call_id="call_1_1")))

    assert told(fold.read("e", end)) == ["1 canceled"]
    assert told(fold.look(look("In Köln."))) == []
    assert told(tool.read("e", end)) == []
    assert tool.listens


def test_nothing_is_told_before_what_it_belongs_to() -> None:
    """The history may be read more slowly than the server is asked."""
    fold = LiveFold()

    assert told(fold.look(look("In "))) == []
    assert not fold.listens


def test_a_report_is_told_once_and_again_where_it_changed() -> None:
    """Each look brings the last one again; a tool that takes it back has nothing to tell."""
    fold = LiveFold()
    assert not list(fold.read("e", asked(stream=False, call_id="call_1_1")))
    one, none = (
        Look("e", (Beat("5", 1, Attempts(progress=progress)),)) for progress in ("a", None)
    )

    looks = [told(fold.look(each)) for each in (none, one, one, none, one)]

    assert looks == [[], ["a"], [], [], ["a"]]


def test_a_cursor_knows_how_far_a_reply_was_told() -> None:
    """Who comes back hears no word twice, also behind an event that lasts."""
    fold = listening()
    list(fold.look(look("In ")))
    cursor = Cursor.parse("abc.e.7.0", "it")
    cursor.move_live("abc", fold.position)

    back = Cursor.parse(str(cursor), "it")

    assert str(cursor) == "abc.e.7.0~abc.e.7.1.1.3"
    assert told(listening(back.find_live("abc")).look(look("In Köln."))) == ["1.1@3 Köln."]
    again = listening(back.find_live("abc"))
    assert told(again.look(look("In ", now=2))) == ["1 failed"]
