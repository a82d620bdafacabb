"""CSV as tables. Pure: bytes come in, no file is opened."""

import csv
import io
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict


class TableError(Exception):
    """The text is no table, or the question doesn't fit it; the message says what would."""


class Table(NamedTuple):
    """A header and its rows; the first column names the row."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Page(BaseModel):
    """Some rows of a table. `page` counts from 1, `total_rows` is that of the whole table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    page: int
    pages: int
    total_rows: int


def parse(name: str, content: bytes) -> Table:
    """Read CSV with a header; quoted fields may hold commas, quotes and line breaks."""
    try:
        # Spreadsheets put a byte order mark in front, which is no part of the first column's name.
        text = content.decode("utf-8-sig")
        records = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except UnicodeDecodeError as error:
        raise TableError(f"{name} is not in UTF-8: {error.reason} at {error.start}") from error
    except csv.Error as error:
        raise TableError(f"{name} is not valid CSV: {error}") from error
    if not records:
        raise TableError(f"{name} is empty: it has not even a header")
    header, *rows = records
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise TableError(
                f"{name}, row {number}: {len(row)} fields under a header of {len(header)}"
            )
    return Table(name, tuple(header), tuple(tuple(row) for row in rows))


def page_of(table: Table, page: int, size: int) -> Page:
    """Cut one page; a table without rows has one empty page."""
    pages = max(1, -(-len(table.rows) // size))
    if not 1 <= page <= pages:
        raise TableError(
            f"{table.name} has no page {page}: at {size} rows a page there are pages 1 to {pages}"
        )
    rows = table.rows[(page - 1) * size : page * size]
    return Page(
        table=table.name,
        columns=table.columns,
        rows=rows,
        page=page,
        pages=pages,
        total_rows=len(table.rows),
    )
