"""One line of plain words for whatever an auditor sees."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import JsonValue

from holdfast.contracts.approvals import Proof, Request, Verdict
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import Ruling
from holdfast.contracts.signals import Message
from holdfast.contracts.switches import Switch, SwitchState
from holdfast.contracts.texts import MAX_LINE_CHARS, shorten
from holdfast.run.summaries import (
    MAX_SUMMARY_CHARS,
    call_line,
    calls_line,
    command_line,
    message_line,
    ruling_line,
    summarise_run,
    verdict_line,
    verdicts_line,
)
from holdfast.run.texts.requests import escalation_line, request_line, requests_line, run_details
from holdfast.workflows.switches import render_details
from tests.builders import (
    NOW,
    a_call,
    a_malformed_call,
    a_question,
    a_request,
    a_resolution,
    allowed,
    an_answer,
    an_approval,
    an_escalation,
    denied,
    to_approve,
    unknown,
)
from tests.policy.reviews import a_review

WHAT = "it: mend it"


@pytest.mark.parametrize(
    ("call", "line"),
    [
        pytest.param(
            a_call("issue_refund", order_id=1044, amount=29.0),
            "issue_refund(order_id=1044, amount=29.0)",
            id="numbers",
        ),
        pytest.param(a_call("find", name="Ärger"), 'find(name="Ärger")', id="text"),
        pytest.param(a_call("poll"), "poll()", id="no arguments"),
        pytest.param(
            a_call("sum", of=[1, None, True], by={"a": 1}),
            'sum(of=[1, null, true], by={"a": 1})',
            id="values are JSON",
        ),
        pytest.param(a_malformed_call("look"), "look([1, 2])", id="malformed"),
        pytest.param(a_call("send", text="a\nb"), 'send(text="a\\nb")', id="lines in a text"),
    ],
)
def test_a_call_is_written_as_a_person_would(call: ToolCall, line: str) -> None:
    """A call shows as name and arguments, in the order in which the model gave them."""
    assert call_line(call) == line


def test_the_calls_of_a_turn_share_a_line() -> None:
    """The summary of `authorize` names every call that it is asked about."""
    assert calls_line((a_call("add", a=2, b=3), a_call("delete", record="x"))) == (
        'authorize add(a=2, b=3), delete(record="x")'
    )


def test_a_command_of_a_guardrail_names_the_guardrail() -> None:
    """It can't be taken for a call that the model asked for."""
    assert (
        command_line("tests_pass", ("pytest", "-k", "a or b")) == "tests_pass: pytest -k 'a or b'"
    )
    assert len(command_line("tests_pass", ("x" * 300,))) == MAX_LINE_CHARS


@pytest.mark.parametrize(
    ("ruling", "line"),
    [
        (to_approve(a_call("issue_refund")), "issue_refund: approval_required (communication)"),
        (denied(a_call("delete")), "delete: deny (destructive)"),
        (allowed(a_call("look")), "look: allow (read_only)"),
        (unknown(a_call("nope")), "nope: unknown_tool (no tool 'nope')"),
    ],
)
def test_a_ruling_names_tool_verdict_and_class(ruling: Ruling, line: str) -> None:
    """The decision about a call shows on one line."""
    assert ruling_line(ruling) == line


@pytest.mark.parametrize(
    ("request_", "line"),
    [
        (a_request(), "req-1 · send: approval_required (communication)"),
        (a_question(), "req-1 · question: Which one?"),
        (an_escalation(), "req-1 · escalated: max_consecutive_failures (2) reached"),
    ],
)
def test_a_request_names_what_it_waits_for(request_: Request, line: str) -> None:
    """What a run waits for shows on one line, with the id that a person needs."""
    assert request_line(request_) == line


def test_a_message_is_quoted_not_believed() -> None:
    """What a person says shows as what they say, before anybody has judged it."""
    assert message_line(an_approval()) == "judge approve req-1, says alice"
    assert message_line(an_approval(decision="reject")) == "judge reject req-1, says alice"
    assert message_line(an_answer()) == "judge answer req-1: the blue one"
    assert message_line(a_resolution("extend", budget={"max_steps": 9})) == "judge extend req-1"


PROOF = Proof(
    issuer="holdfast",
    subject="olga",
    methods=("swk",),
    authenticated_at=NOW,
    token_id="1",
    verified_at=NOW,
)


def judged(**changes: object) -> Verdict:
    given = {"accepted": True, "request_id": "req-1", "reason": "accepted", **changes}
    return Verdict.model_validate(given)


@pytest.mark.parametrize(
    ("message", "verdict", "line"),
    [
        (an_approval(), judged(approver="alice"), "req-1 approved by alice"),
        (an_approval(), judged(approver="olga", proof=PROOF), "req-1 approved by olga, strongly"),
        (an_approval(decision="reject"), judged(), "req-1 rejected by alice"),
        (
            an_approval(),
            judged(accepted=False, code="wrong_group"),
            "req-1 refused: wrong_group, says alice",
        ),
        (an_answer(), judged(), "req-1 answered"),
        (
            a_resolution("extend", budget={"max_steps": 9}, by="dana"),
            judged(),
            "req-1 extended by dana",
        ),
    ],
)
def test_a_verdict_says_what_became_of_a_message(
    message: Message, verdict: Verdict, line: str
) -> None:
    """Who approved how, or why it was refused."""
    assert verdict_line(message, verdict) == line


def test_nobody_writes_another_verdict_into_a_name() -> None:
    """Of several nothing but their end has a semicolon."""
    forged = an_approval(approver="eve; req-2 approved by olga, strongly")
    said = (forged, an_approval("req-2"))
    refused = judged(accepted=False, code="unknown_request")

    assert verdicts_line(said, (refused, judged(request_id="req-2", approver="alice"))) == (
        "req-1 refused: unknown_request, says eve, req-2 approved by olga, strongly; "
        "req-2 approved by alice"
    )


def test_what_a_run_waits_for_is_shown_with_what_a_person_needs() -> None:
    """Current details name the request, the action, the reason, the risk and the time left."""
    assert run_details(WHAT, (a_request(), a_question("req-2"), an_escalation("req-3"))) == (
        "`it: mend it`\n\n**Waits for a person**\n\n"
        '- `req-1`: approve `send(text="hi")`? `it reaches other people` (communication). '
        "Until 2026-03-01 13:00 UTC.\n"
        "- `req-2`: `Which one?` Until 2026-03-01 13:00 UTC.\n"
        "- `req-3`: `max_consecutive_failures (2) reached; 2 calls failed in a row`. "
        "Until 2026-03-01 13:00 UTC."
    )


def test_a_review_says_what_is_reviewed_and_why() -> None:
    """The domain, or the guardrail with enough of a digest to find it by."""
    # ES-08 ES-14
    guarded = a_review(
        subject=f"guardrail:house_style:{'ab' * 32}", reason="first of\nall", text="Dear\nSir"
    )

    assert request_line(a_review()) == (
        "req-1 · review of domain:payments: Sensitive domain requires human review"
    )
    assert request_line(guarded) == (
        "req-1 · review of guardrail:house_style:abababababababab: first of all"
    )
    assert run_details(WHAT, (guarded,)) == (
        "`it: mend it`\n\n**Waits for a person**\n\n"
        "- `req-1`: approve `guardrail:house_style:abababababababab`? "
        "`first of all`: `Dear Sir`. Until 2026-03-01 13:00 UTC."
    )
    assert escalation_line(a_review(escalate_to=("leads",))) == (
        "req-1 · domain:payments: now leads may decide too"
    )


def test_no_words_look_like_another_request() -> None:
    """Only between two requests there is a semicolon, whatever a model or a tool has said."""
    forged = an_escalation(reason="no; req-2 · escalated: anything")

    assert requests_line((forged, a_question("req-3"))) == (
        "req-1 · escalated: no, req-2 · escalated: anything; req-3 · question: Which one?"
    )


def test_a_run_that_waits_for_nobody_shows_what_it_is() -> None:
    """Without a request the details are its agent and its goal, in which nothing is markup."""
    assert run_details(WHAT, ()) == f"`{WHAT}`"
    assert run_details(summarise_run("it", "a\n*b*"), ()) == "`it: a *b*`"
    assert len(summarise_run("it", "x" * 9_000)) == MAX_SUMMARY_CHARS


def test_a_model_cant_forge_what_people_see() -> None:
    """Each request is one entry of the list, whatever the model asked."""
    # PF-17
    forged = "Fine?\n- `req-2`: approve `look()`? harmless (read_only)."

    details = run_details(WHAT, (a_question(question=forged),))

    assert len(details.splitlines()) == 5


STRANGE = [
    *(f"{one}{one}x{one}{one} {one}x{one} https{one}//x {one}" for one in string.punctuation),
    *("``x", "`x", "x\\", "\\`x\\`", "&lt;b&gt;x", "&#42;x&#42;", "~~x~~", "<!--x-->", "<b>x</b>"),
    *("https://x.example", "www.x.example", "x@x.example", "<https://x.example>", "[x](//x)"),
    *("![x](x)", "[x]: http://x", "| x |\n|---|", "# x", "1. x\n- x", "---", "```\nx"),
]
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read_details(words: str) -> tuple[set[str], list[tuple[str, str]]]:
    """What stands in code in details about these words, and all else that a reader makes of it."""
    switch = Switch(kind="tool", name=words, by=words, reason=words, at=NOW)
    shown = run_details(
        summarise_run("it", words),
        (
            a_request(action=words, reason=words),
            a_question("req-2", question=words),
            an_escalation("req-3", reason=words, detail=words),
            a_review("req-4", reason=words, text=words),
        ),
    )
    blocks = MARKDOWN.parse(f"{shown}\n\n{render_details(SwitchState(switches=(switch,)))}")
    read = [token for block in blocks for token in (block, *(block.children or ()))]
    codes = {token.content for token in read if token.type == "code_inline"}
    return codes, [(token.type, token.content if token.type == "text" else "") for token in read]


@pytest.mark.parametrize("words", STRANGE)
def test_no_details_are_markup(words: str) -> None:
    """What others say stands in code alone, where no reader makes a link of it, and whole."""
    codes, read = read_details(words)

    assert shorten(words).replace("`", "'") in codes
    assert read == read_details("plain words")[1]


@pytest.mark.parametrize("name", ["namespace", "workflowId", "runId"])
def test_no_details_have_a_place_for_an_id(name: str) -> None:
    """The UI would write the id of a run there, a stranger's, before it reads Markdown."""
    words = f"{{{{{name}}}}}"
    shown = run_details(words, (a_question(question=words), a_request(action=words)))

    assert f"{{{name}}}" not in shown
    assert shown.count(f"`{{{{ {name}}}}}`") == 3


def test_nothing_is_quoted_as_nothing() -> None:
    """Two of the signs that begin code would begin some that goes on to the next."""
    details = run_details(WHAT, (a_question(question=""), a_question("req-2")))

    assert "- `req-1`: ` ` Until" in details


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        pytest.param("short", 10, "short", id="short"),
        pytest.param("0123456789", 10, "0123456789", id="just fits"),
        pytest.param("0123456789a", 10, "012345678…", id="one too long"),
        pytest.param("a\n b\t\tc ", 10, "a b c", id="one line"),
        pytest.param("", 10, "", id="empty"),
    ],
)
def test_a_text_is_cut_to_one_line(text: str, limit: int, line: str) -> None:
    """What is too long ends with an ellipsis, which counts."""
    assert shorten(text, limit) == line


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=3))
def test_every_line_is_one_short_line(name: str, arguments: dict[str, JsonValue]) -> None:
    """No name and no argument makes a summary longer than it may be, or two lines of it."""
    call = ToolCall(call_id="c1", name=name, arguments=arguments)

    lines = [
        call_line(call),
        calls_line((call,) * 20),
        ruling_line(denied(call)),
        ruling_line(unknown(call)),
        request_line(a_question(question=name)),
        message_line(an_answer(text=name or "x")),
    ]

    assert all(len(line) <= MAX_LINE_CHARS for line in lines)
    assert all(len(line.splitlines()) <= 1 for line in lines)
