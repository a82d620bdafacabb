"""Attacks on what the worker itself goes by, through tools whose workspace is its own folder."""

import json
import os
import site
import sysconfig
from pathlib import Path
from time import process_time

import pytest

from holdfast import Agent, App, Budget, ResourceScope, Risk, tool
from holdfast.contracts.calls import Purpose
from holdfast.contracts.errors import ToolDenied
from holdfast.settings import Settings
from holdfast.testing import call
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor
from holdfast.tools.tool import Tool
from holdfast.tools.workspaces import LeftOut, Workspaces
from tests.attacks.test_tokens import ALICE, FORGER, claims, refund, send, trusting
from tests.builders import admitted, an_invocation
from tests.running import Runs
from tests.sample import lines, told
from tests.tokens import PROVIDER
from tests.tools.sample_tools import secret_of


@tool(risk=Risk.DRAFT_ONLY, scope=ResourceScope(kind="workspace", argument="path"))
async def sketch(path: str) -> str:
    """Write how a page would look into its file."""
    Path(path).write_text("a page", encoding="utf-8")
    return path


@tool(risk=Risk.WRITE_LOCAL, scope=ResourceScope(kind="workspace", argument="path"))
async def save(path: str, text: str = "") -> str:
    """Save a text in a file."""
    Path(path).write_text(text, encoding="utf-8")
    return "saved"


@tool(risk=Risk.READ_ONLY, scope=ResourceScope(kind="workspace", argument="path"))
async def look_into(path: str) -> str:
    """Return what is in a file."""
    return Path(path).read_text(encoding="utf-8")


ELSEWHERE = f"""\
version: 1
issuers: [{{issuer: {PROVIDER}, jwks: idp.json}}]
authorities: standing.yaml
"""


async def test_no_tool_writes_whose_signatures_count(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has the model put a key among those that are trusted releases nothing with it."""
    log = tmp_path / "log"
    monkeypatch.chdir(tmp_path)  # the home lies in it, as `.holdfast` does
    trusting(runs, tmp_path, ALICE)
    forged = json.dumps({"keys": [{**FORGER.public, "sub": "alice"}]})
    written = call("save", path="home/approvers.json", text=forged)
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[save, refund],
        budget=Budget(max_steps=9),
    )
    script = [written, call("refund", log=str(log), amount=29.0), told]
    async with runs.working(App(agents=[agent], scripts={"it": script})):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        saved = await run.failure()
        answer = await send(run, request, FORGER.token(claims(run, request)))
        await run.handle.cancel()

    assert not answer.accepted
    assert lines(log) == []
    assert "leads to what the worker itself goes by" in saved.reason


@pytest.mark.parametrize("path", ["idp.json", "standing.yaml", "kept/sessions/new"])
async def test_no_tool_reaches_what_lies_elsewhere(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Keys of a provider and authorities lie beside the policy, the archive where the app says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept" / "sessions").mkdir(parents=True)
    (tmp_path / "idp.json").write_text('{"keys": []}')
    (tmp_path / "standing.yaml").write_text("version: 1\nauthorities: []\n")
    policy = tmp_path / "policy.yaml"
    policy.write_text(ELSEWHERE)
    agent = Agent(name="it", instructions="Do.", models=["scripted:it"], tools=[save])
    script = [call("save", path=path, text="x"), told]
    app = App(agents=[agent], scripts={"it": script}, policy=policy, archive="file:kept")
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        saved = await run.failure()

    assert "leads to what the worker itself goes by" in saved.reason


@pytest.mark.parametrize("tool_", [save, look_into])
@pytest.mark.parametrize(
    "path",
    [
        "home/approvers.json",
        "home/new",
        "home",
        "other/../home/approvers.json",
        "to-home/approvers.json",
        "to-keys",
        "same-keys",
        "idp.json",
    ],
)
async def test_no_path_leads_to_what_the_worker_goes_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool_: Tool, path: str
) -> None:
    """By whatever name, read or written: other tenants' results lie there as well."""
    home, keys = tmp_path / "home", tmp_path / "home" / "approvers.json"
    home.mkdir()
    (tmp_path / "other").mkdir()
    keys.write_text("{}")
    (tmp_path / "to-home").symlink_to(home)
    (tmp_path / "to-keys").symlink_to(keys)
    (tmp_path / "same-keys").hardlink_to(keys)
    monkeypatch.chdir(tmp_path)
    own = (Path("home"), Path("home/approvers.json"), tmp_path / "idp.json")
    place = WorkerExecutor(secret_of, FileArtifacts(home), own)

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(tool_, an_invocation(arguments={"path": path}), lambda _: None, admitted)

    beside = an_invocation(arguments={"path": "other/new"})
    await place.run(save, beside, lambda _: None, admitted)
    assert (tmp_path / "other" / "new").exists()
    assert keys.read_text() == "{}"


@pytest.mark.parametrize(
    "path",
    [
        "policy.yaml",
        "to-policy",
        "shop.py",
        "PLUGIN.PY",
        "new/__pycache__/shop.cpython-311.pyc",
        "asyncio.so",
        "modules/more.pth",
        "x-1.dist-info/entry_points.txt",
        "X.EGG-INFO",
        "programs/bwrap",
    ],
)
async def test_no_path_leads_to_what_counts_from_the_next_start_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """
    The policy, and code that Python finds here, also in the place of what lies elsewhere.

    What is said of installed packages has libraries load modules as they begin; programs lie where
    PATH leads.
    """
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\n")
    (tmp_path / "to-policy").symlink_to(policy)
    for folder in ("modules", "new/__pycache__", "notes", "x-1.dist-info", "programs"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"), policy=policy)

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(save, an_invocation(arguments={"path": path}), lambda _: None, admitted)

    assert policy.read_text() == "version: 1\n"
    beside = an_invocation(arguments={"path": "notes/policy.yaml"})
    await place.run(save, beside, lambda _: None, admitted)
    shown = an_invocation(arguments={"path": "policy.yaml"})
    assert await place.run(look_into, shown, lambda _: None, admitted) == b'"version: 1\\n"'


async def test_no_path_leads_to_what_chooses_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that starts in its user's home goes on to that which Temporal's own file names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".config" / "temporalio").mkdir(parents=True)
    kept = FileArtifacts(tmp_path / "home")
    place = WorkerExecutor(secret_of, kept, Settings.load().own_files)
    asked = an_invocation(arguments={"path": ".config/temporalio/temporal.toml"})

    for tool_ in (save, look_into):
        with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
            await place.run(tool_, asked, lambda _: None, admitted)


@pytest.mark.parametrize(
    ("variable", "value", "path"),
    [
        ("OPENSSL_CONF", "openssl.cnf", "openssl.cnf"),
        ("OPENSSL_CONF_INCLUDE", "ssl", "ssl/engines.cnf"),
        ("LD_LIBRARY_PATH", ":/usr/lib:libs", "libs/libssl.so.3"),
        ("LD_LIBRARY_PATH", "/usr/lib:my libs", "my libs/libssl.so.3"),
        ("LD_LIBRARY_PATH", "/usr/lib;libs", "libs/libssl.so.3"),
        ("LD_LIBRARY_PATH", "/usr/lib:", "libssl.so.3"),
        ("LD_PRELOAD", "/usr/lib/one.so.1 two.so.1", "two.so.1"),
        ("LD_PRELOAD", "/usr/lib/one.so.1 two.lib", "two.lib"),
        ("SSL_CERT_DIR", "/etc/ssl/certs:certs", "certs/0a1b2c3d.0"),
        ("LD_AUDIT", "audit.so.1", "audit.so.1"),
        ("GCONV_PATH", "gconv", "gconv/gconv-modules"),
        ("HOSTALIASES", "hosts.txt", "hosts.txt"),
        ("REQUESTS_CA_BUNDLE", "trusted.pem", "trusted.pem"),
        ("XDG_CONFIG_HOME", "xdg", "xdg/temporalio/temporal.toml"),
    ],
)
async def test_no_path_leads_to_what_variables_have_a_process_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, path: str
) -> None:
    """Libraries, engines and settings from its next start on; beside them all is as ever."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, value)
    kept = FileArtifacts(tmp_path / "home")
    place = WorkerExecutor(secret_of, kept, Settings.load().own_files)

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(save, an_invocation(arguments={"path": path}), lambda _: None, admitted)
    beside = an_invocation(arguments={"path": "notes.txt"})
    await place.run(save, beside, lambda _: None, admitted)


@pytest.mark.parametrize("purpose", ["call", "draft", "undo"])
async def test_no_draft_and_no_undo_writes_what_counts_from_the_next_start_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, purpose: Purpose
) -> None:
    """A draft is made unasked, and writes files like any other; what takes one back does, too."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"), policy=policy)

    for path in ("policy.yaml", "shop.py"):
        asked = an_invocation(arguments={"path": path}, purpose=purpose)
        with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
            await place.run(sketch, asked, lambda _: None, admitted)
    beside = an_invocation(arguments={"path": "notes.txt"}, purpose=purpose)
    await place.run(sketch, beside, lambda _: None, admitted)

    assert {one.name for one in tmp_path.iterdir() if one.is_file()} == {policy.name, "notes.txt"}
    assert policy.read_text() == "version: 1\n"


async def test_nothing_is_written_where_programs_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is the working directory where PATH has nothing between two colons, or before one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "", prepend=os.pathsep)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"))

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(save, an_invocation(arguments={"path": "git"}), lambda _: None, admitted)


async def test_no_path_leads_to_archives_of_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be they there, or made by the call."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "modules")  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
    (tmp_path / "modules").mkdir()
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"))

    for path in ("deps.zip", "deps.pyz"):
        monkeypatch.syspath_prepend(tmp_path / path)  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
        asked = an_invocation(arguments={"path": path})
        with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
            await place.run(save, asked, lambda _: None, admitted)
    for path in ("notes.zip", "modules/notes.txt"):
        beside = an_invocation(arguments={"path": path})
        await place.run(save, beside, lambda _: None, admitted)


@pytest.mark.parametrize("name", ["purelib", "scripts"])
async def test_no_path_leads_to_libraries_and_programs_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A whole environment may lie in the working directory: whatever a file in it is called."""
    library = Path(sysconfig.get_path(name))
    monkeypatch.chdir(library.parent)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"))
    asked = an_invocation(arguments={"path": f"{library.name}/no such folder/authorities.pem"})

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(save, asked, lambda _: None, admitted)


async def test_no_path_leads_to_what_a_user_would_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is there yet where a worker begins in the home of its user; Python looks for it."""
    folder = Path(site.getusersitepackages())
    home = next(one for one in folder.parents if one.is_dir())
    monkeypatch.chdir(home)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"))
    planted = folder.relative_to(home) / "sitecustomize" / "notes"

    with pytest.raises(ToolDenied, match="leads to what the worker itself goes by"):
        await place.run(
            save, an_invocation(arguments={"path": str(planted)}), lambda _: None, admitted
        )


async def test_no_tool_writes_the_policy(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is started again would decide by what a model wrote."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    agent = Agent(name="it", instructions="Do.", models=["scripted:it"], tools=[save])
    script = [call("save", path="policy.yaml", text="version: 1\nrules: []\n"), told]
    async with runs.working(App(agents=[agent], scripts={"it": script}, policy="policy.yaml")):
        run = await runs.start("it")
        await run.result()
        saved = await run.failure()

    assert "leads to what the worker itself goes by" in saved.reason
    assert (tmp_path / "policy.yaml").read_text() == "version: 1\n"


async def test_no_path_is_long_to_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop that all runs share finds out where it leads, however many folders it names."""
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"), (Path("home"),))
    path = "a/" * 2_000  # more than the policy lets it name
    began = process_time()

    with pytest.raises(FileNotFoundError):
        await place.run(save, an_invocation(arguments={"path": path}), lambda _: None, admitted)

    assert process_time() - began < 2


def test_files_of_secrets_are_the_workers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No tool works on them or on the log, and no project in which they lie brings them along."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "keys").mkdir(parents=True)
    for path in ("bank", "worker.log", "keys/client.key", "keys/authorities.pem", "main.py"):
        (project / path).write_text("correct horse battery staple")
    monkeypatch.setenv("HOLDFAST_SECRET_BANK_FILE", str(project / "bank"))
    monkeypatch.setenv("HOLDFAST_LOG_FILE", str(project / "worker.log"))
    monkeypatch.setenv("SSL_CERT_FILE", str(project / "keys" / "authorities.pem"))
    monkeypatch.setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", str(project / "keys" / "client.key"))
    workspaces = Workspaces(home, own=Settings.load().own_files)

    left_out = workspaces.fill("run", project)

    own = ["bank", "keys/authorities.pem", "keys/client.key", "worker.log"]
    assert [one.path for one in left_out] == own
    assert (workspaces.ensure("run") / "main.py").exists()


def test_what_a_worker_goes_by_is_copied_into_no_workspace(tmp_path: Path) -> None:
    """An archive with what others said, or keys: no model reads them because they lie there."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "kept" / "sessions").mkdir(parents=True)
    for path in ("kept/sessions/one", "idp.json", "main.py"):
        (project / path).write_text("x")
    workspaces = Workspaces(home, own=(project / "kept", project / "idp.json", home))

    assert set(workspaces.fill("run", project)) == {
        LeftOut("kept", "the worker itself goes by it"),
        LeftOut("idp.json", "the worker itself goes by it"),
    }
    assert [one.name for one in workspaces.ensure("run").iterdir()] == ["main.py"]
