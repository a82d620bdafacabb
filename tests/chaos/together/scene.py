"""An example while it is played, and all that was seen of it from outside."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from holdfast import ToolContext
from holdfast.contracts.approvals import Request
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.run import RunResult
from holdfast.contracts.switches import Switch
from holdfast.testing import Reply
from tests.chaos.together.book import Book
from tests.chaos.together.office import SECRET
from tests.chaos.together.scripts import Drama
from tests.histories import Noted
from tests.memory.runs import MemoryRuns

SECRETS = re.compile(rf"{SECRET}-[\w.:-]*\w")

OFF = (("tool", "write"), ("tool", "file"), ("tool", "unwrite"), ("agent", "helper"))
"""What is switched off at times."""


@dataclass(frozen=True)
class Spoken:
    """What a model said, when, and which withheld words it had read."""

    place: int
    agent: str
    run_id: str
    number: int
    reply: Reply
    read: frozenset[str]
    planning: bool


@dataclass(frozen=True)
class Decided:
    """What a person decided about a request that this run showed, and whether it counted."""

    place: int
    run_id: str
    request: Request
    approver: str
    decision: str
    counted: bool


@dataclass(frozen=True)
class Over:
    """A run that is over, or the work on a message of a session."""

    run_id: str
    result: RunResult
    place: int
    message: str = ""


@dataclass
class Seen:
    """
    All that was seen of an example from outside.

    `chain` are its runs that work for nobody, `told` are withheld words with the place where they
    stood, `began` and `ended` are when, and `said` counts what people did. `messages` were said to
    its session, which `is_open` where it still works.
    """

    drama: Drama
    book: Book
    chain: list[str] = field(default_factory=list[str])
    spoken: list[Spoken] = field(default_factory=list[Spoken])
    decided: list[Decided] = field(default_factory=list[Decided])
    told: dict[str, str] = field(default_factory=dict[str, str])
    over: list[Over] = field(default_factory=list[Over])
    began: dict[str, int] = field(default_factory=dict[str, int])
    ended: dict[str, int] = field(default_factory=dict[str, int])
    notes: dict[str, list[Noted]] = field(default_factory=dict[str, list[Noted]])
    usages: dict[str, UsageReport] = field(default_factory=dict[str, UsageReport])
    flaws: list[str] = field(default_factory=list[str])
    messages: int = 0
    is_open: bool = False
    dry: set[str] = field(default_factory=set[str])
    said: Counter[str] = field(default_factory=Counter[str])


class Scene:
    """Where an example is played: its runs, and how things stand that tools must hold to."""

    def __init__(self, runs: MemoryRuns, drama: Drama, name: str) -> None:
        self.runs = runs
        self.drama = drama
        self.seen = Seen(drama, Book(self._look))
        self.root = name
        self.held = False

    def switch(self, which: int | None) -> None:
        """Switch something off, by its place, or all on again."""
        if which is None:
            self.runs.switches.off = ()
            return
        kind, name = OFF[which % len(OFF)]
        given = {"kind": kind, "name": name, "by": "dana", "reason": "now"}
        off = Switch.model_validate({**given, "at": datetime.now(UTC)})
        self.runs.switches.off = (*self.runs.switches.off, off)

    def list_runs(self) -> Sequence[str]:
        """Return the runs of this example, parts too."""
        every = self.runs.server.executions
        return [one for one in every if one.partition(".")[0] in self.seen.chain]

    def keep(self, where: str, told: object) -> None:
        """Keep what was told of withheld words."""
        text = str(told)
        for secret in SECRETS.findall(text):
            at = text.find(secret)
            shown = text[max(at - 120, 0) : at + 60]
            self.seen.told.setdefault(secret, f"{where}: {shown}")

    def _look(self, name: str, ctx: ToolContext) -> tuple[str, ...]:
        """Say what must not be while a tool begins."""
        off = {(one.kind, one.name) for one in self.runs.switches.off}
        is_off = ("tool", name) in off or ("agent", ctx.agent) in off
        is_over = ctx.run_id.partition(".")[0] in self.seen.ended
        flaws = {"off": is_off, "suspended": self.held, "over": is_over}
        return tuple(flaw for flaw, is_so in flaws.items() if is_so)
