"""Checks inside the loop: what they find goes back to the model until its answer passes."""

from pathlib import Path

import pytest

from holdfast import Budget
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import ended, guarded, on_word
from tests.memory.runs import MemoryRuns
from tests.sample import lines

CHECK = on_word("no_wrong", "wrong", "output")


async def test_wrong_wrong_right(memory_runs: MemoryRuns) -> None:
    """Each failure is in the next request; the answer that passes ends the run."""
    # GF-06 BY-45
    answers = ["wrong one", "wrong two", "right"]
    found = await ended(memory_runs, guarded([*map(say, answers)], acceptance=[CHECK]))

    assert (found.result.status, found.result.answer, found.result.steps) == (
        "completed",
        "right",
        3,
    )
    assert found.order == ["call_model", "guardrail:no_wrong"] * 3
    back = [text for origin, text in found.told if origin != "goal"]
    assert len(back) == 2
    assert all("no_wrong: it says wrong" in text for text in back)


@pytest.mark.parametrize(
    ("budget", "why", "steps"),
    [
        (Budget(max_steps=3), "max_steps (3) reached", 3),
        (Budget(max_steps=9, max_consecutive_failures=2), "max_consecutive_failures", 2),
    ],
    ids=["steps", "failures"],
)
async def test_always_wrong(memory_runs: MemoryRuns, budget: Budget, why: str, steps: int) -> None:
    """It stops on its budget; no wrong answer is the result."""  # BY-45 GF-06
    app = guarded(lambda turn: say(f"wrong {turn.number}"), acceptance=[CHECK], budget=budget)
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer) == ("stopped", None)
    assert why in found.why
    assert found.result.steps == steps


async def test_every_check_is_told(memory_runs: MemoryRuns) -> None:
    """All that fails is told at once, and nothing is taken back."""  # GF-06
    other = on_word("no_bad", "bad", "post_action")

    def script(turn: ScriptTurn) -> Reply:
        return say("bad and wrong" if turn.number == 1 else "right")

    found = await ended(memory_runs, guarded(script, acceptance=[CHECK, other]))

    back = found.told[1][1]
    assert "no_wrong: it says wrong" in back
    assert "no_bad: it says bad" in back
    assert (found.result.status, found.result.compensation) == ("completed", None)


async def test_checks_come_before_the_output_layer(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Only what is accepted is looked at by guardrails; what was done stays for the next try."""
    # GF-06 GR-16
    log = str(tmp_path / "log")
    script = [call("create_draft", log=log, title="it"), say("wrong"), say("right")]

    found = await ended(
        memory_runs, guarded(script, on_word("no_bad", "bad", "output"), acceptance=[CHECK])
    )

    assert found.order[-4:] == [
        "guardrail:no_wrong",
        "call_model",
        "guardrail:no_wrong",
        "guardrail:no_bad",
    ]
    assert lines(log) == ["created it"]
