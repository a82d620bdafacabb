"""What a receiver and its sender ask for together, and what a ceiling leaves of an agent."""

import pytest

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.budget import Budget
from holdfast.contracts.model import ModelSettings
from holdfast.contracts.run import RunMetadata
from holdfast.contracts.tools import Risk
from holdfast.run.delegation.ceilings import cut_tools, join_reviews, lower_ceiling
from tests.builders import a_contract, an_agent

PLAIN = Requirement()
STRONG = Requirement(strength="strong", methods=("otp", "hwk"), max_auth_age=60)


@pytest.mark.parametrize(
    ("sender", "receiver", "field", "joined"),
    [
        (PLAIN, PLAIN, "strength", "plain"),
        (STRONG, PLAIN, "strength", "strong"),
        (PLAIN, STRONG, "strength", "strong"),
        (Requirement(count=3), Requirement(count=2), "count", 3),
        (Requirement(count=2), Requirement(count=3), "count", 3),
        (Requirement(groups=("a",)), Requirement(groups=("b",)), "groups", ("b",)),
        (Requirement(groups=("a",)), PLAIN, "groups", ("a",)),
        (PLAIN, Requirement(groups=("b",)), "groups", ("b",)),
        (STRONG, PLAIN, "methods", ("otp", "hwk")),
        (PLAIN, STRONG, "methods", ("otp", "hwk")),
        (STRONG, Requirement(strength="strong", methods=("pin", "hwk")), "methods", ("hwk",)),
        (STRONG, Requirement(strength="strong", methods=("pin",)), "methods", ("otp", "hwk")),
        (STRONG, PLAIN, "max_auth_age", 60),
        (PLAIN, STRONG, "max_auth_age", 60),
        (STRONG, STRONG.copy_with({"max_auth_age": 30}), "max_auth_age", 30),
        (Requirement(valid_for=60), Requirement(valid_for=90), "valid_for", 60),
        (PLAIN, Requirement(valid_for=90), "valid_for", 90),
        (Requirement(expires_after=60), Requirement(expires_after=9), "expires_after", 9),
        (Requirement(expires_after=60), PLAIN, "expires_after", 60),
    ],
)
def test_a_review_takes_the_stricter_of_both(
    sender: Requirement, receiver: Requirement, field: str, joined: object
) -> None:
    """Nobody who works for an agent asks for less than that would, in any of its terms."""
    # BY-02 RK-19
    assert getattr(join_reviews(sender, receiver), field) == joined


def test_who_goes_on_names_the_people() -> None:
    """And with them when they are asked: the rest of the receiver's own terms stays."""
    sender = Requirement(groups=("a",), escalate_after=5, escalate_to=("b",))
    receiver = Requirement(groups=("c",), escalate_after=9, escalate_to=("d",))

    joined = join_reviews(sender, receiver)

    assert (joined.groups, joined.escalate_after, joined.escalate_to) == (("c",), 9, ("d",))


@pytest.mark.parametrize(
    ("limits", "ceiling", "lower"),
    [
        (None, None, None),
        (Budget(max_steps=3), None, {"max_steps": 3}),
        (None, Budget(max_steps=3), {"max_steps": 3}),
        (Budget(max_steps=3), Budget(max_steps=2), {"max_steps": 2}),
        (Budget(max_steps=2), Budget(max_steps=3), {"max_steps": 2}),
        (
            Budget(max_steps=3),
            Budget(max_tool_calls=5),
            {"max_steps": 3, "max_tool_calls": 5},
        ),
    ],
)
def test_of_two_ceilings_each_only_lowers_the_other(
    limits: Budget | None, ceiling: Budget | None, lower: dict[str, int] | None
) -> None:
    """What neither names stays free, and whoever extends a run is held to the rest."""
    # T-49
    found = lower_ceiling(limits, ceiling)

    assert (None if found is None else found.model_dump(exclude_unset=True)) == lower


@pytest.mark.parametrize(
    ("choice", "without", "left"),
    [
        ("send", ("send",), "auto"),
        ("send", ("look",), "send"),
        ("required", ("send",), "required"),
        ("required", ("send", "look"), "auto"),
        ("none", ("send", "look"), "none"),
        ("auto", ("send",), "auto"),
    ],
)
def test_nobody_has_to_call_what_it_may_not(
    choice: str, without: tuple[str, ...], left: str
) -> None:
    """A tool that is cut need not be called: its provider would refuse the request."""
    agent = an_agent(
        tools=(a_contract("look"), a_contract("send", risk=Risk.WRITE_INTERNAL)),
        settings=ModelSettings(tool_choice=choice),
    )
    cut = cut_tools(agent, RunMetadata(agent="it", without_tools=without))

    assert cut.settings.tool_choice == left
    assert cut.prefix_digest == cut.prefix.digest != agent.prefix_digest
