"""Attack: code in a sandbox looks for what its worker keeps in a folder that every sandbox has."""

from pathlib import Path

import pytest

from holdfast.tools.sandbox.sandbox import Sandbox
from tests.attacks import hostile
from tests.attacks.outside import nobody
from tests.builders import admitted, an_invocation

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


@pytest.mark.usefixtures("sandbox_home")
async def test_no_home_among_the_folders_of_python_is_seen(
    tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of all tenants lie there, by whatever name, and those who are trusted."""
    packages = tmp_path / "site-packages"
    home = packages / "kept"
    (home / "artifacts" / "run").mkdir(parents=True)
    (home / "artifacts" / "run" / "call.json").write_text("what another tenant was told")
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
        said = await Sandbox(place).run(hostile.run, asked, lambda _: None, nobody, admitted)
        assert said == b"[]"

    beside = f"result = open({str(packages / 'beside.txt')!r}).read()"
    asked = an_invocation(arguments={"code": beside})
    said = await Sandbox(home).run(hostile.run, asked, lambda _: None, nobody, admitted)
    assert said == b'"a library\'s own"'
