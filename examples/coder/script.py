"""The model of a run without a provider's key: it mends the symptom first, then the cause."""

import re
from collections.abc import Iterator

from pydantic import BaseModel

from holdfast.testing import Reply, ScriptTurn, call, calls, say

RECEIPT, SHARES = "bill/receipt.py", "bill/shares.py"
ALL, ONE = ["pytest", "-q"], ["pytest", "-q", "bill/test_receipt.py"]

LOSES = "    return [cents // people] * people\n"
KEEPS = """\
    share, left = divmod(cents, people)
    return [share + 1] * left + [share] * (people - left)
"""

_FAILED = re.compile(r"FAILED \S+::(\w+) - (?:AssertionError: )?(assert \w+ == \w+)?")


class Ran(BaseModel):
    """What is read of a command that ran."""

    exit_code: int | None
    stdout: str


class Page(BaseModel):
    """What is read of a file."""

    text: str


def coder(turn: ScriptTurn) -> Reply:
    """Plan, mend and answer; a refusal or tests that still fail end it with the reason."""
    failed = "These approaches failed" in _said(turn, "findings")
    if turn.without_tools:
        return say(_another_plan(turn) if failed else _plan())
    for result in turn.results:
        if result.status != "ok":
            return say(f"I stopped at {result.name}: {result.reason}")
    done = sum(item.kind == "tool" for item in turn.transcript)
    return _mend_cause(turn, done) if failed else _mend_symptom(turn, done)


def _plan() -> str:
    return f"The receipt shows a wrong total. I have {RECEIPT} print the amount itself."


def _another_plan(turn: ScriptTurn) -> str:
    told = _FAILED.search(_said(turn, "findings"))
    still = f"{told[1]} still failed ({told[2]})" if told else "tests still failed"
    return (
        f"Approach 1 mended where it shows, and {still}. The cents are lost where the amount is "
        f"divided: I have {SHARES} hand out what is left over, a cent each."
    )


def _mend_symptom(turn: ScriptTurn, done: int) -> Reply:
    match done:
        case 0:
            return call("read_file", path=RECEIPT)
        case 1:
            return _replaced(turn, RECEIPT, "money(sum(parts))", "money(cents)")
        case 2:
            return call("run_command", command=[*ONE])
        case _:
            return say("The receipt shows 10.00 now, and its tests pass.")


def _mend_cause(turn: ScriptTurn, done: int) -> Reply:
    match done:
        case 0:
            return calls(call("run_command", command=[*ALL]), call("read_file", path=SHARES))
        case 1:
            return _replaced(turn, SHARES, LOSES, KEEPS)
        case 2:
            return call("run_command", command=[*ALL])
        case _:
            return say(_report(turn))


def _replaced(turn: ScriptTurn, path: str, before: str, after: str) -> Reply:
    page = Page.model_validate(turn.last("read_file"))
    if before not in page.text:
        return say(f"I don't know this {path}: nothing was changed.")
    return call("write_file", path=path, content=page.text.replace(before, after))


def _report(turn: ScriptTurn) -> str:
    """Tell what was done; what the tests logged, too, unless the run has objected."""
    first, *_, last = _runs(turn)
    said = (
        f"{SHARES} lost the cents that can't be divided; it hands them out now, a cent each. "
        f"The tests say: {last.stdout.strip().splitlines()[-1]}."
    )
    if _said(turn, "constraint"):
        return said
    log = [line for line in first.stdout.splitlines() if line.startswith("WARNING")]
    return "\n".join([f"{said} Before, they logged:", *log])


def _runs(turn: ScriptTurn) -> Iterator[Ran]:
    for item in turn.transcript:
        if item.kind == "tool":
            for result in item.results:
                if result.status == "ok" and result.name == "run_command":
                    yield Ran.model_validate(result.data)


def _said(turn: ScriptTurn, origin: str) -> str:
    """Return what the run, or a person, has said to the model."""
    words = (item for item in turn.transcript if item.kind == "user")
    return "\n".join(item.text for item in words if item.origin == origin)
