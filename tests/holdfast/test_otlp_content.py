"""What failed, was held back, or was said by people: what a collector is told of it."""

import json

import pytest

from holdfast.trace.reader import read_trace
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span, SpanEvent
from tests.histories import stored
from tests.holdfast.sent_spans import BEGIN_NANOSECONDS, a_span, named, rendered, text


@pytest.mark.parametrize(
    ("span", "error"),
    [
        (a_span("generation", {"model": "a:b", "error": "401 by ann"}), "model_error"),
        (a_span("custom", {"error": "KeyError: ann"}), "error"),
        (a_span("agent", {"failure": "it broke at ann"}), "failed"),
        (a_span("agent", {"stop": {"reason": "max_steps (3) reached"}}), "max_steps (3) reached"),
        (
            a_span(
                "agent", {"status": "blocked", "stop": {"reason": "it names ann", "quotes": True}}
            ),
            "blocked",
        ),
        (a_span("function", {"result": {"status": "denied"}}), "denied"),
        (a_span("function", {"result": {"status": "ok"}}), None),
        (a_span("function", {"stop": {"reason": "x"}}), None),
        (a_span("function", {"result": None}), None),
    ],
)
def test_what_failed_says_so_without_a_word_of_it(span: Span, error: str | None) -> None:
    """A status that collectors count as an error, and its kind."""
    # T-09
    sent = rendered(span)
    status = {"code": 2, "message": error} if error else None

    assert sent.get("status") == status
    assert named(sent["attributes"]).get("error.type") == (text(error) if error else None)
    assert "ann" not in json.dumps(sent)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("guardrails_input", "it says awful"),
        ("guardrails_output", '"bad"'),
        ("judges", "Now!"),
        ("judges", "it is rude"),
    ],
)
def test_no_collector_is_sent_what_guardrails_held_back(name: str, words: str) -> None:
    """Neither words that were blocked, nor the reason of a guardrail, which may quote them."""
    # TR-05 GR-12
    for chain in stored.unpack(stored.history_file(name).read_bytes()):
        tree = span_tree(read_trace(chain))
        (line,) = otlp.render_lines(tree)

        assert words.encode() not in line


def test_times_ids_and_events_are_those_of_the_protocol() -> None:
    """Nanoseconds as strings; what people said in an event is told on request alone."""
    # TR-08 TR-09 TR-10
    later = "2026-11-28T10:00:09.000000Z"
    event = SpanEvent(
        name="approval",
        at=later,
        attributes={"text": "approve", "sender": "ann", "reason": "fine", "refusal": None},
    )
    open_span = a_span("approval", {"kind": "approval"}, event, parent=None, ended_at=None)
    sent = rendered(open_span, group_id="talk-1")
    whole = rendered(open_span, content=True)

    assert sent["traceId"] == "c" * 32
    assert sent["spanId"] == "b" * 16
    assert "parentSpanId" not in sent
    assert rendered(a_span("approval", {}))["parentSpanId"] == "a" * 16
    assert sent["startTimeUnixNano"] == BEGIN_NANOSECONDS
    assert sent["endTimeUnixNano"] == str(int(BEGIN_NANOSECONDS) + 9 * 10**9)  # for now
    found = named(sent["attributes"])
    assert found["holdfast.open"] == {"boolValue": True}
    assert found["gen_ai.conversation.id"] == text("talk-1")
    assert sent["events"] == [
        {
            "timeUnixNano": str(int(BEGIN_NANOSECONDS) + 9 * 10**9),
            "name": "approval",
            "attributes": [{"key": "holdfast.sender", "value": text("ann")}],
        }
    ]
    assert isinstance(whole["events"], list)
    (heard,) = whole["events"]
    assert isinstance(heard, dict)
    assert named(heard["attributes"]) == {
        "holdfast.text": text("approve"),
        "holdfast.sender": text("ann"),
        "holdfast.reason": text("fine"),
    }
