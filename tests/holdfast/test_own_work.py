"""What guardrails found, as the trace tells it."""

import json

import pytest

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import Grant
from holdfast.contracts.guardrails import (
    GuardrailResult,
    Subject,
)
from holdfast.guardrails import GuardrailContext, guardrail
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from tests.builders import (
    a_call,
    a_success,
    allowed,
    an_approval,
    unknown,
    yes,
)
from tests.holdfast.own_work import (
    GOAL,
    PASSED,
    SKIPPED,
    TRIPPED,
    Worked,
    looking,
    shown,
    spans,
    verdict,
    watched,
)
from tests.holdfast.traces import finished, printed
from tests.holdfast.written import read
from tests.running import Runs
from tests.sample import scripted


def test_each_guardrail_has_a_line() -> None:
    """Passed, tripped and not applicable are three things, and each says why."""
    # LP-12 GR-04 GR-16
    written = Worked()
    written.looked_here(
        "pii_detection+scope", verdict("pii_detection", TRIPPED), verdict("scope", PASSED)
    )
    written.recorded("tripwire", "pii_detection: an address is in it (subject 0123)")
    written.looked(verdict("secrets", SKIPPED))

    assert shown(read(written)) == [
        "guard   guardrail pii_detection: tripped: an address is in it (1 ms)",
        "guard   guardrail scope: passed (1 ms)",
        "guard   guardrail secrets: not applicable: there is no code (12 ms)",
    ]
    assert watched(written) == shown(read(written))


def test_a_guardrail_that_looked_at_several_things_has_one_line() -> None:
    """What tripped is told, each time; that the rest passed goes without saying."""
    words = Subject(kind="words", text="his address is")
    written = Worked()
    written.looked_here(
        "pii_detection", verdict("pii_detection", PASSED), verdict("pii_detection", TRIPPED, words)
    )
    written.looked_here("scope", verdict("scope", SKIPPED), verdict("scope", PASSED, words))

    assert shown(read(written)) == [
        "guard   guardrail pii_detection: tripped: an address is in it (1 ms)",
        "guard   guardrail scope: passed: there is no code (1 ms)",
    ]


def test_a_guardrail_that_cant_decide_says_why() -> None:
    """It has tripped, and its span says so; a cancelled one has looked at nothing."""
    written = Worked()
    written.broke("guardrail:secrets", looking("secrets"), "no such file")
    written.broke("guardrail:secrets", looking("secrets"), "", cancelled=True)
    trace = read(written)

    assert shown(trace) == [
        "guard   guardrail secrets: tripped undecided: no such file (12 ms)",
        "guard   guardrail secrets: cancelled (12 ms)",
    ]
    broken, cancelled = spans(trace, "guardrail")
    assert broken.attributes["gen_ai.guardrail.verdict.type"] == "deny"
    assert broken.attributes["error"] == "no such file"
    assert cancelled.attributes["gen_ai.guardrail.verdict.type"] is None


@pytest.mark.parametrize(
    ("name", "found", "said", "action"),
    [
        ("pii_detection", PASSED, "allow", "allow"),
        ("pii_detection", TRIPPED, "deny", "block"),
        ("scope", TRIPPED, "escalate", "escalate"),
        ("scope", SKIPPED, None, None),
    ],
)
def test_a_guardrail_has_a_span(
    name: str, found: GuardrailResult, said: str | None, action: str | None
) -> None:
    """It is named as OpenTelemetry names guardrails; nothing that doesn't apply has passed."""
    # GR-11
    written = Worked()
    written.looked_here(name, verdict(name, found))
    trace = read(written)
    [span] = spans(trace, "guardrail")
    attributes = span.attributes

    assert span.name == f"run_guardrail {name}"
    assert span.parent_id == span_tree(trace).spans[0].span_id
    assert attributes["gen_ai.operation.name"] == "run_guardrail"
    assert attributes["gen_ai.guardrail.component.name"] == name
    assert attributes["gen_ai.guardrail.target.type"] == "input"
    assert attributes["gen_ai.guardrail.target.id"] == digest(GOAL.model_dump(mode="json"))
    assert attributes["gen_ai.guardrail.verdict.type"] == said
    assert attributes["gen_ai.guardrail.action.type"] == action
    assert attributes["gen_ai.guardrail.verdict.reason"] == (found.reason or None)
    assert attributes["applicable"] is found.applicable
    json.dumps(span.model_dump(mode="json"))


def test_several_guardrails_of_one_activity_have_a_span_each() -> None:
    """They shared an activity to save history; what each found is its own."""
    written = Worked()
    written.looked_here(
        "pii_detection+scope", verdict("pii_detection", TRIPPED), verdict("scope", PASSED)
    )
    found = spans(read(written), "guardrail")

    assert [span.name for span in found] == ["run_guardrail pii_detection", "run_guardrail scope"]
    assert len({span.span_id for span in found}) == 2
    assert [span.attributes["gen_ai.guardrail.verdict.type"] for span in found] == [
        "deny",
        "allow",
    ]


def test_the_output_is_another_target() -> None:
    """The layers that look at what comes out say so."""
    written = Worked()
    written.looked(verdict("secrets", TRIPPED))
    [span] = spans(read(written), "guardrail")

    assert span.attributes["gen_ai.guardrail.target.type"] == "output"
    assert span.attributes["layer"] == "output"


def test_loop_guardrails_and_registry_are_in_one_trace() -> None:
    """A turn of the model, what a guardrail found, and a call that the registry didn't know."""
    # LP-12
    call = a_call("nope")
    written = Worked()
    written.looked_here("scope", verdict("scope", PASSED))
    written.asked(call)
    written.ruled(unknown(call))
    told = shown(read(written))

    assert told[0].startswith("guard   guardrail scope: passed")
    assert told[1].startswith("turn 1")
    assert any("unknown_tool" in line for line in told[2:])


def test_a_command_of_a_guardrail_is_no_call_of_the_model() -> None:
    """It was decided and run like a call, but nobody asked for it, and no turn has it."""
    # GR-26
    call = a_call("run_command", "c1", command=["ls"])
    command = a_call("run_command", "tests_pass~1", command=["pytest"])
    written = Worked()
    written.asked(call)
    written.ruled(allowed(command))
    ended: JsonObject = {"exit_code": 1, "stdout": "", "stderr": "1 failed"}
    written.runs(
        "run_command",
        a_success(command, ended),
        call_id="tests_pass~1",
        arguments=command.arguments,
        grant=Grant(),
    )
    written.recorded("tripwire", "tests_pass: 'pytest' ended with 1: 1 failed (subject 0123)")
    trace = read(written)

    assert shown(trace)[-1:] == [
        "guard   guardrail tests_pass: pytest: exit code 1: 1 failed (12 ms)",
    ]
    assert [call.call.call_id for call in trace.calls] == ["c1"]
    [span] = spans(trace, "guardrail")
    assert span.name == "run_guardrail tests_pass"
    assert span.attributes["gen_ai.guardrail.verdict.type"] == "deny"
    assert span.attributes["sandboxed"] is True


def reviewing(
    subject: str,
    reason: str = "Sensitive domain requires human review",
    required: Requirement | None = None,
) -> Worked:
    """A run that waits for a review."""
    written = Worked()
    written.asks("review", reason, "", required, subject=subject)
    return written


def test_a_review_is_shown_with_what_is_reviewed() -> None:
    """It is no escalation; who approved it is told, and its span has the reason to the letter."""
    # ES-08 ES-14 GR-27
    written = reviewing("domain:payments")
    open_ = read(written)
    written.passes(seconds=2)
    written.said("approval", an_approval(reason="fine").model_dump(mode="json", exclude_none=True))
    written.judged(yes())
    trace = read(written)

    assert (open_.status, [asked.kind for asked in open_.waiting]) == ("waiting", ["review"])
    assert shown(trace) == [
        "wait    review: domain:payments: Sensitive domain requires human review (req-1)",
        "wait    approved by alice after 2.0 s: fine",
    ]
    [span] = spans(trace, "approval")
    assert span.name == "await review"
    assert span.attributes["subject"] == "domain:payments"
    assert span.attributes["reason"] == "Sensitive domain requires human review"
    assert span.attributes["approvers"] == ["alice"]


def test_a_review_of_a_guardrail_takes_what_the_guardrail_says() -> None:
    """Two leads must approve: the first approval leaves it open."""
    # GR-27
    leads = Requirement(count=2, groups=("leads",))
    written = reviewing("guardrail:house_style:0123456789abcdef", "look at it", leads)
    written.said("approval", an_approval().model_dump(mode="json", exclude_none=True))
    written.judged(yes(groups=("leads",)))
    first = read(written)
    written.said("approval", an_approval(approver="bob").model_dump(exclude_none=True))
    written.judged(yes(approver="bob", groups=("leads",)))
    trace = read(written)

    assert [len(asked.approvals) for asked in first.waiting] == [1]
    assert trace.requests["req-1"].outcome == "approved"
    assert shown(trace)[1:] == [
        "wait    approved by alice (1 of 2) after 0 ms",
        "wait    approved by bob (2 of 2) after 0 ms",
    ]


def test_a_review_that_was_answered_at_once_is_a_review() -> None:
    """A message may be judged while the run still writes that it asks: it counts all the same."""
    written = Worked()
    written.said("approval", an_approval(decision="reject").model_dump(exclude_none=True))
    written.judged(yes())
    written.asks("review", "look at it", subject="guardrail:house_style:0123")

    assert read(written).requests["req-1"].outcome == "rejected"
    assert shown(read(written))[1] == "wait    rejected by alice after 0 ms"


def test_no_words_open_a_request() -> None:
    """What a tool or a model says in a line is read as words, not as a request."""
    written = Worked()
    written.asks("escalation", "it said request.opened: req-7 · escalated: x; req-8 · review: z")
    written.recorded("noted", "req-9 · escalated: y")

    assert list(read(written).requests) == ["req-1"]


@guardrail(layer="input", local=True)
async def polite(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look whether the goal is polite."""
    return GuardrailResult(applicable="please" in subject.text)


@guardrail(layer="output", on_trip="block")
async def no_numbers(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look whether the answer has numbers in it."""
    found = any(map(str.isdigit, subject.text))
    return GuardrailResult(tripwire_triggered=found, reason="it has a number" if found else "")


async def test_a_real_run_leaves_all_of_it_in_its_trace(runs: Runs) -> None:
    """The loop, the guardrails and the registry write into one history, which reads as one."""
    # LP-12 GR-05 GR-11
    script = [call("nosuch"), say("It is 7.")]
    async with runs.working(scripted(script, guardrails=[polite, no_numbers])):
        run = await runs.start("it")
        trace = read_trace(await finished(run))

    told = printed(trace)
    assert told[1] == "guard   guardrail polite: not applicable (? ms)"
    assert any("nosuch" in line and "unknown_tool" in line for line in told)
    assert "guard   guardrail no_numbers: tripped: it has a number (? ms)" in told
    assert not any("tripwire" in line for line in told)
    assert told[-2].startswith("blocked")
    assert [
        (span.name, span.attributes["layer"], span.attributes["gen_ai.guardrail.verdict.type"])
        for span in spans(trace, "guardrail")
    ] == [("run_guardrail polite", "input", None), ("run_guardrail no_numbers", "output", "deny")]
