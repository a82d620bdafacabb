"""Layer 4 runs commands in the sandbox, as the policy lets it: red tests are no success."""

import asyncio
from pathlib import Path

import pytest

from holdfast import App, Budget
from holdfast.guardrails import Guardrail, project_passes, tests_cover, tests_pass
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import submit_plan, write_file
from tests.control.guarded import ended, over
from tests.histories import names, noted
from tests.running import Runs
from tests.sample import scripted

pytestmark = pytest.mark.usefixtures("sandboxed")

POLICY = """
version: 1
rules:
  - id: checks
    effect: allow
    reason: they are ours
    match: {tools: [run_command], commands: ["sh", "ls", "head"]}
"""

GREEN = ("sh", "check.sh")


def an_app(folder: Path, script: object, *guardrails: Guardrail, **agent: object) -> App:
    rules = folder / "policy.yaml"
    rules.write_text(POLICY, encoding="utf-8")
    return scripted(
        script,  # pyright: ignore[reportArgumentType] -- a script
        policy=rules,
        guardrails=guardrails,
        **{"tools": (write_file,), **agent},
    )


def writing(*codes: int) -> object:
    """Write a check that ends with each of these codes in turn, and say so after each."""

    def script(turn: ScriptTurn) -> Reply:
        number = (turn.number + 1) // 2
        if turn.number % 2:
            text = f"echo try {number}; exit {codes[number - 1]}"
            return call("write_file", path="check.sh", content=text)
        return say(f"done {number}")

    return script


async def test_red_tests_are_no_success(runs: Runs, tmp_path: Path) -> None:
    """Always red: the run ends blocked, with what the command said; nothing else is reported."""
    # GR-26
    app = an_app(tmp_path, writing(1), tests_pass(GREEN), max_output_retries=0)

    found = await ended(runs, app)

    assert (found.result.status, found.result.answer) == ("blocked", None)
    assert "'sh check.sh' ended with 1" in found.why
    assert "try 1" in found.why
    assert found.order == [
        "call_model",
        "authorize",
        "write_file",
        "call_model",
        "authorize",
        "run_command",
    ]


async def test_red_then_green(runs: Runs, tmp_path: Path) -> None:
    """The model is told what failed and mends it: the run completes with the green answer."""
    # GR-26 GR-14
    found = await ended(runs, an_app(tmp_path, writing(1, 0), tests_pass(GREEN)))

    assert (found.result.status, found.result.answer) == ("completed", "done 2")
    assert "try 1" in found.told[1][1]
    assert found.order.count("run_command") == 2


@pytest.mark.parametrize(
    ("told", "confidence"),
    [("90%", 1.0), ("89%", 0.85), ("70%", 0.85), ("69%", 0.65)],
)
async def test_coverage_is_measured(
    runs: Runs, tmp_path: Path, told: str, confidence: float
) -> None:
    """What the tests reach is read from what they print, and is part of the confidence."""
    # ES-02
    script = [
        call("write_file", path="check.sh", content=f"echo 'TOTAL 100 7 {told}'"),
        say("done"),
    ]

    found = await ended(runs, an_app(tmp_path, script, tests_cover(GREEN)))

    assert found.result.confidence == confidence


async def test_coverage_stands_in_a_report(runs: Runs, tmp_path: Path) -> None:
    """A second command tells it where the first writes a report."""
    # ES-02
    report = '<coverage line-rate="0.5">'
    script = [
        call("write_file", path="check.sh", content=f"echo '{report}' > coverage.xml"),
        say("done"),
    ]
    guardrail = tests_cover(GREEN, ("head", "-c", "2000", "coverage.xml"))

    found = await ended(runs, an_app(tmp_path, script, guardrail))

    assert found.result.confidence == 0.65


async def test_tests_that_tell_no_coverage_are_no_success(runs: Runs, tmp_path: Path) -> None:
    """Who measures and finds nothing can't decide."""
    # ES-02
    app = an_app(tmp_path, writing(0), tests_cover(GREEN), max_output_retries=0)

    found = await ended(runs, app)

    assert found.result.status == "blocked"
    assert "test_coverage can't decide: 'sh check.sh' tells no coverage" in found.why


async def test_a_suspended_run_begins_no_command(runs: Runs, tmp_path: Path) -> None:
    """The one that had begun ends, the next waits for `resume`; then all look."""
    # BY-62 GR-26
    script = [
        call("write_file", path="check.sh", content="touch began; until test -e go; do :; done"),
        say("done"),
    ]
    guardrail = tests_cover(GREEN, ("head", "-c", "2000", "coverage.xml"))
    async with runs.working(an_app(tmp_path, script, guardrail, max_output_retries=0)):
        run = await runs.start("it")
        workspaces = tmp_path / "home" / "workspaces"
        while not (began := list(workspaces.glob("*/began"))):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.signal("suspend", {})
        (began[0].parent / "go").touch()
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        held = names(await run.story()).count("run_command")
        await run.signal("resume", {})
        found = await over(run)

    assert (held, found.order.count("run_command")) == (1, 3)


async def test_as_an_acceptance_check(runs: Runs, tmp_path: Path) -> None:
    """The same guardrail may stand in the loop: then its findings go back to the model."""
    # GF-06
    app = an_app(tmp_path, writing(1, 0), acceptance=[tests_pass(GREEN)])

    found = await ended(runs, app)

    assert (found.result.status, found.result.answer) == ("completed", "done 2")
    assert found.result.compensation is None


async def test_a_command_of_the_app_waits_for_nobody(runs: Runs, tmp_path: Path) -> None:
    """No model asks for it: neither the review of a domain nor a limit of calls is about it."""
    app = an_app(
        tmp_path,
        [say("done")],
        acceptance=[tests_pass(("ls",), name="listing")],
        budget=Budget(max_tool_calls=0),
    )

    found = await ended(runs, app, domain="payments")

    assert found.result.answer == "done"
    assert found.order.count("run_command") == 1


@pytest.mark.parametrize("answers", [True, False], ids=["approved", "still planning"])
async def test_a_command_of_the_app_is_bound_by_no_plan(
    runs: Runs, tmp_path: Path, *, answers: bool
) -> None:
    """A plan binds what the model wants: who checks its work needs none, nor waits for it."""
    # BY-18 GR-26
    plan = call("submit_plan", goal="say it", steps=["say it"], tools=["write_file"])
    script = [plan, say("done")] if answers else [say("done")]
    check = tests_pass(("ls",))
    app = an_app(tmp_path, script, check, tools=(write_file, submit_plan), max_output_retries=0)
    async with runs.working(app):
        run = await runs.start("it", mode="plan")
        if answers:
            await run.approve((await run.asked_for_approval()).request_id)
        found = await over(run)

    assert found.result.answer == "done"
    assert found.order.count("run_command") == 1


async def test_what_the_policy_refuses_is_not_run(runs: Runs, tmp_path: Path) -> None:
    """A command off the list isn't run; nobody knows whether the tests pass, so they don't."""
    # GR-26
    app = an_app(tmp_path, [say("done")], tests_pass(("wget", "x")), max_output_retries=0)

    found = await ended(runs, app)

    assert found.result.status == "blocked"
    assert found.why.startswith("test_validation can't decide: 'wget x': ")
    assert "run_command" not in found.order


async def test_a_command_has_its_time(runs: Runs, tmp_path: Path) -> None:
    """One that takes longer is ended, and the tests didn't pass."""  # GR-26
    (tmp_path / "x").touch()
    script = [call("write_file", path="check.sh", content="sleep 60"), say("done")]
    app = an_app(tmp_path, script, tests_pass(GREEN, timeout=1), max_output_retries=0)

    found = await ended(runs, app)

    assert found.result.status == "blocked"
    assert "was ended at its time limit" in found.why


async def test_without_a_project_its_commands_do_not_apply(runs: Runs, tmp_path: Path) -> None:
    """Nothing was run, and nothing counts as passed: the answer is out."""  # T-41
    app = an_app(tmp_path, [say("done")], project_passes())

    found = await ended(runs, app)

    assert found.result.status == "completed"
    assert "run_command" not in found.order
    assert [one.summary for one in noted(found.story) if "tripwire" in one.summary] == []
