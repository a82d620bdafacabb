"""Guardrails: what is looked at, by whom, and what was found."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import Field, JsonValue, model_validator

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import AuthoredContract, Contract
from holdfast.contracts.bounds import (
    MAX_CONSTRAINT_CHARS,
    MAX_CONSTRAINTS,
    MAX_COUNT,
    MAX_VERDICT_REASON_CHARS,
    Seconds,
)
from holdfast.contracts.budget import Expense
from holdfast.contracts.calls import CustomSpans
from holdfast.contracts.texts import quotes, unescape
from holdfast.contracts.transcript import Trust

WITHHELD = "[withheld: output guardrails look at what is said]"
"""What stands in the place of words that nobody is told before they are out."""

GUARDRAIL_NAME_PATTERN = r"^[a-z][a-z0-9_]{0,63}$"

ACTIVITY_PREFIX = "guardrail:"
"""Activity types that begin so are guardrails'; no tool's name has a colon."""


Layer = Literal["input", "pre_execution", "output", "post_action", "after_run"]
"""The layers in the order in which a run meets them."""

Mode = Literal["blocking", "parallel"]

OnTrip = Literal["block", "ask", "deny", "retry", "warn"]
"""
What a tripwire does: it ends the run, asks a person, denies the call, or sends the model back.

An acceptance check knows none of them: what it finds goes back to the model as it is.
"""

WatchTarget = Literal["goal", "words", "results"]
"""What an input guardrail looks at: the goal, what people say later, or results of tools."""

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Signals(AuthoredContract):
    """
    What was measured about an answer. What is null was not measured, which is not the same as bad.

    `coverage` is the share of the code that tests reach; of `votes` reviewers `votes_for` were for
    it.
    """

    coverage: Share | None = Field(default=None, exclude_if=lambda value: value is None)
    votes_for: int | None = Field(
        default=None, ge=0, le=MAX_COUNT, exclude_if=lambda value: value is None
    )
    votes: int | None = Field(
        default=None, ge=1, le=MAX_COUNT, exclude_if=lambda value: value is None
    )

    def merge(self, other: "Signals") -> "Signals":
        """Return both together, in whatever order: the lower coverage, and the votes of both."""
        measured = [one for one in (self.coverage, other.coverage) if one is not None]
        voted = [one for one in (self, other) if one.votes is not None]
        return Signals(
            coverage=min(measured, default=None),
            votes_for=sum(one.votes_for or 0 for one in voted) if voted else None,
            votes=sum(one.votes or 0 for one in voted) if voted else None,
        )


class GuardrailSpecChange(TypedDict, total=False):
    """What may change of it."""

    on_trip: OnTrip
    timeout: Seconds
    command: tuple[str, ...]
    report: tuple[str, ...] | None
    project_commands: Literal["build", "test"] | None
    agent: str | None
    review: Requirement | None
    holds: str | None
    spared: bool


class GuardrailSpec(Contract):
    """
    A guardrail as a run began with it.

    What looks is a function of the app, unless it has a `command`, or the `project_commands` that
    the project's own words name (they run in the sandbox, exit code 0 passes), an `agent` (another
    agent judges) or a `review` (people do). `tools` narrows layer "pre_execution" to calls of
    these tools; with it layer "post_action" looks after their calls instead of at the end of the
    run. `timeout` is in seconds. A `local` guardrail is quick and runs inside the workflow task.
    The argument that `holds` names is a resource: other runs find by it that this one is at work
    there. What a `command` prints, or its `report` where that is one, tells the coverage. An agent
    that is `spared` judges nothing that another guardrail has blocked or denied before its turn.
    """

    name: str = Field(pattern=GUARDRAIL_NAME_PATTERN)
    layer: Layer
    mode: Mode = "blocking"
    on_trip: OnTrip
    tools: tuple[str, ...] = ()
    watches: tuple[WatchTarget, ...] = ("goal",)
    local: bool = False
    timeout: Seconds = 30.0
    command: tuple[str, ...] = ()
    project_commands: Literal["build", "test"] | None = None
    agent: str | None = None
    review: Requirement | None = None
    holds: str | None = Field(default=None, exclude_if=lambda value: value is None)
    report: tuple[str, ...] | None = Field(default=None, exclude_if=lambda value: value is None)
    spared: bool = Field(default=False, exclude_if=not_)

    def with_(self, **changes: Unpack[GuardrailSpecChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


def checks_answers(specs: Iterable[GuardrailSpec]) -> bool:
    """Whether guardrails, or people because of one, look at answers before they are out."""
    return any(
        spec.review is not None or (spec.layer in ("output", "post_action") and not spec.tools)
        for spec in specs
    )


SubjectKind: TypeAlias = Literal["goal", "words", "results", "call", "done", "answer", "run"]


class SubjectChange(TypedDict, total=False):
    """What may change of it."""

    kind: SubjectKind
    text: str
    data: JsonValue
    tool: str
    whole: bool


class Subject(Contract):
    """
    What a guardrail looks at.

    `goal` and `words` are `text`; `results` are those of one turn, as text, with the results as
    `data`; a `call` has `tool`, `call_id` and its arguments as `data`; `done` is a call that ran,
    with its result as `text`; an `answer` is `text`, and `data` where the agent declares a shape;
    a `run` is all that models said as `text`, and `data` has its `result` and its `transcript`.
    One that isn't `whole` lost some of that for want of room: who would look at it can't decide.
    Its `trust` is that of whoever it comes from.
    """

    kind: SubjectKind
    text: str = ""
    data: JsonValue = None
    tool: str = Field(default="", exclude_if=not_)
    call_id: str = Field(default="", exclude_if=not_)
    whole: bool = Field(default=True, exclude_if=lambda value: value)

    @property
    def trust(self) -> Trust:
        """How far it may be believed; in a part its goal is what another agent says."""
        match self.kind:
            case "goal" | "words":
                return "trusted"
            case "results" | "done":
                return "untrusted"
            case "call" | "answer" | "run":
                return "semi_trusted"

    def with_(self, **changes: Unpack[SubjectChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


OWN_ANSWERS: tuple[SubjectKind, ...] = ("answer", "run")

UNRELEASED_HERE: tuple[SubjectKind, ...] = (*OWN_ANSWERS, "results", "done")
"""In a run whose answers are looked at: agents that did a part may have answered with them."""

UNRELEASED_ABOVE: tuple[SubjectKind, ...] = (*UNRELEASED_HERE, "goal", "words")
"""In a run that works for such a one, which may have said them to it."""


_MAX_ESCAPES = 10_000


def quotes_answer(reason: str, subject: Subject, unreleased: Collection[SubjectKind]) -> bool:
    """
    Whether what is said of a subject has words in it that may be those of an answer.

    Who reads one as data has it without the escapes with which a model may have written it. Of
    what is little else nobody finds that out.
    """
    if subject.kind not in unreleased or not reason.strip():
        return False
    if subject.text.count("\\") > _MAX_ESCAPES:
        return True
    read = _list_values(subject.data) if subject.kind == "answer" else ""
    said = (subject.text, read, *unescape(subject.text))
    return any(quotes(reason, one) for one in said)


def _list_values(data: JsonValue) -> str:
    """Return all values of an answer, as who quotes one writes it."""
    waiting, found = [data], list[str]()
    while waiting:
        match waiting.pop():
            case list() as entries:
                waiting += reversed(entries)
            case dict() as fields:
                waiting += reversed(fields.values())
            case bool() | None:
                pass
            case float() as number if number.is_integer():
                found.append(str(int(number)))
            case value:
                found.append(str(value))
    return " ".join(found)


class GuardrailResult(AuthoredContract):
    """
    What a guardrail found. `constraints` are what the model must keep to when it tries again.

    One that doesn't apply has passed nothing: that is recorded as what it is. `cost` (US dollars)
    is what a call is thought to cost: it is reserved, and booked once the call has run.
    """

    tripwire_triggered: bool = False
    reason: str = Field(default="", max_length=MAX_VERDICT_REASON_CHARS)
    constraints: tuple[Annotated[str, Field(max_length=MAX_CONSTRAINT_CHARS)], ...] = Field(
        default=(), max_length=MAX_CONSTRAINTS, exclude_if=not_
    )
    applicable: bool = Field(default=True, exclude_if=lambda value: value)
    signals: Signals = Field(default=Signals(), exclude_if=lambda value: value == Signals())
    cost: Expense = Field(default=Decimal(0), exclude_if=not_)

    def without_measurements(self, signals: Signals) -> Self:
        """Return a copy with these signals in place of all that it says was measured."""
        return self.copy_with({"signals": signals, "cost": Decimal(0)})

    @model_validator(mode="after")
    def _require_reason(self) -> Self:
        if self.tripwire_triggered and not self.reason.strip():
            raise ValueError("a tripwire needs a reason")
        if self.tripwire_triggered and not self.applicable:
            raise ValueError("what doesn't apply triggers no tripwire")
        return self


class GuardrailVerdict(GuardrailResult):
    """
    What one guardrail found about one subject, named by its digest; `call_id` if it is one.

    The `reason` of one that `quotes` may have words of an answer: only the model, people who
    review the answer, and readers of history are told it.
    """

    guardrail: str
    subject: str
    call_id: str = Field(default="", exclude_if=not_)
    quotes: bool = Field(default=False, exclude_if=not_)

    def with_tripwire(self, reason: str) -> Self:
        """Return a copy that trips for this reason."""
        return self.copy_with({"tripwire_triggered": True, "reason": reason})

    def without_tripwire(self) -> Self:
        """Return a copy that stops nothing."""
        return self.copy_with({"tripwire_triggered": False})


class RunGuardrails(Contract):
    """
    Input of the activity `guardrail:<name>`: some guardrails of a layer, and what they look at.

    Several that are quick share one activity, whose name joins theirs with `+`. `tokens_left` and
    `cost_left` (US dollars) are what the budget leaves, if it says. Subjects of the kinds
    `unreleased` may hold an answer that isn't out, or never will be.
    """

    run_id: str
    app: str = Field(default="", exclude_if=not_)
    agent: str
    tenant: str
    actor: str
    layer: Layer
    names: tuple[str, ...]
    subjects: tuple[Subject, ...]
    domain: str | None = None
    task_kind: str | None = None
    tokens_left: int | None = None
    cost_left: float | None = None
    unreleased: tuple[SubjectKind, ...] = Field(
        default=OWN_ANSWERS, exclude_if=lambda kinds: kinds == OWN_ANSWERS
    )


class GuardrailVerdicts(Contract):
    """
    Output of `guardrail:<name>`: a verdict for each guardrail and subject, in that order.

    `spans` are what they did for that, each with the name of its guardrail.
    """

    verdicts: tuple[GuardrailVerdict, ...]
    spans: CustomSpans = Field(default=(), exclude_if=not_)
