"""The spans of a run as others read them: one tree with its parts, flat, OpenTelemetry's."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from holdfast import histories
from holdfast.adapters.wire import as_object
from holdfast.client.fold import EventFold
from holdfast.contracts.base import JsonObject
from holdfast.contracts.transcript import Part
from holdfast.guardrails import cost_estimation
from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span, SpanTree, flatten, join_parts
from holdfast.trace.transcript import lines
from holdfast.trace.values import Trace
from tests.histories import golden, stored
from tests.holdfast.collector import collecting
from tests.holdfast.commands import holdfast
from tests.running import Runs
from tests.sample import scripted

KEY = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 8


def runs_of(name: str) -> list[Trace]:
    """Return the traces of a stored scenario: of its run first, then of its parts."""
    chains = stored.unpack(stored.history_file(name).read_bytes())
    return [read_trace(chain) for chain in chains if golden.workflow_type(chain) == "AgentRun"]


def tree_of(name: str) -> SpanTree:
    return span_tree(runs_of(name)[0])


def of_type(tree: SpanTree, name: str) -> list[Span]:
    return [span for span in tree.spans if span.type == name]


def guardrails(tree: SpanTree) -> list[Span]:
    return of_type(tree, "guardrail")


def spans_in(line: bytes) -> list[JsonObject]:
    return json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]


def attributes(span: JsonObject) -> dict[str, JsonValue]:
    """Return the attributes of a span in OTLP, each as its one value."""
    found: dict[str, JsonValue] = {}
    listed = span["attributes"]
    assert isinstance(listed, list)
    for one in listed:
        match one:
            case {"key": str(name), "value": dict() as value}:
                (found[name],) = value.values()
            case _:
                pytest.fail(f"no attribute: {one}")
    return found


def each_form(tree: SpanTree) -> list[str]:
    """Return everything that anybody is told of a tree."""
    told = [tree.model_dump_json(), json.dumps(flatten(tree))]
    return told + [line.decode() for line in otlp.render_lines(tree, content=True)]


async def test_the_digests_tell_what_has_changed(runs: Runs) -> None:
    """One more word in the instructions changes one digest; so does one more tool."""
    # TR-02 BY-25
    found: list[JsonObject] = []
    for instructions, tools in (("Work.", 3), ("Work well.", 3), ("Work.", 2)):
        agent = scripted([say("done")], instructions=instructions).agents[0]
        app = scripted([say("done")], instructions=instructions, tools=agent.tools[:tools])
        async with runs.working(app):
            run = await runs.start("it")
            await run.result()
            read = read_trace([await run.handle.fetch_history()])
        found.append(span_tree(read).spans[0].attributes)
    plain, other_words, other_tools = found

    names = ("instructions_hash", "tools_hash", "settings_hash")
    assert [plain[name] == other_words[name] for name in names] == [False, True, True]
    assert [plain[name] == other_tools[name] for name in names] == [True, False, True]


def test_the_digests_of_each_turn_are_those_of_who_had_the_work() -> None:
    """A handoff changes agent and digests of later turns; the run stays the first one's."""
    # TR-02 BY-25
    root, *below = tree_of("delegation").spans
    turns = [span.attributes for span in below if span.type == "generation"]
    first, last = turns[0], turns[-1]
    names = ("instructions_hash", "tools_hash", "settings_hash")

    assert [one["agent_name"] for one in (first, last)] == ["clerk", "cashier"]
    assert first["tools_hash"] != last["tools_hash"]
    assert [root.attributes["agent_name"], root.attributes["model"]] == ["clerk", first["model"]]
    assert [root.attributes[name] for name in names] == [first[name] for name in names]


@pytest.mark.parametrize("name", ["judges", "guardrails_input", "guardrails_output"])
def test_a_guardrail_says_whether_it_triggered(name: str) -> None:
    """Functions and judges have a span with name, triggered and blocking."""
    # TR-05
    found = guardrails(tree_of(name))

    assert found
    for span in found:
        assert span.name == f"run_guardrail {span.attributes['guardrail_name']}"
        said = span.attributes["gen_ai.guardrail.verdict.type"]
        assert span.attributes["triggered"] is (said in {"deny", "escalate"})
        assert isinstance(span.attributes["blocking"], bool)
    assert any(span.attributes["triggered"] for span in found)


def test_a_judge_is_a_guardrail() -> None:
    """Whoever judges has tripped once and passed once; its own run hangs below."""
    # TR-05 TR-09
    first, *others = map(span_tree, runs_of("judges"))
    whole = join_parts(first, {tree.run_id: tree for tree in others})
    judged = guardrails(whole)

    assert [span.attributes["triggered"] for span in judged] == [True, False]
    for span, tree in zip(judged, others, strict=True):
        (below,) = (one for one in whole.spans if one.parent_id == span.span_id)
        assert below.span_id == tree.spans[0].span_id
        assert span.children == (below.span_id,)
    assert {span.span_id for span in whole.spans} == {
        span.span_id for tree in (first, *others) for span in tree.spans
    }


async def test_a_guardrail_that_never_looked_has_a_span(runs: Runs) -> None:
    """Every guardrail that a run has appears, also one that had nothing to look at."""
    # TR-05
    app = scripted([say("done")], guardrails=[cost_estimation(Decimal("0.01"))])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        tree = span_tree(read_trace([await run.handle.fetch_history()]))
    found = guardrails(tree)

    assert [span.attributes["guardrail_name"] for span in found] == ["cost_estimation"]
    assert [span.attributes["triggered"] for span in found] == [False]


async def test_credentials_stand_in_no_form(runs: Runs) -> None:
    """What a model put into an argument, or a person into the goal, is replaced by its kind."""
    # TR-04
    sending = calls(call("find", name=f"key {KEY}"))
    async with runs.working(scripted([sending, say("done")])):
        run = await runs.start("it", input=f"use {KEY}")
        await run.result()
        tree = span_tree(read_trace([await run.handle.fetch_history()]))

    told = each_form(tree)
    assert not any(KEY in one for one in told)
    assert "[redacted" in told[0]


async def test_reasoning_is_told_on_request_alone(runs: Runs) -> None:
    """No form, transcript or event has what a model wrote to reason, unless it is asked for."""
    # BY-26
    thought = Part(kind="reasoning", text="it must be 7", native={"signature": "sealed it"})
    asking = call("look", place="attic")
    parts = (thought, Part(kind="call"))
    async with runs.working(scripted([replace(asking, parts=parts), say("done")])):
        run = await runs.start("it")
        await run.result()
        history = await run.handle.fetch_history()
    read, fold = read_trace([history]), EventFold()
    told = [*map(str, lines(read)), *each_form(span_tree(read))]
    told += [str(one) for event in history.events for one in fold.read(event)]

    assert any("attic" in one for one in told)
    assert not any(words in one for one in told for words in ("must be 7", "sealed it"))
    (asked, _) = of_type(span_tree(read, reasoning=True), "generation")
    assert asked.attributes["reasoning"] == ["it must be 7"]


def test_spans_say_under_what_a_run_worked() -> None:
    """For whom, with which words, tools and files, on which decisions, in how much context."""
    # BY-26
    asked, long, read = tree_of("approvals"), tree_of("compaction"), tree_of("project")
    root, call_, model = asked.spans[0], of_type(asked, "function")[0], of_type(long, "generation")
    (opened,) = [span for span in of_type(read, "activity") if span.name == "open_project"]
    cut = [event for event in long.spans[0].events if event.name == "context pruned"]
    said = [event.attributes["text"] for event in cut]

    assert (root.attributes["tenant"], root.attributes["actor"]) == ("default", "anonymous")
    assert (root.attributes["status"], long.status) == ("completed", "completed")
    decisions = call_.attributes["decisions"]
    assert isinstance(decisions, list)
    assert [as_object(one)["decision"] for one in decisions] == ["approval_required", "allow"]
    assert [one.attributes["tools"] for one in model] == [["flood"]] * len(model)
    assert all(len(str(one.attributes["instructions_hash"])) == 64 for one in model)
    assert all(isinstance(one.attributes["tokens_in"], int) for one in model)
    assert [str(one).endswith("→ 2504 bytes") for one in said] == [True, False]
    files = opened.attributes["files"]
    assert isinstance(files, list)
    assert [(as_object(one)["path"], len(str(as_object(one)["digest"]))) for one in files] == [
        ("AGENTS.md", 64)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", stored.names())
def test_the_flat_form_has_the_fields_on_the_span(name: str) -> None:
    """Each type has the fields that it must; what has no type says operation and metadata."""
    # NR-03
    wanted = {
        "agent_span": {"agent_name", "instructions_hash", "model"},
        "generation_span": {"model", "tokens_in", "tokens_out", "latency_ms"},
        "function_span": {"function_name", "result", "success"},
        "guardrail_span": {"guardrail_name", "triggered", "blocking"},
        "handoff_span": {"from_agent", "to_agent", "context_passed", "return_expected"},
        "custom_span": {"operation_name", "metadata"},
    }
    for trace in runs_of(name):
        tree = flatten(span_tree(trace))
        spans = tree["spans"]
        assert isinstance(spans, list)
        for span in spans:
            assert isinstance(span, dict)
            is_task = span["type"] == "agent_span" and span["parent_id"] is not None
            assert {"span_id", "parent_id", "started_at", "ended_at", "children"} <= {*span}
            assert is_task or wanted[str(span["type"])] <= {*span}


@pytest.mark.slow
@pytest.mark.parametrize("name", stored.names())
def test_otlp_is_what_a_collector_reads(name: str) -> None:
    """Ids are hexadecimal, times are nanoseconds as strings, and each parent exists."""
    for trace in runs_of(name):
        tree = span_tree(trace)
        found = [span for line in otlp.render_lines(tree) for span in spans_in(line)]
        known = {str(span["spanId"]) for span in found}

        assert len(known) == len(found) == len(tree.spans)
        for span, ours in zip(found, tree.spans, strict=True):
            assert len(bytes.fromhex(str(span["traceId"]))) == 16
            assert len(bytes.fromhex(str(span["spanId"]))) == 8
            assert str(span.get("parentSpanId", span["spanId"])) in known
            assert int(str(span["startTimeUnixNano"])) <= int(str(span["endTimeUnixNano"]))
            assert attributes(span)["holdfast.open"] is (ours.ended_at is None)
        assert [span for span in found if "parentSpanId" not in span] == found[:1]
        assert list(otlp.render_lines(tree)) == list(otlp.render_lines(span_tree(trace)))


def test_otlp_has_the_names_of_the_conventions() -> None:
    """A model call, a tool call and the run have what dashboards look for, and no content."""
    (line,) = otlp.render_lines(tree_of("approvals"))
    found = spans_in(line)
    root, *_ = found
    model = next(span for span in found if str(span["name"]).startswith("chat "))
    tool = next(span for span in found if str(span["name"]).startswith("execute_tool "))
    asked = next(span for span in found if str(span["name"]).startswith("await "))

    assert attributes(root)["gen_ai.operation.name"] == "invoke_agent"
    assert attributes(root)["holdfast.run.id"] == "approvals"
    assert attributes(model)["gen_ai.operation.name"] == "chat"
    assert attributes(model)["gen_ai.provider.name"] == "scripted"
    assert attributes(model)["gen_ai.usage.input_tokens"].__class__ is str  # an integer in OTLP
    assert (model["kind"], tool["kind"]) == (3, 1)
    assert attributes(tool)["gen_ai.operation.name"] == "execute_tool"
    assert "holdfast.permission.decision" in attributes(tool)
    assert "holdfast.approval.outcome" in attributes(asked)
    assert b"gen_ai.tool.call.arguments" not in line
    assert b"gen_ai.output.messages" not in line
    (whole,) = otlp.render_lines(tree_of("approvals"), content=True)
    assert b"gen_ai.tool.call.arguments" in whole


def test_a_long_run_is_sent_in_messages_that_a_collector_takes() -> None:
    """Of many spans each message holds so many, and all together all of them."""
    tree = tree_of("approvals")
    many = tree.with_spans(tree.spans[:1] + tree.spans[1:2] * 1_200)

    assert [len(spans_in(line)) for line in otlp.render_lines(many)] == [500, 500, 201]


async def test_a_run_is_sent_while_it_waits(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collector has a waiting run at once, and the same spans when it is over."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x,x-team=ops")
    sending = calls(call("send", log="/dev/null", text="hello"))
    with collecting() as collector:
        async with runs.working(scripted([sending, say("done")])):
            run = await runs.start("it")
            approval = await run.asked_for_approval()
            path = tmp_path / "waiting.json"
            await export(path, await run.handle.fetch_history())
            sent = await holdfast("trace", str(path), "--send", collector.url)
            await run.approve(approval.request_id, "alice")
            await run.result()
            await export(path, await run.handle.fetch_history())
            again = await holdfast("trace", str(path), "--send", f"{collector.url}/v1/traces")

    assert (sent.code, again.code) == (0, 0), (sent, again)
    first, last = (spans_in(json.dumps(message).encode()) for message in collector.messages)
    assert collector.paths == ["/v1/traces", "/v1/traces"]
    assert collector.headers[0]["authorization"] == "Bearer x"
    assert collector.headers[0]["x-team"] == "ops"
    assert {str(span["spanId"]) for span in first} <= {str(span["spanId"]) for span in last}
    assert [attributes(spans[0])["holdfast.open"] for spans in (first, last)] == [True, False]


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (401, "", "answers with 401"),
        (200, '{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "old"}}', "refused 2"),
        (
            200,
            '{"partialSuccess": {"rejectedSpans": "two"}}',
            "refused two spans: no reason given",
        ),
        (200, '{"partialSuccess": {"rejectedSpans": [1], "errorMessage": {}}}', "refused [1]"),
        (200, "{" * 1_000_000, "says more than any does"),
    ],
)
@pytest.mark.slow
async def test_what_a_collector_refuses_is_one_line(
    tmp_path: Path, status: int, answer: str, said: str
) -> None:
    """It says what the collector said, and ends with exit code 1."""
    path = tmp_path / "run.json"
    await export(path, *stored.unpack(stored.history_file("approvals").read_bytes())[0])
    with collecting() as collector:
        collector.status, collector.answer = status, answer
        refused = await holdfast("trace", str(path), "--send", collector.url)
        url = collector.url
    gone = await holdfast("trace", str(path), "--send", url)

    assert (refused.code, gone.code) == (1, 1)
    assert said in refused.err
    assert "can't be reached" in gone.err
    assert (refused.err.count("\n"), gone.err.count("\n")) == (1, 1)


@pytest.mark.parametrize("answer", ['{"partialSuccess": {"rejectedSpans": "0"}}', "[" * 100_000])
@pytest.mark.slow
async def test_a_collector_that_refuses_nothing_may_say_what_it_likes(
    tmp_path: Path, answer: str
) -> None:
    """What can't be read is no refusal."""
    path = tmp_path / "run.json"
    await export(path, *stored.unpack(stored.history_file("approvals").read_bytes())[0])
    with collecting() as collector:
        collector.answer = answer
        sent = await holdfast("trace", str(path), "--send", collector.url)

    assert sent.code == 0


@pytest.mark.slow
async def test_bad_headers_are_refused_without_a_word_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header may be a key: the error doesn't quote it."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "tops3cret")
    path = tmp_path / "run.json"
    await export(path, *stored.unpack(stored.history_file("approvals").read_bytes())[0])
    refused = await holdfast("trace", str(path), "--send", "http://127.0.0.1:9")

    assert refused.code == 1
    assert "OTEL_EXPORTER_OTLP_HEADERS can't be read" in refused.err
    assert "tops3cret" not in refused.err


async def export(path: Path, *chain: WorkflowHistory) -> None:
    path.write_text(histories.render_export(chain))
