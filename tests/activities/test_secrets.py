"""A tool's call takes no secret out of the worker, and runs nothing that is switched off."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json, to_json
from structlog.testing import capture_logs
from temporalio.common import RawValue
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast.activities.authority.basis import Basis
from holdfast.activities.authority.late_calls import LateCalls
from holdfast.activities.callers import NOT_AS_DECIDED, NOT_HERE
from holdfast.activities.secret_filter import SecretFilter
from holdfast.activities.tools import BeginsBy, ToolActivities
from holdfast.contracts.calls import (
    NEXT_VALID_ACTIONS,
    Reconciled,
    ToolFailure,
    ToolInvocation,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.errors import (
    HoldfastError,
    ToolCrashed,
    ToolDenied,
    ToolError,
    ToolTimeout,
)
from holdfast.contracts.switches import Switch, SwitchKind
from holdfast.contracts.tools import Risk
from holdfast.policy.rules import NO_POLICY
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.context import Admission, Heartbeat
from holdfast.tools.execution import Executor
from holdfast.tools.redaction import WITHHELD, Redactor
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.tool import Tool, tool
from tests.asking import UNASKED, asked_by_run
from tests.builders import NOW, admitted, an_invocation
from tests.leaving import leaving

RESULT: TypeAdapter[ToolResult] = TypeAdapter(ToolResult)
SECRET = "correct horse battery staple"


@tool(risk=Risk.READ_ONLY, max_result_chars=200)
async def look() -> str:
    """Look at something from here."""
    raise AssertionError


@tool(risk=Risk.READ_ONLY)
async def find_rotation(account: str) -> Reconciled:
    """Find out whether credentials were rotated."""
    raise AssertionError(account)


@tool(risk=Risk.WRITE_INTERNAL)
async def put_back(account: str) -> str:
    """Put the credentials of an account back to what they were."""
    raise AssertionError(account)


@tool(risk=Risk.IDENTITY_ACCESS, reconcile="find_rotation", undo="put_back")
async def rotate(account: str) -> str:
    """Rotate the credentials of an account."""
    raise AssertionError(account)


TOOLS = ToolRegistry([look, find_rotation, rotate, put_back])
BASIS = Basis("", NO_POLICY, "")

CLASSES = {"reconcile": Risk.READ_ONLY, "undo": Risk.WRITE_INTERNAL}
"""Of the companions, when they were ruled on."""


class Saying:
    """A place where a call says what a test wants."""

    def __init__(self, say: Callable[[Heartbeat], JsonValue]) -> None:
        self._say = say
        self.calls: list[ToolInvocation] = []
        self.starts: Admission = admitted

    async def run(
        self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
    ) -> bytes:
        await self.starts()
        await admit()
        self.calls.append(invocation)
        return to_json(self._say(heartbeat))


class Board:
    """Knows what a test has switched off; with nothing, it can't tell."""

    def __init__(self, *switches: Switch, knows: bool = True) -> None:
        self.switches = switches
        self._knows = knows

    async def current(self) -> tuple[Switch, ...]:
        if not self._knows:
            raise HoldfastError("nobody knows what is switched off")
        return self.switches


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


async def told(
    place: Executor,
    folder: Path,
    board: Board | None = None,
    name: str = "look",
    environment: ActivityEnvironment | None = None,
    attempt: int = 1,
    *,
    tools: ToolRegistry = TOOLS,
    decides_by: Basis = BASIS,
    late_calls: LateCalls = UNASKED,
    queued: timedelta = timedelta(0),
    **call: object,
) -> tuple[ToolResult, list[JsonValue]]:
    """Make a call, and return its result and what it reported."""
    redactor = Redactor(lambda: frozenset({SECRET}))
    activities = ToolActivities(
        tools,
        place,
        FileArtifacts(folder),
        redactor,
        BeginsBy(decides_by, board or Board(), late_calls),
    )
    environment = environment or ActivityEnvironment()
    environment.info = dataclasses.replace(
        asked_by_run(an_invocation().run_id, queued), activity_type=name, attempt=attempt
    )
    environment.payload_converter = pydantic_data_converter.payload_converter
    reported: list[JsonValue] = []
    environment.on_heartbeat = lambda *details: reported.extend(details)
    basis = CLASSES.get(str(call.get("purpose"))) or BASIS.digest(tools.get(name) or look)
    told_of: dict[str, object] = {"basis": basis, **call}
    if call.get("purpose") in {"undo", "reconcile"}:
        told_of["arguments"] = {"account": "fred"}
    payload = environment.payload_converter.to_payload(an_invocation(**told_of))
    left = await leaving(environment, redactor, activities.run_tool, [RawValue(payload)])
    return RESULT.validate_json(left.data), reported


def saying(value: JsonValue) -> Saying:
    return Saying(lambda _: value)


def raising(error: BaseException) -> Saying:
    def fail(_: Heartbeat) -> JsonValue:
        raise error

    return Saying(fail)


async def test_a_result_has_no_secret(folder: Path) -> None:
    """The secret is gone from the result, its summary and the names of its fields."""
    result, _ = await told(saying({SECRET: [f"it is {SECRET}!", 7]}), folder)

    assert isinstance(result, ToolSuccess)
    assert result.data == {"[redacted]": ["it is [redacted]!", 7]}
    assert SECRET not in result.summary


async def test_an_artifact_has_no_secret(folder: Path) -> None:
    """Redacted is what is kept whole, not just what the model sees, and its digest is of that."""
    result, _ = await told(saying(["." * 150_000, SECRET]), folder)

    assert isinstance(result, ToolSuccess)
    assert result.artifact is not None
    kept = Path(result.artifact.path).read_text(encoding="utf-8")
    assert from_json(kept) == ["." * 150_000, "[redacted]"]
    assert result.artifact.characters == len(kept)


async def test_a_refusal_has_no_secret(folder: Path) -> None:
    """Neither the reason nor the next actions; it is cleared before it is cut."""
    long = "." * 3980 + SECRET
    error = ToolError("not_found", long, (f"use {SECRET}", "go on"))
    result, _ = await told(raising(error), folder)

    assert isinstance(result, ToolFailure)
    assert result.reason == "." * 3980 + "[redacted]"
    assert (result.status, result.next_valid_actions) == ("error", ("use [redacted]", "go on"))


async def test_a_denial_stays_one(folder: Path) -> None:
    """What a place refuses to run is denied, in words without secrets."""
    result, _ = await told(raising(ToolDenied(f"not to {SECRET}")), folder)

    assert isinstance(result, ToolFailure)
    assert (result.status, result.reason) == ("denied", "not to [redacted]")


@pytest.mark.parametrize(
    ("error", "kind", "message", "final"),
    [
        pytest.param(KeyError(SECRET), "KeyError", "'[redacted]'", False, id="any"),
        pytest.param(
            ToolCrashed("ValueError", f"no {SECRET}"),
            "ValueError",
            "no [redacted]",
            False,
            id="crash",
        ),
        pytest.param(ToolTimeout("too slow"), "ToolTimeout", "too slow", True, id="time-out"),
        pytest.param(
            ApplicationError(f"no {SECRET}", SECRET, type="Mine", non_retryable=True),
            "Mine",
            "no [redacted]",
            True,
            id="of Temporal's own",
        ),
    ],
)
async def test_what_a_tool_raises_has_no_secret(
    folder: Path, error: Exception, kind: str, message: str, *, final: bool
) -> None:
    """An exception leaves under its name, without secrets, without its causes and its stack."""
    error.__cause__ = ValueError(SECRET)
    with capture_logs() as logs, pytest.raises(ApplicationError) as raised:
        await told(raising(error), folder)
    left = raised.value

    assert (left.type, left.message, left.non_retryable) == (kind, message, final)
    assert left.__cause__ is None
    assert left.__suppress_context__
    assert SECRET not in str((logs, left.details))


async def test_the_wait_that_a_tool_asks_for_stays(folder: Path) -> None:
    """A tool that knows Temporal may say when to try again."""
    error = ApplicationError("busy", next_retry_delay=timedelta(seconds=7))
    with pytest.raises(ApplicationError) as raised:
        await told(raising(error), folder)

    assert raised.value.next_retry_delay == timedelta(seconds=7)


async def test_whoever_wrote_the_tool_finds_its_stack(folder: Path) -> None:
    """The worker's log has where it was raised, without secrets."""
    with capture_logs() as logs, pytest.raises(ApplicationError):
        await told(raising(KeyError(SECRET)), folder)

    [entry] = [entry for entry in logs if entry["event"] == "activity.raised"]
    assert entry["activity"] == "look"
    assert "in fail" in entry["stack"]
    assert entry["stack"].endswith("KeyError: '[redacted]'\n")


async def test_a_report_has_no_secret(folder: Path) -> None:
    """What a tool reports while it works goes into heartbeats, and so into history."""

    def report(heartbeat: Heartbeat) -> JsonValue:
        heartbeat({"at": [SECRET, 3]})
        return None

    _, reported = await told(Saying(report), folder)

    assert reported == [{"progress": {"at": ["[redacted]", 3]}}]


async def test_what_makes_secrets_says_none(folder: Path) -> None:
    """No text or number of such a call leaves, known or not; names and truth do."""
    # RK-12

    def rotated(heartbeat: Heartbeat) -> JsonValue:
        heartbeat("made fresh-password")
        return {"password": "fresh-password", "length": 14, "expires": True, "was": None}

    result, reported = await told(Saying(rotated), folder, name="rotate")

    assert isinstance(result, ToolSuccess)
    assert result.data == {"password": WITHHELD, "length": WITHHELD, "expires": True, "was": None}
    assert "withheld" in result.summary
    assert reported == [{"progress": WITHHELD}]


@pytest.mark.parametrize("error", [ValueError("fresh"), ApplicationError("fresh", type="fresh")])
async def test_what_makes_secrets_raises_none(folder: Path, error: Exception) -> None:
    """Nor do they leave in an exception, or in the log, or as the name of an exception."""
    with capture_logs() as logs, pytest.raises(ApplicationError) as raised:
        await told(raising(error), folder, name="rotate")

    assert {raised.value.type, raised.value.message} <= {"ValueError", WITHHELD}
    assert "fresh" not in str(logs)


async def test_what_makes_secrets_refuses_without_words(folder: Path) -> None:
    """What such a tool refuses with may quote what it made; its kind still tells the model."""
    # RK-12
    error = ToolError("conflict", "fresh-password is taken", ("use fresh-password-2",))

    result, _ = await told(raising(error), folder, name="rotate")

    assert isinstance(result, ToolFailure)
    assert (result.type, result.reason) == ("conflict", WITHHELD)
    assert result.next_valid_actions == NEXT_VALID_ACTIONS["conflict"]


async def test_what_makes_secrets_says_that_it_is_off(folder: Path) -> None:
    """The worker's own denial stays readable, whatever the tool makes."""
    result, _ = await told(saying("x"), folder, off("tool", "rotate"), name="rotate")

    assert isinstance(result, ToolFailure)
    assert (result.status, "too many" in result.reason) == ("denied", True)


async def test_who_looks_for_a_secret_that_was_made_says_none(folder: Path) -> None:
    """What reconciles such a call answers for it; asked for itself, it is like any other."""
    found: JsonValue = {"happened": True, "result": {"password": "fresh-password"}}
    asked, _ = await told(saying(found), folder, name="find_rotation", purpose="reconcile")
    called, _ = await told(saying(found), folder, name="find_rotation")

    assert isinstance(asked, ToolSuccess)
    assert isinstance(called, ToolSuccess)
    assert asked.data == {"happened": True, "result": {"password": WITHHELD}}
    assert called.data == found


async def test_who_takes_back_what_made_a_secret_says_none(folder: Path) -> None:
    """What undoes such a call knows what it answered, and may say it again."""
    undone, _ = await told(saying("fresh-password"), folder, name="put_back", purpose="undo")
    called, _ = await told(saying("fresh-password"), folder, name="put_back")

    assert isinstance(undone, ToolSuccess)
    assert isinstance(called, ToolSuccess)
    assert (undone.data, called.data) == (WITHHELD, "fresh-password")


def off(kind: SwitchKind, name: str) -> Board:
    return Board(Switch(kind=kind, name=name, by="dana", reason="too many", at=NOW))


async def test_a_tool_does_nothing_for_who_is_no_run(folder: Path) -> None:
    """What is asked for in the name of a run must come from it, or nothing begins."""
    place = saying("done")

    with pytest.raises(ApplicationError, match="in the name of another one") as raised:
        await told(place, folder, run_id="another")

    assert (raised.value.non_retryable, place.calls) == (True, [])


@pytest.mark.parametrize("purpose", ["call", "draft", "reconcile", "undo", "prepare"])
async def test_nothing_of_a_dry_run_begins_whoever_asks(folder: Path, purpose: str) -> None:
    """Its calls are answered before they get here; a worker that is asked all the same refuses."""
    place = saying("done")
    name = {"reconcile": "find_rotation", "undo": "put_back"}.get(purpose, "look")
    result, _ = await told(place, folder, name=name, purpose=purpose, dry=True)

    assert isinstance(result, ToolFailure)
    assert "this run is dry: no tool runs" in result.reason
    assert place.calls == []


async def test_what_a_tool_refuses_with_holds_no_secret_before_it_is_cut() -> None:
    """Half of a secret, behind a cut, is found by nobody: it is replaced while it is whole."""
    # PP-04 TR-04
    redactor = Redactor(lambda: frozenset({SECRET}))
    refusal = ToolError("not_found", f"no {SECRET} here", (f"use {SECRET}", "go on"))

    told = await SecretFilter(redactor, withholds=False).redact_refusal("run", refusal)

    assert SECRET not in f"{told.reason} {told.next_valid_actions}"
    assert told.reason.startswith("no ")
    assert told.next_valid_actions[1] == "go on"


@pytest.mark.parametrize("name", [NOT_HERE, NOT_AS_DECIDED])
def test_no_tool_says_that_its_call_has_not_begun(name: str) -> None:
    """Only a worker does: what a tool raises under that name fails its call under another."""
    for raised in (
        type(name, (Exception,), {})("not begun"),
        ApplicationError("not begun", type=name),
        ToolCrashed(name, "not begun"),
    ):
        with (
            pytest.raises(ApplicationError) as told,
            SecretFilter(Redactor(frozenset), withholds=False),
        ):
            raise raised

        assert (told.value.message, told.value.type) == ("not begun", f"its own {name}")
