"""Attack: a guardrail's reason quotes the answer that it refuses, and so tells those who watch."""

import asyncio
import json
from typing import Unpack

import pytest
from structlog.testing import capture_logs

from holdfast import Agent, App, Tiers
from holdfast.client import Run as Watched
from holdfast.contracts.control import Backtracking
from holdfast.contracts.guardrails import WITHHELD, GuardrailResult, Subject
from holdfast.contracts.texts import quotes
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    guardrail,
    judged_by,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.definition import GuardrailOptions
from holdfast.testing import Reply, Script, ScriptTurn, say
from tests.activities.looking import looked
from tests.attacks.test_unreleased_words import settled
from tests.attacks.watchers import seen
from tests.control.guarded import decided
from tests.histories import children
from tests.running import Runs
from tests.workflows.delegating import RESEARCHER, Findings, ask

LETTERS_ALONE = str.maketrans("0123456789", "ghijklmnop")

ASK = "delegate_to_researcher"

BAD, FAIR = "the plan is to sell everything", "no comment on account zk4711"


def said(text: str) -> list[str]:
    """Which words of an answer that nobody may read are in a text."""
    words = (BAD, BAD.upper(), "sell everything", "SELL EVERYTHING", "zk4711")
    return [one for one in words if one in text]


async def careless(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Quote an answer, in capitals."""
    return tripped(f"it says: {subject.text.upper()}") if "sell" in subject.text else passed()


def quoting(**terms: Unpack[GuardrailOptions]) -> Guardrail:
    """A guardrail that quotes what it refuses."""
    return guardrail(layer="output", **terms)(careless)


@guardrail(layer="output")
async def shrugs(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Quote a number of the answer, without a tripwire."""
    return not_applicable(f"I know nothing of {subject.text.split()[-1]}")


@guardrail(layer="output")
async def passes(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Accept everything."""
    return passed()


@guardrail(layer="output")
async def refuses(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Quote nothing."""
    return tripped("no good")


async def stumbling(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Quote in an error what it looks at."""
    raise ValueError(f"{subject.text!r} is too much for me")


async def failing(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Say nothing of what it looks at in an error, and have another one behind it do so."""
    try:
        float(subject.text)
    except ValueError as error:
        raise RuntimeError("it can't be read") from error
    return passed()


def judges(turn: ScriptTurn) -> Reply:
    """Tell in other words what is in an answer."""
    found = GuardrailResult(tripwire_triggered=True, reason="they mean to sell everything")
    return say(found.model_dump_json() if "plan" in turn.goal else "?")


def agent(name: str, *guardrails: Guardrail, answer: str = "bad", **more: object) -> Agent:
    return Agent(
        name=name,
        instructions="Comment.",
        models=[f"scripted:{answer}"],
        guardrails=guardrails,
        max_output_retries=0,
        **more,  # pyright: ignore[reportArgumentType] -- whatever a case needs
    )


def ending() -> App:
    """Agents whose answer is refused, each by guardrails of another kind."""
    one_more = Backtracking(max_backtracks=1, revisions=0)
    refused = [
        agent("blocked", quoting(on_trip="block")),
        agent("retried", quoting()),
        agent("warned", quoting(on_trip="warn"), refuses),
        agent("shrugged", shrugs, refuses, answer="fair"),
        agent("broken", guardrail(layer="output")(stumbling)),
        agent("unread", guardrail(layer="output")(failing)),
        agent("judged", judged_by("judge")),
        agent("unfit", shrugs, answer="bad", acceptance=(quoting(on_trip="block"),)),
        agent("given up", quoting(), acceptance=(passes,), backtracking=one_more),
        agent("gone back", shrugs, acceptance=(quoting(),), backtracking=one_more),
    ]
    judge = Agent(name="judge", instructions="Judge.", models=["scripted:judge"])
    scripts: dict[str, Script] = {
        "bad": lambda _: say(BAD),
        "fair": lambda _: say(FAIR),
        "judge": judges,
    }
    return App(agents=[*refused, judge], scripts=scripts)


async def test_no_guardrail_tells_those_who_watch_what_it_refuses(runs: Runs) -> None:
    """Whatever it says of an answer: no query, event, screen, summary, result or log has it."""
    # SM-05 GR-12
    app = ending()
    names = [one.name for one in app.agents if one.name != "judge"]
    with capture_logs() as logs:
        async with runs.working(app):
            started = [await runs.start(name) for name in names]
            ends = await asyncio.gather(*(settled(runs, run) for run in started))

    told = dict(zip(names, ends, strict=True))
    assert {name: said(text) for name, (_, text) in told.items() if said(text)} == {}
    assert said(str(logs)) == []
    assert {end for end, _ in ends} <= {"blocked", "stopped", "failed"}
    assert "guardrail careless" in told["blocked"][1]


def overheard() -> App:
    """Agents whose answer is refused; guardrails elsewhere meet it in a goal or in a result."""
    hears, looks = guardrail(layer="input"), guardrail(layer="post_action", tools=(ASK,))
    reads = guardrail(layer="input", watches=("results",))
    tiers = Tiers(full="nosy", simplified="nosy")
    refused = [
        agent("judged", judged_by("nosy")),
        agent("stumbled over", judged_by("clumsy")),
        agent("appealed", judged_by("lofty")),
        Agent(name="tiered", instructions="Comment.", tiers=tiers, guardrails=(refuses,)),
        agent("asked for", refuses, looks(careless), answer="asks", subagents=(RESEARCHER,)),
        agent("read", refuses, reads(careless), answer="asks", subagents=(RESEARCHER,)),
    ]
    parts = [
        agent("nosy", hears(careless)),
        agent("clumsy", hears(stumbling)),
        agent("lofty", judged_by("judge", "input")),
        agent("judge", answer="judge"),
        agent("researcher", answer="found", output=Findings),
    ]
    scripts: dict[str, Script] = {
        "bad": lambda _: say(BAD),
        "judge": judges,
        "asks": lambda turn: ask("shares") if turn.number == 1 else say("so be it"),
        "found": lambda _: say(Findings(facts=[BAD]).model_dump_json()),
    }
    return App(agents=[*refused, *parts], scripts=scripts)


async def told_by_all(runs: Runs, run_id: str) -> str:
    """Everything that is told of a run that is over, and of those that it started."""
    handle = runs.client.get_workflow_handle(run_id)
    parts = children(await handle.fetch_history())
    below = [await told_by_all(runs, f"{run_id}.{part.split('.')[-1]}") for part in parts]
    return "\n".join([await seen(runs, run_id), str(await handle.query("carryover")), *below])


async def test_no_guardrail_tells_what_it_met_in_a_goal_or_a_result(runs: Runs) -> None:
    """Where a part was given an answer that isn't out, or gave it, no reason or error tells it."""
    # SM-05 GR-12
    app = overheard()
    names = [one.name for one in app.agents[:6]]
    with capture_logs() as logs:
        async with runs.working(app):
            started = [await runs.start(name) for name in names]
            ends = await asyncio.gather(*(settled(runs, run) for run in started))
            told = [await told_by_all(runs, run.handle.id) for run in started]

    both = {name: told + end for name, (_, end), told in zip(names, ends, told, strict=True)}
    assert {name: said(text) for name, text in both.items() if said(text)} == {}
    assert said(str(logs)) == []
    assert {end for end, _ in ends} == {"blocked"}
    assert {name for name, text in both.items() if WITHHELD not in text} == set()


async def test_who_reviews_is_told(runs: Runs) -> None:
    """Who is asked reads the reason with the answer; all else says only that somebody is asked."""
    # SM-05 T-07
    async with runs.working(
        App(agents=[agent("it", quoting(on_trip="ask"))], scripts={"bad": lambda _: say(BAD)})
    ):
        run = await runs.start("it")
        (request,) = await run.asked()
        waits_for = (await run.status()).waits_for
        await decided(run, request, "reject", "not this")
        result = await run.result()
        timers = [event.user_metadata for event in (await run.handle.fetch_history()).events]
        watched = Watched(runs.client, run.handle.id)
        events = [one.model_dump_json() async for one in watched.events()]

    assert request.kind == "review"
    assert (request.text, BAD.upper() in request.reason) == (BAD, True)
    assert result.status == "blocked"
    assert waits_for[0].startswith("req-1 · review of guardrail:careless")
    assert said(f"{events}{result}{waits_for}{[one.summary for one in timers]}") == []


@pytest.mark.parametrize(
    ("reason", "answer", "is_quote"),
    [
        pytest.param("it tells them", BAD, False, id="words of its own"),
        pytest.param("The answer is bad", "That is the answer, to a bad deal.", False, id="few"),
        pytest.param("IT says: Plan-is to\nSELL", BAD, True, id="three words, other signs"),
        pytest.param("it names zk4711", FAIR, True, id="a number"),
        pytest.param("rule 12", "12 of them", False, id="a short number"),
        pytest.param("it says Sell!", "SELL", True, id="all of a short answer"),
        pytest.param("no", "", False, id="no answer"),
        pytest.param("他说把所有的股票都卖掉", "把所有的股票都卖掉吧", True, id="without blanks"),
    ],
)
def test_what_counts_as_a_quote(reason: str, answer: str, *, is_quote: bool) -> None:
    """About three words, a number, or a short answer whole."""
    # SM-05
    assert quotes(reason, answer) is is_quote


def escaped(text: str) -> str:
    """Write a text as a model may write JSON."""
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"'


@pytest.mark.parametrize(
    ("reason", "subject"),
    [
        pytest.param(
            f"it says {BAD}",
            Subject(kind="answer", text=f'{{"plan": {escaped(BAD)}}}', data={"plan": BAD}),
            id="what was written in escapes",
        ),
        pytest.param(
            "1000000 is too much",
            Subject(kind="answer", text='{"cost": 1e6}', data={"cost": 1e6}),
            id="a number as it is read",
        ),
        pytest.param(
            f"it says {BAD}",
            Subject(kind="results", text=json.dumps({"summary": BAD.replace(" ", "\n")})),
            id="what stood on lines",
        ),
        pytest.param(
            f"it says {BAD}",
            Subject(kind="results", text=json.dumps({"data": f'{{"plan": {escaped(BAD)}}}'})),
            id="what was JSON in JSON",
        ),
        pytest.param(
            "it is bad",
            Subject(kind="answer", text=escaped("a" * 10_001)),
            id="what is escapes alone",
        ),
    ],
)
async def test_who_quotes_an_answer_as_it_is_read_quotes_it(reason: str, subject: Subject) -> None:
    """A model may write it otherwise, and whoever watches would read the words."""
    # SM-05

    @guardrail(layer="output")
    async def quoter(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return tripped(reason)

    verdict = await looked(quoter, subject, unreleased=["answer", "results"])

    assert verdict.quotes


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_no_length_of_a_reason_takes_a_worker_its_time() -> None:
    """Whether one quotes the other is found out in one pass: in each place it would be hours."""
    reason = "".join(f"{number:x}z" for number in range(80_000))
    answer = "".join(f"{number:x}y" for number in range(160_000))

    assert not quotes(reason.translate(LETTERS_ALONE), answer.translate(LETTERS_ALONE))
