"""What verdicts of guardrails mean for a run. A tripwire is a value, never an exception. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TypeAlias

from holdfast.contracts.bounds import MAX_BLOCK_DETAIL_CHARS, MAX_NOTICE_CHARS
from holdfast.contracts.control import Gate
from holdfast.contracts.effects import Compensation
from holdfast.contracts.guardrails import WITHHELD, GuardrailVerdict, OnTrip
from holdfast.contracts.state.answering import Rejection
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.phase import Closing
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import UserTurn
from holdfast.run import answers, approvals, escalations, fallbacks, gates, requests, tool_results
from holdfast.run.limits import loop_detection, reservations
from holdfast.run.sessions import hiding
from holdfast.run.transcript import append_items, drop_candidate, halt

_Texts: TypeAlias = Mapping[tuple[str, str], str]
"""What guardrails looked at, by their names and the digests of it; calls by their ids alone."""

STRICTNESS: tuple[OnTrip, ...] = ("block", "deny", "retry", "ask", "warn")
"""Where several tripped, the first of these counts: what a person approves is one objection."""


def split_advice(
    checks: Iterable[gates.GuardrailCheck], verdicts: Iterable[GuardrailVerdict]
) -> tuple[tuple[GuardrailVerdict, ...], tuple[GuardrailVerdict, ...]]:
    """Return what only warns of something, and all verdicts as they count: such stop nothing."""
    told: list[GuardrailVerdict] = []
    counted: list[GuardrailVerdict] = []
    on_trip = {one.spec.name: one.spec.on_trip for one in checks}
    for verdict in verdicts:
        warns = verdict.tripwire_triggered and on_trip[verdict.guardrail] == "warn"
        told += [verdict] if warns else []
        counted.append(verdict.without_tripwire() if warns else verdict)
    return tuple(told), tuple(counted)


def spare_judge(
    check: gates.GuardrailCheck,
    checks: Iterable[gates.GuardrailCheck],
    found: Iterable[GuardrailVerdict],
) -> gates.GuardrailCheck:
    """Leave out what an agent needn't judge: what was denied, and everything where one blocks."""
    if not check.spec.spared:
        return check
    on_trip = {one.spec.name: one.spec.on_trip for one in checks}
    refused = {
        one.subject: on_trip[one.guardrail]
        for one in found
        if one.tripwire_triggered and on_trip[one.guardrail] in {"block", "deny"}
    }
    left = (one for one in check.subjects if gates.digest_subject(one) not in refused)
    return check._replace(subjects=() if "block" in refused.values() else tuple(left))


def find_tripwire(verdicts: Iterable[GuardrailVerdict]) -> GuardrailVerdict | None:
    """Return the first tripwire."""
    return next((verdict for verdict in verdicts if verdict.tripwire_triggered), None)


def apply_approvals(
    state: RunState, verdicts: Iterable[GuardrailVerdict]
) -> tuple[GuardrailVerdict, ...]:
    """Let what only asks trip no more where people said yes to it: a wait doesn't undo that."""
    reviewed = frozenset(state.oversight.reviewed)
    return tuple(
        one.without_tripwire()
        if one.tripwire_triggered
        and _on_trip(state, one) == "ask"
        and approvals.objection(state, one) in reviewed
        else one
        for one in verdicts
    )


def after_turn(state: RunState, verdicts: tuple[GuardrailVerdict, ...], now: datetime) -> RunState:
    """Take what was found in what goes into the model, and in what calls did."""
    tripped = _strictest_first(state, apply_approvals(state, verdicts))
    if state.is_ending:
        return hiding.hide_tripwires(state, tripped)
    firm = [one for one in tripped if _on_trip(state, one) != "ask"]
    if firm and _ends_work(state, firm[0]):
        state = hiding.hide_tripwires(state, tripped)
    if any(gates.find_spec(state, one.guardrail).layer == "post_action" for one in firm):
        state = answers.withhold(state, firm[0])
    elif firm:
        return block(state, firm[0], now)
    asked = tripped[len(firm) :]
    texts = _find_texts(state, asked)
    for verdict in asked:
        if state.outcome is None:
            state = _open_review(state, (verdict,), now, texts)
    # Where one can't be shown the work ends, and nobody was asked about those behind it.
    return state if state.outcome is None else hiding.hide_tripwires(state, asked)


def _find_texts(state: RunState, verdicts: Iterable[GuardrailVerdict]) -> _Texts:
    """Return what goes into the model and people are asked about: there may be thousands."""
    wanted, calls = defaultdict[str, list[str]](list), list[str]()
    for one in verdicts:
        if one.call_id:
            calls.append(one.call_id)
        else:
            wanted[one.guardrail].append(one.subject)
    texts = {
        (name, what): text
        for name, subjects in wanted.items()
        for what, text in gates.find_texts(state, gates.find_spec(state, name), subjects).items()
    }
    ran = gates.find_call_texts(state, calls)
    return {**texts, **{("", call_id): text for call_id, text in ran.items()}}


def after_calls(
    state: RunState,
    batch: tuple[CallState, ...],
    verdicts: tuple[GuardrailVerdict, ...],
    now: datetime,
    *,
    ceiling_stands: bool = True,
    drafts_cost: bool = True,
) -> RunState:
    """
    Take what was found about calls that are about to run.

    People aren't asked about what costs more than the ceiling leaves: nothing raises that. Runs of
    an earlier release asked, and in those of some no draft had a cost of its own.
    """
    if state.is_ending:
        return state
    for call in batch:
        fresh = requests.find_call(state, call.call.call_id)
        call_id = call.call.call_id
        said = tuple(one for one in verdicts if one.call_id == call_id)
        about = reservations.refuse_beyond_budget(state, call_id, said)
        counts = drafts_cost or call.drafting is None
        cost = reservations.select_cost(state, call, said) if counts else Decimal(0)
        fresh = fresh.with_(guarded=call.reading, cost=cost)
        state = requests.replace_call(state, fresh)
        tripped = _strictest_first(state, apply_approvals(state, about))
        beyond = _find_beyond_ceiling(state, call_id, about) if ceiling_stands else None
        match _on_trip(state, tripped[0]) if tripped else "warn":
            case "ask" | "warn" if beyond is not None:
                state = requests.replace_call(state, _deny(fresh, beyond))
            case "ask":
                state = _open_review(state, tripped, now)
            case "block":
                return block(state, tripped[0], now)
            case "deny" | "retry":
                state = requests.replace_call(state, _deny(fresh, tripped[0]))
            case "warn":
                continue
    return state


def _find_beyond_ceiling(
    state: RunState, call_id: str, about: tuple[GuardrailVerdict, ...]
) -> GuardrailVerdict | None:
    """Return what people would be asked about though they can't raise that limit."""
    if not reservations.is_beyond_ceiling(state, call_id, reservations.estimate_cost(about)):
        return None
    return next((one for one in about if one.cost and _on_trip(state, one) == "ask"), None)


def after_answer(
    state: RunState, gate: Gate, verdicts: tuple[GuardrailVerdict, ...], now: datetime
) -> RunState:
    """Take what was found about an answer; people may have said more meanwhile."""
    if state.answering.candidate is None:
        return state
    for verdict in verdicts:
        state = state.with_answering(signals=state.answering.signals.merge(verdict.signals))
    if gate == "acceptance":
        state = state.with_answering(checked=tuple(verdicts))
    tripped = _strictest_first(state, verdicts)
    if not tripped:
        return answers.pass_gate(state, gate)
    if isinstance(state.phase, Closing):
        return halt(drop_candidate(state, tripped[0].guardrail), state.phase.stop, now)
    if gate == "acceptance":
        return reject_answer(state, tripped, now)
    if _on_trip(state, tripped[0]) == "ask":
        # Asked before it is cleared: what is cleared and waits for nobody is out.
        return answers.pass_gate(_open_review(state, tripped, now), gate)
    return answers.withhold(state, tripped[0])


def takes_files_back(state: RunState) -> bool:
    """
    Whether files go back with what else is taken back.

    They stay where an answer is sent back for its words: nobody but the run sees its files before
    it ends, and the next answer is about them. Where the approach ends with it, going back to its
    checkpoint restores them, once.
    """
    verdict = state.answering.tripped
    if verdict is None:
        return True
    if _ends_approach(state, verdict):
        return False
    spec = gates.find_spec(state, verdict.guardrail)
    return spec.layer != "output" or not _may_answer_again(state, verdict)


def _ends_approach(state: RunState, verdict: GuardrailVerdict) -> bool:
    """Whether no model may try once more, and another approach may follow in its place."""
    return (
        _on_trip(state, verdict) == "retry"
        and state.approaches.checkpoint is not None
        and not _may_answer_again(state, verdict)
    )


def _ends_work(state: RunState, verdict: GuardrailVerdict) -> bool:
    """Whether nobody tries once more, once what was done is taken back."""
    return not (_ends_approach(state, verdict) or _may_answer_again(state, verdict))


def _may_answer_again(state: RunState, verdict: GuardrailVerdict) -> bool:
    """Whether a model, this one or the next, may try once more."""
    tried = state.answering.output_retries
    return _on_trip(state, verdict) == "retry" and (
        tried < state.agent.max_output_retries
        or fallbacks.after_rejections(state, tried + 1) is not None
    )


def after_compensation(state: RunState, undone: Compensation, now: datetime) -> RunState:
    """Have the model try again under the guardrail's constraints, or end the run blocked."""
    verdict, rejection = state.answering.tripped, state.answering.rejection
    if verdict is None:
        return state
    approved = gates.select_run_approvals(state)
    state = (
        tool_results.record_compensation(state, undone)
        .with_answering(tripped=None, rejection=None)
        .with_oversight(reviewed=approved)
    )
    if state.is_ending:  # whoever ended the run meanwhile has ended it
        return hiding.hide_tripwires(state, (verdict,))
    if _ends_approach(state, verdict):
        told = answers.redact_reason(state, verdict)
        if told != verdict.reason:
            state = _tell_constraint(state, verdict, undone, rejection)
        return escalations.end_approach(state, f"guardrail {verdict.guardrail}: {told}")
    if not _may_answer_again(state, verdict):
        return block(hiding.hide_tripwires(state, (verdict,)), verdict, now, rejection)
    switched = fallbacks.after_rejections(state, state.answering.output_retries + 1)
    state = _count_retry(
        switched or state.with_answering(output_retries=state.answering.output_retries + 1)
    )
    return _tell_constraint(state, verdict, undone, rejection)


def _tell_constraint(
    state: RunState, verdict: GuardrailVerdict, undone: Compensation, rejection: Rejection | None
) -> RunState:
    """
    Bind the model to what was found; what a command prints, files of anybody may have said.

    What a person said who rejected it stands by itself: who watches people's words looks at it.
    """
    spec = gates.find_spec(state, verdict.guardrail)
    if spec.command or spec.project_commands:
        state = state.with_parts(tainted=True)
    state = append_items(state, _render_constraint(verdict, undone))
    if rejection is None:
        return state
    words = UserTurn(text=f"It was {rejection.words}", origin="constraint", by_person=True)
    return append_items(state, words)


def _render_constraint(verdict: GuardrailVerdict, undone: Compensation) -> UserTurn:
    bound = "; ".join((verdict.reason, *verdict.constraints))
    text = (
        f"The guardrail {verdict.guardrail} held this back: {bound}\n"
        f"{_describe_compensation(undone)}Try again, and keep to this."
    )
    return UserTurn(text=text[:MAX_NOTICE_CHARS], origin="constraint")


def _describe_compensation(undone: Compensation) -> str:
    """Tell the model what of its work is gone, so that it does it again if it must."""
    if not undone.undone:
        return ""
    return f"This was taken back: {shorten('; '.join(undone.undone), MAX_NOTICE_CHARS // 2)}\n"


def block(
    state: RunState, verdict: GuardrailVerdict, now: datetime, rejection: Rejection | None = None
) -> RunState:
    """
    End the run because a tripwire was triggered, or a person has rejected what it did.

    Where answers are withheld it isn't said what was blocked: who guesses it would see it by that.
    """
    what = "" if state.withholds else f", subject {verdict.subject[:16]}"
    lost = state.effects.compensation.not_undone if state.effects.compensation else ()
    reason = answers.redact_reason(state, verdict)
    stop = Stop.because(
        StopReason.BLOCKED,
        f"guardrail {verdict.guardrail}{what}",
        why=reason if rejection is None or reason == WITHHELD else f"{reason}; {rejection.words}",
        ended_by="" if rejection is None else rejection.by,
    )
    return halt(state, with_losses(stop, lost), now, "blocked")


def with_losses(stop: Stop, lost: tuple[str, ...]) -> Stop:
    """Name what couldn't be taken back beside why a run ended."""
    detail = f"{stop.detail}; could not be undone: {'; '.join(lost)}" if lost else stop.detail
    return stop.with_(detail=shorten(detail, MAX_BLOCK_DETAIL_CHARS))


def reject_answer(
    state: RunState, verdicts: tuple[GuardrailVerdict, ...], now: datetime
) -> RunState:
    """Tell the model which checks its answer failed; too many such answers end the approach."""
    told = "\n".join(f"{one.guardrail}: {answers.redact_reason(state, one)}" for one in verdicts)
    state = drop_candidate(
        state.with_answering(revisions=state.answering.revisions + 1), verdicts[0].guardrail
    )
    switched = fallbacks.after_rejections(state, state.answering.revisions)
    backtracking = state.agent.backtracking
    if (
        switched is None
        and backtracking is not None
        and state.answering.revisions > backtracking.revisions
    ):
        return escalations.end_approach(state, f"acceptance checks failed: {told}")
    failures = 0 if switched else state.ledger.failures_in_a_row + 1
    ledger = _count_retry(state).ledger.with_(failures_in_a_row=failures)
    state = (switched or state).with_(ledger=ledger)
    found = "\n".join(f"{one.guardrail}: {one.reason}" for one in verdicts)
    text = f"This answer was not accepted. Mend it and answer again. What the checks say:\n{found}"
    state = append_items(state, UserTurn(text=text[:MAX_NOTICE_CHARS], origin="findings"))
    stop = loop_detection.check_failures(state.agent.budget, ledger)
    if stop is None:
        return state
    return escalations.give_up(state, stop.with_(detail=told), now)


def _open_review(
    state: RunState,
    tripped: tuple[GuardrailVerdict, ...],
    now: datetime,
    texts: _Texts = MappingProxyType({}),
) -> RunState:
    """Ask people about one subject, with all that was found about it."""
    verdict, spec = tripped[0], gates.find_spec(state, tripped[0].guardrail)
    call = None
    if spec.layer == "pre_execution":
        asked = requests.find_call(state, verdict.call_id)
        call, text = asked.call, approvals.describe_call(asked)
    elif verdict.call_id:
        text = texts["", verdict.call_id]
    elif state.answering.candidate is not None:
        text = state.answering.candidate.text
    else:
        text = texts[verdict.guardrail, verdict.subject]
    under_review = approvals.build_tripwire_subject(state, tripped, text, call)
    return approvals.open_review(state, under_review, spec.review or state.agent.review, now)


def _deny(call: CallState, verdict: GuardrailVerdict) -> CallState:
    failure = tool_results.build_denial(
        call.call,
        "permission_denied",
        f"guardrail {verdict.guardrail}: {verdict.reason}",
        *verdict.constraints,
        "go on without it",
    )
    return call.with_(result=failure)


def _count_retry(state: RunState) -> RunState:
    ledger = state.ledger.with_(retries=state.ledger.retries + 1)
    return state.with_(ledger=ledger)


def _on_trip(state: RunState, verdict: GuardrailVerdict) -> OnTrip:
    return gates.find_spec(state, verdict.guardrail).on_trip


def _strictest_first(
    state: RunState, verdicts: Iterable[GuardrailVerdict]
) -> tuple[GuardrailVerdict, ...]:
    """Return what tripped, in the order in which it counts."""
    tripped = (one for one in verdicts if one.tripwire_triggered)
    return tuple(sorted(tripped, key=lambda one: STRICTNESS.index(_on_trip(state, one))))
