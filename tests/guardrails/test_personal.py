"""Data about people is found and taken out, and nothing else is."""

import pytest

from holdfast.guardrails.detectors.personal import find_pii, redact_pii
from tests.guardrails.disguises import wide


def kinds(text: str) -> set[str]:
    return {found.kind for found in find_pii(text)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("write to bob@example.com today", "e-mail address", id="mail"),
        pytest.param("mailto:jörg@müller.de", "e-mail address", id="mail with accents"),
        pytest.param("my ssn: 123-45-6789", "social security number", id="ssn"),
        pytest.param("SSN is 123456789", "social security number", id="named ssn"),
        pytest.param(wide("ssn 123-45-6789"), "social security number", id="wide digits"),
        pytest.param("123-\u200b45-6789", "social security number", id="with no width between"),
        pytest.param("card 4111 1111 1111 1111", "card number", id="card"),
        pytest.param("378282246310005", "card number", id="card of 15 digits"),
        pytest.param("DE89 3704 0044 0532 0130 00 PLEASE", "bank account", id="iban, then words"),
        pytest.param("es9121000418450200051332", "bank account", id="iban in small letters"),
        pytest.param("call +49 171 1234567", "phone number", id="international"),
        pytest.param("(555) 123-4567", "phone number", id="american"),
        pytest.param("Tel.: 0171/1234567", "phone number", id="named"),
    ],
)
def test_data_about_people_is_found(text: str, kind: str) -> None:
    """Each kind is found in its usual spellings, and in those that nobody sees."""  # GR-18
    assert kinds(text) == {kind}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("666-12-1234", id="area 666 was never given"),
        pytest.param("900-12-1234", id="nor 900"),
        pytest.param("123-00-1234", id="nor group 00"),
        pytest.param("123-45-0000", id="nor serial 0000"),
        pytest.param("4111 1111 1111 1112", id="the check digit is wrong"),
        pytest.param("1767225600000", id="a time in milliseconds"),
        pytest.param("DE88 3704 0044 0532 0130 00", id="97 doesn't divide it"),
        pytest.param("git@github.com:org/repo", id="a repository"),
        pytest.param("192.168.100.100", id="an address"),
        pytest.param("2026-03-01 12:00:00", id="a time"),
        pytest.param("order 1044 of 29.00 in 3 lines", id="an order"),
        pytest.param("deadbeef-1234-5678-9012-123456789012", id="a UUID"),
    ],
)
def test_other_numbers_are_no_data_about_people(text: str) -> None:
    """What fails the check of its kind, or means something else, is left alone."""
    assert kinds(text) == set()


@pytest.mark.parametrize(
    ("number", "is_area"), [("899-12-1234", True), ("900-12-1234", False), ("001-01-0001", True)]
)
def test_areas_of_social_security_numbers_end_at_899(number: str, *, is_area: bool) -> None:
    """The last area that was given is 899."""
    assert bool(kinds(number)) is is_area


def test_text_without_it_keeps_everything_else() -> None:
    """Each piece gives way to its kind; the text around it stays."""  # GR-18
    text = "Bob (bob@example.com, 123-45-6789) pays with 4111-1111-1111-1111."

    assert redact_pii(text) == (
        "Bob ([e-mail address], [social security number]) pays with [card number]."
    )


def test_text_without_personal_data_comes_back_as_it_is() -> None:
    """Not even its spelling changes."""
    text = wide("fine,") + "\u200b nothing here"

    assert redact_pii(text) is text


def test_nothing_is_left_of_what_was_taken_out() -> None:
    """A text that was redacted once has nothing to redact."""
    text = "a@b.de,c@d.org;tel 030 1234567 +49 30 1234567 DE89370400440532013000"

    assert kinds(redact_pii(text)) == set()
