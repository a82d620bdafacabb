"""From what a function returned to what the model reads."""

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.contracts.calls import (
    ArtifactRef,
    ToolFailure,
    ToolInvocation,
    ToolSuccess,
)
from holdfast.contracts.errors import ToolError
from holdfast.tools.artifacts import ArtifactStore, FileArtifacts
from holdfast.tools.results import Results, failure
from tests.builders import a_contract, an_invocation

IDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


class Kept:
    """A store that only remembers what it was given."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []

    def keep(self, invocation: ToolInvocation, content: bytes, part: str = "whole") -> ArtifactRef:
        self.contents.append(content)
        return ArtifactRef(path=invocation.call_id, characters=len(content), digest="d")

    def read(self, invocation: ToolInvocation, name: str) -> bytes:
        return self.contents[-1]

    def is_read_by(self, agent: str) -> bool:
        return False


def made(content: bytes, limit: int, kept: ArtifactStore | None = None) -> ToolSuccess:
    contract = a_contract("look", max_result_chars=limit)
    return Results(an_invocation(), contract, kept or Kept()).build(content)


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (b'"a lamp"', "a lamp"),
        (b'{"rows":[1,2]}', {"rows": [1, 2]}),
        (b"null", None),
        (b"5", 5),
    ],
)
def test_a_result_is_the_data_that_was_returned(content: bytes, data: JsonValue) -> None:
    """A result names its call and tool, and has the data as JSON, with a summary."""  # PF-11
    assert made(content, 100) == ToolSuccess(
        call_id="c1", name="look", summary=content.decode(), data=data
    )


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        pytest.param(b'"34567890"', True, id="at the limit"),
        pytest.param(b'"345678901"', False, id="one more"),
        pytest.param('"ääääääää"'.encode(), True, id="characters, not bytes"),
        pytest.param(b"[1234567]", True, id="one less"),
    ],
)
def test_a_result_has_a_limit(content: bytes, *, whole: bool) -> None:
    """Up to so many characters a result comes whole; beyond, it is kept apart."""
    kept = Kept()

    result = made(content, 10, kept)

    assert (result.artifact is None) is whole
    assert kept.contents == ([] if whole else [content])


def test_a_large_result_shows_its_beginning() -> None:
    """A model reads the beginning, that there is more, and how much."""
    result = made(b'"' + b"x" * 100 + b'"', 10)

    assert result.summary == "the first 10 of 100 characters; ask for less to see the rest"
    assert result.data == {"excerpt": "xxxxxxxxxx", "truncated": True, "characters": 102}
    assert result.artifact == ArtifactRef(path="c1", characters=102, digest="d")


class Full(Kept):
    """A store on a disk that is full."""

    def keep(self, invocation: ToolInvocation, content: bytes, part: str = "whole") -> ArtifactRef:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_was_done_is_done_on_a_full_disk() -> None:
    """A result that can't be kept whole shows its beginning, and says what is missing."""
    result = made(b'"' + b"x" * 100 + b'"', 10, Full())

    assert (result.status, result.artifact, result.cut) == ("ok", None, True)
    assert result.summary.endswith("; the whole could not be kept (No space left on device)")


def test_a_summary_is_short() -> None:
    """The summary of a long result ends with an ellipsis."""
    summary = made(b'"' + b"x" * 500 + b'"', 1000).summary

    assert len(summary) <= 80
    assert summary.endswith("…")


def test_a_refusal_is_a_structured_error() -> None:
    """What a tool refuses has a type, a reason and what may be done instead."""  # HG-12
    error = ToolError("not_found", "no record 7", ("list the records",))

    assert failure(an_invocation(), "look", error) == ToolFailure(
        status="error",
        call_id="c1",
        name="look",
        type="not_found",
        reason="no record 7",
        next_valid_actions=("list the records",),
    )


def test_an_artifact_holds_the_whole_result(tmp_path: Path) -> None:
    """What is kept apart can be found, and its digest and size checked."""
    content = '{"text":"ä"}'.encode()

    reference = FileArtifacts(tmp_path).keep(an_invocation(), content)

    assert Path(reference.path).read_bytes() == content
    assert reference.characters == 12
    assert reference.digest == hashlib.sha256(content).hexdigest()
    assert list(tmp_path.rglob("*.partial")) == []


def test_nobody_else_on_the_machine_reads_what_is_kept(tmp_path: Path) -> None:
    """Its folders and files are the worker's user's own, as workspaces and the archive are."""
    folder = tmp_path / "home" / "artifacts"

    FileArtifacts(folder).keep(an_invocation(), b"1")

    kept = (folder, *folder.rglob("*"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept] == [0o700, 0o700, 0o600]


def test_keeping_a_result_again_changes_nothing(tmp_path: Path) -> None:
    """A repeated attempt finds or replaces what the first one kept."""
    store = FileArtifacts(tmp_path)

    first = store.keep(an_invocation(), b"1")
    second = store.keep(an_invocation(), b"1")

    assert first == second
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["c1.json"]


@pytest.mark.parametrize(
    ("run_id", "call_id"),
    [
        pytest.param("../../etc", "passwd", id="parent run"),
        pytest.param("run", "../../passwd", id="parent call"),
        pytest.param("/etc", "/passwd", id="absolute"),
        pytest.param("..", "..", id="only dots"),
        pytest.param("a/b", "c\\d", id="slashes"),
        pytest.param("a\x00b", "c\nd", id="control characters"),
        pytest.param("%2e%2e", "%2F", id="quoted already"),
        pytest.param("run-" + "r" * 996, "c" * 1000, id="as long as ids may be"),
        pytest.param("あ" * 100, "😀" * 60, id="long in bytes"),
    ],
)
def test_ids_never_lead_out_of_the_folder(tmp_path: Path, run_id: str, call_id: str) -> None:
    """Ids come from outside: whatever they are, a result stays two levels below the folder."""
    folder = tmp_path / "artifacts"

    reference = FileArtifacts(folder).keep(
        an_invocation(first_execution_run_id=run_id, call_id=call_id), b"1"
    )

    kept = Path(reference.path).resolve()
    assert kept.parent.parent == folder.resolve()
    assert kept.read_bytes() == b"1"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(IDS, IDS, IDS, IDS)
def test_two_calls_never_share_a_file(
    tmp_path: Path, run: str, call: str, other_run: str, other_call: str
) -> None:
    """Different ids lead to different files, the same ids to the same."""
    store = FileArtifacts(tmp_path)

    one = store.keep(an_invocation(first_execution_run_id=run, call_id=call), b"1")
    other = store.keep(an_invocation(first_execution_run_id=other_run, call_id=other_call), b"1")

    assert (one.path == other.path) == ((run, call) == (other_run, other_call))
