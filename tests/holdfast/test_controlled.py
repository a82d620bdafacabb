"""How a controlled run reads: plans, answers that were held back, ways back, what was undone."""

import pytest
from rich.console import Console

from holdfast.cli.screen import Screen
from holdfast.cli.standing import read_view, show_view
from holdfast.contracts.approvals import RequestKind
from holdfast.contracts.base import JsonObject
from holdfast.contracts.control import Approach
from holdfast.contracts.effects import Compensation, Effect
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.journal import AnswerWithheld, ApproachFailed
from holdfast.contracts.project import WorkspaceSnapshot
from holdfast.contracts.run import RunResult
from holdfast.trace import controlled
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.values import Trace
from tests.builders import an_invocation
from tests.holdfast.own_work import TRIPPED, Worked, a_result, shown, verdict, watched
from tests.holdfast.written import payloads, read

PLAN = "I print the amount itself."
KEPT = WorkspaceSnapshot(digest="ab" * 32, files=3, bytes=9)
FAILED = Approach(
    number=1, approach=PLAN, failure_reason="a test failed", partial_progress="3 calls succeeded"
)


class Controlled(Worked):
    """A run whose answers have to pass, and that may go back."""

    def tripped(self, name: str = "secrets") -> None:
        """Have a guardrail of answers trip."""
        self.looked(verdict(name, TRIPPED))
        self.recorded("tripwire", f"{name}: an address is in it (subject 0123)")
        self.tells(AnswerWithheld(by=name))

    def ended(self, result: RunResult) -> None:
        self._add("WORKFLOW_EXECUTION_COMPLETED", result=payloads(result))


def gone_back() -> Controlled:
    """A run that planned, failed, went back, and plans again."""
    written = Controlled()
    written.answered(PLAN, purpose="plan")
    written.recorded("approach", PLAN)
    written.answered("done")
    written.tripped()
    written.recorded("approach failed", "a test failed")
    written.tells(ApproachFailed(approach=FAILED))
    written.recorded("undone", "write()")
    written.recorded("not undone", "send() (nothing undoes it)")
    written.ran("restore_workspace", an_invocation(), KEPT)
    written.answered("I divide otherwise.", purpose="plan")
    written.recorded("approach", "I divide otherwise.")
    return written


def fields(trace: Trace) -> list[str]:
    """What `holdfast show` prints, with one space between name and value."""
    console = Console(width=500)
    with console.capture() as printed:
        show_view(Screen(console), read_view(trace))
    return [" ".join(line.split()) for line in printed.get().splitlines()]


def test_plans_and_the_way_back_are_lines_of_their_own() -> None:
    """A plan is no answer, its words are told once; going back and rolling back are named."""
    # BT-02 BT-05
    assert shown(read(gone_back())) == [
        "turn 1  scripted:it  -> plan",
        f"  plan    {PLAN}",
        "turn 2  scripted:it  -> answer, held back",
        "guard   guardrail secrets: tripped: an address is in it (12 ms)",
        "note    went back: a test failed",
        "note    undone: write()",
        "fault   not undone: send() (nothing undoes it)",
        "project rolled back: 3 files, 9 bytes, workspace abababababababab (12 ms)",
        "turn 3  scripted:it  -> plan",
        "  plan    I divide otherwise.",
    ]


def test_a_summary_is_no_answer() -> None:
    """What the model says when it sums up is shown as that; what only sounds so is not."""
    written = Controlled()
    written.answered("They want a lamp.", purpose="summary")
    written.answered("plan")

    assert shown(read(written)) == [
        "turn 1  scripted:it  -> summary",
        "  summary They want a lamp.",
        "turn 2  scripted:it  -> answer",
    ]


def test_the_answer_that_went_out_was_not_held_back() -> None:
    """Of two answers the one that tripped was held back, and the last is the run's."""
    # GR-13
    written = Controlled()
    written.answered("his address is")
    written.tripped()
    written.answered("done")
    written.ended(a_result(confidence=0.8))
    trace = read(written)

    assert [line for line in shown(trace) if line.startswith("turn")] == [
        "turn 1  scripted:it  -> answer, held back",
        "turn 2  scripted:it  -> answer",
    ]
    assert "turn 1  scripted:it  -> answer" in watched(written)
    assert "sure 0.80 of 1" in fields(trace)


def test_an_approved_answer_was_not_held_back() -> None:
    """While people look at it it is held back, and `show` has it; once it went out it isn't."""
    written = Controlled()
    written.answered("done")
    written.asks("review", "look", subject="guardrail:house_style:0123", shows_answer=True)
    waiting = read(written)
    written.ended(a_result())

    assert controlled.find_candidate(waiting) == "done"
    assert "proposed done" in fields(waiting)
    assert controlled.find_candidate(read(written)) is None


def test_a_withheld_answer_waits_for_nobody() -> None:
    """A run may wait for another reason: what tripped is no candidate any more."""
    written = Controlled()
    written.answered("his address is")
    written.tripped()
    written.asks("escalation", "max_consecutive_failures (2) reached")

    assert controlled.find_candidate(read(written)) is None


@pytest.mark.parametrize(
    ("kind", "subject"), [("escalation", ""), ("review", "guardrail:scope:0123")]
)
def test_an_answer_that_nobody_is_asked_about_waits_for_nobody(
    kind: RequestKind, subject: str
) -> None:
    """Its output guardrails may be about to look at it: a run may wait for another reason."""
    # SM-05
    written = Controlled()
    written.answered("his address is")
    written.asks(kind, "no", subject=subject)

    assert controlled.find_candidate(read(written)) is None


def test_what_was_tried_is_known_while_the_run_goes_on() -> None:
    """The approach under way is the last plan, unless it has failed."""
    # BT-04
    trace = read(gone_back())

    assert controlled.find_approaches(trace) == ((FAILED,), "I divide otherwise.")
    assert fields(trace)[-5:-1] == [
        f"tried 1. {WITHHELD}: a test failed; came as far as: 3 calls succeeded",
        f"trying {WITHHELD}",
        "undone write()",
        "not undone send() (nothing undoes it)",
    ]


def test_a_finished_run_says_it_from_its_result() -> None:
    """What failed, how far it came, and what could not be undone; as JSON all of it is whole."""
    # BT-03 GR-13
    lost = Compensation(not_undone=("send() (nothing undoes it)",))
    long = FAILED.model_copy(update={"failure_reason": "a test failed " * 50})
    written = gone_back()
    written.ended(a_result(attempts=(long,), compensation=lost))
    trace = read(written)
    tried = next(line for line in fields(trace) if line.startswith("tried"))
    whole: JsonObject = read_view(trace).model_dump(mode="json")

    assert tried.endswith("…; came as far as: 3 calls succeeded")
    assert len(tried) < 300
    assert whole["attempts"] == [long.model_dump(mode="json")]
    assert whole["compensation"] == {
        "undone": ["write()"],
        "not_undone": ["send() (nothing undoes it)"],
    }
    assert whole["approach"] is None


def test_what_a_run_did_and_may_have_done_is_told() -> None:
    """Writes of which nobody knows are named, what was done is counted; programs get all of it."""
    # BY-11 TR-01
    effects = (Effect(summary="send()", tool="send"), Effect(summary="pay()", tool="pay"))
    lost = Effect(summary="write(x=1)", tool="write", outcome="unknown")
    written = gone_back()
    written.ended(a_result(effects=effects, unresolved=(lost,)))
    trace = read(written)
    (root, *_) = span_tree(trace).spans

    assert {"changed 2 things; --json names them", "unknown write(x=1)"} <= {*fields(trace)}
    assert shown(trace)[-2] == "unknown write(x=1)"
    assert read_view(trace).effects == effects
    assert root.attributes["unresolved"] == [lost.model_dump(mode="json")]
