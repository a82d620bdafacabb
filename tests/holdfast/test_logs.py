"""What a worker logs: who it is for, what can be set, and that replays repeat nothing."""

import io
import json
import logging
import sys
from collections import Counter
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import TypedDict

import pytest
import structlog
from structlog.testing import capture_logs
from temporalio.worker import Worker, WorkflowInstance, WorkflowInstanceDetails

from holdfast import Agent, App, Budget, Risk, logs, tool, worker
from holdfast.adapters.scripted import Reply
from holdfast.contracts.errors import HoldfastError
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    tripped,
)
from holdfast.runner import OrderedRunner
from holdfast.testing import ScriptTurn, call, say
from holdfast.trace.payloads import read_summary
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from tests.running import Runs
from tests.workflows.tiered import staffed


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_before() -> Generator[None]:
    root, runs = logging.getLogger(), logging.getLogger("temporalio.workflow")
    handlers, level, of_runs = root.handlers[:], root.level, runs.level
    yield
    structlog.reset_defaults()
    for added in set(root.handlers) - set(handlers):
        added.close()
    root.handlers[:], root.level = handlers, level
    runs.setLevel(of_runs)


def logged(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, quiet: bool = False) -> str:
    """What two lines come to, of which one is a warning."""
    monkeypatch.setattr(sys, "stderr", stream)
    logs.configure(lambda line: line.replace("hunter2", "[redacted]"), quiet=quiet)
    log = structlog.get_logger()
    log.info("tool.began", call_id="call_1_1", password="hunter2")
    log.warning("activity.raised", run_id="run-1", stack="Traceback\n  File shop.py\nKeyError: 7")
    logging.getLogger("lib").warning("of a library")
    return stream.getvalue()


def test_programs_read_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no terminal gets one JSON object a line, those of libraries too."""
    first, second, third = map(json.loads, logged(monkeypatch, io.StringIO()).splitlines())

    assert (first["event"], first["level"], first["password"]) == (
        "tool.began",
        "info",
        "[redacted]",
    )
    assert second["stack"].splitlines()[-1] == "KeyError: 7"
    assert (third["event"], third["logger"]) == ("of a library", "lib")


def test_people_read_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a line begins with the time, and a stack stands below it."""
    shown = logged(monkeypatch, _Terminal())

    assert " tool.began call_id=call_1_1 password=[redacted]\n" in shown
    assert "activity.raised run_id=run-1\n    Traceback\n      File shop.py\n    KeyError" in shown


def test_a_terminal_can_be_kept_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others write to the terminal, too, nothing but warnings stands between their lines."""
    shown = logged(monkeypatch, _Terminal(), quiet=True)

    assert "tool.began" not in shown
    assert "activity.raised" in shown


def test_both_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """HOLDFAST_LOG chooses level and format, HOLDFAST_LOG_FILE the place."""
    monkeypatch.setenv("HOLDFAST_LOG", "error, people")
    assert logged(monkeypatch, io.StringIO()) == ""
    monkeypatch.setenv("HOLDFAST_LOG", "info")
    monkeypatch.setenv("HOLDFAST_LOG_FILE", str(tmp_path / "logs" / "worker.log"))

    assert logged(monkeypatch, _Terminal(), quiet=True) == ""
    assert len((tmp_path / "logs" / "worker.log").read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize(("stacks", "lines"), [(True, 2), (False, 1)])
def test_what_libraries_say_of_their_requests_is_left_out_where_a_codec_hides_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, stacks: bool, lines: int
) -> None:
    """Variables of their own have them log requests whole; what they warn of is told."""
    file, library = tmp_path / "worker.log", logging.getLogger("lib.of_a_provider")
    monkeypatch.setenv("HOLDFAST_LOG_FILE", str(file))
    logs.configure(stacks=stacks)
    library.setLevel(logging.DEBUG)
    library.debug("Request options: %s", {"content": "words"})
    library.warning("it failed")

    assert len(file.read_text(encoding="utf-8").splitlines()) == lines


@pytest.mark.parametrize("said", ["loud", "info,warning", "json,people"])
def test_what_cant_be_set_is_explained(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """A setting that is none is refused in a line that names those that are."""
    monkeypatch.setenv("HOLDFAST_LOG", said)

    with pytest.raises(HoldfastError, match=r"use a level .*, a format .*, or both"):
        logs.configure()


@tool(risk=Risk.READ_ONLY)
def crash(place: str) -> str:
    """Fail in a process of its own."""
    raise KeyError(place)


@tool(risk=Risk.WRITE_INTERNAL)
async def post(text: str) -> str:
    """Post something where colleagues read it."""
    return text


def app(*script: object) -> App:
    agent = Agent(name="it", instructions="x", models=["scripted:it"], tools=[crash, post])
    return App(agents=[agent], scripts={"it": list(script)})  # pyright: ignore[reportArgumentType] -- replies


async def test_a_tools_own_error_shows_its_line(runs: Runs) -> None:
    """What a tool raises stands in the log at once, with file and line, run and call."""
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        async with runs.working(app(call("crash", place="here"), say("done"))):
            run = await runs.start("it")
            await run.result()
    raised = [line for line in lines if line["event"] == "activity.raised"]

    assert raised[0]["attempt"] == 1
    assert (raised[0]["run_id"], raised[0]["call_id"]) == (run.handle.id, "call_1_1")
    assert "test_logs.py" in raised[0]["stack"]
    assert "in crash" in raised[0]["stack"]
    assert "KeyError: 'here'" in raised[0]["stack"]


def lose_count(turn: ScriptTurn) -> Reply:
    if turn.attempt == 1:
        raise LookupError(f"nothing for turn {turn.number}")
    return say("done")


async def test_a_scripts_own_error_shows_its_line(runs: Runs) -> None:
    """What a script raises stands in the log at once, with file and line and run."""
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        async with runs.working(app(lose_count)):
            run = await runs.start("it")
            await run.result()
    raised = [line for line in lines if line["event"] == "activity.raised"]

    assert (raised[0]["attempt"], raised[0]["run_id"]) == (1, run.handle.id)
    assert "test_logs.py" in raised[0]["stack"]
    assert "in lose_count" in raised[0]["stack"]
    assert "LookupError: nothing for turn 1" in raised[0]["stack"]


async def test_lines_of_a_run(runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    """Start, wait and end of a run are a line each, also where another worker replays it."""
    caplog.set_level(logging.INFO, "temporalio.workflow")
    served = app(call("post", text="hi"), say("done"))
    async with runs.working(served):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    async with runs.working(served, client=await runs.another_client()):
        await run.approve(request.request_id, approver="agent it")
        await run.approve(request.request_id, approver="olga")
        await run.result()
        events = (await run.handle.fetch_history()).events
    fields = [getattr(record, "fields", {}) for record in caplog.records]
    lines = [one for one in fields if one.get("run_id") == run.handle.id]

    assert [one["event"] for one in lines] == [
        *("run.started", "run.waiting", "message.refused", "message.accepted"),
        *("run.goes_on", "run.ended"),
    ]
    assert lines[1]["waits_for"] == "req-1: approval of post (write_internal)"
    assert (lines[2]["code"], lines[2]["says"]) == ("self_approval", "agent it")
    assert (lines[3]["decision"], lines[3]["by"], lines[3]["strength"]) == (
        *("approve", "olga", "plain"),
    )
    assert (lines[5]["status"], lines[5]["turn"]) == ("completed", 2)
    assert {"req-1 refused: self_approval, says agent it", "req-1 approved by olga"} <= {
        read_summary(event) for event in events
    }


@pytest.mark.parametrize("cached", [100, 0], ids=["kept", "replayed in each task"])
async def test_each_event_is_logged_once_and_is_one_span(
    runs: Runs, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, cached: int
) -> None:
    """A worker that keeps no run builds it anew for each task, which repeats no line, no span."""
    # T-13
    built: list[str] = []
    create = OrderedRunner.create_instance

    def count(own: OrderedRunner, details: WorkflowInstanceDetails) -> WorkflowInstance:
        built.append(details.info.workflow_id)
        return create(own, details)

    monkeypatch.setattr(OrderedRunner, "create_instance", count)
    monkeypatch.setattr(worker, "Worker", partial(Worker, max_cached_workflows=cached))
    caplog.set_level(logging.INFO, "temporalio.workflow")
    async with runs.working(app(call("post", text="hi"), say("done"))):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()
        times_built = built.count(run.handle.id)
        spans = span_tree(read_trace([await run.handle.fetch_history()])).spans
    fields = [getattr(record, "fields", {}) for record in caplog.records]

    assert times_built == 1 if cached else times_built > 3
    assert [one["event"] for one in fields if one.get("run_id") == run.handle.id] == [
        *("run.started", "run.waiting", "message.accepted", "run.goes_on", "run.ended"),
    ]
    assert Counter(span.type for span in spans) == {
        "agent": 1,
        "generation": 2,
        "function": 1,
        "approval": 1,
    }


class Fields(TypedDict, total=False):
    """What may differ between agents."""

    guardrails: list[Guardrail]
    budget: Budget


@guardrail(layer="input")
async def decent(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    """Let nothing pass, and quote what was said."""
    return tripped(f"it says {subject.text!r}")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"guardrails": [decent]}, ("blocked", None)),
        ({"budget": Budget(max_steps=1)}, ("stopped", "max_steps (1) reached")),
    ],
    ids=["of a guardrail", "of ours"],
)
async def test_a_reason_stands_in_a_line_of_a_run_if_it_is_ours(
    runs: Runs, caplog: pytest.LogCaptureFixture, fields: Fields, expected: tuple[str, str | None]
) -> None:
    """What a guardrail says of a goal may quote a person: it is for history."""
    caplog.set_level(logging.INFO, "temporalio.workflow")
    agent = Agent(name="it", instructions="x", models=["scripted:it"], tools=[crash], **fields)
    async with runs.working(App(agents=[agent], scripts={"it": [call("crash", place="x")]})):
        await (await runs.start("it", "my number is 4711-0815")).result()
    lines = [getattr(record, "fields", {}) for record in caplog.records]
    [ended] = [one for one in lines if one.get("event") == "run.ended"]

    assert (ended["status"], ended.get("reason")) == expected
    assert "4711-0815" not in str(lines)


async def test_why_a_tier_failed_stands_in_a_line_if_it_is_ours(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    """What its model said last, or its plan, is the model's word: it is for history."""
    caplog.set_level(logging.INFO, "temporalio.workflow")
    cut = Reply(text="my number is 4711-0815", stop="max_tokens")
    async with runs.working(staffed({"coder": [cut], "clerk": [say("a jacket")]})):
        result = await (await runs.start("it")).result()
    lines = [getattr(record, "fields", {}) for record in caplog.records]
    [failed] = [one for one in lines if one.get("event") == "tier.failed"]

    assert result.answer == "a jacket"
    assert failed["why"] == "model stopped: max_tokens"
    assert "4711-0815" not in str(lines)
