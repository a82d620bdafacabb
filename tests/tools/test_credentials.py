"""Credentials that nobody told us of are known by their form or their place."""

import base64

import pytest
from pydantic_core import from_json, to_json

from holdfast.tools.redaction import Redactor

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
PEM = (
    "-----BEGIN " + "PRIVATE KEY-----\n"
    f"MIIE{LETTERS[:60]}\nQwEr{LETTERS[:60]}\nAbC=\n-----END " + "PRIVATE KEY-----"
)
NOBODY = Redactor(frozenset)

CREDENTIALS = {
    "api key": ("sk-" + "proj-Ab1" * 6, "sk-" + "ant-api03-" + "x9_-Y" * 8, "sk-" + "1" * 48),
    "aws key": ("AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Y34FZKBOKMUTVV7A"),
    "github token": ("ghp_" + LETTERS[:36], "gho_" + LETTERS[:36], "github_pat_" + "11ABC_" * 9),
    "gitlab token": ("glpat-" + LETTERS[30:50],),
    "google key": ("AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "ya29." + "a0AfH6_S-" * 5),
    "slack token": ("xoxb-" + "123456789012-abcdefABCDEF", "xapp-" + "1-A012-345-abc"),
    "stripe key": ("sk_live_" + LETTERS[:24], "rk_test_" + LETTERS[:24]),
    "hugging face token": ("hf_" + LETTERS[:34],),
    "npm token": ("npm_" + LETTERS[:36],),
    "sendgrid key": ("SG." + LETTERS[:22] + "." + LETTERS[:43],),
    "jwt": (
        "eyJ" + "hbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9." + "c2lnbmF0dXJl",
        "eyJ" + "hbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.",
    ),
    "private key": (
        PEM,
        PEM.replace("\n", "\\n"),
        PEM.replace("PRIVATE", "RSA PRIVATE"),
        PEM[:90],
    ),
}


@pytest.mark.parametrize(
    ("name", "credential"),
    [
        pytest.param(name, one, id=f"{name} {number}")
        for name, some in CREDENTIALS.items()
        for number, one in enumerate(some)
    ],
)
def test_what_looks_like_a_credential_is_replaced(name: str, credential: str) -> None:
    """Credentials that nobody told us of are known by their form, and named by it."""
    assert NOBODY.text(f"key={credential}") == f"key=[redacted: {name}]"
    assert NOBODY.text(f"({credential})") == f"([redacted: {name}])"
    assert from_json(NOBODY.json(to_json({"a": [credential]}))) == {"a": [f"[redacted: {name}]"]}


USER_AND_PASSWORD = base64.b64encode(b"alice:open sesame").decode()


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param(
            "Authorization: Bearer abcdef123456",
            "Authorization: [redacted: authorization]",
            id="header",
        ),
        pytest.param(
            "'authorization': 'Basic YWxpY2U6b3Bl', 'a': 1",
            "'authorization': '[redacted: authorization]', 'a': 1",
            id="header of a dict",
        ),
        pytest.param(
            "sent Bearer abcdefghij0123456789!",
            "sent Bearer [redacted: bearer token]!",
            id="bearer",
        ),
        pytest.param(
            f"curl -H 'Basic {USER_AND_PASSWORD}'",
            "curl -H 'Basic [redacted: password]'",
            id="basic",
        ),
        pytest.param(
            "postgres://app:s3cret@db:5432/x",
            "postgres://app:[redacted: password]@db:5432/x",
            id="address",
        ),
        pytest.param(
            "redis://:p@ss@cache/0", "redis://:[redacted: password]@cache/0", id="@ in a password"
        ),
        pytest.param(
            "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted: aws key]",
            id="AWS configuration",
        ),
        pytest.param(
            '{"SecretAccessKey":"' + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" + '"}',
            '{"SecretAccessKey":"[redacted: aws key]"}',
            id="AWS answer",
        ),
        pytest.param(
            "AccountName=x;AccountKey=" + "A1b2" * 21 + "Zz==;",
            "AccountName=x;AccountKey=[redacted: azure key];",
            id="Azure",
        ),
        pytest.param(
            "https://hooks.slack.com/services/" + "T000/B000/" + "X" * 24,
            "https://hooks.slack.com/[redacted: slack webhook]",
            id="Slack webhook",
        ),
    ],
)
def test_credentials_in_their_place(text: str, redacted: str) -> None:
    """Where only the place tells, the credential is replaced and the place stays."""
    assert NOBODY.text(text) == redacted
    assert NOBODY.text(redacted) == redacted


def test_fields_whose_text_is_a_credential() -> None:
    """A field may say by its name that its text is a credential, whatever that looks like."""
    answer = {
        "Authorization": "x y",
        "X-Api-Key": "short",
        "SecretAccessKey": "q",
        "api": "z",
    }

    assert from_json(NOBODY.json(to_json(answer))) == {
        "Authorization": "[redacted: authorization]",
        "X-Api-Key": "[redacted: api key]",
        "SecretAccessKey": "[redacted: aws key]",
        "api": "z",
    }


@pytest.mark.parametrize(
    "text",
    [
        "task-force-of-twenty-people-and-more-1",
        "scikit: sk-learn-based-classification-pipelines",
        "the bearer of good news was here in time",
        "Basic authentication is not enough; basic understanding of 2FA needed",
        "see https://example.org:8080/a/b?c=d and write to alice@example.org",
        "git@github.com:owner/name.git, ssh://git@host/x",
        "AKIA is a prefix, and so is ASIA; eyJ begins a JWT",
        "authorization: none",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b of sha256:" + "ab" * 32,
        "id 123e4567-e89b-12d3-a456-426614174000",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "pk_live_" + LETTERS[:24],
        "11:30:15 [::1]:8080 a://b:c/d",
    ],
)
def test_innocent_lookalikes_stay(text: str) -> None:
    """What only resembles a credential is left alone."""
    assert NOBODY.text(text) == text
