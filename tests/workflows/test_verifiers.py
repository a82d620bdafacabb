"""Whoever checks findings: it reads them, and not how another agent came to them."""

from collections.abc import Callable
from dataclasses import replace

from holdfast import Agent, App, SubAgent
from holdfast.contracts.transcript import Part
from holdfast.guardrails import judged_by
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, add, look
from tests.workflows.delegating import FOUND, Findings, Question

HOW = ("I guess it from the moon", "By moonlight", '"look"', '"add"')
"""What a researcher thought, said, and asked for."""


def thinking(reply: Reply, words: str) -> Reply:
    """The same reply, with what the model thought before it."""
    said = Part(kind="text", text=reply.text), *(Part(kind="call") for _ in reply.calls)
    return replace(reply, parts=(Part(kind="reasoning", text=words), *said))


def research(turn: ScriptTurn) -> Reply:
    asked = replace(call("look", place="here"), text="By moonlight, then.")
    return thinking(asked if turn.number == 1 else FOUND, HOW[0])


def leads(turn: ScriptTurn) -> Reply:
    """Have it found out, think, have that checked, and answer."""
    found = turn.last("delegate_to_researcher")
    turns = (
        call("delegate_to_researcher", topic="tides"),
        call("add", a=1, b=2),
        call("delegate_to_checker", topic=f"is this so: {found}"),
        say("The tides are so."),
    )
    return thinking(turns[turn.number - 1], HOW[0])


def noting(
    read: list[str], script: Callable[[ScriptTurn], Reply]
) -> Callable[[ScriptTurn], Reply]:
    """Note what a model reads, and have it speak a script."""

    def notes(turn: ScriptTurn) -> Reply:
        read.append("".join(item.model_dump_json() for item in turn.transcript))
        return script(turn)

    return notes


def an_agent(name: str, **more: object) -> Agent:
    fields: dict[str, object] = {
        "name": name,
        "instructions": "Do as you are told.",
        "models": [f"scripted:{name}"],
        "settings": IMPATIENT,
        "tools": [add, look],
        **more,
    }
    return Agent(**fields)  # pyright: ignore[reportArgumentType] -- as a test wants


def office(researcher: list[str], checker: list[str], judge: list[str]) -> App:
    """An agent that has a researcher find out, a checker verify that, and a judge its answer."""
    tasks = [
        SubAgent(name, input=Question, output=Findings, budget_share=0.3)
        for name in ("researcher", "checker")
    ]
    return App(
        agents=[
            an_agent("desk", subagents=tasks, guardrails=[judged_by("judge")]),
            *map(an_agent, ("researcher", "checker", "judge")),
        ],
        scripts={
            "desk": leads,
            "researcher": noting(researcher, research),
            "checker": noting(checker, lambda _: say('{"facts": ["it holds"]}')),
            "judge": noting(judge, lambda _: say('{"tripwire_triggered": false}')),
        },
    )


async def test_who_verifies_reads_findings_and_no_reasoning(memory_runs: MemoryRuns) -> None:
    """Neither thoughts, words and calls of the researcher nor those of who gave the task."""
    # BY-21
    researcher, checker, judge = list[str](), list[str](), list[str]()
    async with memory_runs.working(office(researcher, checker, judge)):
        run = await memory_runs.start("desk", "a goal of ours")
        result = await run.result()

    assert result.answer == "The tides are so."
    assert [words for words in HOW[:3] if words not in researcher[-1]] == []
    assert len(checker) == len(judge) == 1
    assert "is this so: {'facts': ['it is so']}" in checker[0]
    assert "The tides are so." in judge[0]
    for read in (*checker, *judge):
        assert [words for words in (*HOW, "delegate_to") if words in read] == []
    assert "a goal of ours" not in checker[0]
