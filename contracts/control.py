"""How a run is controlled: fallbacks, tiers, triggers, backtracking, and what each leaves."""

from collections.abc import Mapping
from datetime import datetime
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, model_validator

from holdfast.contracts.base import AuthoredContract, Contract, Inbound, Stored
from holdfast.contracts.bounds import MAX_COUNT, MAX_RUN_ID_CHARS, Count, Number, Seconds
from holdfast.contracts.errors import FailureKind
from holdfast.contracts.model import NoAnswer
from holdfast.contracts.tools import TOOL_NAME_PATTERN
from holdfast.contracts.usage import CallUsage, Money

Reaction = Literal["next_model", "stop", "ask"]
"""What a failed model call, or a reply that is no answer, leads to when its retries are over."""


Gate = Literal["acceptance", "output", "post_action", "review", "confidence"]
"""What an answer passes before it is released, in this order."""


class CheckReport(Contract):
    """An acceptance check, and what it found when it looked last; `open` before that."""

    name: str
    state: Literal["open", "passed", "failed"]
    found: str = Field(default="", exclude_if=not_)


class GoalReport(Contract):
    """What a run is for, the checks that say when it is done, and how far its model says it is."""

    objective: str
    done_when: tuple[CheckReport, ...] = ()
    progress: str = Field(default="", exclude_if=not_)


class Fallback(Inbound):
    """
    What happens when a model fails; `reactions` differ from the defaults by kind of failure.

    While another model is left, a call is tried `attempts` times, and no retry waits longer than
    `max_wait` seconds: the next model is the better wait. For the last one a retry waits up to ten
    minutes, or `max_wait` where that is more. After so many `rejections` of answers of a model,
    by guardrails or checks, the next one is asked; null leaves it to try on.
    """

    reactions: Mapping[str, Reaction] = Field(default_factory=dict[str, Reaction])
    attempts: int = Field(default=2, ge=1, le=10)
    max_wait: Seconds = 5.0
    rejections: Count | None = Field(default=None, exclude_if=not_)


class Route(Inbound):
    """
    Turns for which another of the agent's models is asked than the one whose turn it is.

    It holds from turn `from_turn` on, once `after_failures` calls of tools have failed, until five
    in a row have not, and, where `after_tools` names some, right after a turn that called one of
    them. All of it must hold; the first route that does is taken.
    """

    model: str
    from_turn: int = Field(default=1, ge=1, le=MAX_COUNT)
    after_failures: int = Field(default=0, ge=0, le=MAX_COUNT)
    after_tools: tuple[str, ...] = ()


class Decomposition(Inbound):
    """A goal in parts: `planner` names at most `most` of them, `worker` does each in a run."""

    planner: str
    worker: str
    most: int = Field(default=8, ge=1, le=50)


class Tiers(Inbound):
    """Agents that try the same goal one after the other, each in a run of its own."""

    full: str
    simplified: str | None = None
    decomposed: Stored[Decomposition] | None = None


class Delegation(Contract):
    """
    A tool by which an agent gives a task to another, whose run is a part of its own.

    So many of them work at once, each within `budget_share` of the budget of the whole run. By a
    `handoff` the other agent goes on with the run itself, or `returns` its answer as the result of
    the call, within `timeout_seconds`; the tool `prepare` loads what it needs.
    """

    tool: Annotated[str, Field(pattern=TOOL_NAME_PATTERN)]
    at_once: int
    budget_share: float
    handoff: bool = Field(default=False, exclude_if=not_)
    returns: bool = Field(default=False, exclude_if=not_)
    timeout_seconds: float | None = Field(default=None, exclude_if=lambda value: value is None)
    prepare: str | None = Field(default=None, exclude_if=not_)


MAX_RECENT_CHANGES = 10


class HandoffData(AuthoredContract):
    """
    What an agent needs that takes over: `files` by their paths, the latest changes newest first.

    Of `recent_changes` it gets ten. `constraints` come to those that hold already.
    """

    files: Mapping[str, str] = Field(default_factory=dict[str, str])
    architecture: str = ""
    recent_changes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


class Backtracking(Inbound):
    """
    How often a run may go back to its beginning and try another approach.

    Of each approach `revisions` answers that fail a check go back to the model first.
    """

    max_backtracks: int = Field(default=3, ge=0, le=20)
    revisions: int = Field(default=0, ge=0, le=20)


class Triggers(Inbound):
    """
    When a run waits for a person, without having failed. Null turns a trigger off.

    `max_retries`: more than so many retries. `min_confidence`: an answer with less. `token_share`:
    more than this share of `max_tokens`. `expected_time` (seconds): three times as long, not
    counting waits for people. They pause a run only where somebody is there to be asked.
    `sensitive_domains`: no call of a model that has a side effect begins before somebody approves.
    """

    max_retries: Number | None = 3
    min_confidence: float | None = Field(default=0.6, ge=0, le=1)
    token_share: float | None = Field(default=0.8, gt=0, le=1)
    expected_time: Seconds | None = None
    sensitive_domains: tuple[str, ...] = ("payments", "auth", "pii")


class ModelFacts(Contract):
    """
    What was known of a model when a run began; null is unknown.

    `context_tokens` is the size of its window. Prices are in US dollars for a million tokens.
    """

    model: str
    context_tokens: int | None = None
    input_price: Money | None = None
    output_price: Money | None = None


class ReasoningRoute(Contract):
    """Whether a task's kind asks for extended reasoning, and by which row of the table."""

    task_kind: str
    decision: Literal["on", "off", "agent"]
    reason: str


AttemptKind: TypeAlias = Literal[FailureKind, NoAnswer, "empty", "worker_lost"]
"""
Why a call of a model brought no answer: its failure, or the end of its reply.

"empty" is a reply without words and calls; "worker_lost" that whatever worker asked was lost.
"""


class ModelAttempt(Contract):
    """A call of a model that brought no answer."""

    turn: int
    model: str
    kind: AttemptKind
    error: str
    at: datetime
    cost: Money | None = None


class ProviderWait(Contract):
    """
    A run waits for the provider of its last model, which is down since a call of that failed.

    It is asked again at `until`, for the time after `tries` such waits; the wait is `over` when
    its timer says so. Before it the run had `waited` so many seconds for people, or suspended.
    """

    model: str
    kind: AttemptKind
    error: str
    since: datetime
    until: datetime
    tries: int
    waited: float = Field(default=0.0, exclude_if=not_)
    over: bool = Field(default=False, exclude_if=not_)


class Waiting(Contract):
    """What a run waits for that is no person, and until when at least."""

    reason: str
    until: datetime


class Approach(Contract):
    """An approach that failed: what it was, why it failed, and how far it came."""

    number: int
    approach: str
    failure_reason: str
    partial_progress: str


class RetryOf(Inbound):
    """
    The run that a run tries again, by the id that somebody chose and by the server's own.

    Without the latter it is the run that has the id now; a text alone is an id. With a `turn` the
    run is a fork of that one: it goes on from what was said before that turn, which is taken anew.
    A `dry` fork runs no tool: its calls are answered with what that run recorded.
    """

    run_id: Annotated[str, Field(min_length=1, max_length=MAX_RUN_ID_CHARS)]
    first_execution_run_id: Annotated[str, Field(max_length=100)] = Field(
        default="", exclude_if=not_
    )
    turn: Count | None = Field(default=None, exclude_if=not_)
    dry: Annotated[bool, Field(strict=True)] = Field(default=False, exclude_if=not_)

    @model_validator(mode="after")
    def _name_the_turn(self) -> Self:
        if self.dry and self.turn is None:
            raise ValueError("only a fork is dry: name its turn")
        return self

    @model_validator(mode="before")
    @classmethod
    def _read_id(cls, given: object) -> object:
        return {"run_id": given} if isinstance(given, str) else given


EarlierRun: TypeAlias = Annotated[RetryOf | None, Field(exclude_if=lambda run: run is None)]

MAX_EARLIER_ACTORS = 50
"""People for whom the runs worked that a run tries again, one after the other."""

EarlierActors: TypeAlias = Annotated[
    tuple[str, ...], Field(max_length=MAX_EARLIER_ACTORS, exclude_if=not_)
]
"""They are no fresh pair of eyes: none of them may approve what the run wants to do."""


class Candidate(Contract):
    """An answer that has yet to pass; `cleared` are the gates that it has passed."""

    text: str
    output: JsonValue = None
    cleared: tuple[Gate, ...] = Field(default=(), exclude_if=not_)


class LimitSummary(Contract):
    """What a model said of the work where its steps were used up; `usage` is that of this call."""

    text: str
    model: str
    usage: CallUsage


class Subtask(Contract):
    """A part of a decomposed goal, with its answer once it has one."""

    task: str
    answer: Candidate | None = None


class Checkpoint(Contract):
    """
    Where a run goes back to: so many items, this model, and the workspace with this digest.

    `summary` stood for the items before `summarised_before` then.
    """

    items: int
    model_index: int
    workspace: str = ""
    summary: str = Field(default="", exclude_if=not_)
    summarised_before: int = Field(default=0, exclude_if=not_)

    def with_(self, *, items: int) -> Self:
        """Return a copy with another items."""
        return self.copy_with({"items": items})
