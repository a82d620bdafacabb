"""What commands show of handoffs and tasks: who gives them, how, and under which ceiling."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from holdfast import Agent, App, Budget, Handoff, HandoffData, Risk, SubAgent, tool
from holdfast.cli import main
from holdfast.delegation import Ceiling
from holdfast.testing import say
from tests.holdfast.policy_commands import running, written
from tests.sample import add, refund

APP = "tests.holdfast.test_delegation_cli:app"
GOAL = json.dumps({"goal": "charge order 7"})


class Question(BaseModel):
    """Find something out."""

    topic: str


class Findings(BaseModel):
    """What was found out."""

    facts: list[str]


@tool(risk=Risk.READ_ONLY)
async def load(goal: str) -> HandoffData:
    """Load what billing has to know."""
    return HandoffData(architecture=goal)


def _agent(name: str, **more: object) -> Agent:
    terms: dict[str, object] = {"instructions": "Do it.", "models": ["scripted:it"], **more}
    return Agent(name=name, **terms)  # pyright: ignore[reportArgumentType] -- what an agent has


app = App(
    agents=[
        _agent(
            "triage",
            handoffs=[
                Handoff("billing", when="money", prepare=load),
                Handoff("shipping", when="parcels", return_expected=True, timeout_seconds=600),
            ],
            subagents=[SubAgent("reader", input=Question, output=Findings, at_once=2)],
            ceiling=Ceiling(
                without_tools=("refund",),
                without_risks=(Risk.DESTRUCTIVE,),
                budget=Budget(max_steps=20),
            ),
        ),
        _agent("billing", tools=[refund]),
        _agent("shipping", handoffs=[Handoff("billing", when="money", prepare=load)]),
        _agent("reader", tools=[add]),
    ],
    scripts={"it": [say("Done.")]},
)


def test_tools_show_who_gives_work_and_what_binds_who_gets_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each sender stands there with the kind of work and with its ceiling."""
    # HO-10 BY-20
    bound = "its ceiling: no tool refund, nothing destructive, max_steps 20"

    assert main.run(["tools", APP]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert main.run(["tools", APP, "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}

    assert [line for line in shown if line.startswith("given by")] == [
        f"given by triage a task, 2 at once, 0.25 of the budget each; {bound}",
        f"given by triage a handoff, prepared by load; {bound}",
        "given by shipping a handoff, prepared by load; its ceiling: none",
        f"given by triage a handoff whose answer comes back, 600 s at most; {bound}",
    ]
    assert [one["agent"] for one in found["transfer_to_billing"]["senders"]] == [
        "triage",
        "shipping",
    ]
    assert found["transfer_to_billing"]["senders"][0]["ceiling"] == {
        "without_tools": ["refund"],
        "without_risks": ["destructive"],
        "budget": {"max_steps": 20},
    }
    assert "senders" not in found["refund"]


def test_explain_shows_what_binds_who_gets_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A rule that names the receiver governs its handoffs and tasks, and nothing else."""
    # PF-01
    rules = written(
        tmp_path / "p.yaml",
        "version: 1\nrules:\n  - {id: no-money, effect: approve, match: {receivers: [billing]}}\n",
    )
    holdfast = running(capsys)
    given = ("--policy", rules)

    said = holdfast("explain", APP, "transfer_to_billing", GOAL, *given)
    other, plain, told = (
        json.loads(holdfast("explain", APP, *called, "--json").out)
        for called in (
            ("transfer_to_shipping", GOAL, *given),
            ("refund", '{"amount": 1}', *given),
            ("transfer_to_billing", GOAL, "--agent", "triage"),
        )
    )

    shown = [" ".join(line.split()) for line in said.out.splitlines()]
    assert "rule policy:no-money" in shown
    assert (
        "given by triage a handoff, prepared by load; its ceiling: "
        "no tool refund, nothing destructive, max_steps 20"
    ) in shown
    assert (other["decision"]["rule"], other["rules"][0]["detail"]) == (
        "receiver:shipping",
        "receivers",
    )
    assert (told["receiver"], told["sender"]["ceiling"]["without_tools"]) == (
        "billing",
        ["refund"],
    )
    assert (plain["decision"]["rule"], "sender" in plain) == ("risk:financial", False)


@pytest.mark.parametrize(
    ("match", "flaw"),
    [
        (
            "{receivers: [biling]}",
            "match.receivers[0]: nobody gives work to agent 'biling' (known: billing, reader",
        ),
        (
            "{receivers: [triage]}",
            "match.receivers[0]: nobody gives work to agent 'triage' (known: billing, reader",
        ),
        (
            "{tools: [refund], receivers: [billing]}",
            "match.receivers: these tools give work to nobody",
        ),
    ],
)
def test_receivers_that_nobody_has_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, match: str, flaw: str
) -> None:
    """With an app, `check` finds rules that could never hold."""
    file = written(
        tmp_path / "p.yaml", f"version: 1\nrules:\n  - {{id: r, effect: deny, match: {match}}}\n"
    )

    said = running(capsys)("check", file, "--app", APP)

    assert said.code == 1
    assert flaw in said.err
