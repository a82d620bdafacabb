"""What a call did is looked at whole, or nobody can decide: no result crowds out another."""

from pathlib import Path

import pytest

from holdfast import App, Risk, tool
from holdfast.guardrails import Guardrail
from holdfast.testing import call, calls, say
from tests.control.guarded import Seen, ended, on_word
from tests.memory.runs import MemoryRuns
from tests.sample import note, scripted
from tests.workflows.test_permissions import policy

ALLOWED = "{id: ok, effect: allow, match: {tools: [publish]}}"
LARGE = 160_000
"""Characters of a result; three of them leave no room for a fourth."""


@tool(risk=Risk.WRITE_INTERNAL, max_result_chars=200_000)
async def publish(log: str, text: str) -> str:
    """Publish something, and return what is to be seen now."""
    note(log, f"published {text}")
    return "x" * LARGE + text


def publishing(folder: Path, guard: Guardrail, *texts: str) -> App:
    asked = calls(*(call("publish", log=str(folder / "log"), text=text) for text in texts))
    rules = policy(folder, ALLOWED)
    return scripted([asked, say("done")], tools=[publish], guardrails=[guard], policy=rules)


@pytest.mark.parametrize("local", [False, True])
async def test_no_result_crowds_out_another(
    memory_runs: MemoryRuns, tmp_path: Path, *, local: bool
) -> None:
    """What the last call did isn't there to be seen: nobody can decide, and the run is blocked."""
    seen = Seen()
    guard = on_word(
        "guard", "BAD", "post_action", seen, tools=("publish",), on_trip="block", local=local
    )

    found = await ended(memory_runs, publishing(tmp_path, guard, "1", "2", "3", "BAD"))

    assert found.result.status == "blocked"
    assert found.why.startswith("guard can't decide: its turn had no room for the whole result")
    assert [len(text) > LARGE for text in seen.texts] == [True, True, True]


async def test_each_result_is_seen_where_there_is_room(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The results that fit are looked at, and pass."""
    seen = Seen()
    guard = on_word("guard", "BAD", "post_action", seen, tools=("publish",), on_trip="block")

    found = await ended(memory_runs, publishing(tmp_path, guard, "1", "2", "3"))

    assert (found.result.status, len(seen.texts)) == ("completed", 3)
