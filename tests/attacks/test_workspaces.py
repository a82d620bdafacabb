"""A workspace in the sandbox: kept and restored between calls that mean harm."""

from pathlib import Path

from holdfast.contracts.calls import ToolInvocation
from holdfast.tools.workspaces import Workspaces
from tests.attacks.outside import Attack
from tests.attacks.test_files import LINKS

LEAVE_TRAPS = f"""{LINKS}
import socket
open("holes", "wb").truncate(10**7)
open("file.txt", "w").write("first")
os.link("file.txt", "second name")
os.mkdir("closed"); open("closed/x", "w").write("x"); os.chmod("closed", 0)
open(b"\\xff", "w").close()
socket.socket(socket.AF_UNIX).bind("socket")
"""

MAKE_A_MESS = """
import os
open("file.txt", "w").write("second")
for n in range(3000):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
os.chmod(".", 0)
result = 1
"""

LOOK = """
import os
os.chmod("closed", 0o700)
open("closed/x", "a").write("y")
open("file.txt", "a").write(" again")
result = [open("file.txt").read(), open("second name").read(), os.path.getsize("holes")]
"""


async def test_back_to_before_the_harm(
    sandbox_home: Path, attack: Attack, invocation: ToolInvocation
) -> None:
    """What a run's calls left is kept and restored, and its next call works with it as before."""
    # BT-05
    workspaces = Workspaces(sandbox_home)
    await attack(LEAVE_TRAPS)
    snapshot = workspaces.snapshot(invocation.first_execution_run_id)
    await attack(MAKE_A_MESS)

    assert workspaces.restore(invocation.first_execution_run_id, snapshot.digest) == snapshot

    assert workspaces.digest(invocation.first_execution_run_id) == snapshot.digest
    assert await attack(LOOK) == ["first again", "first", 10**7]
    assert workspaces.digest(invocation.first_execution_run_id) != snapshot.digest
