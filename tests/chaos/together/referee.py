"""What must hold of every example, judged by what was seen from outside and by tools alone."""

from collections import Counter
from collections.abc import Callable, Generator
from decimal import Decimal
from typing import TypeAlias

from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.effects import Effect
from holdfast.contracts.run import RunResult
from tests.chaos.together.book import ASKING, FREE, UNDO, Entry, is_paid
from tests.chaos.together.office import CALL_COST, COSTLY, MODEL_COST, SECRET
from tests.chaos.together.scene import SECRETS, Over, Seen
from tests.chaos.together.scripts import Drama
from tests.chaos.together.undos import (
    nothing_is_taken_back_twice,
    take_back,
    undoes,
    was_refused,
)

Complaints: TypeAlias = Generator[str]

WRITES = (*FREE, *ASKING, "draft", *UNDO)

PARTS = 6
"""Models that may be at work at once, each with one attempt beyond a limit."""

BROKEN_OFF = 3
"""Calls of models that may have been broken off in a session where any was."""

SLACK = 6
"""Calls that may run beyond a limit: drafts, and those of a turn that parts share."""


def belongs(run_id: str, root: str) -> bool:
    """Whether a run is this one, or works for it."""
    return run_id == root or run_id.startswith(f"{root}.")


def flaws_seen(seen: Seen) -> Complaints:
    """What was odd while it was played."""
    yield from seen.flaws
    for entry in seen.book.entries:
        if entry.run_id.partition(".")[0] in seen.dry:
            yield f"{entry.tool} began in {entry.run_id}, which is dry"
        for flaw in entry.flaws:
            yield f"{entry.tool}({entry.thing}) began in {entry.run_id}, and that is {flaw}"


def nothing_is_done_twice(seen: Seen) -> Complaints:
    """One key, one write."""
    keys = Counter(entry.key for entry in seen.book.entries if entry.tool in WRITES)
    yield from (f"{key} {count} times" for key, count in keys.items() if count > 1)


def nothing_runs_unapproved(seen: Seen) -> Complaints:
    """What people approve ran as often as they approved just that, and no more."""
    began = Counter(
        (entry.run_id, entry.tool, entry.thing)
        for entry in seen.book.entries
        if entry.tool in ASKING
    )
    for (run_id, tool, thing), count in began.items():
        wanted = 2 if tool == "spread" else 1
        given: dict[tuple[str, str], set[str]] = {}
        for one in seen.decided:
            request = one.request
            if not isinstance(request, ApprovalRequest) or one.decision != "approve":
                continue
            whose = request.run_id or one.run_id
            same = (whose, request.tool) == (run_id, tool)
            if one.counted and same and request.arguments.get("thing") == thing:
                given.setdefault((whose, request.challenge), set()).add(one.approver)
        enough = sum(len(people) >= wanted for people in given.values())
        if count > enough:
            yield f"{tool}({thing}) ran {count} times in {run_id}, and {enough} were approved"
    for entry in seen.book.entries:
        if entry.tool in {"forbidden", "refund"}:
            yield f"{entry.tool} ran in {entry.run_id}"


def nothing_withheld_is_told(seen: Seen) -> Complaints:
    """What an output guardrail doesn't let out is read by nobody whom nobody let read it."""
    released: set[str] = set()
    for one in seen.decided:
        if one.decision == "approve" and one.counted:
            released.update(SECRETS.findall(str(one.request)))
    for secret, where in seen.told.items():
        if secret not in released:
            yield f"{where} tells {secret}"
    guarding: set[str] = set()
    for spoken in seen.spoken:
        if seen.drama.traits_of(spoken.agent).withholds:
            guarding.add(spoken.run_id)
        guarded = any(belongs(spoken.run_id, one) for one in guarding)
        for secret in spoken.read - released:
            whose = secret.removeprefix(f"{SECRET}-").rpartition("-")[0]
            # What a part must keep to quotes its whole; nothing else comes from another run.
            if not belongs(spoken.run_id, whose) and (
                belongs(whose, spoken.run_id) or not guarded
            ):
                yield f"the model of {spoken.agent} in {spoken.run_id} reads {secret}"


def limits_of_runs_hold(seen: Seen) -> Complaints:
    """Of steps none is taken beyond a limit, of calls no more than those of a turn."""
    if seen.drama.session is not None:
        return
    for root, usage in seen.usages.items():
        limits, most = usage.budget, usage.budget.max_tool_calls
        if usage.steps > limits.max_steps:
            yield f"{root}: {usage.steps} steps of {limits.max_steps}"
        if most is not None and usage.tool_calls > most + SLACK:
            yield f"{root}: {usage.tool_calls} calls of {most}"
        spent = (usage.usage.estimated_cost or Decimal(0)) + usage.call_cost
        if limits.max_cost is not None and spent > limits.max_cost + PARTS * MODEL_COST:
            yield f"{root}: ${spent} of ${limits.max_cost}"


def limits_of_sessions_hold(seen: Seen) -> Complaints:
    """So it is for all messages of a session together, whoever extended what."""
    limits = seen.drama.session or {}
    asked = {(one.run_id, one.number) for one in seen.spoken if not one.planning}
    began = [one for one in seen.book.entries if one.tool not in UNDO]
    costly = sum(_is_costly(seen, one) for one in began)
    used = {
        "max_steps": Decimal(max(len(asked) - BROKEN_OFF * _was_broken_off(seen), 0)),
        "max_tool_calls": Decimal(len(began) - SLACK),
        "max_cost": (len(asked) - PARTS) * MODEL_COST + costly * CALL_COST,
    }
    for name, most in limits.items():
        if name in used and used[name] > Decimal(str(most)):
            yield f"the session used {used[name]} and more of {name} ({most})"


def _was_broken_off(seen: Seen) -> bool:
    """Whether a call of a model may have been broken off, or lost: it is no step then."""
    broken = {"kill", "meanwhile kill", "meanwhile steer_now", "meanwhile stop", "steer_now"}
    return not broken.isdisjoint(seen.said)


def _is_costly(seen: Seen, entry: Entry) -> bool:
    return entry.tool in COSTLY and seen.drama.traits_of(entry.agent).estimates


def steps_are_counted(seen: Seen) -> Complaints:
    """A run counts each reply of its models, and none that they never gave."""
    for over in () if seen.drama.session is not None else seen.over:
        asked = {
            (one.run_id, one.number)
            for one in seen.spoken
            if belongs(one.run_id, over.run_id) and one.place < over.place
        }
        fewer = over.result.steps < len(asked)
        if over.result.steps > len(asked) or (fewer and not _may_miss(seen)):
            yield f"{over.run_id}: {over.result.steps} steps, and models spoke {len(asked)} times"


def _may_miss(seen: Seen) -> bool:
    """Whether a reply may count as no step: one that came too late, or sums a run up."""
    late = {"abort", "stop", "stopped in the end", "wait", "cancel", "suspend"}
    sums_up = any(traits.sums_up for _, traits in seen.drama.traits)
    return _was_broken_off(seen) or sums_up or not late.isdisjoint(seen.said)


def calls_are_counted(seen: Seen) -> Complaints:
    """A run counts each call that its tools saw, and what it was thought to cost."""
    for over in () if seen.drama.session is not None else seen.over:
        began = {
            one.key: one
            for one in seen.book.entries
            if belongs(one.run_id, over.run_id) and one.tool not in UNDO
        }
        used = seen.usages[over.run_id]
        if used.tool_calls < len(began):
            yield f"{over.run_id}: {used.tool_calls} calls, and tools saw {len(began)}"
        cost = sum(_is_costly(seen, one) for one in began.values()) * CALL_COST
        if used.budget.max_cost is not None and used.call_cost < cost:
            yield f"{over.run_id}: calls cost ${used.call_cost}, and should ${cost}"


def effects_are_told(seen: Seen) -> Complaints:
    """The effects and the unresolved of results are what tools saw, and what stands of it."""
    if seen.drama.session is not None:
        messages = {one.message for one in seen.over}
        if messages and len(messages) == seen.messages and not seen.is_open:
            results = [one.result for one in seen.over]
            yield from _compare_effects(
                "the session", results, seen.book.entries, was_killed=_was_killed(seen)
            )
        return
    for over in seen.over:
        own = [
            one
            for one in seen.book.entries
            if belongs(one.run_id, over.run_id) and one.place < over.place
        ]
        if over.run_id not in seen.dry:
            yield from _compare_effects(
                over.run_id, [over.result], own, was_killed=_was_killed(seen)
            )


def _was_killed(seen: Seen) -> bool:
    return not {"kill", "meanwhile kill"}.isdisjoint(seen.said)


def _compare_effects(
    whose: str, results: list[RunResult], own: list[Entry], *, was_killed: bool
) -> Complaints:
    done, unknown = _sort(own)
    told = Counter(_name(one) for result in results for one in result.effects)
    doubtful = Counter(_name(one) for result in results for one in result.unresolved)
    if was_killed:  # what a worker did that was killed then its run doesn't know
        missing = done + unknown - told - doubtful
        if missing:
            yield f"{whose}: nothing tells of {dict(missing)}"
        return
    yield from _compare(f"{whose}: effects", told, done)
    yield from _compare(f"{whose}: unresolved", doubtful, unknown)


def _sort(own: list[Entry]) -> tuple[Counter[str], Counter[str]]:
    """Return what stands, and what nobody knows of."""
    done, unknown = Counter[str](), Counter[str]()
    for one in own:
        name = f"{one.tool}({one.thing})"
        if was_refused(one):
            continue
        if one.tool in UNDO and undoes(own, one):
            take_back(one, done, unknown)
        elif one.tool == "undraft":
            continue  # nothing undoes it, and nobody could use what it changes
        elif one.tool == "pay":
            done[name] += is_paid(one.thing)
        elif one.tool == "send":
            done[name] += 1
            done[f"draft({one.thing})"] -= 1
        elif one.tool in WRITES:
            (done if one.ended is not None else unknown)[name] += 1
    return +done, +unknown


def _name(effect: Effect) -> str:
    thing = (effect.arguments or {}).get("thing", "")
    return f"{effect.tool}({thing})" if effect.tool else effect.summary


def _compare(what: str, told: Counter[str], saw: Counter[str]) -> Complaints:
    if told != saw:
        yield f"{what} tell {dict(told - saw)} too much and {dict(saw - told)} too little"


def what_others_did_is_not_done_again(seen: Seen) -> Complaints:
    """What a part did, or the run before, is done once, and so is what may have happened."""
    began = {(one.run_id, one.number): one.place for one in seen.spoken}
    known = [one for one in seen.book.entries if one.tool in (*FREE, *ASKING, "unfile")]
    undone = [one for one in seen.book.entries if one.tool in (*UNDO, "file")]
    for place, later in enumerate(known):
        for before in known[:place]:
            if (before.tool, before.thing) != (later.tool, later.thing):
                continue
            taken_back = any(
                one.thing == before.thing
                and (one.tool == "file") is (before.tool == "unfile")
                and one.ended is not None
                and before.place < one.place < later.place
                for one in undone
            )
            lost = before.ended is None and before.tool != "pay"
            if before.tool == "pay" and not is_paid(before.thing):
                continue
            start = began.get((later.run_id, _turn_of(later.call_id)), 0)
            if taken_back or start < (before.ended or before.place):
                continue
            if before.run_id == later.run_id:
                if lost and before.tool != "lose_write":
                    yield f"{_say(later)} was lost before"
                continue
            if _knows(seen, later, before) and not _was_asked_about(seen, later, before):
                yield f"{_say(later)} was done by {before.run_id} before"


def _was_asked_about(seen: Seen, later: Entry, before: Entry) -> bool:
    """Whether people let it run after a run that was cancelled, of which nobody knows."""
    lost = all(one.run_id != before.run_id.partition(".")[0] for one in seen.over)
    return lost and any(
        isinstance(one.request, ApprovalRequest)
        and (one.request.run_id or one.run_id, one.request.tool) == (later.run_id, later.tool)
        and one.counted
        for one in seen.decided
    )


def _knows(seen: Seen, later: Entry, before: Entry) -> bool:
    """Whether a run must know what another did: its part, one before it began, or tried again."""
    over = _ended(seen, before.run_id)
    asked = next(
        (
            one.place
            for one in seen.spoken
            if (one.run_id, one.number) == (later.run_id, _turn_of(later.call_id))
        ),
        0,
    )
    first = seen.began.get(later.run_id, 0)
    if belongs(before.run_id, later.run_id):
        return over < asked
    if later.run_id.partition(".")[0] == before.run_id.partition(".")[0]:
        return over < first
    return seen.drama.session is None and over < first


def _ended(seen: Seen, run_id: str) -> int:
    """Return when a run was at work for the last time, as far as anybody saw."""
    said = [one.place for one in seen.spoken if belongs(one.run_id, run_id)]
    did = [
        max(one.place, one.ended or 0) for one in seen.book.entries if belongs(one.run_id, run_id)
    ]
    return max((*said, *did), default=0)


def _turn_of(call_id: str) -> int:
    return int(call_id.split("_")[1])


def _say(entry: Entry) -> str:
    return f"{entry.tool}({entry.thing}) of {entry.run_id}"


def drafts_are_committed_as_shown(seen: Seen) -> Complaints:
    """What is sent was drafted by the same run, for the same thing."""
    drafted = {
        (one.run_id, one.thing, one.key) for one in seen.book.entries if one.tool == "draft"
    }
    for one in seen.book.entries:
        if one.tool == "send" and not any(
            (one.run_id, one.thing) == (run_id, thing) for run_id, thing, _ in drafted
        ):
            yield f"{_say(one)} was never drafted"


def who_is_blocked_tells_what_stands(seen: Seen) -> Complaints:
    """What a run did that was blocked is undone, or told as not undone."""
    for over in seen.over:
        result = over.result
        if seen.drama.session is not None or result.compensation is None:
            continue
        told = " ".join(
            (
                *result.compensation.not_undone,
                *(one.summary for one in (*result.effects, *result.unresolved)),
            )
        )
        own = [one for one in seen.book.entries if belongs(one.run_id, over.run_id)]
        done, unknown = _sort(own)
        for name in (*done, *unknown):
            tool, _, thing = name.partition("(")
            if not any(tool in line and thing[:-1] in line for line in (told,)):
                yield f"{over.run_id} doesn't tell that {name} stands"


def _every_end_has_a_reason(seen: Seen) -> Complaints:
    for over in seen.over:
        yield from _judge_end(over, seen.drama)


def _judge_end(over: Over, _: Drama) -> Complaints:
    result = over.result
    if result.status == "completed":
        if result.answer is None:
            yield f"{over.run_id} completed without an answer"
    elif result.stop is None or not (result.stop.reason and result.stop.next_safe_action):
        yield f"{over.run_id} is {result.status}, and nobody knows why"
    elif result.answer is not None:
        yield f"{over.run_id} is {result.status}, and has an answer"


RULES: tuple[Callable[[Seen], Complaints], ...] = (
    flaws_seen,
    nothing_is_done_twice,
    nothing_is_taken_back_twice,
    nothing_runs_unapproved,
    nothing_withheld_is_told,
    limits_of_runs_hold,
    limits_of_sessions_hold,
    steps_are_counted,
    calls_are_counted,
    effects_are_told,
    what_others_did_is_not_done_again,
    drafts_are_committed_as_shown,
    who_is_blocked_tells_what_stands,
    _every_end_has_a_reason,
)


def complaints(seen: Seen) -> list[str]:
    """All that doesn't hold of an example."""
    return [f"{rule.__name__}: {complaint}" for rule in RULES for complaint in rule(seen)]
