"""What a call did is looked at whole, or nobody can decide: no result crowds out another."""

from pathlib import Path

import pytest

from holdfast import App, Risk, tool
from holdfast.contracts import bounds
from holdfast.contracts.transcript import AssistantTurn, ToolTurn
from holdfast.guardrails import Guardrail
from holdfast.run import gates, steps
from holdfast.run.steps import ContinueAsNew
from holdfast.run.transcript import append_items, build_continue_as_new_input
from holdfast.testing import call, calls, say
from tests.builders import NOW, a_call, a_state, a_success
from tests.control.guarded import Seen, ended, on_word
from tests.running import Runs
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
    script = [asked, say("done")]
    return scripted(script, tools=[publish], guardrails=[guard], policy=rules)


@pytest.mark.parametrize("local", [False, True])
async def test_no_result_crowds_out_another(runs: Runs, tmp_path: Path, *, local: bool) -> None:
    """What the last call did isn't there to be seen: nobody can decide, and the run is blocked."""
    seen = Seen()
    guard = on_word(
        "guard", "BAD", "post_action", seen, tools=("publish",), on_trip="block", local=local
    )

    found = await ended(runs, publishing(tmp_path, guard, "1", "2", "3", "BAD"))

    assert found.result.status == "blocked"
    assert found.why.startswith("guard can't decide: its turn had no room for the whole result")
    assert [len(text) > LARGE for text in seen.texts] == [True, True, True]


async def test_each_result_is_seen_where_there_is_room(runs: Runs, tmp_path: Path) -> None:
    """The results that fit are looked at, and pass."""
    seen = Seen()
    guard = on_word("guard", "BAD", "post_action", seen, tools=("publish",), on_trip="block")

    found = await ended(runs, publishing(tmp_path, guard, "1", "2", "3"))

    assert (found.result.status, len(seen.texts)) == ("completed", 3)


def test_a_new_execution_has_whole_what_nobody_has_looked_at() -> None:
    """Suspended while its calls worked, and full of messages: they are looked at as before."""
    spec = on_word("guard", "BAD", "post_action", tools=("lookup",)).spec
    asked = tuple(a_call("lookup", call_id=f"c{n}", place=f"{n}") for n in range(3))
    turn = AssistantTurn(model="m", calls=asked)
    results = ToolTurn(results=tuple(a_success(one, "x" * LARGE) for one in asked))
    state = append_items(a_state("y" * 199_000, guardrails=(spec,)), turn, results)
    state = state.model_copy(update={"suspended": True, "guarded": len(state.items) - 1})

    step, fresh = steps.next_step(state, NOW, flooded=True), build_continue_as_new_input(state)

    assert isinstance(step, ContinueAsNew)
    assert bounds.size(fresh) <= bounds.MAX_STATE_BYTES
    assert gates.select_blocking_checks(fresh) == gates.select_blocking_checks(state)


@pytest.mark.parametrize("asking", [False, True])
def test_a_result_without_its_call_is_not_whole(*, asking: bool) -> None:
    """Where the turn that asked didn't fit into a new execution nobody can decide."""
    spec = on_word("guard", "BAD", "post_action", tools=("lookup",)).spec
    call_ = a_call("lookup", call_id="c1")
    turn = (AssistantTurn(model="m", calls=(call_,)),) if asking else ()
    results = ToolTurn(results=(a_success(call_, "x"),))
    state = append_items(a_state(guardrails=(spec,)), *turn, results)

    (look,) = gates.select_blocking_checks(state)

    assert [subject.whole for subject in look.subjects] == [asking]
    assert "lookup" in gates.text_of_call(state, "c1")
