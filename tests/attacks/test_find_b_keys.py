"""Found: a key that was revoked counts again, because somebody else's was trusted meanwhile."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast import approvers, signing
from holdfast.contracts.base import JsonObject, canonical_json


def public(folder: Path, name: str) -> str:
    return canonical_json(signing.make(folder, name, None).public).decode()


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
