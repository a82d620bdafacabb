"""Tools that are refused, on one line that says what to change; and what the others promise."""

from collections.abc import Callable

import pytest
from pydantic import FileUrl

from holdfast.contracts.errors import AppError
from holdfast.contracts.tools import ResourceScope, Risk
from holdfast.tools.tool import Tool, ToolFunction, tool
from tests.tools import unfit

define: Callable[..., Callable[[ToolFunction], Tool]] = tool
"""The decorator as it is used without a type checker."""


def refused(function: ToolFunction, **settings: object) -> str:
    """Why a function can't be a tool."""
    with pytest.raises(AppError) as raised:
        define(**{"risk": Risk.READ_ONLY, **settings})(function)
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    return message


async def good(place: str) -> str:
    """Look at a place and say what is there."""
    return place


@pytest.mark.parametrize(
    ("function", "message"),
    [
        pytest.param(
            unfit.silent,
            "tool 'silent': it has no docstring: say in a sentence what it does",
            id="no docstring",
        ),  # LP-06
        pytest.param(
            unfit.terse,
            "tool 'terse': its docstring has 1 of 3 words: say in a sentence what it does",
            id="one word",
        ),  # LP-06
        pytest.param(
            unfit.untyped,
            "tool 'untyped': argument 'place' has no type; annotate it",
            id="untyped",
        ),
        pytest.param(unfit.anything, "tool 'anything': argument 'place' has no type", id="Any"),
        pytest.param(
            unfit.open_ended,
            "tool 'open_ended': name each argument instead of *places",
            id="*args",
        ),
        pytest.param(
            unfit.open_named,
            "tool 'open_named': name each argument instead of *places",
            id="**kwargs",
        ),
        pytest.param(
            unfit.no_result,
            "tool 'no_result': say what it returns with a return annotation",
            id="no return type",
        ),
        pytest.param(
            unfit.literal_mode,
            "tool 'literal_mode': argument 'mode' chooses between 12 things to do; "
            "make each a tool of its own",
            id="mode by literal",
        ),  # PI-03
        pytest.param(
            unfit.enum_mode,
            "tool 'enum_mode': argument 'mode' chooses between 12 things to do; "
            "make each a tool of its own",
            id="mode by enum",
        ),  # PI-03
        pytest.param(
            unfit.optional_mode,
            "tool 'optional_mode': argument 'mode' chooses between 12 things to do; "
            "make each a tool of its own",
            id="optional mode",
        ),  # PI-03
        pytest.param(
            unfit.unreadable, "tool 'unreadable': its types are no JSON: ", id="type without JSON"
        ),
        pytest.param(
            unfit.unwritable,
            "tool 'unwritable': its types are no JSON: ",
            id="result without JSON",
        ),
        pytest.param(
            unfit.undefined,
            "tool 'undefined': its types are no JSON: ",
            id="type that isn't there",
        ),
        pytest.param(
            unfit.positional, "tool 'positional': argument 'place'", id="argument by place"
        ),
        pytest.param(
            unfit.look_at_a_place_and_say_in_more_letters_than_a_name_may_have_what_is_there,
            "tool 'look_at_",
            id="long name",
        ),
    ],
)
def test_a_function_with_holes_is_no_tool(function: ToolFunction, message: str) -> None:
    """What a model can't understand, or nobody can check, is refused when it is defined."""
    # TC-02
    assert refused(function).startswith(message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(
            {"risk": Risk.WRITE_LOCAL, "local": True},
            "a local tool must change nothing, and write_local does",
            id="local write",
        ),
        pytest.param(
            {"risk": Risk.WRITE_LOCAL},
            "a write_local tool needs scope=ResourceScope(kind='workspace', argument=...), which "
            "names its path, or sandboxed=True; one that writes elsewhere is write_internal",
            id="local write anywhere",
        ),  # RK-05
        pytest.param(
            {
                "risk": Risk.WRITE_LOCAL,
                "scope": ResourceScope(kind="tenant", argument="place"),
            },
            "a write_local tool needs scope=ResourceScope(kind='workspace', ",
            id="local write anywhere for one tenant",
        ),
        pytest.param(
            {"local": True, "timeout": 10.5},
            "a local tool must have a timeout of at most 10 s",
            id="slow local",
        ),
        pytest.param(
            {"local": True},
            "a local tool must have a timeout of at most 10 s",
            id="local with the usual timeout",
        ),
        pytest.param(
            {"scope": ResourceScope(kind="tenant", argument="tenant")},
            "its scope names 'tenant', which is none of its arguments",
            id="scope by no argument",
        ),
        pytest.param({"scope": ResourceScope(kind="tenant")}, "scope", id="tenant of nothing"),
        pytest.param({"scope": ResourceScope(kind="workspace")}, "scope", id="path of nothing"),
        pytest.param({"timeout": 0}, "timeout", id="no time"),
        pytest.param({"timeout": -1}, "timeout", id="negative time"),
        pytest.param({"max_retries": -1}, "retries", id="negative retries"),
        pytest.param({"retry_backoff": 0}, "backoff", id="no wait"),
        pytest.param({"max_result_chars": 0}, "max_result_chars", id="no result"),
        pytest.param(
            {"max_result_chars": 200_001},
            "max_result_chars is 200000 at most; the rest is an artifact",
            id="too large",
        ),
        pytest.param({"max_items": 0}, "max_items", id="no items"),
        pytest.param({"shows": "middle"}, "shows", id="neither end"),
        pytest.param(
            {"max_result_chars": 10, "max_snippet_chars": 11},
            "max_snippet_chars is max_result_chars at most",
            id="snippets longer than the result",
        ),
        pytest.param({"risk": "harmless"}, "risk", id="unclassified"),  # TC-05
        pytest.param(
            {"undoo": "x"},
            "there is no setting 'undoo' (known: risk, timeout, scope, ",
            id="misspelt undo",
        ),
        pytest.param({"timout": 3}, "there is no setting 'timout'", id="misspelt timeout"),
    ],
)
def test_settings_that_cant_be_kept_are_refused(settings: dict[str, object], message: str) -> None:
    """Limits, scope and place of execution are checked when a tool is defined."""
    assert message in refused(good, **settings).removeprefix("tool 'good': ")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"local": True, "timeout": 10}, id="slowest local"),
        pytest.param({"risk": Risk.COMPUTE_ONLY, "local": True, "timeout": 1}, id="local"),
        pytest.param({"max_result_chars": 200_000}, id="largest result"),
        pytest.param({"max_retries": 0}, id="no retries"),
        pytest.param(
            {"scope": ResourceScope(kind="workspace", argument="place")}, id="scope by an argument"
        ),
    ],
)
def test_settings_at_their_bounds_are_accepted(settings: dict[str, object]) -> None:
    """What lies on the boundary can be kept."""
    made = define(**{"risk": Risk.READ_ONLY, **settings})(good)

    assert made.contract.name == "good"


def test_no_address_is_the_path_of_a_scope() -> None:
    """`file:///etc/x` is a name in the workspace as a text, and leads out of it as an address."""

    async def save(where: FileUrl | None, text: str) -> str:
        """Save a text where it says."""
        return text

    scope = ResourceScope(kind="workspace", argument="where")
    said = refused(save, risk=Risk.WRITE_LOCAL, scope=scope)
    assert "its scope names 'where', which is an address and no path: take a Path" in said


def test_all_holes_are_named_at_once() -> None:
    """Whoever defines a tool reads everything that is to change."""
    assert refused(unfit.terse, risk=Risk.FINANCIAL, local=True, timeout=60).count(";") == 2


def test_a_risk_class_must_be_chosen() -> None:
    """There is no default for what a tool can do to the world."""  # TC-05
    with pytest.raises(TypeError, match="risk"):
        tool()  # pyright: ignore[reportCallIssue] -- what is tested


@pytest.mark.parametrize("risk", Risk)
def test_every_risk_class_makes_a_tool(risk: Risk) -> None:
    """A class that is added says where its effect is, or no tool could be of it."""
    scope = ResourceScope(kind="workspace", argument="place")
    assert tool(risk=risk, scope=scope)(good).contract.risk is risk


@pytest.mark.parametrize(
    ("risk", "effect"),
    [
        ("read_only", "none"),
        ("search_only", "none"),
        ("compute_only", "none"),
        ("draft_only", "local"),
        ("write_local", "local"),
        ("process_execution", "local"),
        ("write_internal", "internal"),
        ("destructive", "internal"),
        ("privileged_access", "internal"),
        ("identity_access", "internal"),
        ("communication", "external"),
        ("write_external", "external"),
        ("financial", "external"),
        ("network_open_world", "external"),
    ],
)
def test_the_risk_class_says_where_the_effect_is(risk: str, effect: str) -> None:
    """Each class has its side effect, so no tool can claim another."""
    scope = ResourceScope(kind="workspace", argument="place")
    assert tool(risk=Risk(risk), scope=scope)(good).contract.side_effect == effect


def test_a_function_becomes_a_contract() -> None:
    """Name, docstring, types and settings are the contract; code stays with it."""  # LP-04
    made = tool(risk=Risk.READ_ONLY, timeout=3, max_retries=4, expected_result="words")(good)

    assert made.function is good
    assert made.contract.model_dump(exclude={"input_schema", "output_schema"}) == {
        "name": "good",
        "description": "Look at a place and say what is there.",
        "risk": "read_only",
        "side_effect": "none",
        "resource_scope": {"kind": "none", "argument": None},
        "permission": "by_risk",
        "timeout": 3.0,
        "max_result_chars": 20_000,
        "retry": {"max_retries": 4, "backoff": 1.0},
        "audit": "history",
        "error_format": "tool_failure",
        "local": False,
        "pollable": False,
        "draft": None,
        "expected_result": "words",
        "rollback": "",
        "reconcile": None,
        "sandboxed": False,
        "undo": None,
    }


def test_a_tool_may_return_nothing() -> None:
    """A tool that only does something says so, and its result is null."""

    async def wait(seconds: int) -> None:
        """Wait for so many seconds."""
        assert seconds

    assert tool(risk=Risk.COMPUTE_ONLY)(wait).contract.output_schema == {"type": "null"}
