"""Tools that draft, reconcile and undo for others: found beside them, and fit to stand in."""

import pytest

from holdfast.contracts.calls import Reconciled
from holdfast.contracts.errors import AppError
from holdfast.contracts.tools import Risk
from holdfast.tools.context import ToolContext
from holdfast.tools.execution import execute
from holdfast.tools.registry import companions
from holdfast.tools.tool import Tool, tool
from tests.builders import admitted, an_invocation
from tests.sample import draft_post, find_payment, pay_slowly, post


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


@tool(risk=Risk.WRITE_INTERNAL)
async def close_key(log: str, text: str) -> Reconciled:
    """Find out whether it happened, and let it happen no more where it didn't."""
    return Reconciled(happened=bool(log + text))


@tool(risk=Risk.WRITE_EXTERNAL)
async def find_abroad(log: str, text: str) -> Reconciled:
    """Find out whether it happened by writing to somebody else."""
    return Reconciled(happened=bool(log + text))


@tool(risk=Risk.DESTRUCTIVE)
async def take_back(log: str, text: str, ctx: ToolContext) -> str:
    """Take back what was done, by the id that it answered with."""
    return f"{log} {text}: {ctx.done} by {ctx.idempotency_key}"


@tool(risk=Risk.WRITE_INTERNAL, undo="take_back")
async def take_back_for_now(log: str, text: str) -> str:
    """Take something back, and maybe not for ever."""
    return log + text


@tool(risk=Risk.WRITE_INTERNAL, draft="draft_changes")
async def take_back_with_care(log: str, text: str) -> str:
    """Take something back, which somebody should see first."""
    return log + text


@tool(risk=Risk.WRITE_INTERNAL, permission="approval")
async def take_back_if_allowed(log: str, text: str) -> str:
    """Take something back, once somebody has approved that."""
    return log + text


@tool(risk=Risk.WRITE_INTERNAL, sandboxed=True)
async def take_back_in_sandbox(log: str, text: str) -> str:
    """Take something back, inside the sandbox."""
    return log + text


@tool(risk=Risk.PROCESS_EXECUTION)
async def take_back_by_command(log: str, text: str) -> str:
    """Run a program that takes something back."""
    return log + text


@tool(risk=Risk.NETWORK_OPEN_WORLD)
async def take_back_anywhere(log: str, text: str) -> str:
    """Ask anybody at all to take something back."""
    return log + text


@tool(risk=Risk.DRAFT_ONLY, undo="take_back")
async def draft_changes(log: str, text: str) -> str:
    """Prepare a change and keep it where others see it."""
    return log + text


PLAIN = "must be a plain tool: not local, not sandboxed, without a permission of its own"


def acting(
    *, draft: str | None = None, reconcile: str | None = None, undo: str | None = None
) -> Tool:
    """A tool with these companions, defined in this module."""

    async def act(log: str, text: str) -> str:
        """Do something that others should see first."""
        return log + text

    act.__module__ = __name__
    terms = {"draft": draft, "reconcile": reconcile, "undo": undo}
    given = {name: value for name, value in terms.items() if value is not None}
    return tool(risk=Risk.WRITE_EXTERNAL, **given)(act)  # pyright: ignore[reportArgumentType] -- terms that may be left out


def test_companions_are_found_beside_their_tool() -> None:
    """A draft variant needs no place among the tools that the model sees."""
    # BY-05
    assert companions([post, pay_slowly]) == (draft_post, find_payment)


def test_what_undoes_a_draft_is_found_too() -> None:
    """A draft variant that no model sees leaves something, which its own undo takes back."""
    # GR-13
    assert companions([acting(draft="draft_changes")]) == (draft_changes, take_back)


def test_what_finds_out_may_say_that_it_writes() -> None:
    """One that closes the key of a call changes a record of our own, and nothing else."""
    # BY-75
    assert companions([acting(reconcile="close_key")]) == (close_key,)


def test_one_tool_may_undo_several() -> None:
    """A companion of two tools is one tool."""
    assert companions([acting(undo="take_back"), draft_changes]) == (take_back,)


async def test_an_undo_knows_what_was_done() -> None:
    """What takes a call back gets its arguments and its answer, and a key of its own."""
    # GR-13
    undo = an_invocation(arguments={"log": "book", "text": "7"}, purpose="undo", done={"id": 12})

    answer = await execute(take_back, undo, str, lambda _: None, admitted)

    assert answer == b"\"book 7: {'id': 12} by 0190-first/c1/undo\""


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
            (
                "its draft 'draft_loudly' must change nothing or be draft_only, and it is "
                "write_internal"
            ),
        ),
        (acting(reconcile="find_words"), "its reconcile 'find_words' must return Reconciled"),
        (
            acting(reconcile="find_abroad"),
            (
                "its reconcile 'find_abroad' must change nothing or be write_internal, and it is "
                "write_external"
            ),
        ),
        (
            acting(reconcile="find_locally"),
            f"its reconcile 'find_locally' {PLAIN}",
        ),
        (
            acting(undo="take_nothing"),
            f"its undo 'take_nothing' is no tool in {__name__}, nor one of the agent's",
        ),
        (acting(undo="draft_other"), "its undo 'draft_other' must take the same arguments"),
        (
            acting(undo="take_back_by_command"),
            "its undo 'take_back_by_command' must need no sandbox, and process_execution does",
        ),
        (
            acting(undo="take_back_anywhere"),
            "its undo 'take_back_anywhere' must need no sandbox, and network_open_world does",
        ),
        (acting(undo="find_locally"), f"its undo 'find_locally' {PLAIN}"),
        (acting(undo="take_back_in_sandbox"), f"its undo 'take_back_in_sandbox' {PLAIN}"),
        (acting(undo="take_back_if_allowed"), f"its undo 'take_back_if_allowed' {PLAIN}"),
        (
            acting(undo="take_back_for_now"),
            "its undo 'take_back_for_now' must have no undo and no draft of its own",
        ),
        (
            acting(undo="take_back_with_care"),
            "its undo 'take_back_with_care' must have no undo and no draft of its own",
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


def test_nothing_is_undone_that_changes_nothing() -> None:
    """A read leaves nothing that could be taken back."""

    async def look(place: str) -> str:
        """Look at a place and say what is there."""
        return place

    with pytest.raises(AppError, match="there is nothing to undo: read_only changes nothing"):
        tool(risk=Risk.READ_ONLY, undo="unlook")(look)
