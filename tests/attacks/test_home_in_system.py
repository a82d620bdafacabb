"""Attack: code in a sandbox looks for what its worker keeps in a folder that every sandbox has."""

from pathlib import Path

import pytest

from holdfast import Agent, App
from holdfast.contracts.calls import ToolSuccess
from holdfast.settings import Settings
from holdfast.testing import call, say
from holdfast.tools.sandbox.sandbox import Sandbox
from tests.attacks import hostile
from tests.attacks.outside import nobody
from tests.builders import admitted, an_invocation
from tests.running import Runs

LOOKED = """
import os
from pathlib import Path
found = [str(one) for one in Path(HOME).rglob("*")] if os.path.exists(HOME) else []
try:
    Path(HOME, "new").write_text("x")
    found.append("written")
except OSError:
    pass
result = found
"""


READ = """
import os
result = []
for folder, _, files in os.walk(FOLDER):
    for name in files:
        try:
            result.append(open(os.path.join(folder, name)).read())
        except OSError as error:
            result.append(error.strerror)
"""


@pytest.mark.usefixtures("sandbox_home")
async def test_no_home_among_the_folders_of_python_is_seen(
    tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of all tenants lie there, by whatever name, and those who are trusted, in it."""
    packages = tmp_path / "site-packages"
    home = packages / "kept"
    (home / "artifacts" / "run").mkdir(parents=True)
    (home / "artifacts" / "run" / "call.json").write_text("what another tenant was told")
    (home / "approvers.json").write_text("who is trusted")
    (home / "sandbox").symlink_to(copies)
    (packages / "beside.txt").write_text("a library's own")
    again = tmp_path / "again" / "site-packages"
    again.parent.mkdir()
    again.symlink_to(packages)
    (tmp_path / "to-home").symlink_to(home)
    for folder in (packages, again):
        monkeypatch.syspath_prepend(folder)  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say

    for place, seen in ((home, home), (tmp_path / "to-home", home), (home, again / "kept")):
        code = LOOKED.replace("HOME", repr(str(seen)))
        asked = an_invocation(arguments={"code": code})
        sandbox = Sandbox(place, hidden=(home / "approvers.json", home / "artifacts"))
        said = await sandbox.run(hostile.run, asked, lambda _: None, nobody, admitted)
        assert said == b"[]"

    beside = f"result = open({str(packages / 'beside.txt')!r}).read()"
    asked = an_invocation(arguments={"code": beside})
    said = await Sandbox(home).run(hostile.run, asked, lambda _: None, nobody, admitted)
    assert said == b'"a library\'s own"'


@pytest.mark.usefixtures("sandbox_home")
async def test_no_secret_among_the_folders_of_python_is_seen(
    tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that variables name, keys, and those who are trusted; a circle hides none."""
    packages, home = tmp_path / "site-packages", tmp_path / "home"
    home.mkdir()
    (home / "sandbox").symlink_to(copies)
    (packages / "keys").mkdir(parents=True)
    for name in ("bank", "trusted.json", "keys/fred.json"):
        (packages / name).write_text("correct horse battery staple")
        (packages / name).chmod(0o644)
    monkeypatch.setenv("HOLDFAST_SECRET_BANK_FILE", str(packages / "bank"))
    monkeypatch.setenv("HOLDFAST_SECRET_GONE_FILE", str(packages / "gone"))
    (packages / "circle").symlink_to(packages / "circle")
    monkeypatch.setenv("HOLDFAST_SECRET_ODD_FILE", str(packages / "circle"))
    monkeypatch.setenv("HOLDFAST_APPROVERS", str(packages / "trusted.json"))
    monkeypatch.setenv("HOLDFAST_KEYS", str(packages / "keys"))
    monkeypatch.syspath_prepend(packages)  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
    sandbox = Sandbox(home, hidden=Settings.load().private_files)

    code = READ.replace("FOLDER", repr(str(packages)))
    asked = an_invocation(arguments={"code": code})
    said = await sandbox.run(hostile.run, asked, lambda _: None, nobody, admitted)

    assert b"horse" not in said


@pytest.mark.usefixtures("sandbox_home")
async def test_no_archive_among_the_folders_of_python_is_seen(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said in the sessions of all tenants lies there."""
    packages = tmp_path / "site-packages"
    archive = packages / "archive"
    archive.mkdir(parents=True)
    (archive / "session.json").write_text("what another tenant said")
    (archive / "session.json").chmod(0o644)
    monkeypatch.syspath_prepend(packages)  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
    code = READ.replace("FOLDER", repr(str(packages)))
    app = App(
        agents=[
            Agent(name="it", instructions="Look.", models=["scripted:it"], tools=[hostile.run])
        ],
        scripts={"it": [call("run", code=code), say("done")]},
        archive=f"file:{archive}",
    )

    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        [seen] = await run.results()

    assert isinstance(seen, ToolSuccess)
    assert seen.data == []
