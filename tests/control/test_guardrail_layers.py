"""Four layers of guardrails, in their order, each holding what is its own."""

from pathlib import Path

import pytest

from holdfast.contracts.guardrails import GuardrailVerdicts
from holdfast.guardrails import Guardrail
from holdfast.testing import call, say
from tests.control.guarded import Seen, after_trip, ended, guarded, on_word, order, over, tripwires
from tests.histories import activities
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines

LAYERS = (
    on_word("no_bad_task", "alpha", "input"),
    on_word("no_bad_call", "beta", "pre_execution"),
    on_word("no_bad_answer", "gamma", "output"),
    on_word("no_bad_end", "delta", "post_action"),
)


async def test_layers_look_in_their_order(runs: Runs, tmp_path: Path) -> None:
    """One run meets 1 input, 2 pre-execution, 3 output, 4 post-action, whatever their list."""
    # GR-16 GR-01
    script = [call("write", log=str(tmp_path / "log"), text="fine"), say("done")]

    found = await ended(runs, guarded(script, *reversed(LAYERS)))
    result, history = found.result, found.history

    assert result.status == "completed"
    assert order(history) == [
        "guardrail:no_bad_task",
        "call_model",
        "authorize",
        "guardrail:no_bad_call",
        "authorize",
        "write",
        "call_model",
        "guardrail:no_bad_answer",
        "guardrail:no_bad_end",
    ]
    assert [one.summary for one in activities(history) if one.name.startswith("guardrail:")] == [
        "input: no_bad_task",
        "pre_execution: no_bad_call",
        "output: no_bad_answer",
        "post_action: no_bad_end",
    ]


async def test_quick_ones_of_a_layer_share_an_activity(runs: Runs) -> None:
    """What is quick and looks at the same costs history one marker, with all verdicts in it."""
    # GR-04 GR-16
    quick = [on_word(f"quick_{word}", word, "input", local=True) for word in ("ash", "elm", "oak")]

    found = await ended(runs, guarded([say("done")], *quick), "fell the elm")
    result, history = found.result, found.history

    assert (result.status, order(history)) == (
        "blocked",
        ["guardrail:quick_ash+quick_elm+quick_oak"],
    )
    marker = next(one.event for one in activities(history) if "quick" in one.name)
    found = marker.marker_recorded_event_attributes.details["result"].payloads[0].data
    verdicts = GuardrailVerdicts.model_validate_json(found).verdicts
    assert [(one.guardrail, one.tripwire_triggered, one.reason) for one in verdicts] == [
        ("quick_ash", False, ""),
        ("quick_elm", True, "it says elm"),
        ("quick_oak", False, ""),
    ]


@pytest.mark.parametrize("left_out", LAYERS, ids=[one.spec.name for one in LAYERS])
async def test_without_one_the_others_hold(
    memory_runs: MemoryRuns, tmp_path: Path, left_out: Guardrail
) -> None:
    """Whichever one is taken away, each of the others still blocks what is its own."""  # GR-15
    others = [one for one in LAYERS if one is not left_out]
    log = str(tmp_path / "log")
    app = guarded(
        lambda turn: (
            call("write", log=log, text=turn.goal) if turn.number == 1 else say(turn.goal)
        ),
        *others,
        max_output_retries=0,
    )
    held: list[str] = []
    async with memory_runs.working(app):
        for word in ("alpha", "beta", "gamma", "delta"):
            run = await memory_runs.start("it", word)
            result = await run.result()
            denied = [one for one in await run.results() if one.status == "denied"]
            if result.status == "blocked" or denied:
                held.append(word)

    words = dict(zip(LAYERS, ("alpha", "beta", "gamma", "delta"), strict=True))
    assert held == [word for guardrail, word in words.items() if guardrail is not left_out]
    assert lines(log).count("end beta") == (left_out is LAYERS[1])


async def test_a_blocked_input_ends_before_the_model(memory_runs: MemoryRuns) -> None:
    """No token is spent: the run ends blocked with the reason, and nothing comes after it."""
    # GR-07 GR-10 GR-12 GR-04
    async with memory_runs.working(guarded([say("done")], LAYERS[0])):
        run = await memory_runs.start("it", "say alpha")
        result, history, _, told = await over(run)
        status = await run.status()

    assert (result.status, result.answer, result.steps) == ("blocked", None, 0)
    assert result.stop is not None
    assert result.stop.reason == "it says alpha"
    assert result.stop.detail.startswith("guardrail no_bad_task, subject ")
    assert result.stop.next_safe_action
    assert order(history) == ["guardrail:no_bad_task"]
    assert after_trip(history) == []
    assert tripwires(history)[0].startswith("tripwire: no_bad_task: it says alpha (subject ")
    assert told == [("goal", "say alpha")]
    assert (status.status, status.stop) == ("blocked", result.stop)


async def test_what_may_have_happened_is_looked_at(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A call whose answer was lost may have done what a look afterwards is there for."""
    # GR-28 T-03
    seen = Seen()
    script = [call("write_slowly", log=str(tmp_path / "log")), say("done")]
    tools = ("write_slowly",)
    health = on_word("health", "log", "post_action", seen, tools=tools, on_trip="block")
    found = await ended(memory_runs, guarded(script, health))

    assert (found.results[0].status, found.result.status) == ("outcome_unknown", "blocked")
    assert len(seen.subjects) == 1
