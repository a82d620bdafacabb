"""The app: `holdfast dev examples.desk.app:app`."""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from examples.desk import script
from examples.desk.tools import load_case, read_rules, send_parcel
from examples.support.tools import OrderId, find_order, issue_refund
from holdfast import Agent, App, Budget, Handoff, SubAgent

POLICY = str(Path(__file__).with_name("policy.yaml"))

TRIAGE = """\
You are the support desk of a shop, and talk with a customer. You do what the latest message asks,
and no more; what was found out or done for an earlier one still holds.
1. Have the researcher find out about the order and about our rules, both in one turn, once.
2. If the customer wants something sent, have shipping send it, and say what came of that.
3. If the customer wants money back, hand over to billing last: it answers from then on.
"""
RESEARCHER = "You look up what you are asked with your tools, and answer with facts alone."
SHIPPING = "You send parcels, each once, and say which. If one is refused, say why and stop."
BILLING = """\
You give money back: find_order first, then issue_refund once, with the amount that was promised
and the currency of the order. Then tell the customer what was refunded and what was sent. If
something is rejected, don't try again: say so. Later questions you answer from what was done.
"""


class Question(BaseModel):
    """Find out what we know about an order, or what our rules promise its customer."""

    about: Literal["order", "rules"]
    order_id: OrderId


class Findings(BaseModel):
    """What was found out."""

    facts: list[str]


def models(name: str) -> list[str]:
    """Choose by the key in the environment; without one a script plays the model."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        return ["anthropic:claude-sonnet-5"]
    if os.environ.get("OPENAI_API_KEY"):
        return ["openai:gpt-5.2"]
    return [f"scripted:{name}"]


app = App(
    agents=[
        Agent(
            name="triage",
            instructions=TRIAGE,
            models=models("triage"),
            subagents=[SubAgent("researcher", input=Question, output=Findings, at_once=2)],
            handoffs=[
                Handoff(
                    "shipping",
                    when="a parcel is to be sent",
                    return_expected=True,
                    timeout_seconds=3600,
                ),
                Handoff("billing", when="money is to be given back", prepare=load_case),
            ],
            budget=Budget(max_steps=40),
        ),
        Agent(
            name="researcher",
            instructions=RESEARCHER,
            models=models("researcher"),
            tools=[find_order, read_rules],
        ),
        Agent(
            name="shipping",
            instructions=SHIPPING,
            models=models("shipping"),
            tools=[send_parcel],
        ),
        Agent(
            name="billing",
            instructions=BILLING,
            models=models("billing"),
            tools=[find_order, issue_refund],
            budget=Budget(max_steps=40),
        ),
    ],
    scripts={
        "triage": script.triage,
        "researcher": script.researcher,
        "shipping": script.shipping,
        "billing": script.billing,
    },
    policy=POLICY,
)
