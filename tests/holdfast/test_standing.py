"""What `holdfast show` says of a run by its history alone: what a worker would say."""

from datetime import timedelta
from io import StringIO

import pytest
from rich.console import Console

from holdfast.cli import render
from holdfast.cli.screen import Screen
from holdfast.cli.standing import RunView, build_view, read_view, show_view
from holdfast.contracts.approvals import Escalation, Question, Review
from holdfast.contracts.control import CheckReport, GoalReport, ProviderWait, Waiting
from holdfast.contracts.run import RunInput, StatusReport
from holdfast.contracts.tools import Risk
from holdfast.run.requests import describe_opening
from holdfast.run.summaries import wait_line
from holdfast.run.texts.requests import request_line
from holdfast.tools import submit_plan
from holdfast.trace.transcript import lines
from holdfast.workflows import views
from tests.builders import (
    LATER,
    NOW,
    a_call,
    a_contract,
    a_question,
    a_request,
    a_state,
    a_success,
    allowed,
    an_agent,
    an_escalation,
    to_approve,
)
from tests.holdfast.written import Written, read

WAIT = ProviderWait(
    model="scripted:it",
    kind="overloaded",
    error="503",
    since=NOW,
    until=NOW + timedelta(seconds=30),
    tries=1,
)


def begun() -> Written:
    written = Written()
    written.opened(an_agent(tools=(a_contract("send", risk=Risk.COMMUNICATION),)))
    return written


def a_review(**changes: object) -> Review:
    fields: dict[str, object] = {
        "request_id": "req-1",
        "reason": "payments are looked at",
        "requested_at": NOW,
        "expires_at": LATER,
        "subject": "domain:payments",
        "text": "go",
        "requester": "agent it for anonymous",
        "objections": (),
        "arguments_digest": "",
        "challenge": "",
    }
    return Review.model_validate({**fields, **changes})


def test_all_that_a_run_says_is_shown() -> None:
    """Whatever its status has a view has too, but for what who sends a signal has to know."""
    state = (
        a_state()
        .with_(suspended=True)
        .with_chain(notes=("no reasoning",))
        .with_oversight(refused_total=3)
    )
    status, usage = views.status(state), views.usage(state)

    shown = build_view(read(begun()), status, usage, ())

    common = StatusReport.model_fields.keys() & RunView.model_fields.keys()
    assert StatusReport.model_fields.keys() - common == {"signed"}
    assert {name: getattr(shown, name) for name in common} == {
        name: getattr(status, name) for name in common
    }


def test_nothing_of_a_view_is_forgotten() -> None:
    """History tells all but the goal, and that a worker does."""
    state = a_state()

    asked = build_view(read(begun()), views.status(state), views.usage(state), ())

    every = RunView.model_fields.keys()
    assert every == asked.model_fields_set
    assert every - read_view(read(begun())).model_fields_set == {"goal"}


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(a_question(call_id=""), id="question"),
        pytest.param(an_escalation(), id="escalation"),
        pytest.param(a_review(), id="review"),
    ],
)
def test_a_request_has_the_words_of_its_run(request_: Question | Escalation | Review) -> None:
    """Whoever answers, a worker or the history: what waits is told in the same words."""
    written = begun()
    written.tells(describe_opening(a_state(), request_))

    assert read_view(read(written)).waits_for == (request_line(request_),)


def test_an_approval_has_the_words_of_its_run() -> None:
    """With tool and class; that one of two has approved only the history has to say here."""
    send = a_call("send", "c1", text="hi")
    one, two = begun(), begun()
    for written, count in ((one, 1), (two, 2)):
        written.asked(send)
        written.ruled(to_approve(send, count=count))

    line = request_line(a_request())
    assert read_view(read(one)).waits_for == (line,)
    assert read_view(read(two)).waits_for == (f"{line} (0 of 2 approved)",)


def test_a_wait_for_a_provider_is_read_from_history() -> None:
    """The run waits, for whom and until when; behind the next try it waits no more."""
    written = begun()
    written.waits_for_provider(WAIT)
    waiting = read(written)
    written.answered("done")

    shown = read_view(waiting)
    assert (shown.status, shown.in_flight, shown.model) == ("waiting", (), "scripted:it")
    assert shown.waiting == Waiting(reason=wait_line(WAIT), until=WAIT.until)
    assert "scripted:it: overloaded: 503" in str(list(lines(waiting))[-1])
    over = read_view(read(written))
    assert (over.status, over.waiting) == ("running", None)


def test_a_run_that_plans_is_shown_as_one() -> None:
    """Until its plan is approved and has run."""
    # BY-18
    plan = a_call("submit_plan", "c1", goal="tell them", steps=["send it"], tools=["send"])
    written = Written(RunInput(agent="it", input="go", mode="plan"))
    written.opened(an_agent(tools=(submit_plan.contract,)))
    written.asked(plan)
    planning = read_view(read(written)).planning
    written.ruled(allowed(plan))
    written.runs("submit_plan", a_success(plan), call_id="c1")

    assert planning
    assert not read_view(read(written)).planning


def test_how_far_a_run_is_stands_on_lines() -> None:
    """What each check found, and what the model says."""  # BY-19
    found = CheckReport(name="unit_tests", state="failed", found="2 failed")
    goal = GoalReport(objective="mend it", done_when=(found,), progress="done: a; next: b")

    assert [*render.describe_goal(goal)] == [
        ("done when", "unit_tests (failed: 2 failed)"),
        ("progress", "done: a; next: b"),
    ]


@pytest.mark.parametrize(
    ("named", "row"),
    [
        pytest.param("openai-chat", 'openai-chat keeps  {"id": "x"}', id="a provider"),
        pytest.param("decide  approve run-2 #", "kept     by decide  approve run-2 #", id="words"),
    ],
)
def test_no_row_begins_with_what_a_stranger_calls_a_provider(named: str, row: str) -> None:
    """Whoever answers for a run on a queue of their own says who keeps what of it."""
    said = views.status(a_state()).copy_with({"provider_state": {named: {"id": "x"}}})
    shown = build_view(read(begun()), said, views.usage(a_state()), ())
    written = StringIO()

    show_view(Screen(Console(file=written)), shown)

    assert [line for line in written.getvalue().splitlines() if line.startswith(row)]
    assert not written.getvalue().count("\ndecide")
