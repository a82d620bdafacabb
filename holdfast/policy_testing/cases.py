"""Cases of a policy: calls, and what shall be decided about them, in a YAML file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from holdfast.app import App
from holdfast.contracts.base import Inbound, JsonObject
from holdfast.contracts.calls import DEFAULT_ACTOR, DEFAULT_TENANT, ToolCall
from holdfast.contracts.decisions import Caller
from holdfast.contracts.errors import AppError, PolicyRefused
from holdfast.contracts.transcript import Trust
from holdfast.policy.rules import Policy
from holdfast.policy.yaml_lines import Problem, describe_validation_errors, parse_yaml
from holdfast.policy_files import read_text
from holdfast.policy_testing.rehearsal import (
    CallerContext,
    InvalidArguments,
    dry_run,
    find_tool,
)

Expected: TypeAlias = Literal[
    "allow",
    "run_in_sandbox",
    "run_as_draft_only",
    "approval_required",
    "ask_user",
    "deny",
    "invalid_arguments",
]


class CaseEntry(Inbound):
    """
    One case of a file.

    Where a draft comes first, `drafted` asks what is decided after it. `rule` is the id of the
    rule that must decide, as in `risk:financial`; of a rule of the policy its own id is enough.
    """

    name: Annotated[str, Field(min_length=1, max_length=200)]
    tool: str
    args: JsonObject = Field(default_factory=dict)
    agent: str | None = None
    tenant: str = DEFAULT_TENANT
    actor: str = DEFAULT_ACTOR
    session: str = ""
    domain: str = ""
    task_kind: str = ""
    metadata: JsonObject = Field(default_factory=dict)
    environment: str = ""
    trust: Trust = "trusted"
    drafted: StrictBool = False
    expect: Expected
    rule: str | None = None


class CaseResult(NamedTuple):
    """What became of a case; without an objection it holds."""

    place: str
    name: str
    verdict: str
    rule: str
    objection: str

    def __str__(self) -> str:
        return f"{self.place}: {self.name}: {self.objection or 'holds'}"


_CASES = TypeAdapter(tuple[CaseEntry, ...])


def load_cases(path: Path) -> list[tuple[str, CaseEntry]]:
    """
    Read a file of cases, each with its place.

    Raises PolicyRefused, with the lines, where they can't be read.
    """
    located = parse_yaml(read_text(path, str(path)))
    if isinstance(located, Problem):
        raise PolicyRefused((f"{path}:{located}",))
    try:
        cases = _CASES.validate_python(located.value)
    except ValidationError as error:
        flaws = sorted(describe_validation_errors(located, error, {"": CaseEntry}))
        raise PolicyRefused(tuple(f"{path}:{flaw}" for flaw in flaws)) from None
    return [(f"{path}:{located.lines[number,]}", case) for number, case in enumerate(cases)]


def run_case(app: App, policy: Policy, place: str, case: CaseEntry) -> CaseResult:
    """Decide about a case, and say where that is not what it expects."""
    try:
        tool, agent = find_tool(app, case.tool, case.agent)
    except AppError as error:
        return CaseResult(place, case.name, "", "", str(error))
    call = ToolCall(call_id="case", name=case.tool, arguments=case.args)
    caller = Caller(**case.model_dump(include=set(Caller.model_fields)))
    who = CallerContext(agent, caller, case.metadata, case.environment, case.trust)
    found = dry_run(call, tool, who, app, policy, datetime.now(UTC))
    if isinstance(found, InvalidArguments):
        verdict, rule, reason = "invalid_arguments", "", found.reason
    else:
        decision = found.outcome if case.drafted else found.decision
        verdict, rule, reason = decision.verdict, decision.rule, decision.reason
    said = f"got {verdict} ({f'{rule}: ' if rule else ''}{reason})"
    objection = ""
    if verdict != case.expect:
        objection = f"expected {case.expect}, {said}"
    elif case.rule not in {None, rule, rule.removeprefix("policy:")}:
        objection = f"expected rule {case.rule}, {said}"
    return CaseResult(place, case.name, verdict, rule, objection)
