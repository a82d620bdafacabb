"""Whoever changes at the same moment whose keys count: each change stands."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast import approvers, signing
from holdfast.contracts.base import JsonObject, canonical_json
from holdfast.contracts.errors import HoldfastError


def public(folder: Path, name: str) -> str:
    return canonical_json(signing.make(folder, name, None).public).decode()


@pytest.mark.slow
def test_a_key_that_is_revoked_while_another_is_trusted_stays_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people at two terminals, or a script for each: no file has what one of them wrote."""
    file = tmp_path / "approvers.json"
    approvers.trust(file, public(tmp_path, "fred"))
    write = approvers._replace  # pyright: ignore[reportPrivateUsage] -- in the middle of it
    revoking = threading.Thread(target=approvers.revoke, args=(file, "fred"))

    def write_late(path: Path, keys: Sequence[JsonObject]) -> None:
        monkeypatch.setattr(approvers, "_replace", write)
        revoking.start()
        revoking.join(2)  # which has told by then that it counts no more, or waits for its turn
        write(path, keys)

    monkeypatch.setattr(approvers, "_replace", write_late)
    approvers.trust(file, public(tmp_path, "gina"))
    revoking.join()

    assert [key["sub"] for key in approvers.read_keys(file)] == ["gina"]


@pytest.mark.slow
def test_of_many_changes_at_once_each_stands(tmp_path: Path) -> None:
    """A lock is the file's, not the process's: threads have it for themselves, as processes do."""
    file = tmp_path / "home" / "approvers.json"
    names = [f"p{number}" for number in range(16)]
    keys = {name: public(tmp_path, name) for name in names}
    for name in names[::2]:
        approvers.trust(file, keys[name])
    with ThreadPoolExecutor(16) as people:
        gone = [people.submit(approvers.revoke, file, name) for name in names[::2]]
        come = [people.submit(approvers.trust, file, keys[name]) for name in names[1::2]]
    for change in (*gone, *come):
        change.result()

    assert sorted(str(key["sub"]) for key in approvers.read_keys(file)) == sorted(names[1::2])


def test_a_lock_that_leads_elsewhere_is_none(tmp_path: Path) -> None:
    """It makes no file in another place, and says in a line which one is in the way."""
    file, elsewhere = tmp_path / "approvers.json", tmp_path / "elsewhere"
    (tmp_path / "approvers.json.lock").symlink_to(elsewhere)

    with pytest.raises(HoldfastError, match=r"approvers\.json\.lock: "):
        approvers.trust(file, public(tmp_path, "fred"))

    assert not elsewhere.exists()
    assert not file.exists()
