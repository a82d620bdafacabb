"""A model whose answers never pass makes room for the next one: a fallback around a whole run."""

import logging
from pathlib import Path

import pytest

from holdfast import Fallback
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.transcript import ToolTurn
from holdfast.run import fallbacks
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.builders import a_state
from tests.control.controlled import asked_models, chained, recorded
from tests.control.guarded import EFFECTS, ended, on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines

CHECK = on_word("no_wrong", "wrong", "output")
TWICE = Fallback(rejections=2)


@pytest.mark.parametrize("as_check", [True, False], ids=["acceptance", "guardrail"])
async def test_a_model_whose_answers_never_pass_makes_room(
    memory_runs: MemoryRuns, *, as_check: bool
) -> None:
    """The second model answers, and both are in history, with the reason of the change."""
    # NR-05
    terms = {"acceptance": [CHECK]} if as_check else {"guardrails": [CHECK]}
    app = chained(lambda _: say("wrong"), lambda _: say("right"), fallback=TWICE, **terms)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.status, result.answer, result.model) == ("completed", "right", "scripted:2")
    assert asked_models(*histories) == [
        "turn 1 · scripted:1",
        "turn 2 · scripted:1",
        "turn 3 · scripted:2",
    ]
    assert "model switched: scripted:1 → scripted:2: its answers were rejected" in recorded(
        *histories
    )


async def test_what_one_model_did_the_next_does_not_repeat(
    runs: Runs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The second model asks for the same write, and is refused; the log has a warning."""
    # NR-05 NR-04
    log = str(tmp_path / "log")
    send = call("send", log=log, text="x")

    def first(turn: ScriptTurn) -> Reply:
        return send if turn.number == 1 else say("wrong")

    def second(turn: ScriptTurn) -> Reply:
        return say("right") if turn.number > 4 else send

    app = chained(first, second, fallback=TWICE, acceptance=[CHECK], tools=EFFECTS)
    with caplog.at_level(logging.INFO):
        async with runs.working(app):
            run = await runs.start("it")
            await run.approve((await run.asked_for_approval()).request_id)
            result = await run.result()
            page = await run.transcript()

    assert (result.answer, len(lines(Path(log)))) == ("right", 1)
    refused = [item.results[0] for item in page.items if isinstance(item, ToolTurn)][-1]
    assert isinstance(refused, ToolFailure)
    assert refused.type == "non_idempotent_retry_blocked"
    (warned,) = (one for one in caplog.records if one.getMessage().startswith("model.switched"))
    assert warned.levelno == logging.WARNING


async def test_what_was_taken_back_the_next_model_does_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What one model did and a guardrail had undone isn't done already: it is told so, and may."""
    # NR-05 GR-13
    log = str(tmp_path / "log")
    create = call("create_draft", log=log, title="one")
    replies = (create, say("wrong"), say("bad"), create, say("right"))

    def script(turn: ScriptTurn) -> Reply:
        return replies[turn.number - 1]

    found = await ended(
        memory_runs,
        chained(
            script,
            script,
            fallback=Fallback(rejections=1),
            acceptance=[CHECK],
            guardrails=[on_word("no_bad", "bad", "output")],
            tools=EFFECTS,
        ),
    )

    assert (found.result.answer, found.result.model) == ("right", "scripted:2")
    assert lines(Path(log)) == ["created one", "removed one", "created one"]
    assert [one.tool for one in found.result.effects] == ["create_draft"]


@pytest.mark.parametrize(
    ("fallback", "rejected"),
    [
        pytest.param(Fallback(), 9, id="not wanted"),
        pytest.param(TWICE, 1, id="not yet"),
    ],
)
def test_a_model_tries_on(fallback: Fallback, rejected: int) -> None:
    """Nobody has asked for another model, or not after so few answers."""
    # NR-05
    state = a_state(fallback=fallback)

    assert fallbacks.after_rejections(state, rejected) is None


def test_the_last_model_tries_on() -> None:
    """There is nobody else: its retries, and then the stop, are as without."""
    # NR-05
    state = a_state(fallback=TWICE)
    second = fallbacks.after_rejections(state, 2)

    assert second is not None
    assert (second.model, second.answering.output_retries) == ("other:second", 0)
    assert fallbacks.after_rejections(second, 2) is None
