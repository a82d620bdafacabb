"""People's own keys: made, kept, used to sign, trusted and revoked."""

import json
import stat
from pathlib import Path
from typing import Literal

import pytest

from holdfast import approvers, signing
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.policy.authentication import Objection, VerifiedApprover, verify
from holdfast.policy.trust import LOCAL_ISSUER, Issuer, TrustedIssuer
from holdfast.signing import OwnKey
from tests.builders import NOW, a_request
from tests.tokens import a_signer, respelled

REFUND = a_request(strength="strong", challenge="c" * 64, max_auth_age=60)
WORDS = "correct horse"


def verified(
    key: OwnKey,
    trusted: Path,
    passphrase: str | None = None,
    decision: Literal["approve", "reject"] = "approve",
) -> VerifiedApprover | Objection:
    token = signing.sign_decision(key, passphrase, "run-1", REFUND, decision, NOW)
    issuer = Issuer(issuer=LOCAL_ISSUER, jwks=str(trusted))
    local = TrustedIssuer(issuer, approvers.read_keys(trusted))
    return verify(token, REFUND, decision, "run-1", (local,), NOW)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("passphrase", "methods"),
    [
        pytest.param(None, ("swk",), id="open"),
        pytest.param(WORDS, ("swk", "pwd", "mfa"), id="locked"),
        pytest.param("pässword ¡ with spaces ", ("swk", "pwd", "mfa"), id="any letters"),
    ],
)
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_what_is_signed_here_is_believed_there(
    tmp_path: Path,
    passphrase: str | None,
    methods: tuple[str, ...],
    decision: Literal["approve", "reject"],
) -> None:
    """A key that is made here and trusted there signs decisions that count."""
    # RK-19
    key = signing.make(tmp_path / "keys", "dana", passphrase)
    approvers.trust(tmp_path / "approvers.json", json.dumps(key.public))

    answer = verified(key, tmp_path / "approvers.json", passphrase, decision)

    assert isinstance(answer, VerifiedApprover)
    assert (answer.proof.subject, answer.proof.methods) == ("dana", methods)
    assert answer.proof.authenticated_at == answer.proof.verified_at == NOW


def test_every_token_is_another(tmp_path: Path) -> None:
    """A token counts once, so no two have the same id."""
    key = signing.make(tmp_path, "dana", None)
    tokens = {signing.sign_decision(key, None, "run-1", REFUND, "approve", NOW) for _ in range(20)}

    assert len(tokens) == 20


def test_a_key_is_nobody_else_s(tmp_path: Path) -> None:
    """The file of a key is readable for its owner alone, and so is its folder."""
    signing.make(tmp_path / "keys", "dana", None)

    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "keys" / "dana.json").stat().st_mode) == 0o600


def test_a_key_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    """A key that was copied carelessly isn't used until it is put right."""
    signing.make(tmp_path, "dana", None)
    (tmp_path / "dana.json").chmod(0o644)

    with pytest.raises(HoldfastError, match=r"others may read .*: chmod 600 "):
        signing.keys_in(tmp_path)


@pytest.mark.slow
def test_a_passphrase_keeps_the_key(tmp_path: Path) -> None:
    """Without its passphrase a locked key signs nothing, and its file doesn't hold it."""
    key = signing.make(tmp_path, "dana", WORDS)
    text = (tmp_path / "dana.json").read_text(encoding="utf-8")
    secret = key.unlock(WORDS).as_dict(private=True)["d"]

    assert str(secret) not in text
    for wrong in (None, "", "Correct horse", f"{WORDS} "):
        with pytest.raises(HoldfastError, match="that is not the passphrase of key 'dana'"):
            key.unlock(wrong)


@pytest.mark.parametrize("passphrase", [None, WORDS])
def test_nothing_private_is_shown(tmp_path: Path, passphrase: str | None) -> None:
    """A key that lands in a log or an error shows its public part only."""
    key = signing.make(tmp_path, "dana", passphrase)
    kept = json.loads((tmp_path / "dana.json").read_text(encoding="utf-8"))
    secret = key.unlock(passphrase).as_dict(private=True)["d"]

    assert str(secret) not in f"{key!r} {key.public}"
    assert str(kept["private"]) not in repr(key)


@pytest.mark.parametrize(
    ("name", "passphrase", "said"),
    [
        pytest.param("../dana", None, "can't name a key", id="a path"),
        pytest.param("", None, "can't name a key", id="empty"),
        pytest.param(".dana", None, "can't name a key", id="hidden"),
        pytest.param("-dana", None, "can't name a key", id="an option"),
        pytest.param("da/na", None, "can't name a key", id="a folder"),
        pytest.param("da\u200bna", None, "can't name a key", id="a hidden letter"),
        pytest.param("d" * 101, None, "can't name a key", id="over-long"),
        pytest.param("dana", "short", "at least 8 characters", id="passphrase"),
        pytest.param("dana", "", "at least 8 characters", id="no passphrase"),
        pytest.param("there", None, "there is a key 'there' already: ", id="taken"),
    ],
)
def test_a_key_is_made_once_and_well(
    tmp_path: Path, name: str, passphrase: str | None, said: str
) -> None:
    """No key is overwritten, written elsewhere, or locked with next to nothing."""
    signing.make(tmp_path, "there", None)

    with pytest.raises(HoldfastError, match=said):
        signing.make(tmp_path, name, passphrase)

    assert [key.name for key in signing.keys_in(tmp_path)] == ["there"]


@pytest.mark.parametrize("name", ["dana", "dana@example.com", "Dana.M+work", "名前", "7"])
def test_people_have_many_names(tmp_path: Path, name: str) -> None:
    """A key is named as approvals say it: a user name, an address."""
    assert signing.make(tmp_path, name, None).public["sub"] == name


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("[]", id="no object"),
        pytest.param('{"public": {}, "private": {}}', id="nothing in it"),
        pytest.param('{"public": {"kid": "x", "sub": "y"}, "private": 7}', id="no key"),
        pytest.param("\x00\xff", id="no text"),
    ],
)
def test_other_files_are_no_keys(tmp_path: Path, text: str) -> None:
    """A file that is no key is named, whatever it holds."""
    path = tmp_path / "dana.json"
    path.write_text(text, encoding="latin-1")
    path.chmod(0o600)

    with pytest.raises(HoldfastError, match=r"dana.json is no key of 'holdfast keys new'"):
        signing.keys_in(tmp_path)


def test_a_damaged_key_signs_nothing(tmp_path: Path) -> None:
    """A private part that doesn't belong to the public one is of no use."""
    key, other = (signing.make(tmp_path, name, None) for name in ("dana", "other"))
    garbled: JsonObject = {"kty": "OKP", "crv": "Ed25519", "x": "", "d": ""}

    for private in ({}, garbled, other.private):
        with pytest.raises(HoldfastError, match="key 'dana' is damaged"):
            OwnKey("dana", key.public, private).unlock(None)


def test_the_key_that_is_meant(tmp_path: Path) -> None:
    """The key that was named signs, else the user's, else the only one."""
    only = (signing.make(tmp_path, "dana", None),)
    several = (*only, signing.make(tmp_path, "work", None))

    assert signing.choose(only, tmp_path, None, "root").name == "dana"
    assert signing.choose(several, tmp_path, None, "dana").name == "dana"
    assert signing.choose(several, tmp_path, "work", "dana").name == "work"


@pytest.mark.parametrize(
    ("names", "wanted", "said"),
    [
        pytest.param([], None, "make one with 'holdfast keys new NAME'", id="none"),
        pytest.param([], "dana", r"no key 'dana' in .* \(known: none\)", id="not there"),
        pytest.param(["a"], "dana", r"no key 'dana' in .* \(known: a\)", id="another"),
        pytest.param(["a", "b"], None, r"several keys .*: choose one of a, b \(--key\)", id="two"),
    ],
)
def test_no_key_is_guessed(
    tmp_path: Path, names: list[str], wanted: str | None, said: str
) -> None:
    """Where it isn't clear which key is meant, the person reads how to say it."""
    keys = [signing.make(tmp_path, name, None) for name in names]

    with pytest.raises(HoldfastError, match=said):
        signing.choose(keys, tmp_path, wanted, "root")


def test_a_revoked_key_counts_no_more(tmp_path: Path) -> None:
    """Removing a person's keys takes their signatures back at once, and nobody else's."""
    trusted = tmp_path / "home" / "approvers.json"
    dana, lee = (signing.make(tmp_path, name, None) for name in ("dana", "lee"))
    for key in (dana, lee):
        approvers.trust(trusted, json.dumps(key.public))
    before = verified(dana, trusted)
    gone = approvers.revoke(trusted, "dana")
    after = verified(dana, trusted)

    assert isinstance(before, VerifiedApprover)
    assert [key["kid"] for key in gone] == [dana.public["kid"]]
    assert isinstance(after, Objection)
    assert "that is trusted; add it with 'holdfast keys trust'" in after.reason
    assert isinstance(verified(lee, trusted), VerifiedApprover)
    assert stat.S_IMODE(trusted.stat().st_mode) == 0o644


def test_one_key_of_several_is_revoked_by_its_id(tmp_path: Path) -> None:
    """A person may have several keys, and lose one."""
    trusted = tmp_path / "approvers.json"
    first, second = (a_signer(kid=kid, subject="dana").public for kid in ("k1", "k2"))
    for key in (first, second):
        approvers.trust(trusted, json.dumps(key))
    approvers.revoke(trusted, "k1")

    assert [key["kid"] for key in approvers.read_keys(trusted)] == ["k2"]


@pytest.mark.parametrize(("algorithm", "name"), [("ES256", "x"), ("RS256", "n"), ("RS256", "e")])
def test_a_key_is_one_in_all_spellings(tmp_path: Path, algorithm: str, name: str) -> None:
    """It is trusted for one person, and no name of it is left when it is revoked."""
    file = tmp_path / "approvers.json"
    key = a_signer(algorithm, subject="dana").public
    other = respelled({**key, "kid": "key-2", "sub": "erin"}, name)
    with pytest.raises(HoldfastError, match=f"spells '{name}' with other zeros"):
        approvers.trust(file, json.dumps(other))
    file.write_text(json.dumps({"keys": [other]}), encoding="utf-8")
    with pytest.raises(HoldfastError, match="trusted already, for 'erin'"):
        approvers.trust(file, json.dumps(key))
    file.write_text(json.dumps({"keys": [key, other]}), encoding="utf-8")
    approvers.revoke(file, "key-1")

    assert approvers.read_keys(file) == ()


ALICE = a_signer(subject="alice").public
REFUSED = [
    pytest.param("{", "that is no JSON", id="no JSON"),
    pytest.param("[]", "that is no key", id="no key"),
    pytest.param(json.dumps({**ALICE, "d": "AAAA"}), "secret part 'd'", id="private"),
    pytest.param(json.dumps({"kty": "oct", "k": "AAAA"}), "secret part 'k'", id="a secret"),
    pytest.param(json.dumps({**ALICE, "x": "AAAA"}), "can't be read", id="garbled"),
    pytest.param(json.dumps({**ALICE, "sub": ""}), "'sub'", id="of nobody"),
    pytest.param(json.dumps({**ALICE, "sub": "al\u200bice"}), "'sub'", id="of somebody hidden"),
    pytest.param(json.dumps({**ALICE, "kid": 7}), "'kid'", id="kid"),
    pytest.param(json.dumps(ALICE), "trusted already, for 'alice'", id="twice"),
    pytest.param(
        json.dumps({**ALICE, "kid": "x", "sub": "bob"}), "trusted already", id="for two people"
    ),
    pytest.param(
        json.dumps({**a_signer(kid="z").public, "kid": "key-1"}), "with the id 'key-1'", id="id"
    ),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_is_trusted_is_a_new_public_key(tmp_path: Path, text: str, said: str) -> None:
    """No private key, no key twice, and none for two people gets among the trusted ones."""
    trusted = tmp_path / "approvers.json"
    approvers.trust(trusted, json.dumps(ALICE))
    before = trusted.read_bytes()

    with pytest.raises(HoldfastError, match=said):
        approvers.trust(trusted, text)

    assert trusted.read_bytes() == before


def test_a_key_without_an_id_gets_its_thumbprint(tmp_path: Path) -> None:
    """Keys of other software needn't have an id."""
    key = signing.make(tmp_path, "dana", None).public
    bare = {name: value for name, value in key.items() if name != "kid"}
    added = approvers.trust(tmp_path / "home" / "approvers.json", json.dumps(bare))

    assert added["kid"] == key["kid"]


def test_a_damaged_list_is_not_overwritten(tmp_path: Path) -> None:
    """A file that can't be read is left for its owner to mend."""
    trusted = tmp_path / "approvers.json"
    trusted.write_text("{", encoding="utf-8")

    with pytest.raises(HoldfastError, match=r"approvers.json: "):
        approvers.trust(trusted, json.dumps(ALICE))

    assert trusted.read_text(encoding="utf-8") == "{"
    with pytest.raises(HoldfastError, match=r"no key of 'bob' .*trusted: nobody"):
        approvers.revoke(tmp_path / "nosuch.json", "bob")
