"""All tools of an app by name: those that can't be told apart or run are refused."""

import importlib
import inspect
import pkgutil

import pytest

from holdfast import activities
from holdfast.contracts.errors import AppError
from holdfast.contracts.tools import Risk
from holdfast.tools import ask_user
from holdfast.tools.context import ToolContext
from holdfast.tools.registry import RESERVED, ToolRegistry
from holdfast.tools.tool import Tool, tool
from tests.tools import sample_tools


def _async_closure(name: str) -> Tool:
    async def look(place: str, ctx: ToolContext) -> str:
        """Look at a place and say what is there."""
        return f"{place}{ctx.tenant}"

    look.__name__ = name
    return tool(risk=Risk.READ_ONLY)(look)


def _sync_closure() -> Tool:
    def look(place: str) -> str:
        """Look at a place and say what is there."""
        return place

    return tool(risk=Risk.READ_ONLY)(look)


def test_a_registry_finds_tools_by_name() -> None:
    """Contract and function are found together, under one name, in order of names."""  # LP-04
    registry = ToolRegistry([sample_tools.whoami, sample_tools.order, sample_tools.whoami])

    assert registry.get("order") is sample_tools.order
    assert registry.get("nope") is None
    assert [contract.name for contract in registry.contracts()] == ["order", "whoami"]


def _own_activities() -> frozenset[str]:
    """Every name under which a worker has an activity of its own: calls of tools go by theirs."""
    modules = (
        importlib.import_module(entry.name)
        for entry in pkgutil.walk_packages(activities.__path__, f"{activities.__name__}.")
    )
    classes = {
        kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)
    }
    members = (member for kind in classes for member in vars(kind).values())
    definitions = (getattr(one, "__temporal_activity_definition", None) for one in members)
    return frozenset(one.name for one in definitions if one is not None and one.name)


OWN = _own_activities()


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        pytest.param(
            [_async_closure(name)],
            f"tool {name!r}: the name is taken by Holdfast itself; rename it",
            id=name,
        )
        for name in sorted(OWN)
    ]
    + [
        pytest.param(
            [_async_closure("look"), _async_closure("look")],
            "tool 'look': two different tools have this name; rename one",
            id="two of one name",
        ),
        pytest.param(
            [_sync_closure()],
            "tool 'look': a synchronous tool runs in a process of its own and must be "
            "importable there; define it at the top of a module, or make it async",
            id="synchronous closure",
        ),
    ],
)
def test_tools_that_cant_be_told_apart_or_run_are_refused(tools: list[Tool], message: str) -> None:
    """A registry refuses what would fail when it is called."""  # LP-03
    with pytest.raises(AppError) as raised:
        ToolRegistry(tools)

    assert str(raised.value) == message


def test_the_names_of_all_activities_are_reserved() -> None:
    """Calls of a tool go by its name: under such a one they would reach the worker's own code."""
    assert {"authorize", "mark_judged", "open_project", "save_session"} <= OWN
    assert RESERVED == OWN


def test_an_asynchronous_closure_is_a_tool() -> None:
    """What runs in the worker's own process needs no name to be imported by."""
    assert ToolRegistry([_async_closure("look")]).get("look") is not None


def test_the_tool_that_asks_is_a_question() -> None:
    """The built-in tool takes a question, and its call is decided as one."""
    assert ask_user.contract.permission == "ask_user"
    assert ask_user.objections({"question": "Which one?"}) == ()
    assert ask_user.objections({"question": ""}) != ()
    assert ask_user.objections({}) == ('"question" is a required property',)
