"""Keys and tokens as other software makes them, good ones and others."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from pydantic import JsonValue

from holdfast.contracts.approvals import Approvable
from holdfast.contracts.base import JsonObject
from holdfast.policy.trust import LOCAL_ISSUER, Issuer, TrustedIssuer
from tests.builders import NOW

PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey

PROVIDER = "https://login.example.com"


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def respelled(key: JsonObject, name: str, zeros: int = 3) -> JsonObject:
    """The same public key with zeros before one of its numbers; it stays its owner's."""
    text = str(key[name])
    number = base64.urlsafe_b64decode(f"{text}==")
    return {**key, name: b64(bytes(zeros) + number)}


def compact(
    header: JsonValue | str, payload: JsonValue | str, sign: Callable[[bytes], bytes]
) -> str:
    """A JWT of whatever parts; texts stand in it as they are."""
    parts = (part if isinstance(part, str) else json.dumps(part) for part in (header, payload))
    signed = ".".join(b64(part.encode("utf-8", "surrogatepass")) for part in parts)
    return f"{signed}.{b64(sign(signed.encode()))}"


@dataclass(frozen=True)
class Signer:
    """A key of somebody, and what they sign with it."""

    kid: str
    algorithm: str
    private: PrivateKey
    subject: str = "alice"

    @property
    def public(self) -> JsonObject:
        """The public key as a JWK, which names its owner."""
        return {"kid": self.kid, "sub": self.subject, **_material(self.private)}

    @property
    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def token(self, claims: JsonValue | str, header: Mapping[str, JsonValue] | None = None) -> str:
        """A token with these claims; *header* overrides what is usual, and None leaves it out."""
        usual = {"alg": self.algorithm, "kid": self.kid, "typ": "JWT", **(header or {})}
        said: JsonObject = {name: value for name, value in usual.items() if value is not None}
        return compact(said, claims, self.sign)

    def sign(self, signed: bytes) -> bytes:
        match self.private:
            case Ed25519PrivateKey():
                return self.private.sign(signed)
            case EllipticCurvePrivateKey():
                r, s = decode_dss_signature(self.private.sign(signed, ec.ECDSA(hashes.SHA256())))
                return r.to_bytes(32) + s.to_bytes(32)
            case RSAPrivateKey() if self.algorithm == "PS256":
                pss = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=32)
                return self.private.sign(signed, pss, hashes.SHA256())
            case RSAPrivateKey():
                return self.private.sign(signed, padding.PKCS1v15(), hashes.SHA256())


@cache
def a_signer(algorithm: str = "EdDSA", kid: str = "key-1", subject: str = "alice") -> Signer:
    """A key for this algorithm; the same for the same arguments."""
    private: PrivateKey
    match algorithm:
        case "EdDSA" | "Ed25519":
            private = Ed25519PrivateKey.generate()
        case "ES256":
            private = ec.generate_private_key(ec.SECP256R1())
        case _:
            private = an_rsa_key()
    return Signer(kid, algorithm, private, subject)


@cache
def an_rsa_key() -> RSAPrivateKey:
    """One for all who sign by RSA: to make it takes longer than a test of it."""
    return rsa.generate_private_key(65537, 2048)


def hs256(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda signed: hmac.new(secret, signed, hashlib.sha256).digest()


def people(*signers: Signer) -> TrustedIssuer:
    """The keys of people who sign on their own."""
    keys = tuple(signer.public for signer in signers)
    return TrustedIssuer(Issuer(issuer=LOCAL_ISSUER, jwks="approvers.json"), keys)


def a_provider(*signers: Signer, **changes: object) -> TrustedIssuer:
    """An identity provider that says who is in which groups."""
    fields = {"issuer": PROVIDER, "jwks": f"{PROVIDER}/keys", "groups": "groups"}
    keys = tuple(signer.public for signer in signers)
    return TrustedIssuer(Issuer.model_validate({**fields, **changes}), keys)


def claims_about(request: Approvable, now: datetime = NOW, /, **changes: JsonValue) -> JsonObject:
    """What alice's token says when she approves a request; None leaves a claim out."""
    time = int(now.timestamp())
    claims: JsonObject = {
        "iss": LOCAL_ISSUER,
        "sub": "alice",
        "aud": "holdfast",
        "iat": time,
        "exp": time + 300,
        "jti": "token-1",
        "auth_time": time,
        "amr": ["swk"],
        "run_id": "run-1",
        "request_id": request.request_id,
        "arguments_digest": request.arguments_digest,
        "decision": "approve",
        "nonce": request.challenge,
        **changes,
    }
    return {name: value for name, value in claims.items() if value is not None}


def _material(private: PrivateKey) -> JsonObject:
    match private:
        case Ed25519PrivateKey():
            raw = private.public_key().public_bytes(
                serialization.Encoding.Raw, serialization.PublicFormat.Raw
            )
            return {"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}
        case EllipticCurvePrivateKey():
            point = private.public_key().public_numbers()
            x, y = b64(point.x.to_bytes(32)), b64(point.y.to_bytes(32))
            return {"kty": "EC", "crv": "P-256", "x": x, "y": y}
        case RSAPrivateKey():
            numbers = private.public_key().public_numbers()
            n = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8)
            return {"kty": "RSA", "n": b64(n), "e": "AQAB"}
