"""What the reconciler can do: read its data folder, compare, write a report, send it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from examples.reconcile.discrepancies import Columns, Comparison, Kind, compare
from examples.reconcile.outbox import Sent, deliver
from examples.reconcile.report import counts, render
from examples.reconcile.tables import Page, Table, TableError, page_of, parse
from holdfast import Risk, ToolContext, ToolError, tool

DATA = Path(__file__).parent / "data"
REPORTS = Path(".holdfast/reports")
DRAFTS = Path(".holdfast/drafts")
OUTBOX = Path(".holdfast/outbox.jsonl")
FIRST_LINES = 3
"""Of a report; a person who wants all of it opens the file."""

File: TypeAlias = Annotated[str, Field(description="A file name as list_files gives it.")]
Column: TypeAlias = Annotated[str, Field(description="A column name that both files have.")]
Tolerance: TypeAlias = Annotated[
    Decimal, Field(ge=0, description="The largest difference that still counts as equal: 0.01.")
]
ReportPath: TypeAlias = Annotated[str, Field(description="The path that write_report gave.")]
Address: TypeAlias = Annotated[
    str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254, description="One mail address.")
]
Subject: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class Files(BaseModel):
    """The files that the other tools take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...]


class Report(BaseModel):
    """A report that was written, and what it counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    discrepancies: int
    counts: Mapping[Kind, int]


class Drafted(BaseModel):
    """What would be sent, as the person sees it who decides about that."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: str
    subject: str
    report: str
    first_lines: tuple[str, ...]
    discrepancies: Mapping[str, int]
    characters: int
    body_sha256: str


@tool(risk=Risk.READ_ONLY, timeout=10, local=True)
async def list_files() -> Files:
    """List the CSV files that can be read and compared."""
    return Files(names=tuple(sorted(_files())))


@tool(risk=Risk.READ_ONLY, timeout=10, local=True)
async def read_table(
    file: File,
    page: Annotated[int, Field(ge=1, description="Counts from 1.")] = 1,
    page_size: Annotated[int, Field(ge=1, le=100, description="Rows on a page.")] = 50,
) -> Page:
    """Read one page of a file: its columns, the rows, and how many pages and rows there are."""
    with _faults_answered():
        return page_of(_read(file), page, page_size)


@tool(risk=Risk.COMPUTE_ONLY, timeout=30)
def compare_tables(
    left: File,
    right: File,
    key: Column,
    amount_column: Column,
    currency_column: Column,
    tolerance: Tolerance,
) -> Comparison:
    """
    Compare all rows of two files by key: left holds the orders, right the payments.

    Returns every discrepancy (missing_payment, unknown_order, duplicate_payment, duplicate_order,
    amount_differs, currency_differs), their number per kind, and exact totals per currency.
    """
    return _compare(left, right, Columns(key, amount_column, currency_column), tolerance)


@tool(risk=Risk.DRAFT_ONLY, timeout=30)
async def write_report(  # noqa: PLR0913, PLR0917 - models fill flat schemas best
    title: Annotated[str, Field(min_length=1, max_length=200)],
    left: File,
    right: File,
    key: Column,
    amount_column: Column,
    currency_column: Column,
    tolerance: Tolerance,
    commentary: Annotated[
        str, Field(max_length=5000, description="What the reader should know first, in Markdown.")
    ],
    ctx: ToolContext,
) -> Report:
    """
    Write this run's report as Markdown. A second call replaces the first report.

    Takes the arguments of compare_tables and compares again: all figures and the full list of
    discrepancies come from the files, so the commentary needn't repeat them.
    """
    found = _compare(left, right, Columns(key, amount_column, currency_column), tolerance)
    method = (
        f"{left} against {right} by {key}; {amount_column} may differ by {tolerance:f} "
        f"within one {currency_column}"
    )
    path = _save(ctx, render(title, method, commentary, found))
    return Report(path=path, discrepancies=len(found.discrepancies), counts=found.counts)


@tool(risk=Risk.DRAFT_ONLY, timeout=30)
async def draft_report(
    report: ReportPath, to: Address, subject: Subject, ctx: ToolContext
) -> Drafted:
    """Show what send_report would send: to whom, under which subject, and what stands in it."""
    page = _saved(ctx, report)
    text = page.decode()
    drafted = Drafted(
        to=to,
        subject=subject,
        report=report,
        first_lines=tuple(filter(None, text.splitlines()))[:FIRST_LINES],
        discrepancies=counts(text),
        characters=len(text),
        body_sha256=sha256(page).hexdigest(),
    )
    path = _draft_path(ctx.idempotency_key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drafted.model_dump_json(), encoding="utf-8")
    return drafted


@tool(
    risk=Risk.COMMUNICATION,
    timeout=30,
    draft="draft_report",
    expected_result="one message in the outbox",
    rollback="none: what is sent is sent",
)
async def send_report(report: ReportPath, to: Address, subject: Subject, ctx: ToolContext) -> Sent:
    """Send this run's report to one address. A person sees the draft before it goes out."""
    drafted = _approved(ctx)
    if drafted.body_sha256 != sha256(_saved(ctx, report)).hexdigest():
        raise ToolError(
            "conflict",
            f"{report} isn't what was approved any more: it was written again since",
            next_valid_actions=("call send_report again, so that the new report is approved",),
        )
    return deliver(
        OUTBOX,
        Sent(
            idempotency_key=ctx.idempotency_key,
            to=to,
            subject=subject,
            report=report,
            body_sha256=drafted.body_sha256,
        ),
    )


def _compare(left: str, right: str, columns: Columns, tolerance: Decimal) -> Comparison:
    with _faults_answered():
        return compare(_read(left), _read(right), columns, tolerance)


def _read(file: str) -> Table:
    # A look-up among the listed names, never a path joined from an argument: nothing to escape.
    files = _files()
    if file not in files:
        raise ToolError(
            "not_found",
            f"no file {file!r} here (there are: {', '.join(sorted(files))})",
            next_valid_actions=("call list_files",),
        )
    return parse(file, files[file].read_bytes())


def _files() -> dict[str, Path]:
    return {path.name: path for path in DATA.glob("*.csv")}


def _report_path(ctx: ToolContext) -> Path:
    # A run's id is its caller's choice, and a later run may have it.
    return REPORTS / f"{ctx.first_execution_run_id}.md"


def _save(ctx: ToolContext, text: str) -> str:
    path = _report_path(ctx)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.as_posix()


def _saved(ctx: ToolContext, report: str) -> bytes:
    path = _report_path(ctx)
    # Only its own report: a run must not send what another run, maybe another tenant's, wrote.
    if report != path.as_posix() or not path.is_file():
        raise ToolError(
            "not_found",
            f"this run has no report {report!r}",
            next_valid_actions=("call write_report and use the path it returns",),
        )
    return path.read_bytes()


def _draft_path(draft_id: str) -> Path:
    return DRAFTS / f"{quote(draft_id, safe='')}.json"


def _approved(ctx: ToolContext) -> Drafted:
    path = None if ctx.draft_id is None else _draft_path(ctx.draft_id)
    if path is None or not path.is_file():
        raise ToolError(
            "conflict",
            f"nobody has approved a draft of this message (draft {ctx.draft_id!r})",
            next_valid_actions=("call send_report again, so that a person sees its draft",),
        )
    return Drafted.model_validate_json(path.read_text(encoding="utf-8"))


@contextmanager
def _faults_answered() -> Generator[None, None, None]:
    try:
        yield
    except TableError as error:
        raise ToolError(
            "invalid_arguments",
            str(error),
            next_valid_actions=("call read_table to see columns, rows and pages",),
        ) from error
