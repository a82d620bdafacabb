"""A known secret is found in every guise, and in a guise within a guise."""

import base64
import binascii
import csv
import html
import io
import json
import re
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from holdfast.tools.redaction import REDACTED, Redactor

# How long the making of examples takes says nothing about the code.
UNHURRIED = settings(suppress_health_check=[HealthCheck.too_slow])


def knowing(*secrets: str) -> Redactor:
    return Redactor(lambda: frozenset(secrets))


def in_small_letters(url: str) -> str:
    return re.sub("%..", lambda byte: byte[0].lower(), url)


def each_letter(form: str) -> Callable[[str], str]:
    """Escape every letter of a text by its number."""
    return lambda text: "".join(form.format(ord(letter)) for letter in text)


def each_byte(form: str, between: str = "") -> Callable[[str], str]:
    """Write every byte of a text by its number."""
    return lambda text: between.join(form.format(byte) for byte in text.encode())


def wrapped(text: str, between: str) -> str:
    return between.join(text[at : at + 8] for at in range(0, len(text), 8))


def behind(
    before: int, write: Callable[[bytes], bytes] = base64.b64encode
) -> Callable[[str], str]:
    """Encode a text together with what stands before it and behind it."""
    return lambda text: write(b"." * before + text.encode() + b"..").decode()


QUOTED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON in ASCII": lambda text: json.dumps(text)[1:-1],
    "JSON": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "Python": lambda text: repr(text)[1:-1],
    "URL": quote,
    "URL without slashes": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "HTML": html.escape,
    "MarkupSafe": lambda text: (
        html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    ),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
}

ENCODED: dict[str, Callable[[str], str]] = {
    **QUOTED,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "bytes of Python": lambda text: repr(text.encode()),
    "URL in small letters": lambda text: in_small_letters(quote(text)),
    "URL of every letter": each_byte("%{:02X}"),
    "JavaScript of every letter": each_letter("\\u{{{:x}}}"),
    "URL of a URL": lambda text: quote(quote(text, safe=""), safe=""),
    "decimal entities": each_letter("&#{:d};"),
    "hex entities": each_letter("&#x{:X};"),
    "entities without an end": each_letter("&#{:07d}"),
    "escapes of bytes": each_byte("\\x{:02x}"),
    "octal escapes": each_byte("\\{:03o}"),
    "hex with colons": each_byte("{:02x}", ":"),
    "hex with spaces": each_byte("{:02x}", " "),
    "hex with dashes": each_byte("{:02X}", "-"),
    "a list of hex": each_byte("'{:02x}'", ", "),
    "a list of numbers": each_byte("0x{:02x}", ", "),
    **{
        f"hex with {between!r}": each_byte("{:02x}", between)
        for between in ("/", "+", "=", "~", "<br>", " 0X", "h, ", "\u00a0", "\u200b", "&nbsp;")
    },
    "Java": each_byte("(byte)0x{:02x}", ", "),
    "escape() of JavaScript": each_letter("%u{:04x}"),
    "Perl": each_letter("\\x{{{:x}}}"),
    "octal of Perl": each_letter("\\o{{{:o}}}"),
    "JavaScript with zeros": each_letter("\\u{{{:012x}}}"),
    "decimal entities with zeros": each_letter("&#{:012d};"),
    "hex entities with zeros": each_letter("&#x{:012x};"),
    "hex in groups": lambda text: text.encode().hex(" ", 4),
    "base64 without an end": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 behind 1": behind(1),
    "base64 behind 2": behind(2),
    "base64 of addresses behind 1": behind(1, base64.urlsafe_b64encode),
    "base64 with dots": lambda text: wrapped(base64.b64encode(text.encode()).decode(), "."),
    "base64 in a quoted mail": lambda text: wrapped(
        base64.b64encode(text.encode()).decode(), "\n> "
    ),
    "MIME": behind(50, base64.encodebytes),
    "MIME in JSON": lambda text: json.dumps(behind(50, base64.encodebytes)(text)),
}


@pytest.mark.parametrize("write", ENCODED.values(), ids=ENCODED)
def test_a_known_secret_is_found_in_every_guise(write: Callable[[str], str]) -> None:
    """However a text quotes or encodes a known secret, it is replaced."""
    secret = "S3cr3t-pä\"ss\\w/örd&'+=~"
    written = write(secret)

    redacted = knowing(secret).text(f"before {written} after")

    assert REDACTED in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert secret not in redacted
    assert written.strip() not in redacted


@pytest.mark.slow
@pytest.mark.parametrize("outer", ["hex", "HEX", "base64", "base64 of addresses", "MIME"])
def test_what_is_encoded_is_read_as_any_text(outer: str, subtests: pytest.Subtests) -> None:
    """In one run of hex or base64 stands no guise that wouldn't be found outside."""
    secret = "S3cr3t-pä\"ss\\w/örd&'+=~"
    for inner, write in ENCODED.items():
        with subtests.test(inner):
            written = ENCODED[outer](write(secret))

            redacted = knowing(secret).text(f"before {written} after")

            assert REDACTED in redacted
            assert written[-len(written) // 2 :].strip() not in redacted


def as_csv(text: str) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerow([text])
    return written.getvalue().strip()


def as_sql(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"VALUES ('{doubled}')"


def uuencoded(text: str) -> str:
    return binascii.b2a_uu(b"." + text.encode() + b"...", backtick=True).decode()


GROUPED: dict[str, Callable[[str], str]] = {
    "uuencode": uuencoded,
    **{
        f"{name} behind {before}": behind(before, write)
        for name, write in (("ascii85", base64.a85encode), ("base85", base64.b85encode))
        for before in range(4)
    },
}


@pytest.mark.parametrize("write", GROUPED.values(), ids=GROUPED)
def test_a_secret_is_found_in_groups_of_its_bytes(write: Callable[[str], str]) -> None:
    """Of what stands in groups with its neighbours no more stays than three bytes on each side."""
    written = write("S3cr3t-pä\"ss\\w/örd&'+=~")

    redacted = knowing("S3cr3t-pä\"ss\\w/örd&'+=~").text(f"<{written}>")

    assert REDACTED in redacted
    assert len(redacted.replace(REDACTED, "")) <= 20


IN_ANY_CASE: dict[str, Callable[[str], str]] = {
    "large": str.upper,
    "each": str.title,
    "without dashes": lambda text: text.replace("-", "").upper(),
    "with colons": lambda text: wrapped(text.replace("-", "").upper(), ":"),
    "as bytes": lambda text: base64.b64encode(bytes.fromhex(text.replace("-", ""))).decode(),
    "in hex": lambda text: text.upper().encode().hex(":"),
    "in base64": lambda text: base64.b64encode(text.upper().encode()).decode(),
    "in JSON": lambda text: json.dumps(text.upper()),
}


@pytest.mark.parametrize(
    "secret", ["3f9a1c7e-84b2-4d05-9ae6-b17c02d4e8f3", "9c3e51f0a7d24b8862fa0e91cd73b54f"]
)
def test_a_number_is_a_secret_in_either_case(secret: str, subtests: pytest.Subtests) -> None:
    """A UUID says the same in large letters, and without its dashes."""
    for own in (secret, secret.upper()):
        for name, write in {**IN_ANY_CASE, "small": str.lower}.items():
            with subtests.test(f"{name} of {own}"):
                redacted = knowing(own).text(f"it is {write(secret)}!")

                assert REDACTED in redacted
                assert len(redacted) <= len(f"it is {REDACTED}!") + 4


def test_what_has_one_case_is_a_secret_in_the_other() -> None:
    """As base32 is, or a word in large letters; where both tell something, one tells less."""
    assert knowing("sk-jbswy3dpehpk3pxp").text("SK-JBSWY3DPEHPK3PXP") == REDACTED
    assert knowing("Abcdefgh").text("abcdefgh") == "abcdefgh"
    assert knowing("20261129").text("on 2026-11-29") == "on 2026-11-29"


DOUBLED: dict[str, Callable[[str], str]] = {
    "CSV": as_csv,
    "SQL": as_sql,
    "shell": shlex.quote,
    "shell with backslashes": lambda text: "'" + text.replace("'", "'\\''") + "'",
    "SQL in a command": lambda text: shlex.quote(as_sql(text)),
    "CSV in JSON": lambda text: json.dumps({"table": as_csv(text)}),
    "SQL in HTML": lambda text: html.escape(as_sql(text)),
    "CSV in hex": lambda text: as_csv(text).encode().hex(),
    "SQL in base64": lambda text: base64.b64encode(as_sql(text).encode()).decode(),
    "a shell in wrapped base64": lambda text: base64.encodebytes(
        b"." * 60 + shlex.quote(text).encode()
    ).decode(),
}


@pytest.mark.parametrize(
    "secret", ["Tr0ub4d'or&3", 'p"4ss"w0rd', "a'9$Kq'1!z'Qw'77", "it's 'o''k-n\"ow", "'-q-uote'"]
)
def test_a_mark_that_is_doubled_hides_nothing(secret: str, subtests: pytest.Subtests) -> None:
    """In a table of a tool, a statement that a database refuses, a command that fails."""
    for name, write in DOUBLED.items():
        with subtests.test(name):
            written = write(secret)

            redacted = knowing(secret).text(f"before {written} after")

            assert REDACTED in redacted
            assert redacted.startswith("before ")
            assert redacted.endswith(" after")
            assert written not in redacted


def test_what_quotes_counts_as_such_alone() -> None:
    """Words of a secret without its marks are words."""
    text = "no pass word here, p4ss w0rd, '' \"\" and \\\\"

    assert knowing('p"4ss"w0rd', "\"\"''\\\\``").text(text) == text


@pytest.mark.parametrize("secret", ["p*ss(w)rd", "(pä*ß)-wörd*", "\\*\\*-secret-*"])
def test_numbers_of_bytes_hide_nothing(secret: str) -> None:
    """A directory has them where its own signs would stand, and for whatever is no ASCII."""
    written = "".join(
        letter if letter.isalnum() and letter.isascii() else each_byte("\\{:02x}")(letter)
        for letter in secret
    )
    redacted = knowing(secret).text(f"(&(uid=ada)(userPassword={written})) has no end")

    assert redacted == "(&(uid=ada)(userPassword=[redacted])) has no end"
    assert REDACTED in knowing(secret).text(json.dumps({"filter": written}))


FORMS: dict[str, Callable[[str], str]] = {
    "JSON in ASCII": lambda text: urlencode({"payload": json.dumps({"k": text})}),
    "Python in ASCII": lambda text: urlencode({"payload": ascii(text)}),
    "JSON": lambda text: urlencode({"payload": json.dumps({"k": text}, ensure_ascii=False)}),
    "in JSON": lambda text: json.dumps(urlencode({"payload": json.dumps({"k": text})})),
}


@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)
def test_a_form_has_a_plus_for_each_blank(write: Callable[[str], str]) -> None:
    """Also where what it holds, as hooks are posted, has escapes of its own for letters."""
    secret = "süß für öl über jäh"

    assert REDACTED in knowing(secret).text(write(secret))


# Longer than any word that a guise puts around it.
LETTERS_OF_SECRETS = st.characters(
    min_codepoint=33, max_codepoint=0x2FF, exclude_categories=["Cc", "Cf"]
)
PLAIN_SECRETS = st.text(LETTERS_OF_SECRETS, min_size=12, max_size=60)


@UNHURRIED
@given(
    secret=PLAIN_SECRETS,
    inner=st.sampled_from(sorted(QUOTED)),
    outer=st.sampled_from(sorted(ENCODED)),
)
def test_a_guise_in_a_guise_hides_nothing(secret: str, inner: str, outer: str) -> None:
    """Encoded once more, next to nothing of it stays: what it shares with its neighbours."""
    written = ENCODED[outer](QUOTED[inner](secret))

    redacted = knowing(secret).text(f"<{written}>")

    framed = len(ENCODED[outer]("")) + len(f"<{REDACTED}>")
    group = max(30, len(ENCODED[outer]("AAA=")))
    assert REDACTED in redacted, (written, redacted)
    assert len(redacted) <= framed + group, (written, redacted)


@UNHURRIED
@given(secret=PLAIN_SECRETS, begin=st.integers(0, 20), length=st.integers(11, 60))
def test_a_piece_of_a_secret_is_one(secret: str, begin: int, length: int) -> None:
    """Cut at either end, eleven characters are still told."""
    piece = secret[begin : begin + length]
    assume(len(piece) >= 11 and "://" not in secret)

    assert knowing(secret).text(f"key {piece}") == "key [redacted]"
