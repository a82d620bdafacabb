"""Values that look like credentials, and those that only stand for one."""

import pytest

from holdfast.guardrails.detectors.secrets import (
    find_assigned_secrets,
    is_example,
    is_placeholder,
    is_random,
)

CHANCE = "9kQ2vXw7RtLm4NzB8sYc"


@pytest.mark.parametrize(
    "text",
    [
        f'api_key = "{CHANCE}"',
        f"API-KEY: {CHANCE}",
        f"client_secret => '{CHANCE}'",
        f'{{"access_token": "{CHANCE}"}}',
        "secret_key = 'd41d8cd98f00b204e9800998ecf8427e'",
    ],
)
def test_chance_given_to_a_secret_name_is_found(text: str) -> None:
    """The name says secret and the value looks like chance."""  # GR-24
    assert [*find_assigned_secrets(text)]


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "YOUR_API_KEY_HERE"',
        "token = get_token_from_vault2()",
        "API_KEY = os.environ['X']",
        "password = settings.DATABASE_PASSWORD_2",
        "password: ${DB_PASSWORD_9}",
        "token_url = https://id.example.com/oauth2/v1",
        "secret: projects/123456/secrets/main/versions/2",
        "max_tokens = 1000000000000",
        f"commit = {CHANCE}",
    ],
)
def test_names_and_marks_are_no_secret(text: str) -> None:
    """A name, a path, a mark for a value, a plain number, or chance without such a name."""
    assert not [*find_assigned_secrets(text)]


@pytest.mark.parametrize(("length", "is_found"), [(11, False), (12, True)])
def test_short_values_are_no_secret(length: int, *, is_found: bool) -> None:
    """Twelve characters are the fewest."""
    assert bool([*find_assigned_secrets(f"token={CHANCE[:length]}")]) is is_found


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("abcdefghijkl", False),
        ("a1b2c3d4e5f6", True),
        ("aaaaaaaaaaa1", False),
        ("version2config3", False),
    ],
)
def test_chance_has_digits_and_variety(value: str, *, is_one: bool) -> None:
    """Letters alone are a word, with a number behind them a name; the same again is nothing."""
    assert is_random(value) is is_one


@pytest.mark.parametrize(
    "value",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-000000000000000000000000",
    ],
)
def test_documented_examples_are_known(value: str) -> None:
    """Keys that documentation shows are nobody's."""  # GR-24
    assert is_example(value)


@pytest.mark.parametrize("value", ["AKIA1234567890ABCDEF", f"sk-proj-{CHANCE}-aaa"])
def test_a_real_key_is_no_example(value: str) -> None:
    """Neither its order nor a uniform piece at its end makes it one."""
    assert not is_example(value)
    assert not is_placeholder(f"x-{CHANCE}")
