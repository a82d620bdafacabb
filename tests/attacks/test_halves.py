"""Attacks with half of a surrogate pair: JSON may hold one, and no text that leaves can."""

import json

import pytest
from pydantic import JsonValue

from holdfast import Risk, tool
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.errors import ToolError
from holdfast.testing import call, say
from tests.running import Runs
from tests.sample import scripted


@tool(risk=Risk.WRITE_INTERNAL)
async def write(said: str) -> JsonValue:
    """Write something, and return what the other side answers."""
    return json.loads(said)


@tool(risk=Risk.WRITE_INTERNAL)
def write_apart(said: str) -> dict[str, object]:
    """Write something from a process, and return what the other side answers."""
    return json.loads(said)


@tool(risk=Risk.WRITE_INTERNAL)
async def refuse(said: str) -> str:
    """Refuse to write, in the words of the other side."""
    raise ToolError("conflict", json.loads(said), (json.loads(said),))


async def answer(runs: Runs, name: str, said: str) -> ToolSuccess | ToolFailure:
    script = [call(name, said=said), say("done")]
    async with runs.working(scripted(script, tools=[write, write_apart, refuse])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()
        [found] = await run.results()
    return found


@pytest.mark.parametrize(
    ("name", "said", "told"),
    [
        ("write", r'"a\ud800"', "a\ufffd"),
        ("write", r'{"\udfff": ["\ud83d\ude00"]}', {"\ufffd": ["\U0001f600"]}),
        ("write_apart", r'{"a": {"\udfff": "\ud800"}}', {"a": {"\ufffd": "\ufffd"}}),
    ],
)
async def test_no_half_hides_what_was_written(
    runs: Runs, name: str, said: str, told: JsonValue
) -> None:
    """A mark stands for it, and the write counts as done."""
    found = await answer(runs, name, said)

    assert isinstance(found, ToolSuccess)
    assert found.data == told


async def test_no_half_hides_that_nothing_was_written(runs: Runs) -> None:
    """A refusal stays one, whoever's words it quotes."""
    found = await answer(runs, "refuse", r'"no: \udfff"')

    assert isinstance(found, ToolFailure)
    assert (found.status, found.type, found.reason) == ("error", "conflict", "no: \ufffd")
