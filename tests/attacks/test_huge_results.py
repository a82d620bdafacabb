"""Attacks by mass: a result of a few megabytes is made of millions of values."""

import cProfile
import pstats
import threading
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Risk, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_JSON_BYTES, MAX_JSON_VALUES
from holdfast.contracts.calls import ArtifactRef, ToolInvocation, ToolSuccess
from holdfast.contracts.errors import ToolCrashed, ToolError
from holdfast.testing import call, calls
from holdfast.tools import large_json, readings
from holdfast.tools.artifacts import FileArtifacts, Part
from holdfast.tools.execution import execute
from holdfast.tools.large_json import MAX_INLINE_BYTES, is_readable_json
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.schema import SchemaCheck
from holdfast.tools.tool import Tool
from tests.attacks import hostile
from tests.attacks.outside import Attack, nobody
from tests.attacks.test_channel import says
from tests.builders import admitted, an_invocation
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import scripted, told
from tests.tools.sample_tools import secret_of

MANY = MAX_JSON_VALUES + 1

UNION: JsonObject = {"items": {"anyOf": [{"type": "array"}, {"type": "integer"}]}}


def made_up(content: str) -> str:
    """Code that gives the worker a result which no tool has written."""
    message = f"{{'kind': 'done', 'content': {content}}}"
    return "import json\n" + says(f"(json.dumps({message}) + chr(10)).encode()")


@tool(risk=Risk.READ_ONLY, max_retries=0)
async def fetch(values: int) -> JsonValue:
    """Return what somebody wrote."""
    return list[JsonValue]([0]) * values


@tool(risk=Risk.READ_ONLY, max_retries=0)
def fetch_apart(values: int) -> JsonValue:
    """Return what somebody wrote, from a process."""
    return list[JsonValue]([0]) * values


@tool(risk=Risk.READ_ONLY, max_retries=0)
def refuse_at_length() -> None:
    """Refuse, in more words than anybody reads."""
    raise ToolError("not_found", "x" * 30_000_000, ("y" * 1_000,) * 10_000)


@tool(risk=Risk.READ_ONLY, max_retries=0)
def fail_at_length() -> None:
    """Fail, in more words than anybody reads."""
    raise RuntimeError("x" * 30_000_000)


@tool(risk=Risk.READ_ONLY, max_retries=0)
async def fetch_text(characters: int) -> str:
    """Return a text that somebody wrote."""
    return "," * characters


@tool(risk=Risk.DRAFT_ONLY)
async def draft(values: int, log: str) -> str:
    """Return what would be written."""
    return f"{values} values"


@tool(risk=Risk.COMMUNICATION, draft="draft")
async def write(values: int, log: str) -> JsonValue:
    """Write something, and return what the other side answers."""
    with Path(log).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 -- one line
        file.write(f"{values}\n")
    return list[JsonValue]([0]) * values


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" + b"0," * MANY + b"0]", id="numbers"),
        pytest.param(b"[" + b"[]," * MANY + b"0]", id="lists"),
        pytest.param(b"[" + b'{"a":0},' * MANY + b"0]", id="objects"),
        pytest.param(b"[" + b'"",' * MANY + b"0]", id="empty texts"),
        pytest.param(b"[" + b'"\\"",' * MANY + b"0]", id="texts of a quote"),
        pytest.param(b"[" + b'"\\\\",' * MANY + b"0]", id="texts of a backslash"),
        pytest.param(b"{" + b'"a":0,' * MANY + b'"a":0}', id="fields"),
        pytest.param(b'"' + b"x" * MAX_JSON_BYTES + b'"', id="bytes"),
    ],
)
def test_what_is_made_of_too_many_values_is_not_read(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody begins to make objects of it."""

    def read(_: bytes) -> JsonValue:
        raise AssertionError("it was read")

    monkeypatch.setattr(large_json, "from_json", read)

    assert not is_readable_json(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" + b"0," * (MAX_JSON_VALUES - 10) + b"0]", id="numbers"),
        pytest.param(b'"' + b"[{,}]" * MANY + b'"', id="a text of brackets"),
        pytest.param(b'"' + b'\\",[{' * MANY + b'"', id="a text of quotes"),
        pytest.param(b'["' + b"\\\\" * MANY + b'","' + b"," * MANY + b'"]', id="backslashes"),
        pytest.param(b'{"' + b"," * MANY + b'":1}', id="a long name"),
    ],
)
def test_what_a_text_consists_of_is_no_value(content: bytes) -> None:
    """A page of the web or a table in a text may be as long as a text may be."""
    assert is_readable_json(content)


def test_where_nothing_is_ambiguous_no_value_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema without unions and references reads no part of a value twice."""
    monkeypatch.delattr(readings, "readings")
    rows = SchemaCheck({"type": "array", "items": {"type": "object"}})

    assert rows.objections(list[JsonValue]([{"a": 1}])) == ()


def test_plain_entries_of_a_list_are_counted_together() -> None:
    """What has no parts needs no step of its own, however the list may be read."""
    entries: list[JsonValue] = [0, "a", None, [], {}] * 20_000
    with cProfile.Profile() as profile:
        assert SchemaCheck(UNION).is_ambiguous(entries) is False

    done = pstats.Stats(profile).get_stats_profile().func_profiles
    assert done["_follow"].ncalls == "1"


class Watched:
    """Remembers where the work was done that takes the longer the larger a result is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loop = threading.get_ident()
        self.checked: list[int] = []
        self.kept: list[int] = []
        check, keep = Tool.result_objections, FileArtifacts.keep

        def checked(tool: Tool, result: JsonValue) -> tuple[str, ...]:
            self.checked.append(threading.get_ident())
            return check(tool, result)

        def kept(
            store: FileArtifacts, invocation: ToolInvocation, content: bytes, part: Part
        ) -> ArtifactRef:
            self.kept.append(threading.get_ident())
            return keep(store, invocation, content, part)

        monkeypatch.setattr(Tool, "result_objections", checked)
        monkeypatch.setattr(FileArtifacts, "keep", kept)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


async def test_a_large_result_is_checked_off_the_loop(attack: Attack, watched: Watched) -> None:
    """Heartbeats of all other calls go on meanwhile; of a small one nobody notices."""
    assert await attack("result = 1") == 1
    assert watched.checked == [watched.loop]

    assert await attack("result = [0] * 200_000") == [0] * 200_000
    assert watched.loop not in watched.checked[1:]
    assert len(watched.checked) == 2


async def test_a_large_result_is_kept_off_the_loop(runs: Runs, watched: Watched) -> None:
    """A disk may be slow."""
    characters = 10 * MAX_INLINE_BYTES
    async with runs.working(
        scripted([call("fetch_text", characters=characters), told], tools=(fetch_text,))
    ):
        run = await runs.start("it")
        await run.result()
        [result] = await run.results()

    assert isinstance(result, ToolSuccess)
    assert result.artifact is not None
    assert result.artifact.characters == characters + 2
    assert len(watched.kept) == 1
    assert watched.loop not in watched.kept


async def test_what_a_process_makes_up_of_many_values_is_not_checked(
    sandbox: Sandbox, invocation: ToolInvocation, watched: Watched
) -> None:
    """It counts as done, and nothing else of it goes on: it can't be read."""
    code = made_up("'[' + '[],' * 5_000_000 + '0]'")
    request = invocation.model_copy(update={"arguments": {"code": code}})

    said = await sandbox.run(hostile.run, request, lambda _: None, nobody, admitted)

    assert watched.checked == []
    assert not is_readable_json(said)


@pytest.mark.usefixtures("sandbox_home")
async def test_no_mass_of_a_result_holds_a_run_up(runs: Runs) -> None:
    """Wherever a tool runs, the model reads that its result was left out, and why."""
    first = calls(
        call("fetch", values=MANY),
        call("fetch_apart", values=MANY),
        call("run", code=f"result = [0] * {MANY}"),
        call("run", code=made_up(f"'[' + '0,' * {MANY} + '0]'")),
        call("run", code="result = 'x' * 17_000_000"),
        call("run", code="result = chr(34) * 6_000_000"),  # escaped twice on its way
    )
    async with runs.working(scripted([first, told], tools=(fetch, fetch_apart, hostile.run))):
        run = await runs.start("it")
        ended = await run.result()
        results = await run.results()

    assert ended.answer == "; ".join(("fetch ok", "fetch_apart ok", *["run ok"] * 4))
    for result in results:
        assert isinstance(result, ToolSuccess)
        assert (result.cut, result.data) == (True, None)
        assert "has more than 250,000 values or 16 MB" in result.summary
        assert result.summary.endswith("ask for less")


async def test_no_mass_leaves_the_process_of_its_tool() -> None:
    """The worker reads that the call is done, in a few bytes."""
    request = an_invocation(arguments={"values": MANY})

    said = await execute(fetch_apart, request, secret_of, lambda _: None, admitted)

    assert len(said) < 10_000
    assert not is_readable_json(said)


async def test_no_words_of_an_error_are_endless() -> None:
    """Nor does it read all that a tool says when it fails."""
    with pytest.raises(ToolError) as refused:
        await execute(refuse_at_length, an_invocation(), secret_of, lambda _: None, admitted)
    with pytest.raises(ToolCrashed) as raised:
        await execute(fail_at_length, an_invocation(), secret_of, lambda _: None, admitted)

    assert len(refused.value.reason) == len(str(raised.value)) == 100_000
    assert len(refused.value.next_valid_actions) == 10


async def test_no_mass_hides_what_was_written(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A write whose answer is left out has happened: once, and the run knows it."""
    log = tmp_path / "written"
    first = call("write", values=MANY, log=str(log))
    async with memory_runs.working(scripted([first, told], tools=(draft, write))):
        run = await memory_runs.start("it")
        for request in await run.asked():
            await run.approve(request.request_id)
        ended = await run.result()

    assert ended.answer == "write ok"
    assert [effect.tool for effect in ended.effects] == ["write"]
    assert log.read_text(encoding="utf-8").split() == [str(MANY)]
