"""What a `holdfast dev` holds may come from a project: it leads nowhere, and ends nobody else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts.errors import HoldfastError
from holdfast.dev_claims import claim

ADDRESS = "127.0.0.1:7233"
SERVER = ("server", "start-dev", "--ip", "127.0.0.1", "--port")

WAITS = """
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may ignore it
print(flush=True)
signal.pause()
"""


def test_a_link_in_the_place_of_a_lock_empties_no_other_file(tmp_path: Path) -> None:
    """A project that was cloned may bring `.holdfast/temporal.db.lock` along, as a link."""
    precious = tmp_path / "id_ed25519"
    precious.write_text("all that there is of it")
    lock = tmp_path / "temporal.db.lock"
    lock.symlink_to(precious)

    with (
        pytest.raises(HoldfastError, match=r"temporal\.db\.lock: it is a link: remove it"),
        claim(lock, "in use"),
    ):
        pass

    assert precious.read_text() == "all that there is of it"


def test_a_pipe_in_the_place_of_a_lock_keeps_nobody_waiting(tmp_path: Path) -> None:
    """It would be read for ever."""
    os.mkfifo(lock := tmp_path / "temporal.db.lock")

    with pytest.raises(HoldfastError, match="it is no plain file"), claim(lock, "in use"):
        pass


def held(server: JsonValue) -> str:
    return json.dumps({"pid": 1, "address": ADDRESS, "server": server})


@pytest.mark.parametrize(
    "text",
    [*map(held, (10**30, -(10**30), -1, 0, True, "7", None)), "[" * 100_000, "\0", "[]", "{}"],
)
def test_whatever_stands_in_a_lock_is_read(tmp_path: Path, text: str) -> None:
    """What is nothing of ours counts as nothing; the lock is held, and says by whom."""
    lock = tmp_path / "temporal.db.lock"
    lock.write_text(text)

    with claim(lock, "in use") as mine:
        mine.note(ADDRESS, 4_000_000)
        said = f"in use by .* at {ADDRESS} .pid {os.getpid()}"
        with pytest.raises(HoldfastError, match=said), claim(lock, "in use"):
            pass

    assert lock.read_text() == ""


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ((*SERVER, "7233"), True),
        ((*SERVER, "7234"), False),
        (("start-dev",), False),
        (("edit", "start-dev.md"), False),
    ],
)
def test_nothing_but_the_server_that_was_left_is_ended(
    tmp_path: Path, words: tuple[str, ...], ends: bool
) -> None:
    """Its number may be another process's by now, or may never have been a server's."""
    lock = tmp_path / "temporal.db.lock"
    (tmp_path / words[0]).write_text(WAITS)
    with subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        process.stdout.readline()
        lock.write_text(held(process.pid))
        with claim(lock, "in use"):
            ended = process.poll() is not None
        process.kill()

    assert ended is ends
