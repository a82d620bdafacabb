"""Commands that show what a run did, and tell it to other tools."""

import asyncio
from enum import StrEnum
from typing import Annotated

import httpx
import typer
from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.cli import history, options, render, screen
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.client.spans import join_spans
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import clip_chars
from holdfast.run.texts.figures import pluralize
from holdfast.settings import load_otlp_headers
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import SpanTree, flatten
from holdfast.trace.transcript import lines

_SEND_TIMEOUT_SECONDS = 30.0

_MAX_SEND_SECONDS = 120.0
"""For one message and its answer, of which a collector may send a byte now and then."""

_MAX_ANSWER_BYTES = 100_000

_TRACES = "/v1/traces"

_NONE = (None, 0, "0", "")
"""What a collector says that refused no span."""

_MAX_SAID_CHARS = 500


class Form(StrEnum):
    """How spans are written."""

    TREE = "tree"
    SEED = "seed"
    OTLP = "otlp"


@blocking
async def trace(
    run: options.RunOrFile,
    *,
    utc: Annotated[
        bool, typer.Option("--utc", help="Begin lines with the time of day, not since the start.")
    ] = False,
    as_json: options.Json = False,
    form: Annotated[
        Form, typer.Option(help="How --json writes spans: seed is flat, otlp is OpenTelemetry's.")
    ] = Form.TREE,
    reasoning: Annotated[
        bool, typer.Option("--reasoning", help="With what models wrote to reason.")
    ] = False,
    content: Annotated[
        bool,
        typer.Option("--content", help="With all that was said, where it is OpenTelemetry's."),
    ] = False,
    send: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send the spans to this OpenTelemetry collector."),
    ] = None,
) -> None:
    """
    Print the transcript of a run, or with --json its tree of spans and those of its parts.

    Each line begins with the time, since the run began, at which it was known. A run that goes on
    can be sent (--send) again and again: its spans keep their ids.
    """
    read = await history.read_run(run)
    if not (as_json or send):
        out = Screen()
        for line in lines(read):
            render.show_timed_line(out, line, None if utc else read.started_at)
        return
    if history.is_file(run):
        tree = span_tree(read, reasoning=reasoning)
    else:
        tree = await join_spans((await options.connect()).client, read, reasoning=reasoning)
    if send is not None:
        await _send(tree, send, content=content)
        screen.tell(f"{pluralize(len(tree.spans), 'span')} of {read.run_id} sent to {send}")
        return
    match form:
        case Form.TREE:
            render.show_json(tree.model_dump(mode="json"))
        case Form.SEED:
            render.show_json(flatten(tree))
        case Form.OTLP:
            for line in otlp.render_lines(tree, content=content):
                Screen().json(line.decode())


async def _send(tree: SpanTree, url: str, *, content: bool) -> None:
    """Post the spans; raises HoldfastError where they aren't taken."""
    address = url if url.rstrip("/").endswith(_TRACES) else url.rstrip("/") + _TRACES
    headers = {
        "content-type": "application/json",
        **load_otlp_headers(),
        "accept-encoding": "identity",  # a packed answer may be a thousand times as long
    }
    async with httpx.AsyncClient(timeout=_SEND_TIMEOUT_SECONDS) as client:  # noqa: TID251 -- a process of its own
        for line in otlp.render_lines(tree, content=content):
            try:
                asked = client.build_request("POST", address, content=line, headers=headers)
                async with asyncio.timeout(_MAX_SEND_SECONDS):
                    answer, said = await _ask(client, asked)
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                reason = f"can't be reached ({type(error).__name__})"
                raise HoldfastError(f"the collector at {url} {reason}: look at --send") from None
            if not answer.is_success:
                raise HoldfastError(
                    f"the collector at {url} answers with {answer.status_code}: look at --send, "
                    "and at OTEL_EXPORTER_OTLP_HEADERS for what it wants to see of you"
                )
            if len(said) > _MAX_ANSWER_BYTES:
                raise HoldfastError(
                    f"the collector at {url} says more than any does: look at --send"
                )
            _check_all_taken(url, said)


async def _ask(client: httpx.AsyncClient, asked: httpx.Request) -> tuple[httpx.Response, bytes]:  # noqa: TID251 -- as above
    """Post a message, and read no more of the answer than any has."""
    answer = await client.send(asked, stream=True)
    said = bytearray()
    try:
        async for piece in answer.aiter_raw():
            said += piece
            if len(said) > _MAX_ANSWER_BYTES:
                break
    finally:
        await answer.aclose()
    return answer, bytes(said)


def _check_all_taken(url: str, answer: bytes) -> None:
    """Raise HoldfastError where a collector took the message and not all of its spans."""
    try:
        said: JsonValue = from_json(answer)
    except ValueError:
        return  # some say nothing, or say it in protobuf
    match said:
        case {"partialSuccess": {"rejectedSpans": rejected} as part} if rejected not in _NONE:
            count = clip_chars(str(rejected), _MAX_SAID_CHARS)
            why = clip_chars(str(part.get("errorMessage") or "no reason given"), _MAX_SAID_CHARS)
            raise HoldfastError(f"the collector at {url} refused {count} spans: {why}")
        case _:
            return
