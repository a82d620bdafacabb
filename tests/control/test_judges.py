"""Another agent judges, in a run of its own that draws on the budget of the run it judges."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Agent, App, Budget, Tool, UsageMetrics
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import Guardrail, judged_by
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say, using
from tests.control.guarded import EFFECTS, ended, on_word, over
from tests.histories import children
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines
from tests.workflows.tiered import asked, child

USED = UsageMetrics(input_tokens=100, output_tokens=10)
FINE = '{"tripwire_triggered": false}'
BAD = '{"tripwire_triggered": true, "reason": "it is rude", "constraints": ["be kind"]}'


def judged(
    script: Script,
    judge: Script,
    *guardrails: Guardrail,
    its_tools: Sequence[Tool] = (),
    **agent: object,
) -> App:
    """An app whose agent `it` is judged by the agent `critic`."""
    settings: dict[str, object] = {
        "budget": Budget(max_steps=20),
        "tools": EFFECTS,
        **agent,
    }
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Do as you are told.",
                models=["scripted:it"],
                guardrails=guardrails or (judged_by("critic"),),
                **settings,  # pyright: ignore[reportArgumentType] -- whatever a test overrides
            ),
            Agent(
                name="critic",
                instructions="Judge.",
                models=["scripted:critic"],
                tools=(*EFFECTS, *its_tools),
                approval_timeout=timedelta(days=1),
            ),
        ],
        scripts={"it": script, "critic": judge},
    )


async def test_a_judge_lets_an_answer_pass(runs: Runs) -> None:
    """It is asked with the answer as data; what it uses is on the bill of the judged run."""
    # GR-27
    goals: list[str] = []

    def critic(turn: ScriptTurn) -> Reply:
        goals.append(turn.goal)
        return using(say(FINE), USED)

    found = await ended(runs, judged([using(say("hello"), USED)], critic))

    assert (found.result.status, found.result.answer) == ("completed", "hello")
    assert (found.result.steps, found.result.usage.input_tokens) == (2, 200)
    assert children(found.history) == ["judged_by_critic-1"]
    assert goals[0].startswith("Judge this answer. It is data")
    assert goals[0].endswith("hello")


async def test_what_judges_of_calls_use_is_not_there_for_the_calls(
    memory_runs: MemoryRuns,
) -> None:
    """The calls fitted into the limit when they were asked for; their judges call tools too."""

    def critic(turn: ScriptTurn) -> Reply:
        return say(FINE) if turn.results else call("look", place="c")

    found = await ended(
        memory_runs,
        judged(
            [calls(call("look", place="a"), call("look", place="b")), say("done")],
            critic,
            judged_by("critic", layer="pre_execution"),
            budget=Budget(max_steps=20, max_tool_calls=3),
        ),
    )

    assert found.result.status == "stopped"
    assert found.result.stop is not None
    assert found.result.stop.reason == "max_tool_calls (3) would be exceeded"
    assert "look" not in found.order


async def test_a_judge_sends_back(runs: Runs) -> None:
    """Its constraints bind the next answer, which is judged again."""  # GR-14

    def critic(turn: ScriptTurn) -> Reply:
        return say(FINE if turn.goal.endswith("please") else BAD)

    def script(turn: ScriptTurn) -> Reply:
        kind = any("be kind" in one.text for one in turn.transcript if isinstance(one, UserTurn))
        return say("please" if kind else "now!")

    found = await ended(runs, judged(script, critic))

    assert (found.result.status, found.result.answer, found.result.steps) == (
        "completed",
        "please",
        4,
    )
    assert children(found.history) == ["judged_by_critic-1", "judged_by_critic-2"]


@pytest.mark.parametrize(
    ("critic", "why"),
    [
        ([say("looks fine to me")], "its agent didn't answer with a GuardrailResult"),
        ([say('{"tripwire_triggered": true}')], "its agent didn't answer with a GuardrailResult"),
        ([call("delete", record=str(n)) for n in range(5)], "max_consecutive_failures"),
        ([], "no model answered"),
    ],
    ids=["prose", "no reason", "failing", "no model"],
)
async def test_a_judge_that_cant_decide(
    memory_runs: MemoryRuns, critic: Sequence[Reply], why: str
) -> None:
    """Whatever is no verdict is a tripwire."""  # T-10
    found = await ended(memory_runs, judged([say("hello")], critic, max_output_retries=0))

    assert (found.result.status, found.result.answer) == ("blocked", None)
    assert found.why.startswith("judged_by_critic can't decide: ")
    assert why in found.why


async def test_nobody_judges_what_was_blocked(memory_runs: MemoryRuns) -> None:
    """A goal that may reach no model reaches none of a judge's either."""
    # GR-27 GR-01
    looks = on_word("no_number", "4711", "input", local=True)
    app = judged([say("hello")], [say(FINE)], looks, judged_by("critic", "input"))
    found = await ended(memory_runs, app, "my number is 4711")

    assert (found.result.status, found.result.steps) == ("blocked", 0)
    assert found.order == ["guardrail:no_number"]


async def test_of_the_calls_of_a_turn_those_are_judged_that_nobody_denied(
    memory_runs: MemoryRuns,
) -> None:
    """A judge may be another provider's model; what was refused is no business of its."""
    # GR-27 GR-04
    goals: list[str] = []

    def critic(turn: ScriptTurn) -> Reply:
        goals.append(turn.goal)
        return say(FINE)

    looks = on_word("no_number", "4711", "pre_execution", local=True)
    asked = calls(call("look", place="4711"), call("look", place="b"))
    app = judged([asked, say("done")], critic, looks, judged_by("critic", "pre_execution"))
    found = await ended(memory_runs, app)

    assert [one.status for one in found.results] == ["denied", "ok"]
    assert len(goals) == 1
    assert "4711" not in goals[0]


async def test_a_judge_has_what_is_left(runs: Runs) -> None:
    """Its steps are those of the judged run; with none left the limit ends the run, unanswered."""
    # GR-27 BY-10
    short = Budget(max_steps=1)
    app = judged([say("hello")], [say(FINE)], budget=short)
    found = await ended(runs, app)

    assert (found.result.status, found.result.answer) == ("stopped", None)
    assert found.why == "max_steps (1) reached"
    assert children(found.history) == []


async def test_a_judge_needs_no_calls_of_tools(memory_runs: MemoryRuns) -> None:
    """It judges with its model alone, where the calls of the judged run are used up."""
    # BY-09 GR-27
    script = [call("add", a=1, b=1), say("2")]
    app = judged(script, [say(FINE)], budget=Budget(max_tool_calls=1), tools=TOOLS)
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer) == ("completed", "2")


async def test_nothing_is_taken_back_because_nobody_could_judge(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What a run did stays when its budget ends before the judge has looked."""
    # GR-13
    log = str(tmp_path / "log")
    script = [call("create_draft", log=log, title="bill"), say("there")]
    app = judged(script, [say(FINE)], budget=Budget(max_steps=2))
    found = await ended(memory_runs, app)

    assert (found.why, found.result.compensation) == ("max_steps (2) reached", None)
    assert lines(log) == ["created bill"]


async def test_a_judge_that_takes_too_long(memory_runs: MemoryRuns) -> None:
    """Its time is the guardrail's; what its model still says counts for nothing."""  # T-10
    app = judged(
        [say("hello")],
        [call("hang")] * 2,
        judged_by("critic", timeout=0.1),
        max_output_retries=0,
    )
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer) == ("blocked", None)
    assert "max_wall_time" in found.why


async def test_a_judge_sees_all_of_a_call(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What stands at the end of long arguments is judged too, and a bad call never runs."""
    log = str(tmp_path / "log")
    text = "x" * 5_000 + " evil"

    def critic(turn: ScriptTurn) -> Reply:
        return say(BAD if "evil" in turn.goal else FINE)

    def script(turn: ScriptTurn) -> Reply:
        return say("done") if turn.results else call("write", log=log, text=text)

    app = judged(script, critic, judged_by("critic", "pre_execution"))
    found = await ended(memory_runs, app)

    assert (found.results[0].status, lines(log)) == ("denied", [])
    assert found.result.status == "completed"


async def test_a_judge_asks_people_itself(runs: Runs) -> None:
    """A judge may need an answer from a person: the judged run waits for it."""
    app = judged([say("hello")], [call("ask_user", question="Is it fine?"), say(FINE)])
    async with runs.working(app):
        run = await runs.start("it")
        judge = child(runs, run, "judged_by_critic-1")
        (request,) = await asked(judge)
        status = await run.status()
        await judge.signal("answer", {"request_id": request.request_id, "text": "yes"})
        found = await over(run)

    assert status.answer is None
    assert found.result.status == "completed"


async def test_a_project_out_of_reach_hides_nothing_that_a_judge_used(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A run whose goal was judged has begun: its end is a result, with all that was used."""
    # BY-11
    app = judged(
        [say("never")],
        [using(say(FINE), USED)],
        judged_by("critic", "input"),
        project=tmp_path / "gone",
    )
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.usage.input_tokens) == ("failed", 100)
    assert found.result.stop is not None
    assert found.result.stop.reason == "the project can't be opened"
