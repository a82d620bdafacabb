"""Guardrails are told who speaks: after a handoff, in a task of another agent, in a session."""

from functools import partial
from pathlib import Path
from typing import Unpack

from holdfast import Agent, App, Handoff, SubAgent
from holdfast.contracts.guardrails import Layer
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
)
from holdfast.guardrails.definition import GuardrailOptions
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.control.guarded import create_draft
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import IMPATIENT, TOOLS
from tests.sessions.talking import Talks
from tests.workflows.delegating import FOUND, Findings, Question
from tests.workflows.test_permissions import policy

EVERY_MOMENT = {"goal", "words", "results", "call", "done", "answer", "run"}

Seen = list[tuple[str, str]]
"""What was looked at, and which agent spoke then, in their order."""


def noting(seen: Seen) -> tuple[Guardrail, ...]:
    """Look at everything that there is to look at, and note who speaks."""

    def looking(name: str, layer: Layer, **terms: Unpack[GuardrailOptions]) -> Guardrail:
        async def note(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
            seen.append((subject.kind, ctx.agent))
            return passed()

        note.__name__ = name
        return guardrail(layer=layer, **terms)(note)

    return (
        looking("reading", "input", watches=("goal", "words", "results")),
        looking("calling", "pre_execution"),
        looking("answering", "output"),
        looking("acting", "post_action", tools=("create_draft",)),
        looking("ending", "after_run"),
    )


def house(seen: Seen, rules: Path, **scripts: Script) -> App:
    """An app whose `triage` hands over to `billing`, and whose `desk` has `triage` work for it."""
    described = partial(
        Agent, instructions="Do it.", settings=IMPATIENT, tools=(*TOOLS, create_draft)
    )
    return App(
        agents=[
            described(
                name="desk",
                models=["scripted:desk"],
                subagents=[SubAgent("triage", input=Question, output=Findings)],
            ),
            described(
                name="triage",
                models=["scripted:triage"],
                handoffs=[Handoff("billing", when="money")],
                guardrails=noting(seen),
            ),
            described(name="billing", models=["scripted:billing"]),
        ],
        scripts={"desk": (), "triage": (), "billing": (), **scripts},
        policy=policy(rules, "{id: ok, effect: allow, match: {tools: [create_draft]}}"),
    )


def agents_by_moment(seen: Seen) -> dict[str, list[str]]:
    """Return who spoke at each moment, each agent once, in their order."""
    return {
        moment: list(dict.fromkeys(agent for kind, agent in seen if kind == moment))
        for moment in EVERY_MOMENT
    }


def acting(log: Path) -> tuple[Reply, ...]:
    """Change something, and then wait for a person, to whom something can be said meanwhile."""
    return call("create_draft", log=str(log), title="x"), call("ask_user", question="Which?")


ON = call("transfer_to_billing", goal="charge it")
UNHEARD = (say("never said"),) * 3


async def test_each_guardrail_is_told_who_goes_on_with_a_run(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Those of the sender look on, at every moment, and know that another agent speaks now."""
    # HO-09
    seen: Seen = []
    own, theirs = acting(tmp_path / "own"), acting(tmp_path / "theirs")
    app = house(
        seen, tmp_path, triage=[*own, ON], billing=[*UNHEARD, *theirs, say("It is charged.")]
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        for number in (1, 2):
            (request,) = await run.asked()
            await run.signal("steer", {"text": f"quickly {number}"})
            await run.signal("answer", {"request_id": request.request_id, "text": "the first"})
            while number == 1 and (await run.status()).agent == "triage":
                await run.pause()
        result = await run.result()
        await run.story()

    both = ["triage", "billing"]
    first = next(place for place, (_, agent) in enumerate(seen) if agent == "billing")
    assert result.answer == "It is charged."
    assert agents_by_moment(seen) == {
        **dict.fromkeys(EVERY_MOMENT, both),
        "answer": ["billing"],  # triage gave none
        "run": ["billing"],
    }
    assert {agent for _, agent in seen[:first]} == {"triage"}
    assert {agent for _, agent in seen[first:]} == {"billing"}


async def test_in_a_task_of_another_agent_they_are_told_that_agent(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Who works for a run speaks there, and whoever goes on with the task after it."""
    # HO-09 GF-02
    seen: Seen = []
    work = call("create_draft", log=str(tmp_path / "log"), title="x")
    app = house(
        seen,
        tmp_path,
        desk=[call("delegate_to_triage", topic="tides"), say("It is so.")],
        triage=[call("add", a=1, b=2), ON],
        billing=[say("never said"), say("never said"), work, FOUND],
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result, part = await run.result(), run.part("1-triage")
        await part.story()

    found = agents_by_moment(seen)
    assert result.answer == "It is so."
    assert found == {
        "goal": ["triage", "billing"],
        "words": [],
        "results": ["triage", "billing"],
        "call": ["triage", "billing"],
        "done": ["billing"],
        "answer": ["billing"],
        "run": ["billing"],
    }


async def test_in_a_session_they_are_told_who_answers_each_message(
    runs: Runs, tmp_path: Path
) -> None:
    """The receiver in those to come; when it opens again, the agent that it was opened with."""
    # HO-09

    def send_on(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        return ON if isinstance(last, UserTurn) and "charge" in last.text else say("Hello.")

    seen: Seen = []
    spoken = dict[str, Seen]()
    app = house(seen, tmp_path, triage=send_on, billing=lambda _: say("It is charged."))
    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    async with talks.working(app):
        talk = talks.talk(agent="triage")
        for name, words in (("m-1", "hello"), ("m-2", "charge me"), ("m-3", "thanks")):
            await talk.exchange(name, words)
            spoken[name] = [*seen]
            seen.clear()
        await talk.close()
        await talk.exchange("m-4", "hello again")
        spoken["m-4"] = [*seen]

    first, handed, later, again = (agents_by_moment(found) for found in spoken.values())
    for found, agent in ((first, "triage"), (later, "billing"), (again, "triage")):
        assert (found["goal"], found["answer"], found["run"]) == ([agent], [agent], [agent])
    assert (handed["goal"], handed["call"]) == (["triage", "billing"], ["triage"])
    assert (handed["answer"], handed["run"]) == (["billing"], ["billing"])
