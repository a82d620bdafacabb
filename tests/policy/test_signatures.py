"""Which keys verify anything, where they come from, and how a token names its own."""

import string

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.policy.authentication import Objection
from holdfast.policy.signatures import (
    find_key_fault,
    is_key,
    is_same_key,
    parse_key_claim,
    thumbprint,
)
from holdfast.policy.trust import LOCAL_ISSUER, Issuer
from tests.policy.attacks import ALICE, IDP, REFUND, RSA, checked, token
from tests.tokens import PROVIDER, Signer, a_signer, b64, claims_about, people, respelled

FAULTS = [
    pytest.param({"d": "AAAA"}, "is no public key: it has the secret part 'd'", id="private"),
    pytest.param({"kty": "oct", "k": "AAAA"}, "has the secret part 'k'", id="shared secret"),
    pytest.param({"kty": "oct"}, "is none of Ed25519, EC P-256 and RSA", id="symmetric"),
    pytest.param({"crv": "Ed448"}, "is none of Ed25519", id="another curve"),
    pytest.param({"crv": ["Ed25519"]}, "is none of Ed25519", id="curve no text"),
    pytest.param({"kty": None}, "is none of Ed25519", id="no kind"),
    pytest.param({"use": "enc"}, "is not for signatures", id="for encryption"),
    pytest.param({"key_ops": ["sign"]}, "is not for signatures", id="for signing"),
    pytest.param({"key_ops": "verify"}, "is not for signatures", id="garbled operations"),
    pytest.param({"alg": "RS256"}, "is for 'RS256', which its kind doesn't fit", id="another alg"),
    pytest.param({"alg": ["EdDSA"]}, "which its kind doesn't fit", id="alg no text"),
    pytest.param({"x": "AAAA"}, "can't be read as a JWK", id="too short"),
    pytest.param({"x": "!"}, "can't be read as a JWK", id="no base64url"),
    pytest.param({"x": 7}, "can't be read as a JWK", id="x no text"),
    pytest.param({"x": None}, "can't be read as a JWK", id="x null"),
]


@pytest.mark.parametrize(("changes", "fault"), FAULTS)
def test_keys_that_fit_nothing_are_refused(changes: JsonObject, fault: str) -> None:
    """A secret, a key for something else, or one that can't be read verifies nothing."""
    key = {**ALICE.public, **changes}
    trusted = (people(ALICE)._replace(keys=(key,)),)
    answer = checked(token(), issuers=trusted)

    assert fault in (find_key_fault(key) or "")
    assert isinstance(answer, Objection)
    assert fault in answer.reason


def test_short_rsa_keys_are_refused() -> None:
    """An RSA key that could be factored proves nothing, nor does one that stalls the worker."""
    for size in (1_024, 16_384):
        key = {**RSA.public, "n": b64(((1 << size) - 1).to_bytes(size // 8))}

        assert find_key_fault(key) == "has not 2048 to 8192 bits"


@pytest.mark.parametrize(
    ("algorithm", "name"), [("ES256", "x"), ("ES256", "y"), ("RS256", "n"), ("RS256", "e")]
)
@pytest.mark.parametrize("zeros", [1, 3])
def test_a_key_has_one_spelling(algorithm: str, name: str, zeros: int) -> None:
    """Zeros before a number make no other key of it, whose thumbprint would be another one."""
    key = a_signer(algorithm).public
    other = respelled(key, name, zeros)

    assert find_key_fault(key) is None
    assert f"spells {name!r} with other zeros" in (find_key_fault(other) or "")
    assert not is_key(other, thumbprint(other))
    assert is_same_key(key, other)


def test_a_coordinate_keeps_its_zeros() -> None:
    """One that begins with a zero has no byte less."""
    keys = (ec.derive_private_key(number, ec.SECP256R1()) for number in range(1, 5_000))
    short = next(key for key in keys if key.public_key().public_numbers().x < 1 << 248)
    key = Signer("key-1", "ES256", short).public
    less = {**key, "x": b64(short.public_key().public_numbers().x.to_bytes(31))}

    assert find_key_fault(key) is None
    assert "spells 'x'" in (find_key_fault(less) or "")
    assert is_same_key(key, less)


@pytest.mark.parametrize("algorithm", ["EdDSA", "ES256", "RS256"])
def test_what_cant_be_read_is_no_key_of_somebody(algorithm: str) -> None:
    """Whatever stands in a file of keys is compared, and is the same as no good one."""
    key = a_signer(algorithm).public
    hostile: tuple[JsonValue, ...] = (None, 7, [], {}, "", "A", "ü", "\ud800", [[]])

    for name in ("kty", "crv" if "crv" in key else "n", "x" if "x" in key else "n"):
        assert not any(is_same_key(key, {**key, name: value}) for value in hostile)


def spelled_otherwise(number: str) -> dict[str, str]:
    """What a lenient reader of base64 takes for the same number."""
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    last = alphabet[alphabet.index(number[-1]) + 1]
    return {
        "padded": f"{number}=",
        "bits behind its end": number[:-1] + last,
        "the other alphabet": number.replace("-", "+").replace("_", "/"),
        "broken in lines": f"{number[:20]}\n{number[20:]}",
        "other characters between": f"{number[:20]}!{number[20:]}",
        "more behind its end": f"{number}=AAAA",
    }


@pytest.mark.parametrize(("algorithm", "name"), [("EdDSA", "x"), ("ES256", "y"), ("RS256", "n")])
def test_a_number_has_one_spelling_in_base64(algorithm: str, name: str) -> None:
    """What verifies and what is compared is read alike: a lenient spelling is no key anywhere."""
    keys = (a_signer(algorithm, f"key-{number}").public for number in range(1_000))
    key = next(key for key in keys if {"-", "_"} & set(str(key[name])))
    for spelled, other in spelled_otherwise(str(key[name])).items():
        lenient = {**key, name: other}

        assert find_key_fault(lenient) == "can't be read as a JWK", spelled
        assert not is_same_key(key, lenient), spelled


def test_points_off_the_curve_are_refused() -> None:
    """A point that isn't on the curve is no key."""
    assert find_key_fault({**IDP["ES256"].public, "y": b64(bytes(32))}) == "can't be read as a JWK"


@pytest.mark.parametrize(
    ("given", "claim"),
    [
        pytest.param(token(), (LOCAL_ISSUER, "key-1"), id="good"),
        pytest.param(ALICE.token(claims_about(REFUND), {"kid": 7}), None, id="kid"),
        pytest.param(token(iss=None), None, id="issuer"),
        pytest.param("x.y.z", None, id="garbage"),
        pytest.param("x" * 20_000, None, id="over-long"),
    ],
)
def test_a_token_names_its_key(given: str, claim: tuple[str, str] | None) -> None:
    """Which keys to read is known before anything is believed."""
    assert parse_key_claim(given) == claim


@pytest.mark.parametrize(
    ("jwks", "good"),
    [
        ("https://login.example.com/keys", True),
        ("keys.json", True),
        ("keys/of/the/provider.json", True),
        ("http://127.0.0.1:8080/keys", True),
        ("http://[::1]/keys", True),
        ("http://localhost/keys", True),
        ("http://login.example.com/keys", False),
        ("HTTP://login.example.com/keys", False),
        ("http://localhost.example.com/keys", False),
        ("http://127.0.0.1.example.com/keys", False),
        ("https://user:secret@login.example.com/keys", False),
        ("https:///keys", False),
        ("ftp://login.example.com/keys", False),
        ("file:///etc/keys.json", False),
    ],
)
def test_keys_come_safely(jwks: str, *, good: bool) -> None:
    """Keys are fetched from where nobody can exchange them on the way, or not at all."""
    given = {"issuer": PROVIDER, "jwks": jwks}
    if good:
        assert Issuer.model_validate(given).jwks == jwks
    else:
        with pytest.raises(ValueError, match="key"):
            Issuer.model_validate(given)
