"""The commands `holdfast policy` in this process, and a policy for the shop."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.cli import main
from tests.holdfast.commands import Ended

APP = "tests.holdfast.shop:app"
POLICY = """\
version: 1
groups: {finance: [fred, gina], managers: [mona]}
rules:
  - {id: not-in-test, effect: forbid, match: {environments: [test]}}
  - id: small-refunds
    effect: allow
    reason: small refunds in euro are routine
    match: {tools: [issue_refund], risks: [financial], agents: [support]}
    when: args.amount <= 20.0 && args.currency == "EUR"
  - id: refunds
    effect: approve
    match: {tools: [issue_refund]}
    approval: {groups: [finance], count: 2}
  - {id: notes, effect: allow, match: {tools: [note_ticket], actors: [bob]}}
"""


Holdfast = Callable[..., Ended]


def running(capsys: pytest.CaptureFixture[str]) -> Holdfast:
    """Return what runs one command; what was written before is none of it."""

    def command(*arguments: object) -> Ended:
        capsys.readouterr()
        code = main.run(["policy", *map(str, arguments)])
        out, err = capsys.readouterr()
        return Ended(code, str(out), str(err))

    return command


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
