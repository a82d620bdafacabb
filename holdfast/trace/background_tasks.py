"""What a run has done for itself, no model having asked for it: values of a trace."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import JsonValue

from holdfast.contracts.budget import Ledger
from holdfast.contracts.calls import CustomSpan, ToolResult
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.project import ProjectFile

TaskKind: TypeAlias = Literal["undo", "command", "notice", "project", "child"]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What is asked for `at` a time, starts, perhaps more than once, and ends; null until then."""

    key: str
    at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempts: int = 0


@dataclass(frozen=True, kw_only=True)
class GuardrailRun(Timed):
    """
    Guardrails that looked; several that are quick look together.

    `verdicts` are there once they have looked, or `error` says why they couldn't. Those that were
    `cancelled` have found nothing.
    """

    names: tuple[str, ...]
    verdicts: tuple[GuardrailVerdict, ...] = ()
    spans: tuple[CustomSpan, ...] = ()
    error: str = ""
    cancelled: bool = False

    def find_verdicts(self, name: str) -> tuple[GuardrailVerdict, ...]:
        """Return what one of them found: a verdict for each subject."""
        return tuple(verdict for verdict in self.verdicts if verdict.guardrail == name)

    def has_tripwire(self, name: str) -> bool:
        """Whether one of them has tripped; one that couldn't decide has."""
        failed = bool(self.error) and name in self.names
        return failed or any(verdict.tripwire_triggered for verdict in self.find_verdicts(name))


@dataclass(frozen=True, kw_only=True)
class BackgroundTask(Timed):
    """
    Something that a run had done for itself.

    `undo`: the tool `name` took back the call `call_id`. `command`: the tool `name` ran a command
    for `guardrail`. `notice`: somebody was told of a request. `project`: its files were opened,
    kept or put back. `child`: the agent `name` did a part, in the run `run_id`, or judged for
    `guardrail`; `execution` is where that began, for anybody may give another run its id. `about`
    says on one line what it was about, `came_to` what it came to, once it has ended. `output` is
    what a judge answered, `ledger` what a child has used, if it says so, `files` are those of the
    project whose words were read.
    """

    kind: TaskKind
    name: str
    about: str = ""
    call_id: str = ""
    guardrail: str = ""
    run_id: str = ""
    execution: str = ""
    task_queue: str = ""
    came_to: str = ""
    failed: bool = False
    result: ToolResult | None = None
    output: JsonValue = None
    ledger: Ledger | None = None
    files: tuple[ProjectFile, ...] = ()
