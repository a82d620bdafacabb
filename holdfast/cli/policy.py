"""Commands about a policy: check it, ask what it decides, and try it on cases and past runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from pydantic import TypeAdapter, ValidationError

from holdfast.app import App, load_app
from holdfast.cli import explaining, options, render, screen
from holdfast.cli.history import read_run
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import DEFAULT_ACTOR, DEFAULT_TENANT, ToolCall
from holdfast.contracts.decisions import Caller
from holdfast.contracts.errors import HoldfastError, PolicyRefused
from holdfast.policy.document import PolicySource, build_refusal
from holdfast.policy.rules import Policy
from holdfast.policy.yaml_lines import Problem
from holdfast.policy_files import load_authorities, load_policy, load_source
from holdfast.policy_testing.cases import CaseResult, load_cases, run_case
from holdfast.policy_testing.diff import Comparison, Comparisons, compare
from holdfast.policy_testing.names import find_problems, find_warnings
from holdfast.policy_testing.rehearsal import (
    CallerContext,
    InvalidArguments,
    dry_run,
    find_tool,
)
from holdfast.run.texts.figures import pluralize
from holdfast.settings import Settings

app = typer.Typer(help="Check, explain and test policy files.", rich_markup_mode=None)

AppName: TypeAlias = Annotated[
    str, typer.Argument(metavar="APP", help="The app as module:attribute.")
]
PolicyFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="A policy instead of the app's own."),
]
Environment: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="As HOLDFAST_ENVIRONMENT of the worker.")
]

_ARGUMENTS: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy file.")],
    app: Annotated[
        list[str] | None,
        typer.Option(metavar="APP", help="An app that it is for; may be given more than once."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """
    Say whether a policy file can be used, and else all that is wrong with it.

    With apps, also what it names that none of them has. Exit code 1 if anything is wrong; listed
    interpreters are a warning.
    """
    try:
        source = _load_and_check(file, app or [])
    except PolicyRefused as refusal:
        if as_json:
            render.show_json({"ok": False, "errors": list(refusal.lines)})
        for line in () if as_json else refusal.lines:
            screen.warn(line)
        raise typer.Exit(1) from None
    policy, warnings = source.policy, [f"{file}:{one}" for one in find_warnings(source)]
    counts = {
        "rule": len(policy.rules),
        "group": len(policy.groups),
        "signed signal": len(policy.signals),
    }
    if as_json:
        named = {f"{name.replace(' ', '_')}s": count for name, count in counts.items()}
        render.show_json({"ok": True, **named, "digest": policy.digest, "warnings": [*warnings]})
        return
    for line in warnings:
        screen.warn(line)
    shown = [pluralize(count, name) for name, count in counts.items()]
    screen.tell(f"ok: {', '.join(shown)}, digest {policy.digest}")


@app.command("explain")
def explain(
    app: AppName,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")],
    args: Annotated[str, typer.Argument(metavar="ARGS", help="Its arguments, as JSON.")],
    *,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="The first that has the tool, if not given.")
    ] = None,
    tenant: Annotated[str, typer.Option(metavar="NAME")] = DEFAULT_TENANT,
    actor: Annotated[str, typer.Option(metavar="NAME")] = DEFAULT_ACTOR,
    session: Annotated[str, typer.Option(metavar="ID")] = "",
    domain: Annotated[str, typer.Option(metavar="NAME")] = "",
    task_kind: Annotated[str, typer.Option(metavar="NAME")] = "",
    metadata: options.Metadata = None,
    environment: Environment = None,
    policy: PolicyFile = None,
    as_json: options.Json = False,
) -> None:
    """Show what is decided about a call, and what each rule of the policy has to do with it."""
    found = load_app(app)
    subject, user = find_tool(found, tool, agent)
    caller = Caller(
        tenant=tenant, actor=actor, session=session, domain=domain, task_kind=task_kind
    )
    who = CallerContext(user, caller, options.metadata(metadata, None), _environment(environment))
    call = ToolCall(call_id="call", name=tool, arguments=_arguments(args))
    tried_out = dry_run(call, subject, who, found, _policy(found, policy), datetime.now(UTC))
    if isinstance(tried_out, InvalidArguments):
        raise HoldfastError(f"the arguments don't fit {tool!r}: {tried_out.reason}")
    caller = next(one for one in found.agents if one.name == user)
    if as_json:
        render.show_json(explaining.as_json(tried_out, caller))
    else:
        explaining.show(tried_out, caller)


@app.command("test")
@blocking
async def try_out(
    app: AppName,
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASES...]", help="YAML files with cases; with --runs, runs or their files."
        ),
    ] = None,
    *,
    runs: Annotated[
        bool, typer.Option("--runs", help="Try the policy on the calls of past runs instead.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="How many of the latest runs, if none are named."),
    ] = 20,
    environment: Environment = None,
    policy: PolicyFile = None,
    as_json: options.Json = False,
) -> None:
    """
    Try a policy on cases, or with --runs on the calls that past runs have recorded.

    Exit code 1 if a case doesn't hold. Decisions that differ from those of past runs are no
    failure: they are what you want to see before the policy is used.
    """
    found = load_app(app)
    candidate = _policy(found, policy)
    if runs:
        names = subjects or await _find_latest_runs(limit)
        traces = [await read_run(name) for name in names]
        _report_changes(
            compare(found, candidate, traces, _environment(environment)), as_json=as_json
        )
        return
    if not subjects:
        raise typer.BadParameter("name files with cases, or try it on past runs with --runs")
    cases = [case for name in subjects for case in load_cases(Path(name))]
    _report_cases([run_case(found, candidate, *case) for case in cases], as_json=as_json)


def _load_and_check(file: Path, apps: list[str]) -> PolicySource:
    source = load_source(file)
    if flaws := _find_missing_authorities(source):
        raise build_refusal(str(file), flaws)
    if apps and (flaws := find_problems(source, [load_app(name) for name in apps])):
        raise build_refusal(str(file), flaws)
    return source


def _find_missing_authorities(source: PolicySource) -> list[Problem]:
    """Name what rules rest on that the file of authorities doesn't have."""
    known = {one.name for one in load_authorities(source.policy)}
    return [
        source.located.build_problem(
            ("rules", number, "authority"),
            f"there is no authority {rule.authority!r} in {source.file.authorities}",
        )
        for number, rule in enumerate(source.file.rules)
        if rule.authority is not None and rule.authority not in known
    ]


def _policy(app: App, file: Path | None) -> Policy:
    return app.policy if file is None else load_policy(file)


def _environment(given: str | None) -> str:
    return Settings.load().environment if given is None else given


def _arguments(text: str) -> JsonObject:
    try:
        return _ARGUMENTS.validate_json(text)
    except ValidationError:
        raise typer.BadParameter(
            f"{text!r} is no JSON object, as in '{{\"order_id\": 1044}}'", param_hint="ARGS"
        ) from None


async def _find_latest_runs(limit: int) -> list[str]:
    return [entry.run_id for entry in await (await options.connect()).runs(limit=limit)]


def _report_cases(outcomes: list[CaseResult], *, as_json: bool) -> None:
    failed = [outcome for outcome in outcomes if outcome.objection]
    if as_json:
        render.show_json([outcome._asdict() for outcome in outcomes])
    else:
        for outcome in failed:
            screen.warn(str(outcome))
        kept = len(outcomes) - len(failed)
        screen.tell(f"{kept} of {pluralize(len(outcomes), 'case')} hold")
    if failed:
        raise typer.Exit(1)


def _report_changes(found: Comparisons, *, as_json: bool) -> None:
    changed = [comparison for comparison in found.compared if comparison.is_change]
    same = len(found.compared) - len(changed)
    if as_json:
        render.show_json(
            {
                "changed": [_change(comparison) for comparison in changed],
                "unchanged": same,
                "left_out": found.left_out,
            }
        )
        return
    out = Screen()
    for comparison in changed:
        out.line(str(comparison))
    left_out = f", {found.left_out} left out that no policy decided" if found.left_out else ""
    out.line(f"{pluralize(len(changed), 'call')} decided differently, {same} as before{left_out}")


def _change(comparison: Comparison) -> JsonObject:
    return {
        "run_id": comparison.run_id,
        "call": comparison.call.model_dump(mode="json"),
        "before": comparison.before._asdict(),
        "after": comparison.after._asdict(),
    }
