"""What a run of the coder did, as a person tells it: read from the run's history alone."""

import difflib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel

from examples.coder.app import REPOSITORY
from examples.coder.script import Ran
from holdfast.contracts.calls import ToolCall, ToolFailure, ToolSuccess
from holdfast.trace.entries import AuditLine, BackgroundTask, Call, Entry, GuardrailRun, Turn
from holdfast.trace.values import Trace

Kind: TypeAlias = Literal[
    "plan", "edit", "check failed", "check passed", "went back", "blocked", "answer"
]

SCRIPTED: tuple[Kind, ...] = (
    *("plan", "edit", "check failed", "went back"),
    *("plan", "edit", "check passed", "blocked", "check passed", "answer"),
)
"""What happens when the script plays the model, from beginning to end."""


class Chapter(NamedTuple):
    """One thing that happened."""

    kind: Kind
    text: str


class Written(BaseModel):
    """What write_file is asked for."""

    path: str
    content: str


def chapters(trace: Trace) -> Iterator[Chapter]:
    """Tell a run, in its order."""
    for entry, following in pairwise((*trace.entries, None)):
        match entry:
            case Turn() if isinstance(following, AuditLine) and following.event == "approach":
                yield Chapter("plan", entry.text)
            case Turn():
                for call in entry.calls:
                    yield from _edit(call)
            case _:
                yield from _own(entry)
    if trace.result is not None and trace.result.status == "completed":
        yield Chapter("answer", trace.result.answer or "")


def logged_key(trace: Trace) -> str:
    """Return the key that the tests logged, and that the model has read; nothing if it hasn't."""
    results = (call.result for call in trace.calls)
    read = " ".join(one.model_dump_json() for one in results if one is not None)
    found = re.search(r"signing_key=(\w+)", read)
    return found[1] if found else ""


def _own(entry: Entry | None) -> Iterator[Chapter]:
    """Tell what the run did without its model."""
    match entry:
        case BackgroundTask(kind="command", result=ToolSuccess(data=data)):
            ran = Ran.model_validate(data)
            said = ran.stdout.strip().splitlines()[-2 if ran.exit_code else -1 :]
            yield Chapter("check failed" if ran.exit_code else "check passed", "\n".join(said))
        case BackgroundTask(kind="command", result=ToolFailure(reason=reason)):
            yield Chapter("check failed", reason)
        case BackgroundTask(name="restore_workspace", failed=False):
            yield Chapter("went back", entry.came_to)
        case GuardrailRun():
            for verdict in entry.verdicts:
                if verdict.tripwire_triggered:
                    yield Chapter("blocked", f"{verdict.guardrail}: {verdict.reason}")
        case _:
            pass


def _edit(call: Call) -> Iterator[Chapter]:
    """Tell which lines a call changed, against the project as it was."""
    asked = call.call
    if not (isinstance(asked, ToolCall) and asked.name == "write_file"):
        return
    if isinstance(call.result, ToolSuccess):
        written = Written.model_validate(asked.arguments)
        yield Chapter("edit", "\n".join([written.path, *_changed(written)]))


def _changed(written: Written) -> Iterator[str]:
    before = REPOSITORY / written.path
    lines = before.read_text(encoding="utf-8").splitlines() if before.is_file() else []
    for line in difflib.unified_diff(lines, written.content.splitlines(), n=0, lineterm=""):
        if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
            yield line
