"""Spans that tools and guardrails have of their own work: in history, and in every form."""

import json
from datetime import UTC, datetime

import pytest

from holdfast import Agent, App, Risk, ToolContext, ToolError, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MAX_SPAN_NAME_CHARS, CustomSpan
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
)
from holdfast.testing import call, calls, say
from holdfast.tools.context import MAX_SPAN_DATA_BYTES
from holdfast.trace.entries import Timed
from holdfast.trace.reader import read_trace
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span, SpanTree, build_custom_spans, flatten
from holdfast.trace.values import Trace
from tests.running import Run, Runs

SECRET = "the-token-of-the-bank"

BOOKS = "postgres://books:pw-of-nobody@db/ "
"""What looks like a password, and is no secret that the worker knows."""


@tool(risk=Risk.READ_ONLY)
async def read_pages(ctx: ToolContext) -> int:
    """Read all pages."""
    with ctx.span("open", pages=2):
        pass
    with ctx.span("read", words="w" * MAX_SPAN_DATA_BYTES, token=ctx.secret("bank")):
        pass
    with ctx.span("sign in", token=ctx.secret("bank")):
        pass
    return 2


@tool(risk=Risk.READ_ONLY)
async def open_books(ctx: ToolContext, times: int) -> int:
    """Open the books, and say where they lie."""
    for _ in range(times):
        with ctx.span("open postgres://books:pw-of-nobody@db/", at={"dsn": BOOKS * 8}):
            pass
    return times


@tool(risk=Risk.READ_ONLY)
async def copy_books(ctx: ToolContext) -> int:
    """Copy many books, and name them all."""
    with ctx.span("copy " + "a://b:c@c " * 20):
        return 20


@tool(risk=Risk.READ_ONLY)
def count_pages(ctx: ToolContext) -> int:
    """Count all pages, in a process of its own."""
    for page in range(60):
        with ctx.span(f"page {page}"):
            pass
    ctx.heartbeat({"page": 59})
    return 60


@tool(risk=Risk.READ_ONLY)
async def lose_page(ctx: ToolContext) -> int:
    """Look for a page that isn't there."""
    with ctx.span("look", page=7):
        raise ToolError("not_found", "there is no page 7")


@tool(risk=Risk.IDENTITY_ACCESS)
async def make_token(ctx: ToolContext) -> str:
    """Make a token."""
    with ctx.span("made", token="fresh"):
        return "fresh"


@guardrail(layer="input")
async def polite(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look at the words of the goal, one by one."""
    with ctx.span("split", words=len(subject.text.split())):
        return passed()


@guardrail(layer="input")
async def frank(_: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look something up, and say where."""
    with ctx.span("open to look", at=BOOKS):
        return passed()


async def tree_of(run: Run) -> SpanTree:
    return span_tree(read_trace([await run.handle.fetch_history()]))


def custom(tree: SpanTree) -> list[Span]:
    return [span for span in tree.spans if span.type == "custom"]


def an_app(*tools: object, script: list[object], looks: Guardrail = polite) -> App:
    agent = Agent(
        name="it",
        instructions="Work.",
        models=["scripted:it"],
        tools=tools,  # pyright: ignore[reportArgumentType] -- each is one
        guardrails=[looks],
    )
    return App(agents=[agent], scripts={"it": script})  # pyright: ignore[reportArgumentType] -- so is it


async def test_each_part_of_a_tools_work_is_a_span(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs below the call, within its time, with its data and without secrets."""
    # TR-07 TR-04 TR-09 TR-10
    monkeypatch.setenv("HOLDFAST_SECRET_BANK", SECRET)
    asked = calls(call("read_pages"), call("lose_page"))
    app = an_app(read_pages, lose_page, script=[asked, say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        tree = await tree_of(run)
    history = (await run.handle.fetch_history()).to_json()

    own = {span.name: span for span in custom(tree)}
    by_id = {span.span_id: span for span in tree.spans}
    parents = {one.name: by_id[one.parent_id or ""] for one in custom(tree)}
    assert parents["split"].name == "run_guardrail polite"
    assert parents["open"].name == parents["read"].name == "execute_tool read_pages"
    assert parents["look"].attributes["success"] is False
    for span in custom(tree):
        parent = parents[span.name]
        assert span.span_id in parent.children
        assert parent.started_at <= span.started_at
        assert (span.ended_at or "") <= (parent.ended_at or "")
    assert own["split"].attributes == {"data": {"words": 1}, "error": None}
    assert own["open"].attributes["data"] == {"pages": 2}
    assert "left_out" in json.dumps(own["read"].attributes["data"])
    assert own["sign in"].attributes["error"] is None
    assert own["look"].attributes == {"data": {"page": 7}, "error": "ToolError"}
    assert SECRET not in history
    assert SECRET not in tree.model_dump_json()


async def test_it_is_the_same_in_a_process_and_has_a_bound(runs: Runs) -> None:
    """A synchronous tool tells of its work too; beyond fifty nothing more is kept."""
    # TR-07
    app = an_app(count_pages, script=[call("count_pages"), say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        tree = await tree_of(run)

    assert result.status == "completed"
    names = [span.name for span in custom(tree) if span.name != "split"]
    assert names == [f"page {page}" for page in range(50)]


async def test_neither_the_run_nor_its_model_carries_them(runs: Runs) -> None:
    """What a tool did meanwhile stands in the history of its call, and nowhere else."""
    # TR-07
    app = an_app(count_pages, script=[call("count_pages"), say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        said = await run.query("transcript", object, {"offset": 0, "limit": 10})

    assert "page 7" not in json.dumps(said)


@pytest.mark.parametrize("times", [1, 40])
async def test_what_looks_like_a_credential_stands_in_no_span(runs: Runs, times: int) -> None:
    """Nor in one of a guardrail; what the worker doesn't know is found by its shape."""
    script: list[object] = [call("open_books", times=times), say("done")]
    app = an_app(open_books, script=script, looks=frank)
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        names = [span.name for span in custom(await tree_of(run))]
    history = (await run.handle.fetch_history()).events

    assert names.count("open to look") == 1
    assert names.count("open postgres://books:[redacted: password]@db/") == times
    assert not any(b"pw-of-nobody" in event.SerializeToString() for event in history)


async def test_a_name_that_is_longer_without_its_credential_costs_no_result(runs: Runs) -> None:
    """What is in its place may be longer than a name may be: the call was done all the same."""
    app = an_app(copy_books, script=[call("copy_books"), say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        (copied,) = await run.results()
        names = [span.name for span in custom(await tree_of(run))]

    assert copied.status == "ok"
    (name,) = (one for one in names if one.startswith("copy a://b:[redacted: password]@c "))
    assert len(name) == MAX_SPAN_NAME_CHARS


async def test_who_makes_secrets_tells_nothing(runs: Runs) -> None:
    """Not even the name of what such a tool did: a span could hold what it made."""
    # TR-07 RK-12
    app = an_app(make_token, script=[call("make_token"), say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        await run.asked_for_approval()
        assert [span.name for span in custom(await tree_of(run))] == ["split"]


async def test_every_form_has_them(runs: Runs) -> None:
    """Flat they are custom spans; a collector gets them, and their data where it is asked for."""
    # TR-07 NR-03
    app = an_app(lose_page, script=[call("lose_page"), say("done")])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        tree = await tree_of(run)

    flat = flatten(tree)["spans"]
    assert isinstance(flat, list)
    found: list[JsonObject] = [
        one for one in flat if isinstance(one, dict) and one.get("operation_name") == "look"
    ]
    assert [(one["type"], one["metadata"]) for one in found] == [
        ("custom_span", {"data": {"page": 7}, "error": "ToolError"})
    ]
    plain = b"".join(otlp.render_lines(tree)).decode()
    whole = b"".join(otlp.render_lines(tree, content=True)).decode()
    assert '"name":"look"' in plain
    assert "holdfast.data" not in plain
    assert "holdfast.data" in whole


def test_a_span_without_a_zone_keeps_nobody_from_reading_a_trace() -> None:
    """Whoever makes up what a call came to may leave it out."""
    begun = datetime(2026, 11, 30, 3, tzinfo=UTC)
    made_up = CustomSpan.model_validate(
        {"name": "look", "started_at": "2026-11-30T03:00:01", "ended_at": "2026-11-30T03:00:02"}
    )

    (span,) = build_custom_spans(Trace(), (made_up,), Timed(key="it", at=begun), "above")

    assert span.started_at == "2026-11-30T03:00:01.000000Z"
    assert span.ended_at == "2026-11-30T03:00:02.000000Z"
