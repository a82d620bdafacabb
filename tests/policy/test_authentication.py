"""What a signed approval proves, and that nothing else proves it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest
from pydantic import JsonValue

from holdfast.contracts.approvals import Approvable, Proof
from holdfast.contracts.base import JsonObject
from holdfast.policy.authentication import Objection, VerifiedApprover
from holdfast.policy.signatures import MAX_TOKEN_CHARS, thumbprint
from holdfast.policy.trust import LOCAL_ISSUER, TrustedIssuer
from tests.builders import NOW
from tests.policy.attacks import (
    ALICE,
    FORGED,
    IDP,
    ISSUERS,
    MALFORMED,
    MISUSED,
    REFUND,
    RSA,
    Attack,
    about_provider,
    checked,
    token,
)
from tests.policy.reviews import as_review
from tests.tokens import PROVIDER, a_provider, a_signer, claims_about, people


@pytest.mark.parametrize("algorithm", ["EdDSA", "Ed25519", "ES256", "RS256", "PS256"])
def test_a_good_token_says_who_it_is_from(algorithm: str) -> None:
    """Whoever signs exactly this decision, in time, with a trusted key, is who they say."""
    # RK-19 RK-09
    signer = a_signer(algorithm, kid="good")
    given = signer.token(
        claims_about(REFUND, amr=["pwd", "otp"], auth_time=NOW.timestamp() - 60, jti="t-7")
    )

    assert checked(given, issuers=(people(signer),)) == VerifiedApprover(
        Proof(
            issuer=LOCAL_ISSUER,
            subject="alice",
            methods=("pwd", "otp"),
            authenticated_at=NOW - timedelta(seconds=60),
            token_id="t-7",
            verified_at=NOW,
            key="good",
            thumbprint=thumbprint(signer.public),
        ),
        frozenset(),
    )


def same(request: Approvable) -> Approvable:
    """The call that is attacked; the other way round it is a review."""
    return request


@pytest.mark.parametrize("made", [same, as_review])
def test_what_proves_nothing_is_refused(
    made: Callable[[Approvable], Approvable], subtests: pytest.Subtests
) -> None:
    """No forged, replayed, stale, misdirected or malformed token counts, and each is told why."""
    # RK-19 RK-09 RK-11 RK-12 T-14 T-15 BY-15
    for name, attack in chain(FORGED.items(), MISUSED.items(), MALFORMED.items()):
        with subtests.test(name):
            refused(attack, made(attack.request))


def refused(attack: Attack, request: Approvable) -> None:
    given = attack.token if isinstance(attack.token, str) else attack.token()
    answer = checked(
        given,
        request,
        decision=attack.decision,
        run_id=attack.run_id,
        now=attack.now,
        issuers=attack.issuers,
    )

    assert isinstance(answer, Objection)
    assert attack.said in answer.reason
    assert answer.code == attack.code
    assert "\n" not in answer.reason
    assert len(answer.reason) < 1_000
    assert not given or given not in answer.reason


@pytest.mark.parametrize(
    ("changes", "now"),
    [
        pytest.param({}, NOW + timedelta(seconds=299.9), id="a moment before it expires"),
        pytest.param({}, NOW - timedelta(seconds=30), id="clock 30 s ahead"),
        pytest.param({"exp": NOW.timestamp() + 600}, NOW, id="10 minutes long"),
        pytest.param({"auth_time": NOW.timestamp() - 300}, NOW, id="as old as it may be"),
        pytest.param({"auth_time": NOW.timestamp() - 0.5}, NOW, id="a fraction of a second"),
        pytest.param({"aud": ["shop", "holdfast"]}, NOW, id="several audiences"),
        pytest.param({"nbf": NOW.timestamp()}, NOW, id="valid from now on"),
        pytest.param({"more": {"than": ["we", "know"]}}, NOW, id="unknown claims"),
    ],
)
def test_what_is_just_in_bounds_counts(changes: JsonObject, now: datetime) -> None:
    """Every limit is exactly where it is said to be."""
    assert isinstance(checked(token(**changes), now=now), VerifiedApprover)


@pytest.mark.parametrize("methods", [("hwk",), ("fpt", "hwk"), ()])
def test_one_of_the_methods_is_enough(methods: tuple[str, ...]) -> None:
    """Who has signed in by one of the methods that are wanted is believed."""
    request = REFUND.model_copy(update={"methods": methods})

    assert isinstance(checked(token(amr=["pwd", "hwk"]), request), VerifiedApprover)


def test_a_token_may_be_long_but_no_longer() -> None:
    """Many groups fit into a token; what is beyond them isn't looked at."""
    room = (MAX_TOKEN_CHARS - len(token(padding=""))) * 3 // 4
    longest = next(
        one
        for less in range(4)
        if len(one := token(padding="x" * (room - less))) <= MAX_TOKEN_CHARS
    )

    assert len(longest) == MAX_TOKEN_CHARS
    assert isinstance(checked(longest), VerifiedApprover)


def test_only_people_s_own_keys_are_added_by_command() -> None:
    """A key that a provider doesn't publish is nothing that an approver could add."""
    answer = checked(token(iss=PROVIDER))

    assert isinstance(answer, Objection)
    assert answer.reason == f"'{PROVIDER}' has no key 'key-1' that is trusted"


@pytest.mark.parametrize("typ", ["JWT", "jwt", None])
def test_a_token_may_leave_its_type_out(typ: str | None) -> None:
    """Providers that write no type, or write it small, are understood."""
    assert isinstance(checked(ALICE.token(claims_about(REFUND), {"typ": typ})), VerifiedApprover)


def test_a_key_may_be_for_either_name_of_its_algorithm() -> None:
    """EdDSA with Ed25519 has two names (RFC 8037, RFC 9864), and a key for one takes both."""
    local = people(ALICE)
    trusted = (local._replace(keys=({**ALICE.public, "alg": "Ed25519"},)),)

    assert isinstance(checked(token(), issuers=trusted), VerifiedApprover)


@pytest.mark.parametrize(
    ("changes", "claims", "groups"),
    [
        pytest.param({}, {"groups": ["finance", "leads"]}, {"finance", "leads"}, id="a list"),
        pytest.param({}, {"groups": "finance"}, {"finance"}, id="a text"),
        pytest.param({}, {}, set[str](), id="none in the token"),
        pytest.param({"groups": None}, {"groups": ["finance"]}, set[str](), id="not configured"),
        pytest.param({"groups": "roles"}, {"roles": ["a"]}, {"a"}, id="another claim"),
    ],
)
def test_groups_come_from_the_configured_claim(
    changes: dict[str, object], claims: JsonObject, groups: set[str]
) -> None:
    """An identity provider says who is in which groups only where the policy lets it."""
    given = IDP["ES256"].token(about_provider(**claims))
    answer = checked(given, issuers=(a_provider(IDP["ES256"], **changes),))

    assert isinstance(answer, VerifiedApprover)
    assert answer.groups == groups


@pytest.mark.parametrize("groups", [7, [7], {"finance": True}, [""], None, True])
def test_garbled_groups_are_refused(groups: JsonValue) -> None:
    """Groups that can't be read aren't taken for no groups."""
    claims = {**about_provider(), "groups": groups}

    answer = checked(IDP["ES256"].token(claims))

    assert isinstance(answer, Objection)
    assert "'groups'" in answer.reason


def test_the_subject_comes_from_the_configured_claim() -> None:
    """Where a provider's sub is a number nobody knows, another claim names the person."""
    provider = a_provider(IDP["RS256"], subject="email")
    given = IDP["RS256"].token(about_provider(sub="00u1", email="dana@example.com"))
    answer = checked(given, issuers=(provider,))

    assert isinstance(answer, VerifiedApprover)
    assert answer.proof.subject == "dana@example.com"


@pytest.mark.parametrize("said", [False, "false", [True], 1])
def test_an_address_that_its_provider_has_not_verified_names_nobody(said: JsonValue) -> None:
    """People enter it themselves: whoever wrote somebody else's would approve as that person."""
    provider = a_provider(IDP["RS256"], subject="email")
    claims = about_provider(sub="00u1", email="dana@example.com", email_verified=said)
    answer = checked(IDP["RS256"].token(claims), issuers=(provider,))

    assert isinstance(answer, Objection)
    assert answer.reason == (
        f"'{PROVIDER}' hasn't verified that 'dana@example.com' is their address"
    )


@pytest.mark.parametrize(("claim", "said"), [("email", True), ("email", "true"), ("sub", False)])
def test_an_address_that_is_verified_or_names_nobody_is_no_objection(
    claim: str, said: JsonValue
) -> None:
    """Some providers write it as a text; where another claim names the person it says nothing."""
    provider = a_provider(IDP["RS256"], subject=claim)
    claims = about_provider(email="dana@example.com", email_verified=said)

    assert isinstance(checked(IDP["RS256"].token(claims), issuers=(provider,)), VerifiedApprover)


def test_keys_that_cannot_be_read_refuse_everything() -> None:
    """Where the keys are out of reach nobody is believed, and the refusal says what is wrong."""
    silent = TrustedIssuer(ISSUERS[1].issuer, (), "it doesn't answer within 3 s")
    answer = checked(RSA.token(about_provider()), issuers=(silent,))

    assert answer == Objection(
        "invalid_token", f"the keys of '{PROVIDER}' can't be read: it doesn't answer within 3 s"
    )


def test_the_moment_of_authentication_is_in_utc() -> None:
    """History says when somebody signed in, in one zone for all."""
    answer = checked(token())

    assert isinstance(answer, VerifiedApprover)
    assert answer.proof.authenticated_at.tzinfo is UTC
