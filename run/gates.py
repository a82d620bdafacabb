"""What guardrails look at next: pure functions over the state of a run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from holdfast.contracts.base import digest
from holdfast.contracts.calls import (
    AnyCall,
    ToolCall,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.control import Gate
from holdfast.contracts.decisions import Decided
from holdfast.contracts.guardrails import (
    GuardrailSpec,
    Layer,
    Mode,
    Subject,
)
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.phase import Closing
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import (
    AssistantTurn,
    ToolTurn,
    TranscriptItem,
    UserTurn,
)
from holdfast.run import context
from holdfast.run.limits import confidence, triggers
from holdfast.run.step.drafts import find_draft_result
from holdfast.run.summaries import call_line, render_call
from holdfast.run.tool_results import MAY_HAVE_RUN_STATUSES

GUARDRAIL_PREFIX = "guardrail:"
"""What the subject of a guardrail's review begins with."""

LAYERS: tuple[Layer, ...] = ("input", "pre_execution", "output", "post_action", "after_run")


class GuardrailCheck(NamedTuple):
    """One guardrail, and what it looks at."""

    spec: GuardrailSpec
    subjects: tuple[Subject, ...]


def find_spec(state: RunState, name: str) -> GuardrailSpec:
    """Return the guardrail of this name."""
    known = (*state.agent.guardrails, *state.agent.acceptance)
    return next(one for one in known if one.name == name)


def select_blocking_checks(state: RunState) -> tuple[GuardrailCheck, ...]:
    """Say who looks at what is new in the transcript before the model reads it."""
    return _select_item_checks(state, state.guarding.guarded, "blocking")


def select_parallel_checks(state: RunState) -> tuple[GuardrailCheck, ...]:
    """Say who looks while the model reads: no tool runs before they have."""
    return _select_item_checks(state, state.guarding.watched, "parallel")


def skip_items_without_checks(state: RunState) -> RunState:
    """Move on behind what nobody has to look at: each item is looked at once."""
    if not state.agent.guardrails:
        return state
    end = len(state.conversation.items)
    guarded = state.guarding.guarded if select_blocking_checks(state) else end
    watched = state.guarding.watched if select_parallel_checks(state) else end
    return state.with_guarding(guarded=guarded, watched=watched)


def find_texts(state: RunState, spec: GuardrailSpec, wanted: Iterable[str]) -> Mapping[str, str]:
    """Return the texts that an input guardrail looked at, by the digests of their subjects."""
    missing, found = set(wanted), dict[str, str]()
    for one in select_input_subjects(state, spec, reversed(state.conversation.items)):
        if not missing:
            break
        if (what := digest_subject(one)) in missing:
            missing.remove(what)
            found[what] = one.text
    return found


def find_call_texts(state: RunState, wanted: Iterable[str]) -> Mapping[str, str]:
    """Return calls that ran, by their ids, with what a guardrail looked at of their results."""
    missing, asked, found = set(wanted), dict[str, AnyCall](), dict[str, str]()
    for item in state.conversation.items if missing else ():
        if isinstance(item, AssistantTurn):
            asked.update((one.call_id, one) for one in item.calls if one.call_id in missing)
        if isinstance(item, ToolTurn):
            for one in item.results:
                if one.call_id in missing and one.call_id in asked:
                    missing.remove(one.call_id)
                    call = item.restore_arguments(asked[one.call_id])
                    drafts = (draft for draft in item.drafts if draft.call_id == one.call_id)
                    results = map(_render_result, (one, *drafts))
                    found[one.call_id] = "\n".join((render_call(call), *results))
    return found


def select_call_checks(state: RunState, batch: Iterable[CallState]) -> tuple[GuardrailCheck, ...]:
    """Say who looks at calls that were allowed, right before they run."""
    specs = [spec for spec in state.agent.guardrails if spec.layer == "pre_execution"]
    if not specs:
        return ()
    calls = tuple((_build_subject(one), _tools(one)) for one in batch if not one.guarded)
    return _build_checks(
        specs,
        lambda spec: tuple(
            one
            for one, tools in calls
            if not spec.tools or tools.intersection(spec.tools)
            # A judge says the same in other words each time: it is heard once about a call.
            if spec.agent is None or not _has_approval(state, spec, digest_subject(one))
        ),
    )


def _tools(call: CallState) -> frozenset[str]:
    """Return what a call runs: its tool, and what drafts it or loads for its receiver first."""
    named = call.ruling.by_tools if isinstance(call.ruling, Decided) else ()
    drafting = (call.drafting.draft,) if call.drafting is not None else ()
    return frozenset({call.call.name, *drafting, *named})


def select_watched_drafts(state: RunState) -> tuple[ToolResult, ...]:
    """Return what came of drafts for calls of the open turn, where somebody looks at it then."""
    specs = (one for one in state.agent.guardrails if one.layer == "post_action")
    watched = frozenset(tool for spec in specs for tool in spec.tools)
    drafts = map(find_draft_result, state.calls)
    return tuple(one for one in drafts if one is not None and one.name in watched)


def invalidate_call_checks(state: RunState) -> RunState:
    """Have guardrails look again at calls that they let pass before a wait."""
    calls = tuple(call.with_(guarded="") if call.result is None else call for call in state.calls)
    return state.with_(calls=calls)


def has_remote_check(checks: Iterable[GuardrailCheck]) -> bool:
    """Whether time passes while they look: all but those that run inside the workflow task."""
    return not all(check.spec.local for check in checks)


def next_gate(state: RunState) -> Gate | None:
    """Say what an answer has yet to pass; a gate without anybody at it is open."""
    candidate = state.answering.candidate
    if candidate is None:
        return None
    gates: tuple[tuple[Gate, bool], ...] = (
        ("acceptance", bool(state.agent.acceptance)),
        ("output", bool(_select_answer_specs(state, "output"))),
        ("post_action", bool(_select_answer_specs(state, "post_action"))),
        ("review", find_missing_review(state) is not None),
        ("confidence", find_confidence_trigger(state) is not None),
    )
    # Last words are no answer to be mended, judged or approved.
    if isinstance(state.phase, Closing):
        gates = gates[1:2]
    return next((gate for gate, held in gates if held and gate not in candidate.cleared), None)


def select_gate_checks(state: RunState, gate: Gate) -> tuple[GuardrailCheck, ...]:
    """Say who looks at an answer at a gate where guardrails stand."""
    if gate == "acceptance":  # what they find goes back to the model, whatever they say of trips
        specs = tuple(spec.with_(on_trip="retry") for spec in state.agent.acceptance)
    else:
        specs = _select_answer_specs(state, gate)
    subject = build_candidate_subject(state)
    return _build_checks(specs, lambda _: (subject,))


def build_candidate_subject(state: RunState) -> Subject:
    """Return the answer that has yet to pass."""
    candidate = state.answering.candidate
    if candidate is None:
        raise ValueError("no answer waits")
    return Subject(kind="answer", text=candidate.text, data=candidate.output)


def find_missing_review(state: RunState) -> tuple[GuardrailSpec, str] | None:
    """Return the first review that an answer still lacks, with the digest of what is reviewed."""
    specs = tuple(spec for spec in state.agent.guardrails if spec.review is not None)
    if state.answering.candidate is None or not specs:
        return None
    what = digest_subject(build_candidate_subject(state))
    return next(((spec, what) for spec in specs if not _has_approval(state, spec, what)), None)


def subject_of(spec: GuardrailSpec, what: str) -> str:
    """Name what people review because of a guardrail; *what* is the digest of it."""
    return f"{GUARDRAIL_PREFIX}{spec.name}:{what}"


def split_subject(subject: str) -> tuple[str, str]:
    """Return the guardrail that `subject_of` named, and the digest of what is reviewed."""
    name, _, what = subject.removeprefix(GUARDRAIL_PREFIX).partition(":")
    return name, what


def digest_subject(subject: Subject) -> str:
    """Name what a guardrail looks at, by its digest."""
    return digest(subject.model_dump(mode="json"))


def objection(spec: GuardrailSpec, what: str, reason: str) -> str:
    """Name what people approve: a guardrail's reason against a subject, and no other reason."""
    return f"{subject_of(spec, what)}:{digest(reason)}"


def _has_approval(state: RunState, spec: GuardrailSpec, what: str) -> bool:
    """Whether people approved what a guardrail had against a subject, whatever it was."""
    return any(one.startswith(f"{subject_of(spec, what)}:") for one in state.oversight.reviewed)


def select_run_approvals(state: RunState) -> tuple[str, ...]:
    """Return what people approved of the run as such: approvals of taken back work are gone."""
    return tuple(one for one in state.oversight.reviewed if not one.startswith(GUARDRAIL_PREFIX))


def find_confidence_trigger(state: RunState) -> triggers.Trigger | None:
    """Say why somebody must look at an answer before it counts."""
    if not state.agent.escalates:
        return None
    return triggers.check_confidence(
        state.agent.triggers, score(state), state.oversight.acknowledged
    )


def score(state: RunState) -> confidence.Score:
    """Measure how sure one may be of the answer."""
    return confidence.score(state.answering.signals, state.ledger.retries)


def _select_answer_specs(state: RunState, layer: str) -> tuple[GuardrailSpec, ...]:
    return tuple(
        spec
        for spec in state.agent.guardrails
        if spec.layer == layer and not spec.tools and spec.review is None
    )


def _select_item_checks(state: RunState, place: int, mode: Mode) -> tuple[GuardrailCheck, ...]:
    if not state.agent.guardrails:
        return ()
    said = state.conversation
    fresh = context.leave_hidden(said.items, said.hidden, place)
    if not fresh:
        return ()
    specs = [one for one in state.agent.guardrails if (one.layer, one.mode) == ("input", mode)]
    inputs = _build_checks(specs, lambda spec: tuple(select_input_subjects(state, spec, fresh)))
    if mode == "parallel":
        return inputs
    # Results are looked at with the turn that asked for them.
    done = build_done_subjects(context.leave_hidden(said.items, said.hidden, max(place - 1, 0)))
    after = _build_checks(
        (one for one in state.agent.guardrails if one.layer == "post_action" and one.tools),
        lambda spec: tuple(one for one in done if one.tool in spec.tools),
    )
    return inputs + after


def _build_checks(
    specs: Iterable[GuardrailSpec], subjects: Callable[[GuardrailSpec], tuple[Subject, ...]]
) -> tuple[GuardrailCheck, ...]:
    found = (GuardrailCheck(spec, subjects(spec)) for spec in specs if spec.review is None)
    return tuple(check for check in found if check.subjects)


def select_input_subjects(
    state: RunState, spec: GuardrailSpec, items: Iterable[TranscriptItem]
) -> Iterator[Subject]:
    """
    Return what a guardrail watches of what goes into the model and didn't come out of it.

    A goal that may quote what anybody wrote is looked at as results are.
    """
    results = "results" in spec.watches
    for item in items:
        subject = _build_input_subject(item, results=results)
        if subject is None:
            continue
        if subject.kind in spec.watches:
            yield subject
        elif subject.kind == "goal" and results and state.brief.tainted:
            yield subject.with_(kind="results")


def _build_input_subject(item: TranscriptItem, *, results: bool) -> Subject | None:
    """Return what an item brings; of *results* no more than what people said, unless wanted."""
    match item:
        case UserTurn(origin="goal" | "message", text=text):
            return Subject(kind="goal", text=text)
        case (
            UserTurn(origin="steer" | "guidance", text=text) | UserTurn(by_person=True, text=text)
        ):
            return Subject(kind="words", text=text)
        case UserTurn(origin="project" | "findings" | "constraint" | "plan", text=text):
            return Subject(kind="results", text=text)
        case ToolTurn() if results:
            return Subject(kind="results", text="\n".join(map(_render_result, item.results)))
        case ToolTurn():
            said = [_render_result(one) for one in item.results if one.by_person]
            return Subject(kind="words", text="\n".join(said)) if said else None
        case UserTurn() | AssistantTurn():
            return None


def build_done_subjects(items: Iterable[TranscriptItem]) -> tuple[Subject, ...]:
    """Return the calls, and drafts, that ran, or may have, of the turns that were closed."""
    asked: dict[str, AnyCall] = {}
    done: list[Subject] = []
    for item in items:
        if isinstance(item, AssistantTurn):
            asked = {call.call_id: call for call in item.calls}
        if isinstance(item, ToolTurn):
            done += [
                _build_call_subject(item.restore_arguments(asked[result.call_id])).with_(
                    kind="done",
                    text=_render_result(result),
                    tool=result.name,
                    whole=not result.crowded_out,
                )
                for result in (*item.results, *item.drafts)
                if result.call_id in asked and result.status in MAY_HAVE_RUN_STATUSES
            ]
    return tuple(done)


def _build_subject(asked: CallState) -> Subject:
    """Return a call that is about to run, with its arguments as the tool takes them."""
    subject, ruling = _build_call_subject(asked.call), asked.ruling
    if not isinstance(ruling, Decided) or ruling.canonical is None:
        return subject
    return subject.with_(data=ruling.canonical)


def _build_call_subject(call: AnyCall) -> Subject:
    data = call.arguments if isinstance(call, ToolCall) else None
    return Subject(
        kind="call", text=call_line(call), data=data, tool=call.name, call_id=call.call_id
    )


def _render_result(result: ToolResult) -> str:
    """Return what a model reads of a result."""
    if isinstance(result, ToolSuccess):
        return result.model_dump_json(include={"summary", "data"})
    return result.model_dump_json(include={"reason", "next_valid_actions"})
