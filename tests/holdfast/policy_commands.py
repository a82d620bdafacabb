"""The commands `holdfast policy` in this process, and a policy for the shop."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from contracts.base import JsonObject
from holdfast.cli import main

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


class Said(NamedTuple):
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> JsonObject:
        """Standard output as a JSON object."""
        return json.loads(self.out)


Holdfast = Callable[..., Said]


def running(capsys: pytest.CaptureFixture[str]) -> Holdfast:
    """Return what runs one command; what was written before is none of it."""

    def command(*arguments: object) -> Said:
        capsys.readouterr()
        code = main.run(["policy", *map(str, arguments)])
        out, err = capsys.readouterr()
        return Said(code, str(out), str(err))

    return command


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
