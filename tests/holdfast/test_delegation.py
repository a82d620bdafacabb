"""Agents that work for agents, as an app defines them: what fits together, and what is refused."""

import pytest
from pydantic import BaseModel

from holdfast import (
    Agent,
    App,
    AppError,
    Decomposition,
    Handoff,
    HandoffData,
    Risk,
    SubAgent,
    Tiers,
    Tool,
    tool,
)
from holdfast.tools import http_request, run_command, write_file
from tests.sample import add, delete, refund, shout, write
from tests.workflows.delegating import Findings, Question


class Answer(BaseModel):
    """Another shape."""

    text: str


def task(name: str, **more: object) -> SubAgent:
    terms: dict[str, object] = {"input": Question, "output": Findings, **more}
    return SubAgent(name, **terms)  # pyright: ignore[reportArgumentType] -- what users may write


def agent(name: str, *subagents: SubAgent, tools: tuple[Tool, ...] = (), **more: object) -> Agent:
    terms: dict[str, object] = {"models": ["scripted:it"], "subagents": subagents, **more}
    return Agent(
        name=name,
        instructions="Work.",
        tools=tools,
        **terms,  # pyright: ignore[reportArgumentType] -- what users may write
    )


def build(*agents: Agent) -> App:
    return App(agents=agents, scripts={"it": []})


@tool(risk=Risk.READ_ONLY)
async def delegate_to_it(topic: str) -> str:
    """Have a name that another tool wants."""
    return topic


@pytest.mark.parametrize(
    ("agents", "reason"),
    [
        ([agent("desk", task("nobody"))], "it has 'nobody' do something, and no agent has that"),
        ([agent("desk", task("desk"))], "it would have itself do something, without end"),
        (
            [agent("desk", task("other")), agent("other", task("desk"))],
            "it would have itself do something, without end",
        ),
        (
            [
                agent("desk", task("it"), tools=(delegate_to_it,)),
                agent("it"),
            ],
            "tool 'delegate_to_it': two different tools have this name",
        ),
        (
            [
                agent("desk", task("researcher")),
                agent("other", task("researcher", output=Answer)),
                agent("researcher"),
            ],
            "its tool 'delegate_to_researcher' is another one elsewhere",
        ),
        (
            [agent("desk", task("a-b"), task("a b")), agent("a-b"), agent("a b")],
            "its tool 'delegate_to_a_b' is another one elsewhere",
        ),
        (
            [agent("desk", task("researcher"), task("researcher")), agent("researcher")],
            "it has tool 'delegate_to_researcher' twice",
        ),
        ([agent("desk", task("x" * 60)), agent("x" * 60)], "rename the agent"),
        (
            [agent("desk", task("it", input=str)), agent("it")],
            "its input must be a pydantic model",
        ),
        ([agent("desk", task("it", output=list[str])), agent("it")], "output must be an object"),
        ([agent("desk", task("it", at_once=9)), agent("it")], "its at_once is 1 to 4"),
        ([agent("desk", task("it", budget_share=1.1)), agent("it")], "its budget_share is more"),
        ([agent("desk", subagents=None)], "its subagents must be a list, not NoneType"),
        (
            [
                agent("desk", task("divided")),
                agent("divided", models=[], tiers=Tiers(full="it")),
                agent("it"),
            ],
            "its subagent 'divided' has tiers",
        ),
    ],
)
def test_what_can_not_work_is_refused_with_its_reason(agents: list[Agent], reason: str) -> None:
    """An app with such agents never starts, and one line says why."""
    with pytest.raises(AppError, match=reason) as refusal:
        build(*agents)

    assert "\n" not in str(refusal.value)


@tool(risk=Risk.READ_ONLY)
async def load_words(goal: str) -> str:
    """Load something that is no context."""
    return goal


@tool(risk=Risk.READ_ONLY, permission="approval")
async def load_asking(goal: str) -> HandoffData:
    """Load what a person has to approve."""
    return HandoffData(architecture=goal)


@pytest.mark.parametrize(
    ("handoffs", "reason"),
    [
        ([Handoff("nobody", when="always")], "it hands over to 'nobody', and no other agent"),
        ([Handoff("desk", when="always")], "it hands over to 'desk', and no other agent"),
        ([Handoff("it", when=" ")], "say when, which is all that the model knows of it"),
        ([Handoff("it", when="always", prepare=load_words)], "must return HandoffData"),
        ([Handoff("it", when="always", prepare=load_asking)], "without a permission of its own"),
        ([Handoff("it", when="always", prepare=add)], "must take `goal` and nothing else"),
        ([Handoff("it", when="always"), Handoff("it", when="never")], "is another one elsewhere"),
        ([Handoff("divided", when="always")], "has tiers, which begin with a goal of their own"),
        ([Handoff("elsewhere", when="always")], "works on another project than it does itself"),
    ],
)
def test_a_handoff_that_can_not_work_is_refused(handoffs: list[Handoff], reason: str) -> None:
    """An app with such a handoff never starts, and one line says why."""
    with pytest.raises(AppError, match=reason):
        build(
            agent("desk", handoffs=handoffs),
            agent("it"),
            agent("divided", models=[], tiers=Tiers(full="it")),
            agent("elsewhere", project="/srv/shop"),
        )


def test_nobody_works_for_whom_it_goes_on_for() -> None:
    """A task for an agent whose run may come to hand back to the sender has no end."""
    with pytest.raises(AppError, match="it would have itself do something, without end"):
        build(
            agent("desk", task("it")),
            agent("it", handoffs=[Handoff("desk", when="always")]),
        )


def test_no_more_agents_stand_one_above_the_other_than_runs_may() -> None:
    """A chain of tasks is as long as runs may be deep, and no longer."""
    chain = [agent(f"a{place}", task(f"a{place + 1}")) for place in range(21)]

    with pytest.raises(AppError, match="below it agents work for agents more than 20 deep"):
        build(*chain, agent("a21"))


def test_the_risk_of_a_task_is_the_highest_that_its_receiver_may_bring() -> None:
    """Tools of those count too that the receiver gives tasks to."""
    app = build(
        agent("desk", task("clerk"), task("reader")),
        agent("clerk", task("cashier"), tools=(add,)),
        agent("cashier", tools=(refund,)),
        agent("reader", tools=(add,)),
    )
    risks = {contract.name: contract.risk for contract in app.registry.contracts()}

    assert risks["delegate_to_cashier"] is Risk.FINANCIAL
    assert risks["delegate_to_clerk"] is Risk.FINANCIAL
    assert risks["delegate_to_reader"] is Risk.COMPUTE_ONLY


@pytest.mark.parametrize("own", [write, write_file, run_command, http_request, delete, shout])
def test_an_agent_may_get_work_whatever_its_tools_may_do(own: Tool) -> None:
    """What their contracts need stands in those: a task or a handoff names no path of its own."""
    app = build(
        agent("desk", task("it"), handoffs=[Handoff("it", when="always")]),
        agent("it", tools=(own,)),
    )

    given = [one for one in app.registry.contracts() if one.receiver == "it"]
    assert [(one.risk, one.needs_sandbox) for one in given] == [(own.contract.risk, False)] * 2


def test_tiers_may_have_subagents_below_them() -> None:
    """Who does the work of a tier may give tasks, and what those did can be taken back."""
    app = build(
        agent("whole", models=[], tiers=Tiers(full="desk")),
        agent("desk", task("researcher")),
        agent("researcher"),
        agent(
            "parts",
            models=[],
            tiers=Tiers(full="desk", decomposed=Decomposition(planner="desk", worker="desk")),
        ),
    )

    assert [one.tool for one in app.snapshots()["desk"].delegations] == ["delegate_to_researcher"]
