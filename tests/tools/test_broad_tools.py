"""Tools by which one call may do anything: they work, and are warned of."""

from typing import Annotated, Literal

from pydantic import Field

from holdfast.tools.schema import find_warnings, read_signature

Id = Annotated[str, Field(pattern="^[a-z]{1,9}$")]


async def broad(
    *,
    sql: str,
    url: str | None = None,
    mode: Literal["read", "erase"],
    action: str,
    order_id: str,
    command: str,
    operation: str,
    sql_query: str,
    shell_command: str,
    target_url: str,
) -> None:
    """Do anything."""


async def narrow(
    *,
    sql: Literal["SELECT 1"],
    url: Id,
    mode: Literal["read"],
    action: bool,
    order_id: Id,
    item_id: Annotated[str, Field(max_length=9)],
    user_id: int,
    query: str,
    postal_code: str,
    target_url: Id,
) -> None:
    """Do one thing."""


def test_a_tool_that_is_too_broad_is_told_of() -> None:
    """Nobody can allow one thing that it does, and forbid another."""
    # NR-10, SV-05
    schema = read_signature("broad", broad).input_schema

    assert find_warnings(schema, None) == (
        "argument 'sql' takes any statement: say which with a scope or a type",
        "argument 'url' takes any address: say which with a scope or a type",
        "argument 'mode' chooses what is done: make each a tool of its own",
        "argument 'action' chooses what is done: make each a tool of its own",
        "argument 'order_id' takes any text: give it a pattern or a length",
        "argument 'command' takes any command: say which with a scope or a type",
        "argument 'operation' chooses what is done: make each a tool of its own",
        "argument 'sql_query' takes any statement: say which with a scope or a type",
        "argument 'shell_command' takes any command: say which with a scope or a type",
        "argument 'target_url' takes any address: say which with a scope or a type",
    )
    assert not any("'url'" in said for said in find_warnings(schema, "url"))
    assert find_warnings(read_signature("narrow", narrow).input_schema, None) == ()
