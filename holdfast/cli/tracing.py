"""Commands that show what a run did, and tell it to other tools."""

from enum import StrEnum
from typing import Annotated

import httpx
import typer
from pydantic import JsonValue

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
    headers = {"content-type": "application/json", **load_otlp_headers()}
    async with httpx.AsyncClient(timeout=_SEND_TIMEOUT_SECONDS) as client:  # noqa: TID251 -- a process of its own
        for line in otlp.render_lines(tree, content=content):
            try:
                answer = await client.post(address, content=line, headers=headers)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = f"can't be reached ({type(error).__name__})"
                raise HoldfastError(f"the collector at {url} {reason}: look at --send") from None
            if not answer.is_success:
                raise HoldfastError(
                    f"the collector at {url} answers with {answer.status_code}: look at --send, "
                    "and at OTEL_EXPORTER_OTLP_HEADERS for what it wants to see of you"
                )
            _check_all_taken(url, answer)


def _check_all_taken(url: str, answer: httpx.Response) -> None:
    """Raise HoldfastError where a collector took the message and not all of its spans."""
    try:
        said: JsonValue = answer.json()
    except (ValueError, RecursionError):
        return  # some say nothing, or say it in protobuf
    match said:
        case {"partialSuccess": {"rejectedSpans": rejected} as part} if rejected not in _NONE:
            count = clip_chars(str(rejected), _MAX_SAID_CHARS)
            why = clip_chars(str(part.get("errorMessage") or "no reason given"), _MAX_SAID_CHARS)
            raise HoldfastError(f"the collector at {url} refused {count} spans: {why}")
        case _:
            return
