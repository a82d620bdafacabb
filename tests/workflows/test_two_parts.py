"""A result in two parts: a model reads the short one, people and audit have the full one."""

import hashlib
import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Risk, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.transcript import ToolTurn
from holdfast.histories import render_export
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import TwoPart
from holdfast.tools.results import Results
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from tests.builders import a_contract, an_invocation
from tests.running import Runs
from tests.sample import scripted
from tests.tools.test_results import Full, Kept

ROWS: JsonObject = {"rows": [{"order": n, "amount": 2**53 + n} for n in range(200)]}


@tool(risk=Risk.READ_ONLY, timeout=10)
async def count_orders() -> TwoPart[int, dict[str, JsonValue]]:
    """Count the orders."""
    return TwoPart(short=200, full=ROWS)


@tool(risk=Risk.READ_ONLY, timeout=30)
def count_apart() -> TwoPart[int, dict[str, JsonValue]]:
    """Count the orders, in a process of its own."""
    return TwoPart(short=200, full=ROWS)


@pytest.mark.parametrize("counting", [count_orders, count_apart], ids=["async", "process"])
async def test_a_model_reads_the_short_part_and_audit_has_the_full_one(
    runs: Runs, counting: object
) -> None:
    """The request has 200 alone; history has where the rest is, and its digest."""
    # BY-53
    requests: list[ScriptTurn] = []
    name = "count_orders" if counting is count_orders else "count_apart"

    def script(turn: ScriptTurn) -> Reply:
        requests.append(turn)
        return call(name) if turn.number == 1 else say(f"there are {turn.last(name)}")

    async with runs.working(scripted(script, tools=[counting])):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.answer == "there are 200"
    asked = requests[1].transcript[-1]
    assert isinstance(asked, ToolTurn)
    (told,) = asked.results
    assert isinstance(told, ToolSuccess)
    assert (told.data, told.summary, told.cut) == (200, "200", False)
    assert told.artifact is not None
    kept = Path(told.artifact.path).read_bytes()
    assert json.loads(kept) == ROWS
    assert told.artifact.digest == hashlib.sha256(kept).hexdigest()
    export = render_export([history])
    assert told.artifact.digest in "".join(str(one) for one in read_trace([history]).turns)
    assert "amount" not in export
    shown = "\n".join(str(line) for line in lines(read_trace([history])))
    assert "the full part is " in shown


def test_the_contract_tells_of_the_short_part_alone() -> None:
    """What a model is promised is what it reads."""
    # BY-53
    assert count_orders.contract.output_schema == {"type": "integer"}


def split(content: bytes, limit: int, kept: Kept) -> ToolSuccess:
    contract = a_contract("look", max_result_chars=limit)
    return Results(an_invocation(), contract, kept).build_two_parts(content)


def test_a_short_part_has_the_limit_of_any_result() -> None:
    """What is too long for a model is cut, and the full part is kept all the same."""
    # BY-53
    kept = Kept()
    content = b'{"short":"' + b"x" * 100 + b'","full":[1]}'

    result = split(content, 10, kept)

    assert result.cut
    assert kept.contents[-1] == b"[1]"
    assert result.artifact is not None
    assert result.artifact.characters == len("[1]")


def test_what_cant_be_kept_hides_nothing_that_was_done() -> None:
    """On a full disk a model reads the short part, and history says what is missing."""
    # BY-53
    content = b'{"short":5,"full":[1]}'

    result = split(content, 100, Full())

    assert (result.status, result.data, result.artifact) == ("ok", 5, None)
    assert result.summary == "5; the full part could not be kept (No space left on device)"


def test_what_has_no_parts_any_more_was_done_all_the_same() -> None:
    """A result that was nested too deeply is told as left out, and not as a failure."""
    # BY-53
    result = split(b'"too deep"', 100, Kept())

    assert result.status == "ok"
    assert result.summary.startswith("done; what it returned is left out")
