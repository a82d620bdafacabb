"""Tools that draft and reconcile for others: found beside them, and fit to stand in."""

import pytest

from contracts.errors import AppError
from contracts.tools import Reconciled, Risk
from tests.sample import draft_post, find_payment, pay_slowly, post
from tools.registry import companions
from tools.tool import Tool, tool


@tool(risk=Risk.DRAFT_ONLY)
async def draft_other(subject: str) -> str:
    """Prepare something else entirely."""
    return subject


@tool(risk=Risk.WRITE_INTERNAL)
async def draft_loudly(log: str, text: str) -> str:
    """Change a record while preparing it."""
    return log + text


@tool(risk=Risk.READ_ONLY)
async def find_words(log: str, text: str) -> str:
    """Find out whether it happened, in words."""
    return log + text


@tool(risk=Risk.READ_ONLY, local=True, timeout=5)
async def find_locally(log: str, text: str) -> Reconciled:
    """Find out whether it happened, inside the workflow task."""
    return Reconciled(happened=bool(log + text))


PLAIN = "must be a plain tool: not local, not sandboxed, without a permission of its own"


def acting(*, draft: str | None = None, reconcile: str | None = None) -> Tool:
    """A tool with these companions, defined in this module."""

    async def act(log: str, text: str) -> str:
        """Do something that others should see first."""
        return log + text

    act.__module__ = __name__
    terms = {"draft": draft, "reconcile": reconcile}
    given = {name: value for name, value in terms.items() if value is not None}
    return tool(risk=Risk.WRITE_EXTERNAL, **given)(act)  # pyright: ignore[reportArgumentType] -- terms that may be left out


def test_companions_are_found_beside_their_tool() -> None:
    """A draft variant needs no place among the tools that the model sees."""
    # BY-05
    assert companions([post, pay_slowly]) == (draft_post, find_payment)


def test_a_companion_that_the_model_sees_is_no_second_tool() -> None:
    """A draft tool may be called by itself too."""
    assert companions([post, draft_post]) == ()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            acting(draft="draft_nothing"),
            f"its draft 'draft_nothing' is no tool in {__name__}, nor one of the agent's",
        ),
        (acting(draft="draft_other"), "its draft 'draft_other' must take the same arguments"),
        (
            acting(draft="draft_loudly"),
            "its draft 'draft_loudly' must change nothing, and write_internal does",
        ),
        (acting(reconcile="find_words"), "its reconcile 'find_words' must return Reconciled"),
        (
            acting(reconcile="find_locally"),
            f"its reconcile 'find_locally' {PLAIN}",
        ),
    ],
)
def test_a_companion_must_fit(made: Tool, message: str) -> None:
    """What can't stand in for a tool is refused when the app is defined, with the reason."""
    # T-42
    with pytest.raises(AppError) as refused:
        companions([made])

    assert str(refused.value) == f"tool 'act': {message}"


def test_nothing_is_reconciled_that_changes_nothing() -> None:
    """A read whose answer is lost is read again."""

    async def look(place: str) -> str:
        """Look at a place and say what is there."""
        return place

    with pytest.raises(AppError, match="there is nothing to reconcile"):
        tool(risk=Risk.READ_ONLY, reconcile="find")(look)
