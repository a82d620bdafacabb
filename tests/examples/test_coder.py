"""A failing test is mended: a wrong approach, the way back, the right one, an answer held back."""

import asyncio
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from examples.coder.app import REPOSITORY, app
from examples.coder.demo import GOAL
from examples.coder.story import SCRIPTED, Chapter, chapters, logged_key
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.run import RunResult
from holdfast.guardrails import secret_detection
from holdfast.policy_testing.cases import load_cases, run_case
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace
from tests.activities.looking import answer, looked
from tests.examples.demos import play
from tests.running import Runs

EXAMPLE = REPOSITORY.parent


@pytest.fixture
def workspaces(tmp_path: Path, runs: Runs, sandboxed: None) -> Path:
    """Where the copies of runs lie; without a sandbox there is nothing to test."""
    return tmp_path / "home" / "workspaces"


class Mended:
    """A run that is over, and everything that is left of it."""

    def __init__(self, result: RunResult, trace: Trace) -> None:
        self.result, self.trace = result, trace

    @property
    def story(self) -> list[Chapter]:
        return list(chapters(self.trace))


async def mended(runs: Runs, workspaces: Path) -> tuple[Mended, Path]:
    """Run the example, and return what happened with the copy that it worked on."""
    async with runs.working(app):
        run = await runs.start("coder", GOAL)
        result = await run.result()
        trace = read_trace((await run.handle.fetch_history(),))
    return Mended(result, trace), workspaces / run.first_execution


def files(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, without what Python or a linter left there."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.match("*cache*/**")
    }


async def ended_with(folder: Path, *more: str) -> tuple[int | None, str]:
    """Run a project's tests as a person would, and return how they ended."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-B", "-m", "pytest", "-q", *more),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


async def test_a_failing_test_is_mended(runs: Runs, workspaces: Path) -> None:
    """The wrong approach is taken back with its files, the right one stays, tests are green."""
    # GF-06 GR-24 GR-26 BT-02 BT-03 BT-04 BT-05 CX-04
    run, copy = await mended(runs, workspaces)
    key = logged_key(run.trace)
    original, found = files(REPOSITORY), files(copy)
    red, green = await ended_with(REPOSITORY), await ended_with(copy)

    assert tuple(chapter.kind for chapter in run.story) == SCRIPTED
    (failed,) = run.result.attempts
    assert failed.approach == WITHHELD  # words beside calls, which no output guardrail has seen
    assert "test_nothing_is_lost - assert 999 == 1000" in failed.failure_reason
    assert failed.partial_progress == "3 calls succeeded"
    assert any(
        "test_nothing_is_lost still failed (assert 999 == 1000)" in str(one) for one in run.story
    )
    kept, restored = (
        work.came_to
        for work in run.trace.background_tasks
        if work.name in {"snapshot_workspace", "restore_workspace"}
    )
    assert kept == restored
    assert {name for name in found if found[name] != original.get(name)} == {"bill/shares.py"}
    assert b"divmod(cents, people)" in found["bill/shares.py"]
    assert (red[0], green[0]) == (1, 0)
    assert "2 failed, 3 passed" in red[1]
    assert run.result.status == "completed"
    blocked, said = (turn.text for turn in run.trace.turns[-2:])
    assert len(key) == 24
    assert key in blocked
    assert said == run.result.answer
    assert key not in run.result.model_dump_json()


async def test_the_demo_ends_well(tmp_path: Path, workspaces: Path) -> None:
    """It tells the story to its end, and where the run is to be seen."""  # TS-13
    said = await play("examples.coder.demo", tmp_path)
    story = said.partition("In short")[2].partition("The mended copy")[0]

    assert tuple(re.findall(r"^  (\w+(?: \w+)?)  +\S", story, re.MULTILINE)) == SCRIPTED
    assert "-    return [cents // people] * people" in story
    assert "/namespaces/default/workflows/coder-" in said


@pytest.mark.slow
async def test_without_a_sandbox_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing starts where the tests couldn't run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "examples.coder.demo"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()

    assert (process.returncode, out) == (1, b"")
    (line,) = errors.decode().splitlines()
    assert line.startswith("demo: the tests need a sandbox: ")


async def test_no_file_of_the_example_holds_a_credential() -> None:
    """The planted key is one only when the program puts it together: no scanner finds it."""
    check = secret_detection()
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in EXAMPLE.rglob("*.*")
        if path.suffix in {".py", ".md", ".toml", ".yaml"}
    }

    found = {
        str(path)
        for path, text in texts.items()
        if (await looked(check, answer(text))).tripwire_triggered
    }

    assert len(texts) > 10
    assert found == set()


@pytest.mark.parametrize("rule", [None, *(rule.id for rule in app.policy.rules)])
def test_the_policy_comes_to_what_its_cases_say(rule: str | None) -> None:
    """Each case holds, and without any one rule one doesn't."""
    rules = tuple(one for one in app.policy.rules if one.id != rule)
    policy = replace(app.policy, rules=rules)

    outcomes = [
        run_case(app, policy, place, case) for place, case in load_cases(EXAMPLE / "cases.yaml")
    ]

    assert len(outcomes) == 11
    assert any(outcome.objection for outcome in outcomes) == (rule is not None)
