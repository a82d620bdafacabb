"""Having guardrails look: in activities, in the sandbox, through another agent."""

import asyncio
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from pydantic import TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts import bounds
from holdfast.contracts.bounds import MAX_UNDECIDED_REASON_CHARS
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.delegation.workers import FindWorker
from holdfast.contracts.errors import PayloadTooLarge
from holdfast.contracts.guardrails import (
    ACTIVITY_PREFIX,
    GuardrailResult,
    GuardrailVerdict,
    GuardrailVerdicts,
    RunGuardrails,
    Signals,
    Subject,
    quotes_answer,
)
from holdfast.contracts.run import RunResult
from holdfast.contracts.stops import Stop
from holdfast.contracts.texts import shorten
from holdfast.run.answers import redact_reason
from holdfast.run.delegation.part_ids import name_judgement
from holdfast.run.gates import LAYERS, GuardrailCheck, digest_subject
from holdfast.run.limits import budgets, reservations
from holdfast.run.summaries import render_judge_question
from holdfast.run.transcript import halt
from holdfast.run.tripwires import spare_judge, split_advice
from holdfast.workflows import commands, failures, options
from holdfast.workflows.children import ChildTask, run_child
from holdfast.workflows.handing_back import on_capable_worker, while_under_way
from holdfast.workflows.inbound.breaking_off import unless_broken_off
from holdfast.workflows.inbound.inbox import hear_before_more
from holdfast.workflows.run_context import RunContext, is_cancellation, watch_suspension

_VERDICTS_ADAPTER = TypeAdapter(GuardrailVerdicts)

# Behind a handoff there may be thousands of verdicts. The patches are those that bound them.
MAX_VERDICT_LINES = 50
FEW_LINES, MANY_VERDICTS = "few-lines", "many-verdicts"

BROKEN_OFF_ONCE = "broken-off-once"  # the patch by which who looks anew comes to the end of it


async def run_checks(
    run: RunContext, checks: tuple[GuardrailCheck, ...], *, beside_model: bool = False
) -> tuple[GuardrailVerdict, ...] | None:
    """
    Return all verdicts, layer by layer. A guardrail that can't decide has tripped.

    When the run ends meanwhile nobody looks any further, and what is found counts no more. Null
    says that they were broken off, because a person stopped the run, or said what can't wait, or
    that not all began, because the run is suspended: then nothing was looked at.
    """
    since, is_held = run.hurried, watch_suspension(run, beside_model=beside_model)
    found = [verdict for one in checks for verdict in _unseen(run, one)]
    seen = tuple(one for one in map(_seen, checks) if one.subjects)
    for layer in LAYERS:
        these = [one for one in seen if one.spec.layer == layer]
        quick = [one for one in these if one.spec.local and not run.state.is_over]
        for _, together in groupby(quick, key=lambda one: one.subjects):
            found += await _run_functions(run, tuple(together))
        for beside in filter(None, _batch_checks(one for one in these if not one.spec.local)):
            await hear_before_more()
            if run.state.is_over or _is_moot(run, since):
                break
            if is_held():
                return None
            asked = [(spare_judge(one, checks, found), size) for one, size in beside]
            looking = (_run_check(run, *one, is_held) for one in asked)
            for verdicts in await asyncio.gather(*looking):
                if verdicts is None:
                    return None
                found += verdicts
    if _is_moot(run, since):
        return None
    warnings, counted = split_advice(checks, found)
    await _record_verdicts(run, "warning", warnings)
    return counted


def _is_moot(run: RunContext, since: int) -> bool:
    """Whether nobody waits for what guardrails say; before calls have ended no model reads on."""
    state = run.state
    hurried = not state.calls and not state.has_graders and run.is_broken_off(since)
    return state.outside_stop is not None or (hurried and not _comes_to_its_end(run))


def _comes_to_its_end(run: RunContext) -> bool:
    """Whether they look anew: they are sent all of it once more, and not for each word."""
    return run.looks_anew and workflow.patched(BROKEN_OFF_ONCE)


def _unseen(run: RunContext, one: GuardrailCheck) -> tuple[GuardrailVerdict, ...]:
    """Say what can't be decided about what was done, because not all of it is there to be seen."""
    unseen = tuple(subject for subject in one.subjects if not _can_see(one, subject))
    why = "its turn had no room for the whole result"
    if one.spec.layer == "after_run":
        why = "not all of its turns are there to be seen"
    return build_fail_closed_verdicts(run, one._replace(subjects=unseen), why)


def _seen(one: GuardrailCheck) -> GuardrailCheck:
    """Leave out what can't be seen whole."""
    return one._replace(subjects=tuple(each for each in one.subjects if _can_see(one, each)))


def _can_see(one: GuardrailCheck, subject: Subject) -> bool:
    """Whether a guardrail can look at a subject; a command looks at the workspace instead."""
    return subject.whole or bool(one.spec.command or one.spec.project_commands)


def _batch_checks(
    checks: Iterable[GuardrailCheck],
) -> Iterator[tuple[tuple[GuardrailCheck, int], ...]]:
    """
    Put together what may look beside each other, with the size of what each is sent.

    Agents judge one after the other, because each may use all that is left of the budget.
    """
    beside: list[tuple[GuardrailCheck, int]] = []
    taken = 0
    for one in checks:
        size = sum(map(bounds.size, one.subjects))
        if one.spec.agent is not None or taken + size > bounds.MAX_GUARDRAIL_INPUT_BYTES:
            yield tuple(beside)
            beside, taken = [], 0
        beside.append((one, size))
        taken += size if one.spec.agent is None else bounds.MAX_GUARDRAIL_INPUT_BYTES
    yield tuple(beside)


async def record_tripwires(run: RunContext, verdicts: tuple[GuardrailVerdict, ...]) -> None:
    """Leave a line in history about what tripped."""
    await _record_verdicts(run, "tripwire", (one for one in verdicts if one.tripwire_triggered))


async def _record_verdicts(
    run: RunContext, event: str, verdicts: Iterable[GuardrailVerdict]
) -> None:
    told = tuple(verdicts)
    many = len(told) > MAX_VERDICT_LINES and workflow.patched(FEW_LINES)
    for verdict in told[:MAX_VERDICT_LINES] if many else told:
        reason = redact_reason(run.state, verdict).partition("\n")[0]
        await run.record(event, f"{verdict.guardrail}: {reason} (subject {verdict.subject[:16]})")
    if many:
        await run.record(event, f"and {len(told) - MAX_VERDICT_LINES:,} more")


async def _run_check(
    run: RunContext, one: GuardrailCheck, size: int, is_held: Callable[[], bool]
) -> tuple[GuardrailVerdict, ...] | None:
    if size > bounds.MAX_GUARDRAIL_INPUT_BYTES:
        return build_fail_closed_verdicts(
            run, one, "what it would look at is too large to be sent"
        )
    if one.spec.command or one.spec.project_commands:
        with run.track_in_flight(f"{ACTIVITY_PREFIX}{one.spec.name}"):
            return await _run_commands(run, one, is_held)
    if one.spec.agent is not None:
        return await _run_agent(run, one, one.spec.agent)
    return await _run_functions(run, (one,))


async def _run_functions(
    run: RunContext, together: tuple[GuardrailCheck, ...]
) -> tuple[GuardrailVerdict, ...]:
    """
    Run functions of the app; several quick ones share an activity.

    What can't be sent at once is looked at in parts, as a long session that was handed over; so is
    that of which not all verdicts can be.
    """
    try:
        return await _run_function_activity(run, together)
    except PayloadTooLarge as error:
        half = len(together[0].subjects) // 2
        if not half:
            return tuple(
                verdict
                for one in together
                for verdict in build_fail_closed_verdicts(run, one, str(error))
            )
    first = tuple(one._replace(subjects=one.subjects[:half]) for one in together)
    rest = tuple(one._replace(subjects=one.subjects[half:]) for one in together)
    return (*await _run_functions(run, first), *await _run_functions(run, rest))


async def _run_function_activity(
    run: RunContext, together: tuple[GuardrailCheck, ...]
) -> tuple[GuardrailVerdict, ...]:
    """Run functions of the app. Raises PayloadTooLarge where they would look at too much."""
    state = run.state
    names = tuple(one.spec.name for one in together)
    asked = RunGuardrails(
        run_id=state.run_id,
        app=state.agent.app,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        layer=together[0].spec.layer,
        names=names,
        subjects=together[0].subjects,
        domain=state.brief.domain,
        task_kind=state.brief.task_kind,
        tokens_left=budgets.tokens_left(state.agent.budget, state.ledger),
        cost_left=budgets.cost_left(state.agent.budget, reservations.add_reservations(state)),
        unreleased=state.unreleased_kinds,
    )
    try:
        name = f"{ACTIVITY_PREFIX}{'+'.join(names)}"
        with run.track_in_flight(name):
            answer = await _run_activity(run, name, asked, together)
        if answer is None:
            return ()
    except FailureError as error:
        if is_cancellation(error):
            raise
        if failures.is_too_large(error) and workflow.patched(MANY_VERDICTS):
            raise PayloadTooLarge(failures.message(error)) from error  # as where nobody was asked
        if failures.is_handed_back(error) and isinstance(left := run.remaining(), Stop):
            run.state = halt(run.state, left, workflow.now())  # as where an agent judges
        return tuple(
            verdict
            for one in together
            for verdict in build_fail_closed_verdicts(run, one, failures.message(error))
        )
    return _require_all_verdicts(run, together, answer.verdicts)


def _require_all_verdicts(
    run: RunContext,
    together: tuple[GuardrailCheck, ...],
    said: tuple[GuardrailVerdict, ...],
) -> tuple[GuardrailVerdict, ...]:
    """
    Return a verdict of each guardrail about each subject, as they were asked for.

    A client may have said what an activity came to: about anything else it decides nothing.
    """
    asked = [
        (one.spec.name, digest_subject(subject), subject.call_id)
        for one in together
        for subject in one.subjects
    ]
    if [(one.guardrail, one.subject, one.call_id) for one in said] == asked:
        return said
    return tuple(
        verdict
        for one in together
        for verdict in build_fail_closed_verdicts(run, one, "what it said is about something else")
    )


async def _run_activity(
    run: RunContext, name: str, asked: RunGuardrails, together: tuple[GuardrailCheck, ...]
) -> GuardrailVerdicts | None:
    """Return what guardrails say; null where they are broken off."""
    spec = together[0].spec
    if spec.local:
        # One after the other they may take as long as each of them together.
        whole = sum(one.spec.timeout for one in together)
        spec = spec.with_(timeout=whole)
        return await on_capable_worker(
            FindWorker(run_id=asked.run_id, app=asked.app, guardrails=asked.names),
            lambda: workflow.execute_local_activity(
                name, asked, result_type=GuardrailVerdicts, **options.local_guardrail(name, spec)
            ),
            while_under_way(run),
        )
    looking = failures.execute_activity(
        name, asked, _VERDICTS_ADAPTER, options.guardrail(name, spec)
    )
    since = run.hurried
    return await unless_broken_off(run, asyncio.create_task(looking), lambda: _is_moot(run, since))


async def _run_commands(
    run: RunContext, one: GuardrailCheck, is_held: Callable[[], bool]
) -> tuple[GuardrailVerdict, ...] | None:
    """Run commands in the sandbox, if they may: exit code 0 passes; null where one is held."""
    wanted = commands.find_commands(run.state, one.spec)
    if isinstance(wanted, GuardrailResult):
        return _build_verdicts(run, one, wanted)
    found, latest = None, commands.find_latest_begin(run, one.spec.timeout)
    for command in wanted:
        if commands.end_in_time(run, latest):
            return ()
        if run.state.is_ending:
            return build_fail_closed_verdicts(run, one, "the run is over")
        if is_held():
            return None
        result = await commands.run_command(run, one.spec, command, is_held)
        if result is None:
            return None
        ended = commands.parse_result(result)
        if ended is None:
            why = result.reason if isinstance(result, ToolFailure) else "it tells something else"
            return build_fail_closed_verdicts(run, one, f"{shlex.join(command)!r}: {why}")
        if ended.exit_code != 0:
            return _build_verdicts(run, one, commands.build_failure_result(command, ended))
        found = commands.build_success_result(one.spec, ended)
    if found is None:
        return build_fail_closed_verdicts(
            run, one, f"{shlex.join(wanted[-1])!r} tells no coverage"
        )
    return _build_verdicts(run, one, found)


async def _run_agent(
    run: RunContext, one: GuardrailCheck, agent: str
) -> tuple[GuardrailVerdict, ...]:
    """
    Have another agent judge, in a run of its own that draws on this run's budget.

    With nothing left of that the limit ends the run: it is no verdict on what nobody judged.
    """
    verdicts: list[GuardrailVerdict] = []
    for subject in one.subjects:
        left = run.remaining()
        if isinstance(left, Stop):
            if run.state.has_graders:
                return build_fail_closed_verdicts(run, one, left.reason)
            run.state = halt(run.state, left, workflow.now())
            break
        number = run.state.guarding.checks + 1
        run.state = run.state.with_guarding(checks=number)
        part = name_judgement(one.spec.name, number)
        within = min(left.max_wall_time or one.spec.timeout, one.spec.timeout)
        left = left.with_(max_wall_time=within)
        task = ChildTask(part, agent, render_judge_question(subject), left)
        answer = await run_child(run, task)
        verdicts += _parse_judgement(run, GuardrailCheck(one.spec, (subject,)), answer)
    return tuple(verdicts)


def _parse_judgement(
    run: RunContext, one: GuardrailCheck, answer: RunResult | str
) -> tuple[GuardrailVerdict, ...]:
    if isinstance(answer, str):
        return build_fail_closed_verdicts(run, one, answer)
    if answer.status != "completed":
        return build_fail_closed_verdicts(
            run, one, answer.stop.describe_to_whole() if answer.stop else answer.status
        )
    try:
        if answer.output is not None:
            found = GuardrailResult.model_validate(answer.output)
        else:
            found = GuardrailResult.model_validate_json(answer.answer or "")
    except ValidationError:
        return build_fail_closed_verdicts(
            run, one, "its agent didn't answer with a GuardrailResult"
        )
    if "tripwire_triggered" not in found.model_fields_set:
        return build_fail_closed_verdicts(
            run, one, "its agent didn't say whether the tripwire is triggered"
        )
    # What its model says of measurements or costs counts for nothing: its verdict is one vote.
    vote = Signals(votes_for=0 if found.tripwire_triggered else 1, votes=1)
    voted = found.without_measurements(vote if found.applicable else Signals())
    return _build_verdicts(run, one, voted, in_words_of_model=True)


def build_fail_closed_verdicts(
    run: RunContext, one: GuardrailCheck, why: str
) -> tuple[GuardrailVerdict, ...]:
    """Say that a guardrail can't decide: it fails closed."""
    reason = shorten(f"{one.spec.name} can't decide: {why}", MAX_UNDECIDED_REASON_CHARS)
    return _build_verdicts(run, one, GuardrailResult(tripwire_triggered=True, reason=reason))


def _build_verdicts(
    run: RunContext,
    one: GuardrailCheck,
    found: GuardrailResult,
    *,
    in_words_of_model: bool = False,
) -> tuple[GuardrailVerdict, ...]:
    """Say the same of each subject; whatever a model says of an answer may tell what is in it."""
    unreleased = run.state.unreleased_kinds
    return tuple(
        GuardrailVerdict(
            **{name: getattr(found, name) for name in GuardrailResult.model_fields},
            guardrail=one.spec.name,
            subject=digest_subject(subject),
            call_id=subject.call_id,
            quotes=(in_words_of_model and subject.kind in unreleased)
            or quotes_answer(found.reason, subject, unreleased),
        )
        for subject in one.subjects
    )
