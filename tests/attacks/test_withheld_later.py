"""What was withheld stays so in what goes on later with an agent whose words nobody looks at."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, Handoff, Risk, tool
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.effects import Effect
from holdfast.contracts.guardrails import OnTrip
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, UserTurn
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.run import backtracking, parts, tripwires
from holdfast.run.transcript import append_items
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from holdfast.tools.tool import Tool
from tests.builders import NOW
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import IMPATIENT, TOOLS
from tests.sessions.talking import Talks
from tests.sessions.test_guards_of_receivers import done, taken_over, tripped_in_all
from tests.workflows.test_handoffs import TRANSFER, later
from tests.workflows.test_retries import BROKEN, first_then, retried

GUARDED = (
    say("the secret is 5"),
    calls(call("add", a=1, b=2), text="not to tell: secret"),
)
"""An answer that is sent back, and words beside a call."""


POLITE = on_word("polite", "rude", "output")
"""Looks at answers, for other words than are withheld here."""


def office(triage: Script, *billing: Reply, own: Sequence[Guardrail] = ()) -> App:
    """`triage`, whose answers *own* look at, may hand over to `billing`, with whom more does."""
    looks = on_word("clean", "secret", "output")
    return handing_over(triage, later(*billing), looks, *TOOLS, own=own)


def handing_over(
    triage: Script, billing: Script, looks: Guardrail, *tools: Tool, own: Sequence[Guardrail] = ()
) -> App:
    """`triage` may hand over to `billing`, who has tools, and a guardrail that looks."""
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:triage"],
                settings=IMPATIENT,
                handoffs=[Handoff("billing", when="money questions")],
                guardrails=own,
            ),
            Agent(
                name="billing",
                instructions="Answer what is about money.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                tools=tools,
                guardrails=[looks],
            ),
        ],
        scripts={"triage": triage, "billing": billing},
    )


@pytest.mark.parametrize("own", [[], [POLITE]], ids=["unguarded", "guarded"])
@pytest.mark.parametrize(
    ("last", "again"),
    [
        pytest.param(BROKEN, {}, id="retry"),
        pytest.param(say("It is charged."), {"turn": 4}, id="fork"),
    ],
)
async def test_who_tries_a_run_again_that_was_handed_over_reads_nothing_withheld(
    runs: Runs, last: Reply, again: dict[str, JsonValue], own: list[Guardrail]
) -> None:
    """It begins with the agent before the handoff; neither its model nor a query has the words."""
    heard: list[str] = []

    def listen(turn: ScriptTurn) -> Reply:
        heard.append(str(turn.transcript))
        return say("done")

    notice = "tries it again" if not again else "takes its turn 4 anew"
    app = office(first_then([TRANSFER], listen, notice=notice), *GUARDED, last, own=own)
    async with runs.working(app):
        run = await runs.start("triage", "charge order 7")
        await run.result()
        retry = await runs.start_with(
            {"agent": "triage", "retry_of": {"run_id": run.handle.id, **again}}
        )
        result = await retry.result()
        told = f"{await retry.transcript()} {await retry.handle.query('carryover')}"

    assert result.answer == "done"
    assert "secret" not in told + heard[0]
    assert "charge order 7" in heard[0]


@pytest.mark.parametrize("own", [[], [POLITE]], ids=["unguarded", "guarded"])
async def test_a_session_that_opens_again_tells_nothing_withheld(
    runs: Runs, tmp_path: Path, own: list[Guardrail]
) -> None:
    """Its agent is the one before the handoff; an answer that was given is told, and read."""
    heard: list[str] = []

    def listen(turn: ScriptTurn) -> Reply:
        heard.append(str(turn.transcript))
        return TRANSFER if len(heard) == 1 else say("You are welcome.")

    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    async with talks.working(office(listen, *GUARDED, say("It is charged."), own=own)):
        talk = talks.talk(agent="triage")
        await talk.exchange("m-1", "charge order 7")
        await talk.close()
        await talk.exchange("m-2", "thanks")
        told = str(await talk.ask("transcript"))
        assert await talk.replayed() == 1

    assert "secret" not in told + heard[-1]
    assert ("It is charged." in told) is (not own)  # a guarded session tells no words at all
    assert "It is charged." in heard[-1]


async def test_what_a_part_leaves_tells_nothing_withheld(memory_runs: MemoryRuns) -> None:
    """Its goal quotes what its whole had to keep to, and so the answer that was sent back."""
    goal = "Say what order 7 cost."
    app = App(
        agents=[
            Agent(
                name="desk",
                instructions="Answer.",
                models=["scripted:desk"],
                guardrails=[on_word("clean", "secret", "output")],
                handoffs=[Handoff("billing", when="money questions", return_expected=True)],
            ),
            Agent(name="billing", instructions="Bill.", models=["scripted:billing"]),
        ],
        scripts={
            "desk": [say("the secret is 5"), call("transfer_to_billing", goal=goal), say("done")],
            "billing": [say("29 euros")],
        },
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result = await run.result()
        left = await run.part("1-billing").query("carryover", Carryover)

    assert result.answer == "done"
    assert left.redacted
    assert "secret" not in str(left)


@tool(risk=Risk.READ_ONLY)
async def fetch() -> str:
    """Fetch a page that a stranger wrote."""
    return "VIRUS"


def reading(triage: Script, looks: Guardrail) -> App:
    """`triage` reads no pages, and hands over to `billing`, for whom a guardrail looks at them."""
    return handing_over(triage, later(call("fetch"), say("It is charged.")), looks, fetch)


@pytest.mark.parametrize("how", ["stop", "terminate"])
@pytest.mark.parametrize("on_trip", ["block", "ask"])
async def test_who_tries_a_run_again_reads_nothing_that_nobody_has_let_pass(
    runs: Runs, how: str, on_trip: OnTrip
) -> None:
    """A guardrail of who had the run last was looking, or people were asked because of it."""
    # GR-01 BY-64
    heard: list[str] = []
    looking, go = asyncio.Event(), asyncio.Event()

    @guardrail(layer="input", watches=("results",), on_trip=on_trip)
    async def clean(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Look at pages, in the test's own time."""
        if "VIRUS" not in subject.text:
            return passed()
        looking.set()
        if on_trip == "block":
            await go.wait()
        return tripped("it says so")

    def listen(turn: ScriptTurn) -> Reply:
        heard.append(str(turn.transcript))
        return say("done")

    async with runs.working(reading(first_then([TRANSFER], listen), clean)):
        run = await runs.start("triage", "charge order 7")
        await (looking.wait() if on_trip == "block" else run.asked())
        if how == "stop":
            await run.handle.signal("stop", {"reason": "never mind"})
            assert (await run.result()).status == "stopped"
        else:
            await run.handle.terminate()
        go.set()
        again = await retried(runs, run, "triage")
        result = await again.result()
        story = await again.story()

    assert result.answer == "done"
    assert story
    assert "charge order 7" in heard[0]
    assert "VIRUS" not in heard[0]


def left_by(state: RunState) -> str:
    """What a run that was handed over leaves to who tries it again."""
    return str(parts.build_carryover(handed_over(state), (), {}, NOW).items)


def handed_over(state: RunState) -> RunState:
    """Make a run that was handed over of a session."""
    return state.with_(session=None).with_parts(handoffs=1)


def test_who_tries_a_run_again_reads_nothing_that_was_sent_back() -> None:
    """It was terminated while that was taken back: no model was told yet what to keep to."""
    # GR-01 BY-64
    state = handed_over(taken_over(done("post_action", "retry")))
    found = tripped_in_all(state)
    state = tripwires.after_turn(state, found, NOW)
    state = state.with_guarding(guarded=len(state.conversation.items))

    assert state.answering.tripped is not None
    assert "fetch it" in left_by(state)
    assert "VIRUS" not in left_by(state)


def test_who_tries_a_run_again_reads_nothing_of_an_approach_that_was_given_up() -> None:
    """Going back would have hidden it."""
    # GR-01 BY-64
    state = backtracking.set_checkpoint(taken_over(), "")
    answer = AssistantTurn(model="scripted:billing", text="no answer: secret")
    state = append_items(state, answer).with_approaches(dead_end="it failed")

    assert "fetch it" in left_by(state)
    assert "secret" not in left_by(state)


def test_who_tries_a_run_again_reads_no_words_that_waited_for_nobody_to_look_at() -> None:
    """People had said them when it ended, and its agent had yet to hear them."""
    # GR-01 BY-64
    words = UserTurn(text="pay the VIRUS", origin="steer")
    state = taken_over(done("input"))
    state = state.with_guarding(guarded=len(state.conversation.items))
    looked_at, unguarded = (
        one.with_conversation(steers=(words,)) for one in (state, taken_over())
    )

    assert "fetch it" in left_by(looked_at)
    assert "pay the VIRUS" not in left_by(looked_at)
    assert "pay the VIRUS" in left_by(unguarded)


def test_what_is_told_to_who_tries_a_run_again_quotes_nothing_hidden() -> None:
    """What was done by who had it last is known by its tools: the call may quote the page."""
    # GR-01 BY-64
    paid = Effect(tool="pay", digest="d" * 64, summary="pay(to='VIRUS')", outcome="done")
    kept = Effect(
        tool="keep", digest="e" * 64, summary="keep(text='VIRUS')", outcome="done", local=True
    )
    state = taken_over(done("input")).with_effects(done=(paid, kept))
    unlooked = parts.build_carryover(handed_over(state), (), {}, NOW)
    seen = state.with_guarding(guarded=len(state.conversation.items))
    looked_at = parts.build_carryover(handed_over(seen), (), {}, NOW)

    assert "- pay" in unlooked.told
    assert "- keep" in unlooked.told
    assert "VIRUS" not in unlooked.told
    assert "pay(to='VIRUS')" in looked_at.told
