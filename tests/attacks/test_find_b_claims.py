"""Found: what a `holdfast dev` holds is opened, read and emptied without a look at what it is."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts.errors import HoldfastError
from holdfast.dev_claims import claim


def test_a_link_in_the_place_of_a_lock_empties_no_other_file(tmp_path: Path) -> None:
    """A project that was cloned may bring `.holdfast/temporal.db.lock` along, as a link."""
    precious = tmp_path / "id_ed25519"
    precious.write_text("all that there is of it")
    lock = tmp_path / "temporal.db.lock"
    lock.symlink_to(precious)

    try:
        with claim(lock, "in use") as held:
            held.note("127.0.0.1:7233", 1)
    except HoldfastError:
        pass  # which it might say

    assert precious.read_text() == "all that there is of it"


@pytest.mark.parametrize("server", [10**30, -(10**30), True], ids=["large", "small", "true"])
def test_no_number_in_a_lock_is_a_traceback(tmp_path: Path, server: JsonValue) -> None:
    """What stands there may come from anybody who could write the file."""
    lock = tmp_path / "temporal.db.lock"
    lock.write_text(json.dumps({"pid": 1, "address": "x", "server": server}))

    try:
        with claim(lock, "in use"):
            pass
    except HoldfastError:
        pass


def test_no_depth_of_a_lock_is_a_traceback(tmp_path: Path) -> None:
    """Nor is JSON that nobody can read for its depth."""
    lock = tmp_path / "temporal.db.lock"
    lock.write_text("[" * 100_000)

    try:
        with claim(lock, "in use"):
            pass
    except HoldfastError:
        pass
