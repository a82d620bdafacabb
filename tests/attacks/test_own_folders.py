"""Attack: a tool that works on all of a folder is given one with the worker's own state in it."""

import shutil
from pathlib import Path

import pytest

from holdfast import Agent, App, ResourceScope, Risk, tool
from holdfast.contracts.calls import Purpose
from holdfast.contracts.errors import ToolDenied
from holdfast.testing import call
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor
from holdfast.tools.tool import Tool
from tests.builders import admitted, an_invocation
from tests.running import Runs
from tests.sample import told
from tests.tools.sample_tools import secret_of

FOLDER = ResourceScope(kind="workspace", argument="folder")
WORDS = "patient 4711 has the flu"


@tool(risk=Risk.READ_ONLY, max_result_chars=100)
async def read_records(tenant: str) -> str:
    """Read all that there is of a tenant."""
    return f"{tenant}: {WORDS} " * 100


@tool(risk=Risk.READ_ONLY, scope=FOLDER)
async def search(folder: str, words: str) -> list[str]:
    """Find the files below a folder in which words stand."""
    files = (one for one in Path(folder).rglob("*") if one.is_file())
    return [one.read_text(errors="replace") for one in files if words in one.read_text("latin-1")]


@tool(risk=Risk.WRITE_LOCAL, scope=FOLDER)
async def clear(folder: str) -> str:
    """Remove all that lies in a folder."""
    for one in Path(folder).iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    return "cleared"


@tool(risk=Risk.WRITE_LOCAL, scope=FOLDER)
async def unpack(folder: str) -> str:
    """Put files into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "notes.md").touch()
    return "unpacked"


async def test_no_search_finds_what_another_tenant_was_told(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that are too large for a model lie in the home, and by default that lies here."""
    monkeypatch.chdir(tmp_path)
    told_to_acme = [call("read_records", tenant="acme"), told]
    found_by_other = [call("search", folder=".", words="flu"), told]
    agents = [
        Agent(name="reader", instructions="x", models=["scripted:a"], tools=[read_records]),
        Agent(name="finder", instructions="x", models=["scripted:b"], tools=[search]),
    ]
    scripts = {"a": told_to_acme, "b": found_by_other}
    async with runs.working(App(agents=agents, scripts=scripts)):
        await (await runs.start("reader", tenant="acme")).result()
        assert WORDS in "".join(one.read_text() for one in tmp_path.rglob("*.json"))
        run = await runs.start("finder", tenant="other")
        await run.result()
        refused = await run.failure()

    assert refused.reason == "folder '.' has in it what the worker itself goes by"


@pytest.mark.parametrize("tool_", [search, clear])
@pytest.mark.parametrize("folder", [".", "", "data", "data/", "to-data"])
async def test_no_folder_holds_what_the_worker_goes_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool_: Tool, folder: str
) -> None:
    """By whatever name, and however far below; beside it all is as ever."""
    home = tmp_path / "data" / "far" / "home"
    home.mkdir(parents=True)
    (home / "approvers.json").write_text("{}")
    (tmp_path / "to-data").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(home), (home,))
    given = {"words": "x"} if tool_ is search else {}
    asked = an_invocation(arguments={"folder": folder, **given})

    with pytest.raises(ToolDenied, match="has in it what the worker itself goes by"):
        await place.run(tool_, asked, lambda _: None, admitted)
    beside = an_invocation(arguments={"folder": "data/notes", **given})
    await place.run(tool_, beside, lambda _: None, admitted)

    assert (home / "approvers.json").exists()


async def test_no_folder_holds_a_link_to_what_the_worker_goes_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who replaces a link has the worker go by something else."""
    for name in ("links", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "links" / "home").symlink_to(tmp_path / "state")
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "kept"), (Path("links/home"),))
    asked = an_invocation(arguments={"folder": "links"})

    with pytest.raises(ToolDenied, match="has in it what the worker itself goes by"):
        await place.run(clear, asked, lambda _: None, admitted)


@pytest.mark.parametrize("purpose", ["call", "undo"])
async def test_no_folder_is_changed_that_holds_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, purpose: Purpose
) -> None:
    """Nor modules or programs that its worker will start with; it may be searched."""
    policy = tmp_path / "rules" / "policy.yaml"
    (tmp_path / "rules").mkdir()
    (tmp_path / "programs").mkdir()
    policy.write_text("version: 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "programs" / "bin"))
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path.parent / "home"), policy=policy)

    for folder in ("rules", "programs", "."):
        asked = an_invocation(arguments={"folder": folder}, purpose=purpose)
        with pytest.raises(ToolDenied, match="has in it what the worker itself goes by"):
            await place.run(clear, asked, lambda _: None, admitted)
    shown = an_invocation(arguments={"folder": ".", "words": "version"})

    assert b"version: 1" in await place.run(search, shown, lambda _: None, admitted)


@pytest.mark.parametrize("folder", ["selectors", "queue/", "html/pages", "shop", "pydantic/more"])
async def test_no_folder_is_filled_that_python_takes_for_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """With an `__init__.py` in it, it is one: Python's own, a library, or the app's."""
    for package in ("html", "shop"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path.parent / "home"))
    asked = an_invocation(arguments={"folder": folder})

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(unpack, asked, lambda _: None, admitted)

    assert not (tmp_path / folder / "notes.md").exists()


@pytest.mark.parametrize(
    "folder", ["data", "reports/2026", "notes", "email/drafts", "work/selectors"]
)
async def test_other_folders_are_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Also such as lie below one that is called like a module, and is none."""
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path.parent / "home"))
    asked = an_invocation(arguments={"folder": folder})

    await place.run(unpack, asked, lambda _: None, admitted)

    assert (tmp_path / folder / "notes.md").exists()


@tool(risk=Risk.WRITE_LOCAL, scope=FOLDER)
async def mention(folder: str) -> str:
    """Say which folder was meant."""
    return folder[:5]


async def test_what_is_too_long_for_a_name_is_no_module(tmp_path: Path) -> None:
    """No file system has it: the call begins, and says for itself what comes of it."""
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path))
    asked = an_invocation(arguments={"folder": "notes" * 2_000})

    assert await place.run(mention, asked, lambda _: None, admitted) == b'"notes"'


@pytest.mark.parametrize("link", [False, True])
async def test_a_folder_that_a_path_leaves_again_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, link: bool
) -> None:
    """As `HOLDFAST_HOME=../state` does: save through a link, which may be replaced."""
    for name in ("work", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "to").symlink_to(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "work")
    own = Path("to/../state" if link else "../state")
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "state"), (own,))
    asked = an_invocation(arguments={"folder": ".", "words": "x"})

    if link:
        with pytest.raises(ToolDenied, match="has in it what the worker itself goes by"):
            await place.run(search, asked, lambda _: None, admitted)
    else:
        await place.run(search, asked, lambda _: None, admitted)


async def test_a_circle_among_what_the_worker_goes_by_fails_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leads nowhere, as a folder of programs does that isn't there any more."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PATH", str(tmp_path / "circle"))
    own = (tmp_path / "circle", tmp_path / "circle" / "keys")
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"), own)
    asked = an_invocation(arguments={"folder": "notes"})

    await place.run(unpack, asked, lambda _: None, admitted)

    assert (tmp_path / "work" / "notes" / "notes.md").exists()


async def test_a_link_that_leads_in_a_circle_begins_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leads nowhere: nobody need wonder whether such a write happened."""
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"))

    for folder in ("circle", "circle/notes"):
        asked = an_invocation(arguments={"folder": folder})
        with pytest.raises(ToolDenied, match="leads in a circle"):
            await place.run(clear, asked, lambda _: None, admitted)
