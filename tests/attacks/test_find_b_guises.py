"""Found: a secret with a quotation mark stands whole where another language doubles it."""

import csv
import io
import shlex
from collections.abc import Callable

import pytest

from holdfast.tools.redaction import Redactor

SECRETS = ("Tr0ub4d'or&3", 'p"4ss"w0rd', "it's-o'k-n'ow", "a'9$Kq'1!z'Qw'77")


def as_csv(text: str) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerow([text])
    return written.getvalue()


def as_sql(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"VALUES ('{doubled}')"


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("write", [as_csv, as_sql, shlex.quote], ids=["csv", "sql", "shell"])
def test_a_secret_that_is_quoted_is_found(secret: str, write: Callable[[str], str]) -> None:
    """In a table of a tool, a statement that a database refuses, a command that fails."""
    text = write(secret)
    shown = Redactor(lambda: frozenset({secret})).text(text)

    assert "[redacted]" in shown
    assert text not in shown


@pytest.mark.parametrize(
    "document",
    [
        '{"users": [{"name": "ada", "password": "correct-horse-battery"}]}',
        '[{"client_secret": "correct-horse-battery"}]',
        '{"db": {"password": ["correct-horse-battery", "the-one-before-it"]}}',
        '{"db": {"password": "correct-horse-battery"}}',  # for comparison
    ],
)
def test_a_secret_field_is_found_wherever_it_lies_in_a_document(document: str) -> None:
    """A secret that is JSON has lists, too: of users, of clients, of what was before."""
    shown = Redactor(lambda: frozenset({document})).text("login failed: correct-horse-battery")

    assert shown == "login failed: [redacted]"
