"""The tools that come with Holdfast, as functions; what confines them is attacked elsewhere."""

import os
import zlib
from pathlib import Path
from typing import cast

import pytest
from pydantic_core import to_json

from holdfast import tools as builtin
from holdfast.contracts.base import digest
from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.tools.builtin.commands import MAX_TAIL_BYTES, Ended
from holdfast.tools.builtin.files import MAX_ENTRIES, MAX_PAGE_CHARS, Listing, Page
from holdfast.tools.builtin.plans import Plan
from holdfast.tools.builtin.web import Answer
from holdfast.tools.context import ToolContext
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest
from holdfast.tools.tool import Tool
from tests.builders import an_invocation


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace; the tools take the working directory for it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("tool", "risk", "scope"),
    [
        (builtin.run_command, Risk.PROCESS_EXECUTION, "command"),
        (builtin.run_python, Risk.PROCESS_EXECUTION, "none"),
        (builtin.http_request, Risk.NETWORK_OPEN_WORLD, "host"),
        (builtin.read_file, Risk.READ_ONLY, "workspace"),
        (builtin.list_files, Risk.READ_ONLY, "workspace"),
        (builtin.write_file, Risk.WRITE_LOCAL, "workspace"),
    ],
)
def test_dangerous_tools_belong_into_the_sandbox(tool: Tool, risk: Risk, scope: str) -> None:
    """Each built-in tool that touches files, programs or the net runs in the sandbox only."""
    contract: ToolContract = tool.contract

    assert (contract.risk, contract.resource_scope.kind) == (risk, scope)
    assert contract.sandboxed or contract.risk.needs_sandbox


def read(path: str, first_line: int = 1) -> Page:
    return cast(Page, builtin.read_file(path, first_line))


def test_a_file_is_read_as_it_was_written() -> None:
    """What was written is read again, other letters and line ends included."""
    said = builtin.write_file("notes/a.txt", "één\r\ntwo\n")

    assert said == "notes/a.txt has 11 bytes"
    assert read("notes/a.txt") == Page("één\r\ntwo\n", None)


def test_a_file_is_written_again_or_goes_on() -> None:
    """Without *append* a file begins anew."""
    builtin.write_file("a.txt", "one\n")
    builtin.write_file("a.txt", "two\n", append=True)
    assert read("a.txt").text == "one\ntwo\n"

    builtin.write_file("a.txt", "three\n")
    assert read("a.txt").text == "three\n"


def test_a_long_file_is_read_by_pages() -> None:
    """Each page says where the next begins, until all lines were read."""  # BY-07
    lines = [f"line {number}\n" for number in range(5000)]
    builtin.write_file("long.txt", "".join(lines))

    found, page = "", read("long.txt")
    while page.next_line is not None:
        assert len(page.text) <= MAX_PAGE_CHARS
        found, page = found + page.text, read("long.txt", page.next_line)

    assert found + page.text == "".join(lines)


def test_a_long_line_is_cut() -> None:
    """A line longer than a page doesn't hide the lines after it."""  # BY-07
    builtin.write_file("long.txt", "x" * 100_000 + "\nend\n")

    first = read("long.txt")

    assert (len(first.text), first.next_line) == (MAX_PAGE_CHARS, 2)
    assert read("long.txt", 2) == Page("end\n", None)


def test_a_file_that_is_no_text_is_read_too() -> None:
    """Bytes that are no text become marks."""
    Path("data").write_bytes(b"\xff\x00a")

    assert read("data").text == "\ufffd\x00a"


def test_a_page_beyond_the_end_is_empty() -> None:
    """There is nothing after the last line."""
    builtin.write_file("a.txt", "one\n")

    assert read("a.txt", 7) == Page("", None)


def test_a_folder_is_listed() -> None:
    """Names come in order, with what each is and how large; many are counted only."""  # BY-07
    builtin.write_file("b/inner.txt", "x")
    builtin.write_file("a.txt", "12345")
    Path("link").symlink_to("a.txt")
    os.mkfifo("pipe")

    listing = cast(Listing, builtin.list_files("."))

    assert [(entry.name, entry.kind) for entry in listing.entries] == [
        ("a.txt", "file"),
        ("b", "folder"),
        ("link", "link"),
        ("pipe", "other"),
    ]
    assert listing.entries[0].size == 5

    for number in range(MAX_ENTRIES):
        Path(f"many-{number}").touch()
    many = cast(Listing, builtin.list_files("."))
    assert (len(many.entries), many.total) == (MAX_ENTRIES, MAX_ENTRIES + 4)


@pytest.mark.parametrize(
    ("path", "kind"), [("missing", "not_found"), ("a\0b", "conflict"), (".", "invalid_arguments")]
)
def test_what_the_file_system_objects_to_is_told(path: str, kind: str) -> None:
    """The model learns why a file can't be read, and what to do."""
    with pytest.raises(ToolError) as raised:
        read(path)

    assert raised.value.type == kind
    assert raised.value.next_valid_actions


def ran(*command: str, seconds: float = 20.0) -> Ended:
    return cast(Ended, builtin.run_command(list(command), seconds))


def test_a_command_tells_how_it_ended() -> None:
    """Exit code and both outputs come back; a failing program is a result like any other."""
    assert ran("sh", "-c", "echo out; echo err >&2; exit 3") == Ended(3, "out\n", "err\n", 0)


def test_a_command_has_no_shell_and_no_input() -> None:
    """Arguments arrive as they are, and who waits for input finds its end."""
    assert ran("echo", "$HOME; rm *").stdout == "$HOME; rm *\n"
    assert ran("cat") == Ended(0, "", "", 0)


def test_the_end_of_a_long_output_is_told() -> None:
    """Of long outputs the end is kept, and what was left out is counted."""  # BY-07
    ended = ran("sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; echo; echo the end")

    assert len(ended.stdout) == MAX_TAIL_BYTES
    assert ended.stdout.endswith("x\nthe end\n")
    assert ended.omitted == 100_009 - MAX_TAIL_BYTES


@pytest.mark.slow
def test_an_output_that_stays_open_keeps_nobody() -> None:
    """What a program leaves running in the background isn't waited for."""
    assert ran("sh", "-c", "sleep 5 & echo done").stdout == "done\n"


@pytest.mark.parametrize("command", ["no-such-program", "/etc", "a\0b"])
def test_a_program_that_cannot_run_is_told(command: str) -> None:
    """The model learns that there is no such program."""
    with pytest.raises(ToolError, match="can't be run") as raised:
        ran(command)

    assert raised.value.type == "not_found"


def asked(answer: HttpAnswer) -> Answer:
    """What the tool makes of an answer."""
    requests: list[HttpRequest] = []

    def answered(request: HttpRequest) -> HttpAnswer:
        requests.append(request)
        return answer

    context = ToolContext.of(an_invocation(), str, print, answered)
    headers = {"Accept": "text/plain"}
    found = builtin.http_request("https://a.example/", context, "POST", headers, "é")
    assert requests == [
        HttpRequest("POST", "https://a.example/", {"Accept": "text/plain"}, "é".encode())
    ]
    return cast(Answer, found)


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ({}, "é".encode(), "é"),
        ({"content-type": "text/plain; charset=latin-1"}, b"\xe9", "é"),
        ({"content-type": "text/plain; charset=nonsense"}, "é".encode(), "é"),
        ({"content-type": "text/plain; charset=idna"}, b"paid \xc3\xa9", "paid é"),
        ({"content-type": "text/plain; charset=undefined"}, "é".encode(), "é"),
        ({"content-type": "text/plain; charset=utf-7"}, b"+2AA-", "+2AA-"),
        ({"content-type": "text/plain; charset=unicode_escape"}, b"\\ud800", "\\ud800"),
        ({"content-type": "text/plain; charset=punycode"}, b"-bb", "-bb"),
        ({"content-type": 'text/plain; charset="UTF-16"'}, b"\x00\xd8", "\ufffd"),
        ({"content-type": "text/plain; charset=Windows-1252; x=y"}, b"\x80", "€"),
        ({"content-encoding": "deflate"}, zlib.compress(b"hello"), "hello"),
        ({"content-encoding": "gzip"}, b"no gzip", "no gzip"),
        ({}, b"\xff", "\ufffd"),
    ],
)
def test_an_answer_is_text(headers: dict[str, str], body: bytes, text: str) -> None:
    """Whatever a server sends, the model gets text."""
    assert asked(HttpAnswer(200, headers, body)).text == text


async def test_a_plan_is_known_by_its_hash() -> None:
    """The result of an approved plan names exactly this plan; another tool makes it another."""
    # BY-17
    submit = builtin.submit_plan.function
    first = cast(Plan, await submit("move", ["pack", "go"], ["send"]))  # pyright: ignore[reportGeneralTypeIssues] -- async, as the next line says
    second = cast(Plan, await submit("move", ["pack", "go"], ["send", "pay"]))  # pyright: ignore[reportGeneralTypeIssues] -- as above

    assert builtin.submit_plan.is_async
    assert builtin.submit_plan.contract.permission == "approval"
    assert first.plan == digest({"goal": "move", "steps": ["pack", "go"], "tools": ["send"]})
    assert first.plan != second.plan


def test_a_name_that_is_no_utf_8_is_listed(workspace: Path) -> None:
    """Any code in the sandbox can make such a file, and the folder is read all the same."""
    (workspace / os.fsdecode(b"a\xff.txt")).touch()

    listing = cast(Listing, builtin.list_files("."))

    assert b'"a\\\\xff.txt"' in to_json(listing)
