"""The commands about keys: made, trusted, listed, revoked."""

import io
import json
import sys
from pathlib import Path

import pytest

from holdfast.cli import main


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOLDFAST_KEYS", str(tmp_path / "keys"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def holdfast(*arguments: str) -> int:
    """Run a command in this process: none of these needs a server."""
    return main.run(["keys", *arguments])


def test_a_key_from_its_making_to_its_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A key is made, trusted, listed and revoked; what programs read is on standard output."""
    made = holdfast("new", "dana", "--no-passphrase")
    out, err = capsys.readouterr()
    key = json.loads(out)
    file = tmp_path / "dana.json"
    file.write_text(out, encoding="utf-8")
    added = holdfast("trust", str(file))
    counts = capsys.readouterr()
    listed = holdfast("list")
    table = capsys.readouterr().out
    revoked = holdfast("revoke", "dana")
    after = holdfast("list", "--json")
    (shown,) = json.loads(capsys.readouterr().out)

    assert (made, added, listed, revoked, after) == (0,) * 5
    assert f"kept in {tmp_path / 'keys' / 'dana.json'}" in err
    assert counts == ("", f"dana's key {key['kid']} counts from now on ({home(tmp_path)})\n")
    assert table.splitlines()[1].split() == ["dana", key["kid"], "yes", "yes"]
    assert sorted(key) == ["crv", "kid", "kty", "sub", "use", "x"]
    assert shown == {
        "name": "dana",
        "kid": key["kid"],
        "own": True,
        "passphrase": False,
        "trusted": False,
        "public": key,
    }


def home(folder: Path) -> Path:
    return folder / "home" / "approvers.json"


def test_a_key_is_trusted_however_it_comes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public key may be given as it is, or on standard input; a key of others is no own one."""
    for name in ("dana", "lee"):
        holdfast("new", name, "--no-passphrase")
    dana, lee = (text + "}" for text in capsys.readouterr().out.split("}")[:2])
    monkeypatch.setattr(sys, "stdin", io.StringIO(lee))
    codes = holdfast("trust", dana), holdfast("trust", "-")
    monkeypatch.setenv("HOLDFAST_KEYS", "nowhere")
    capsys.readouterr()
    holdfast("list")

    assert codes == (0, 0)
    assert [row.split()[2:] for row in capsys.readouterr().out.splitlines()] == [
        ["OWN", "TRUSTED"],
        ["no", "yes"],
        ["no", "yes"],
    ]


def test_an_approvers_file_may_be_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """HOLDFAST_APPROVERS names the file of those whose signatures count."""
    monkeypatch.setenv("HOLDFAST_APPROVERS", str(tmp_path / "etc" / "people.json"))
    holdfast("new", "dana", "--no-passphrase")
    holdfast("trust", capsys.readouterr().out)

    assert len(json.loads((tmp_path / "etc" / "people.json").read_bytes())["keys"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["new", "lee"], 1, "run this on a terminal, or --no-passphrase", id="no tty"),
        pytest.param(["new", "a/b", "--no-passphrase"], 1, "can't name a key", id="name"),
        pytest.param(["new", "dana", "--no-passphrase"], 1, "'dana' already", id="twice"),
        pytest.param(["trust", "nosuch.json"], 1, "nosuch.json: No such file", id="no file"),
        pytest.param(["trust", "README.md"], 1, "that is no JSON", id="no key"),
        pytest.param(["trust", "{}"], 1, "is none of Ed25519, EC P-256 and RSA", id="empty"),
        pytest.param(["trust", "-"], 1, "that is no JSON", id="nothing on standard input"),
        pytest.param(["revoke", "lee"], 1, "no key of 'lee' is trusted in ", id="revoke"),
        pytest.param(["new"], 2, "Missing argument 'NAME'", id="no name"),
        pytest.param(["sign"], 2, "Missing argument 'RUN'", id="no run"),
    ],
)
def test_what_goes_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    """Errors about keys name the value and what to do, in one line."""
    holdfast("new", "dana", "--no-passphrase")
    capsys.readouterr()
    ended = holdfast(*arguments)
    out, err = capsys.readouterr()

    assert (ended, out, err.count("\n")) == (code, "", 1)
    assert err.startswith("holdfast: ")
    assert said in err


def test_a_private_key_is_not_trusted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A private key that is given by mistake is refused, and not repeated."""
    holdfast("new", "dana", "--no-passphrase")
    private = json.loads((tmp_path / "keys" / "dana.json").read_bytes())["private"]
    capsys.readouterr()
    ended = holdfast("trust", json.dumps({**private, "sub": "dana"}))
    err = capsys.readouterr().err

    assert ended == 1
    assert "is no public key: it has the secret part 'd'" in err
    assert private["d"] not in err
    assert not home(tmp_path).exists()


def test_without_keys_the_list_says_how_to_make_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Where there are no keys there is nothing to read for programs, and a hint for people."""
    assert holdfast("list") == 0
    assert capsys.readouterr() == (
        "",
        "there are no keys: make one with 'holdfast keys new NAME'\n",
    )
