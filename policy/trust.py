"""Whose signatures count: the identity providers and keys that a policy names, and who is who."""

import unicodedata
from collections.abc import Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import Inbound, JsonObject
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.signals import SignedSignal
from holdfast.contracts.texts import BLANK, to_nfkc

LOCAL_ISSUER = "holdfast"
"""The issuer of tokens that people sign with a key of their own (`holdfast keys`)."""

_ADDRESS = Pattern(r"[a-z][a-z0-9+.-]*:", any_case=True)


def is_address(jwks: str) -> bool:
    """Whether an issuer's keys are fetched, instead of read from a file."""
    return _ADDRESS.beginning(jwks) > 0


def _check_jwks_address(jwks: str) -> str:
    """Keys that somebody on the way could exchange would prove nothing."""
    if not is_address(jwks):
        return jwks
    parts = urlsplit(jwks)
    if parts.username is not None or not parts.hostname:
        raise ValueError("the address of the keys needs a host, and no password")
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname)):
        return jwks
    raise ValueError("keys are fetched from https://, or from http:// on this machine alone")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its own name: what goes there needs no TLS."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Issuer(Inbound):
    """
    An identity provider whose signed approvals count, as the policy file names it.

    `jwks` is the https:// address of its public keys, or a file beside the policy. `subject` is
    the claim that names the person, `groups` the claim with their groups, if it has one.
    """

    issuer: Annotated[str, Field(min_length=1, max_length=500)]
    jwks: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_check_jwks_address)]
    audience: Annotated[str, Field(min_length=1, max_length=200)] = "holdfast"
    subject: Annotated[str, Field(min_length=1, max_length=100)] = "sub"
    groups: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class TrustedIssuer(NamedTuple):
    """
    An issuer with its public keys (JWK, RFC 7517) as they are now.

    `problem` says why there are none, if they couldn't be read.
    """

    issuer: Issuer
    keys: tuple[JsonObject, ...]
    problem: str = ""


class Trust(NamedTuple):
    """Who is in which group, whose signatures count, and which signals take one."""

    groups: Mapping[str, frozenset[str]] = MappingProxyType({})
    issuers: tuple[TrustedIssuer, ...] = ()
    signals: Mapping[SignedSignal, Requirement] = MappingProxyType({})


def normalize_name(name: str) -> str:
    """Return what two names have in common that look the same: they count as one person."""
    shown = (letter for letter in name if letter not in BLANK)
    seen = (letter for letter in shown if letter.isspace() or not _is_control(letter))
    folded = to_nfkc("".join(seen)).casefold()
    return " ".join(to_nfkc(folded).split())


def _is_control(letter: str) -> bool:
    # What no letter has yet may be one that shows nothing, as Unicode keeps whole blocks for.
    return unicodedata.category(letter) in {"Cc", "Cf", "Cn"}
