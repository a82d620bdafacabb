"""Attacks through the file tools: on what lies outside the workspace."""

import pytest

from holdfast import tools as builtin
from holdfast.contracts.errors import ToolError
from tests.attacks.outside import Attack

LINKS = """
import os
os.symlink("/etc/passwd", "file")
os.symlink("/", "root")
os.symlink("/etc", "etc")
os.symlink("..", "up")
os.symlink("../workspace/../etc/passwd", "round")
os.symlink("loop", "loop")
os.symlink("/proc/self/environ", "environ")
os.mkdir("inner")
os.symlink("../../etc", "inner/deep")
os.symlink("missing", "dangling")
os.symlink("/tmp/missing", "dangling-outside")
os.mkfifo("pipe")
result = 1
"""

OUTSIDE = {
    "an absolute path": "/etc/passwd",
    "a path up": "../etc/passwd",
    "a path out and in": "../workspace/x",
    "a path up in the middle": "inner/../../etc/passwd",
    "a link to a file": "file",
    "a link to the root": "root/etc/passwd",
    "a link to a folder": "etc/passwd",
    "a link up": "up/etc/passwd",
    "a link round about": "round",
    "a link in a folder": "inner/deep/passwd",
    "a link to the process": "environ",
    "a link to what isn't there": "dangling-outside",
    "a link to a new file": "root/tmp/new",
}


TRIED = """
from holdfast.contracts.errors import ToolError
from holdfast import tools as builtin

def said(tool, **arguments):
    try:
        return tool.function(**tool.bind(arguments, ctx))
    except ToolError as error:
        return [error.type, error.reason]

result = {
    path: [
        said(builtin.read_file, path=path),
        said(builtin.write_file, path=path, content="x"),
        said(builtin.list_files, path=path),
    ]
    for path in PATHS
}
"""
"""What the tools say to each path, in one process: to start one takes a tenth of a second."""


async def test_paths_that_lead_out(attack: Attack) -> None:
    """No path leads out of the workspace: not by words, not by links, not by links on the way."""
    await attack(LINKS)

    said = await attack(TRIED.replace("PATHS", repr([*OUTSIDE.values()])))

    assert said == {
        path: [["permission_denied", f"{path!r} leads out of the workspace"]] * 3
        for path in OUTSIDE.values()
    }


async def test_who_is_led_out_is_told(attack: Attack) -> None:
    """Each of the tools says so to whoever calls it from outside."""
    await attack(LINKS)

    for tool, more in (
        (builtin.read_file, {}),
        (builtin.write_file, {"content": "x"}),
        (builtin.list_files, {}),
    ):
        with pytest.raises(ToolError, match="leads out of the workspace") as raised:
            await attack(tool=tool, path="root/etc/passwd", **more)
        assert raised.value.type == "permission_denied"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("loop", "conflict"), ("pipe", "invalid_arguments"), ("inner", "invalid_arguments")],
)
async def test_paths_that_are_no_files(attack: Attack, path: str, kind: str) -> None:
    """A link to itself, a pipe without a writer and a folder are told apart from files."""
    await attack(LINKS)

    with pytest.raises(ToolError) as raised:
        await attack(tool=builtin.read_file, path=path)

    assert raised.value.type == kind


async def test_links_that_stay_inside(attack: Attack) -> None:
    """A link inside the workspace is followed."""
    await attack(LINKS)

    await attack(tool=builtin.write_file, path="dangling", content="found")

    assert await attack(tool=builtin.read_file, path="missing") == {
        "text": "found",
        "next_line": None,
    }


async def test_what_a_call_loads(attack: Attack) -> None:
    """A call of a file tool loads no other tool, no event loop, and nothing of signals."""
    files = "import sys, holdfast.tools.builtin.files"
    others = {"asyncio", "holdfast.contracts.signals", "holdfast.tools.builtin.commands"}

    assert await attack(f"{files}; result = [*({others} & set(sys.modules))]") == []
