"""What failed, was held back, or was said by people: what a collector is told of it."""

import json

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.trace.reader import read_trace
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span, SpanEvent
from tests.builders import a_call, allowed, an_agent, no, unknown
from tests.histories import stored
from tests.holdfast.sent_spans import BEGIN_NANOSECONDS, a_span, named, rendered, text
from tests.holdfast.written import Written, read


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


MARK = "otter4711"
"""What only a model or a stranger says."""


def test_no_name_that_a_model_made_up_goes_to_a_collector() -> None:
    """A call of a tool that nobody has is told as that, ruled upon or not; one of a tool is."""
    written = Written()
    written.opened(an_agent())
    made_up, waiting = a_call(f"{MARK} is ill", call_id="c2"), a_call(f"{MARK}!", call_id="c3")
    written.asked(a_call("find", call_id="c1"), made_up, waiting)
    written.ruled(allowed(a_call("find", call_id="c1")), unknown(made_up))
    tree = span_tree(read(written))
    (line,) = otlp.render_lines(tree)
    (whole,) = otlp.render_lines(tree, content=True)

    assert MARK.encode() not in line
    assert (line.count(b'"execute_tool find"'), line.count(b'"execute_tool unknown tool"')) == (
        1,
        2,
    )
    assert f"execute_tool {MARK} is ill".encode() in whole


def test_no_name_in_a_span_looks_like_a_key() -> None:
    """What a model calls a tool is told in no form where it looks like a credential."""
    written, key = Written(), "sk-ant-api03-" + "Zk9x" * 20
    written.asked(a_call(key))

    assert key not in span_tree(read(written)).model_dump_json()


@pytest.mark.parametrize(
    ("signal", "words"),
    [
        (f"{MARK} is ill", {}),
        ("approval", {"request_id": MARK, "decision": "approve", "approver": "eve"}),
        ("approval", {"request_id": f"1-{MARK}/req-1", "decision": "approve", "approver": "eve"}),
        ("suspend", {MARK: MARK}),
    ],
)
def test_no_words_of_a_stranger_in_what_was_refused_go_to_a_collector(
    signal: str, words: JsonObject
) -> None:
    """Not what a signal is called that no run takes, nor a request that it makes up."""
    written = Written()
    written.said(signal, words)
    written.judged(no(f"no request {MARK}", str(words.get("request_id"))))
    (line,) = otlp.render_lines(span_tree(read(written)))
    (event,) = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["events"]

    assert MARK.encode() not in line
    assert event["name"] == (signal if MARK not in signal else "unknown signal")
