"""An answer is looked at before it is out: what is blocked never is the result."""

import asyncio

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.guardrails import (
    Guardrail,
    passed,
    secret_detection,
    spec_compliance,
    static_analysis,
)
from holdfast.testing import Reply, ScriptTurn, say
from tests.control.guarded import (
    decided,
    ended,
    guarded,
    on_word,
    order,
    over,
    scheduled,
    tripwires,
    waiting,
)
from tests.memory.runs import MemoryRuns
from tests.running import Runs

KEY = "AKIAQ7XJ2M5RTPLK9WZB"
EXAMPLE_KEY = "AKIAIOSFODNN7EXAMPLE"

API: JsonObject = {
    "openapi": "3.0.3",
    "components": {
        "schemas": {
            "Price": {
                "type": "object",
                "required": ["amount"],
                "properties": {"amount": {"type": "number"}},
            }
        }
    },
}


def python(code: str) -> str:
    return f"Here it is:\n```python\n{code}\n```\n"


@pytest.mark.parametrize(
    ("guardrail", "answer", "why"),
    [
        pytest.param(static_analysis(), python("x = eval(y)"), "S307", id="a critical flaw"),
        pytest.param(static_analysis(), python("import os\nx = 1"), "", id="a minor flaw"),
        pytest.param(static_analysis(), "no code at all", "", id="no code"),
        pytest.param(secret_detection(), f"use {KEY}", "credentials", id="a key"),
        pytest.param(secret_detection(), f"use {EXAMPLE_KEY}", "", id="a documented key"),
        pytest.param(
            spec_compliance(openapi=API, component="Price"), "{}", "amount", id="a missing field"
        ),
        pytest.param(
            spec_compliance(openapi=API, component="Price"), '{"amount": 1}', "", id="a full one"
        ),
    ],
)
async def test_built_in_guardrails_of_answers(
    runs: Runs, guardrail: Guardrail, answer: str, why: str
) -> None:
    """What is critical is blocked, with its reason; what isn't is delivered."""
    # GR-06 GR-23 GR-24 GR-25 GR-05
    found = await ended(runs, guarded([say(answer)], guardrail, max_output_retries=0))

    assert found.order == ["call_model", f"guardrail:{guardrail.spec.name}"]
    if why:
        assert (found.result.status, found.result.answer) == ("blocked", None)
        assert why in found.why
        assert KEY not in found.why
    else:
        assert (found.result.status, found.result.answer) == ("completed", answer)


async def test_what_does_not_apply_is_recorded_as_that(runs: Runs) -> None:
    """An answer without code passes nothing: history says that nobody looked."""  # T-41
    found = await ended(runs, guarded([say("no code at all")], static_analysis()))

    raw = b"".join(event.SerializeToString() for event in found.history.events)
    assert found.result.status == "completed"
    assert b'"applicable":false' in raw
    assert b"there is no Python in it" in raw


def obeying(turn: ScriptTurn) -> Reply:
    """Say something bad until told not to."""
    told = [item.text for item in turn.transcript if item.kind == "user"]
    return say("good" if any("never say bad" in text for text in told) else "bad")


async def test_a_blocked_answer_is_tried_again_under_constraints(memory_runs: MemoryRuns) -> None:
    """The second request to the model has the constraint, and its answer is the result."""
    # GR-14 GR-05 T-30
    found = await ended(memory_runs, guarded(obeying, on_word("no_bad", "bad", "output")))

    assert (found.result.status, found.result.answer, found.result.steps) == (
        "completed",
        "good",
        2,
    )
    assert found.order == ["call_model", "guardrail:no_bad"] * 2
    assert [origin for origin, _ in found.told] == ["goal", "constraint"]
    assert len(tripwires(found.story)) == 1


@pytest.mark.parametrize("bound", [0, 1, 2])
async def test_retries_are_bounded(memory_runs: MemoryRuns, bound: int) -> None:
    """Always bad: after so many more tries the run ends blocked, with the reason."""  # GR-14
    app = guarded(
        lambda _: say("bad"), on_word("no_bad", "bad", "output"), max_output_retries=bound
    )
    found = await ended(memory_runs, app)

    assert (found.result.status, found.why, found.result.answer) == (
        "blocked",
        "it says bad",
        None,
    )
    assert found.result.steps == bound + 1
    assert len([one for one in found.told if one[0] == "constraint"]) == bound


async def test_one_that_blocks_has_no_second_try(memory_runs: MemoryRuns) -> None:
    """The run ends with the first bad answer."""  # T-07
    found = await ended(
        memory_runs, guarded(obeying, on_word("no_bad", "bad", "output", on_trip="block"))
    )

    assert (found.result.status, found.result.steps) == ("blocked", 1)


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_one_that_asks_has_people_decide(memory_runs: MemoryRuns, decision: str) -> None:
    """The answer is out once somebody approves it, not before; rejected, the run is blocked."""
    # T-07 GR-05
    app = guarded([say("bad")], on_word("no_bad", "bad", "output", on_trip="ask"))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        status = await run.status()
        await decided(run, request, decision)
        found = await over(run)

    assert request.kind == "review"
    assert (request.reason, request.text) == ("it says bad", "bad")
    assert (status.status, status.answer) == ("waiting", None)
    assert found.order == ["call_model", "guardrail:no_bad"]
    expected = ("completed", "bad") if decision == "approve" else ("blocked", None)
    assert (found.result.status, found.result.answer) == expected
    assert "rejected by dana" in found.why or decision == "approve"


async def test_an_approval_lifts_no_other_objection(memory_runs: MemoryRuns) -> None:
    """One asks a person, another wants a better answer: the model is sent back first."""
    # GR-15 T-07
    found = await ended(
        memory_runs,
        guarded(
            obeying,
            on_word("asks", "bad", "output", on_trip="ask"),
            on_word("no_bad", "bad", "output"),
        ),
    )

    assert (found.result.status, found.result.answer) == ("completed", "good")
    assert found.order == ["call_model", "guardrail:asks", "guardrail:no_bad"] * 2


async def test_later_gates_look_once_an_answer_is_approved(runs: Runs) -> None:
    """What a person approved still passes what comes after."""
    app = guarded(
        [say("bad")],
        on_word("asks", "bad", "output", on_trip="ask"),
        on_word("last", "bad", "post_action", on_trip="block"),
    )
    async with runs.working(app):
        run = await runs.start("it")
        (request,) = await run.asked()
        before = order(await run.handle.fetch_history())
        await run.approve(request.request_id)
        found = await over(run)

    assert before == ["call_model", "guardrail:asks"]
    assert found.order == ["call_model", "guardrail:asks", "guardrail:last"]
    assert (found.result.status, found.result.answer) == ("blocked", None)


async def test_words_while_a_guardrail_looks(runs: Runs) -> None:
    """An answer that was given before somebody said more is no answer any more."""
    go = asyncio.Event()
    slow = waiting("slow", go, passed(), layer="output")
    async with runs.working(guarded(lambda turn: say(f"answer {turn.number}"), slow)):
        run = await runs.start("it")
        await scheduled(run, "guardrail:slow")
        await run.signal("steer", {"text": "in French"})
        await run.status()  # which is answered once the words have been heard
        go.set()
        found = await over(run)

    assert (found.result.status, found.result.answer) == ("completed", "answer 2")
    assert found.order.count("guardrail:slow") == 2
