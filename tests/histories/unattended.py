"""Scenarios that need nobody: what a run does by itself when something gets in its way."""

from pathlib import Path

from pydantic import BaseModel

from holdfast import App, Backtracking, Budget, Handoff, HostedTool, SubAgent, Tiers
from holdfast.contracts.transcript import Part
from holdfast.guardrails import judged_by
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from holdfast.tools import read_file, write_file
from tests.control.approaches import good, trying
from tests.control.controlled import broken, used
from tests.control.guarded import on_word
from tests.histories.desk import (
    a_desk,
    an_agent,
    call_back,
    flood,
    glance,
    load_case,
    look,
    mark,
    reserve,
)
from tests.histories.playing import Scenario
from tests.sample import told


class Due(BaseModel):
    """When something is due."""

    day: str


class Errand(BaseModel):
    """Find out what is in a place."""

    place: str


HARSH = '{"tripwire_triggered": true, "reason": "it is rude", "constraints": ["be kind"]}'
FINE = '{"tripwire_triggered": false}'

SEARCHED = Reply(
    text="18 degrees.",
    parts=(
        Part(kind="hosted_call", name="web_search", text="weather in Köln"),
        Part(kind="text", text="18 degrees."),
    ),
)


def wordy(turn: ScriptTurn) -> Reply:
    """Read more than fits into the model's view."""
    return say("done") if turn.number > 5 else call("flood", characters=1500 + turn.number)


def endless(turn: ScriptTurn) -> Reply:
    """Ask for something new in every turn."""
    return used(call("look", place=f"room {turn.number}"), 10, 10, "0.1")


def hand(turn: ScriptTurn) -> Reply:
    """Do one part of a plan; the second takes longer, so the order of their ends is known."""
    part = turn.goal.splitlines()[1]
    takes_longer = part == "sew" and turn.number < 4
    return call("look", place=f"seam {turn.number}") if takes_longer else say(f"{part} is done")


def kinder(turn: ScriptTurn) -> Reply:
    """Answer kindly once somebody asks for it."""
    asked = any(item.kind == "user" and "be kind" in item.text for item in turn.transcript)
    return say("Please." if asked else "Now!")


def critic(turn: ScriptTurn) -> Reply:
    """Judge an answer."""
    return say(FINE if turn.goal.endswith("Please.") else HARSH)


def staffed(tiers: Tiers, **scripts: Script) -> App:
    """An app whose clerk has others do the work."""
    return App(
        agents=[
            an_agent("clerk", models=(), tools=(), tiers=tiers),
            *(an_agent(name, look) for name in scripts),
        ],
        scripts=scripts,
    )


def in_tiers() -> App:
    """The first agent's model refuses, the simpler agent answers."""
    tiers = Tiers(full="coder", simplified="helper")
    return staffed(tiers, coder=[broken("auth")], helper=[say("a jacket")])


def in_parts() -> App:
    """The first agent fails, so the goal is planned and done in parts."""
    tiers = Tiers.model_validate(
        {"full": "coder", "decomposed": {"planner": "planner", "worker": "hand", "most": 3}}
    )
    plan = say('{"subtasks": ["cut", "sew"]}')
    return staffed(tiers, coder=[broken("auth")], planner=[plan], hand=hand)


def judged() -> App:
    """Another agent judges what the clerk says."""
    clerk = an_agent("clerk", guardrails=[judged_by("critic")])
    return App(
        agents=[clerk, an_agent("critic", look)], scripts={"clerk": kinder, "critic": critic}
    )


def delegating() -> App:
    """The clerk has one agent do a task, one answer it, and one go on in its place."""
    clerk = an_agent(
        "clerk",
        subagents=[SubAgent("reader", input=Errand, output=Due)],
        handoffs=[
            Handoff("carrier", when="parcels", return_expected=True, timeout_seconds=600),
            Handoff("cashier", when="money", prepare=load_case),
        ],
    )
    turns = [
        calls(call("delegate_to_reader", place="attic"), call("look", place="here")),
        call("transfer_to_carrier", goal="send it"),
        call("transfer_to_cashier", goal="charge it"),
    ]
    return App(
        agents=[clerk, *(an_agent(name, look) for name in ("reader", "carrier", "cashier"))],
        scripts={
            "clerk": turns,
            "reader": [call("look", place="attic"), say('{"day": "Monday"}')],
            "carrier": [say("It is on its way.")],
            "cashier": lambda _: say("It is charged."),
        },
    )


def on_a_project(folder: Path) -> App:
    """The agent works on a copy of a small project."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (project / "AGENTS.md").write_text("# Testing\n\n- Run `make test`.\n", encoding="utf-8")
    (project / "lamp.txt").write_text("dark\n", encoding="utf-8")
    script = [
        call("read_file", path="lamp.txt"),
        call("write_file", path="lamp.txt", content="lit\n"),
        told,
    ]
    return a_desk(script, read_file, write_file, project=project)


def undoing() -> App:
    """An answer that is blocked: what was done for it is taken back, as far as it can be."""
    script = [
        calls(call("reserve", seat="1"), call("mark", seat="2"), call("reserve", seat="3")),
        say("bad"),
    ]
    watch = on_word("no_bad", "bad", "output", on_trip="block")
    return a_desk(script, reserve, mark, guardrails=[watch])


def with_two_models() -> App:
    """The first model is down, the second one answers."""
    clerk = an_agent("clerk", models=["scripted:first", "scripted:second"])
    return App(
        agents=[clerk],
        scripts={"first": lambda _: broken("overloaded"), "second": [say("done")]},
    )


UNATTENDED = (
    Scenario(
        "guardrails_input",
        lambda _: a_desk(
            [call("look", place="the awful room"), say("done")],
            guardrails=[on_word("no_awful", "awful", "input", watches=("results",))],
        ),
    ),
    Scenario(
        "guardrails_output",
        lambda _: a_desk(
            [say("bad"), say("good")], guardrails=[on_word("no_bad", "bad", "output")]
        ),
    ),
    Scenario(
        "guardrails_tool",
        lambda _: a_desk(
            [calls(call("look", place="the awful room"), call("look", place="here")), told],
            guardrails=[on_word("no_awful", "awful", "pre_execution")],
        ),
    ),
    Scenario(
        "guardrails_after",
        lambda _: a_desk(
            [call("look", place="the awful room"), say("done")],
            guardrails=[on_word("no_awful", "awful", "after_run")],
        ),
    ),
    Scenario("tiers", lambda _: in_tiers()),
    Scenario("parts", lambda _: in_parts()),
    Scenario("delegation", lambda _: delegating()),
    Scenario("judges", lambda _: judged()),
    Scenario(
        "backtracking",
        lambda _: a_desk(trying, acceptance=[good], backtracking=Backtracking()),
        goal="2",
    ),
    Scenario("compaction", lambda _: a_desk(wordy, flood, max_context_bytes=5_000)),
    Scenario(
        "continue_as_new",
        lambda _: a_desk(
            [call("look", place="here"), call("look", place="there"), told], max_history_events=1
        ),
    ),
    Scenario("project", on_a_project),
    Scenario("hosted_tools", lambda _: a_desk([SEARCHED], hosted=[HostedTool(name="web_search")])),
    Scenario("budget_stop", lambda _: a_desk(endless, budget=Budget(max_steps=2))),
    Scenario("undo", lambda _: undoing()),
    Scenario(
        "local_tools",
        lambda _: a_desk(
            [calls(call("glance", place="a"), call("look", place="b")), told], glance, look
        ),
    ),
    Scenario("retries", lambda _: a_desk([call("call_back", number="7"), told], call_back)),
    Scenario(
        "answer_in_a_shape",
        lambda _: a_desk([say("on Monday"), say('{"day": "Monday"}')], output=Due),
    ),
    Scenario("fallback", lambda _: with_two_models()),
)
