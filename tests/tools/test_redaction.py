"""Nothing that is secret leaves a worker, and nothing else is touched."""

import base64
import json
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from types import FrameType
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from holdfast.tools import views
from holdfast.tools.redaction import REDACTED, WITHHELD, Redactor, withhold_values

PASSWORD = "p4ss/w0rd+é\"'\\&="
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
PEM = (
    "-----BEGIN " + "PRIVATE KEY-----\n"
    f"MIIE{LETTERS[:60]}\nQwEr{LETTERS[:60]}\nAbC=\n-----END " + "PRIVATE KEY-----"
)

SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=60).filter(
    lambda text: text not in REDACTED + WITHHELD and bool(text.strip())
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)

# How long the making of examples takes says nothing about the code either.
UNHURRIED = settings(suppress_health_check=[HealthCheck.too_slow])


TraceFunction: TypeAlias = Callable[[FrameType, str, object], "TraceFunction"]


def knowing(*secrets: str) -> Redactor:
    return Redactor(lambda: frozenset(secrets))


NOBODY = knowing()


@UNHURRIED
@given(secret=SECRETS, before=TEXTS, after=TEXTS)
def test_no_known_secret_survives_in_a_text(secret: str, before: str, after: str) -> None:
    """Whatever stands around it, the secret is gone, and what stood around it stays."""
    assume(secret not in before + REDACTED + after)
    text = before + secret + after

    redacted = knowing(secret).text(text)

    assert secret not in redacted
    assert REDACTED in redacted


@UNHURRIED
@given(secret=SECRETS, before=st.binary(max_size=9), after=st.binary(max_size=9))
@pytest.mark.parametrize("write", [base64.b64encode, base64.urlsafe_b64encode])
def test_no_known_secret_survives_in_base64(
    write: Callable[[bytes], bytes], secret: str, before: bytes, after: bytes
) -> None:
    """Encoded together with other bytes, the secret's own letters are gone."""
    whole = write(before + secret.encode() + after).decode()
    first = -(-8 * len(before) // 6)
    own = whole[first : 8 * (len(before) + len(secret.encode())) // 6]

    assert own not in knowing(secret).text(whole)


@UNHURRIED
@given(secret=SECRETS, value=VALUES, place=st.sampled_from(["value", "name", "inside"]))
def test_no_known_secret_survives_in_json(secret: str, value: JsonValue, place: str) -> None:
    """JSON stays JSON, and has the secret in no text and no name of a field."""
    held: dict[str, JsonValue] = {
        "value": {"a": [secret, value]},
        "name": {secret: value},
        "inside": {"log": f"1\n{json.dumps({'x': secret})}\n", "rest": value},
    }
    before: JsonValue = held[place]

    after = from_json(knowing(secret).json(to_json(before)))

    assert all(secret not in text for text in texts(after))
    assert len(texts(after)) == len(texts(before))


@UNHURRIED
@given(value=VALUES)
@example(value={"AUTHORIZATION": ""})
def test_innocent_json_is_left_alone(value: JsonValue) -> None:
    """JSON without secrets stays as it is, to the byte."""
    content = to_json(value)

    assert knowing("correct horse battery").json(content) == content
    assert NOBODY.json(content) == content


@UNHURRIED
@given(text=TEXTS)
def test_innocent_text_is_left_alone(text: str) -> None:
    """A text without secrets stays as it is."""
    assert knowing("correct horse battery").text(text) == text


@UNHURRIED
@given(secrets=st.lists(SECRETS, max_size=4), text=TEXTS)
def test_redacting_twice_is_redacting_once(secrets: list[str], text: str) -> None:
    """What has been redacted has nothing left to be redacted."""
    redactor = knowing(*secrets)
    once = redactor.text(" ".join((*secrets, text)))

    assert redactor.text(once) == once


def texts(value: JsonValue) -> list[str]:
    """All texts of a value, names of fields too."""
    match value:
        case str():
            return [value]
        case list():
            return [text for entry in value for text in texts(entry)]
        case dict():
            inner = [text for entry in value.values() for text in texts(entry)]
            return [*value, *inner]
        case _:
            return []


def test_a_secret_cut_short() -> None:
    """Messages of errors show beginning and end of what is long; both are known."""
    secret = "Zx9" + LETTERS[:40] + "!q7Rt"
    shown = f"input_value='{secret[:25]}...{secret[-24:]}', input_type=str"

    assert knowing(secret).text(shown) == "input_value='[redacted]', input_type=str"
    assert knowing(secret).text(f"{secret[:20]}… is wrong") == "[redacted] is wrong"


def tokens(number: int) -> list[str]:
    """Return credentials that nobody knows, without what marks them."""
    return [sha256(str(one).encode()).hexdigest()[:36] for one in range(number)]


def pieces_of(secrets: list[str], text: str) -> list[str]:
    """Which ten characters in a row of secrets are in a text."""
    pieces = (one[at : at + 10] for one in secrets for at in range(len(one) - 9))
    return [piece for piece in pieces if piece in text]


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_a_part_of_a_text_has_no_part_of_a_credential(*, last: bool) -> None:
    """What is cut in the middle is told by nobody, however much shorter all before it becomes."""
    listed = tokens(400)
    text = " ".join(f"ghp_{one}" for one in listed)
    for offset in range(45):
        parts = NOBODY.part("." * offset + text + "." * offset, 1_000, last=last)

        assert pieces_of(listed, parts.text) == []
        assert "[redacted: " in parts.text
        assert parts.left_out == len(text) + 2 * offset - 1_000


def test_a_part_of_a_text_is_looked_through_in_time() -> None:
    """However long a secret is, and all that it may be written with, no more is looked at."""
    long = knowing("long" * 50_000)

    assert long.part("." * 1_000_000, 1_000) == ("." * 1_000, 999_000)
    assert long.part("\\n" * 1_000_000, 1_000).left_out == 1_999_000
    assert long.part("." * 1_000, 1_000) == ("." * 1_000, 0)


def test_parts_of_a_secret_are_secret() -> None:
    """Of a key file each line, of an address the password, of an object its secret fields."""
    account = json.dumps(
        {"user": "reporting", "password": "open sesame", "at": {"api_key": "k" * 9}}
    )
    address = "postgres://app:hunter2hunter2@db/x"

    assert knowing(PEM).text("line 2: QwEr" + LETTERS[:60]) == "line 2: [redacted]"
    assert knowing(account).text(f"reporting: open sesame {'k' * 9}") == (
        "reporting: [redacted] [redacted]"
    )
    assert knowing(address).text("login as app with hunter2hunter2") == (
        "login as app with [redacted]"
    )


@pytest.mark.parametrize(
    "document",
    [
        '{"users": [{"name": "ada", "password": "correct-horse-battery"}]}',
        '[{"client_secret": "correct-horse-battery"}]',
        '{"db": {"passwords": [["correct-horse-battery"], "the-one-before-it"]}}',
        '{"db": {"password": "correct-horse-battery"}}',
        pytest.param(
            '{"a": ' * 500 + '{"key": "correct-horse-battery"}' + "}" * 500, id="deep within"
        ),
    ],
)
def test_a_secret_field_is_found_wherever_it_lies_in_a_document(document: str) -> None:
    """A secret that is JSON has lists, too: of users, of clients, of what was before."""
    shown = knowing(document).text("login of ada failed: correct-horse-battery")

    assert shown == "login of ada failed: [redacted]"


def test_secrets_that_overlap_are_one() -> None:
    """Where two secrets share letters, none of either stays."""
    assert knowing("abcdefgh", "efghijkl").text("<abcdefghijkl>") == "<[redacted]>"
    assert knowing("abcdefgh", "abcdefghijkl").text("abcdefghijkl") == "[redacted]"


def test_fields_stay_apart() -> None:
    """Two fields whose names are secret both stay, under names of their own."""
    redactor = knowing("first secret", "second secret")

    assert redactor.json(b'{"first secret":1,"second secret":2,"c":3}') == (
        b'{"[redacted]":1,"[redacted] 2":2,"c":3}'
    )


def test_json_of_others_is_read_letter_by_letter() -> None:
    """JSON may write any letter as a number; that hides nothing."""
    hidden = "".join(f"\\u{ord(letter):04x}" for letter in "open sesame")

    assert knowing("open sesame").json(f'{{"a": "{hidden}"}}'.encode()) == b'{"a":"[redacted]"}'


def test_what_is_nested_too_deeply_stays_here() -> None:
    """What can't be checked doesn't leave."""
    deep = b"[" * 5000 + b'"open sesame"' + b"]" * 5000

    with pytest.raises(ValueError, match="recursion limit"):
        knowing("open sesame").json(deep)
    with pytest.raises(ValueError, match="recursion limit"):
        withhold_values(deep)


def test_new_secrets_are_known_at_once() -> None:
    """The source is asked each time: a rotated secret is redacted from its first use on."""
    known: set[str] = {"old secret"}
    redactor = Redactor(lambda: frozenset(known))
    before = redactor.text("old secret, new secret")
    harmless = redactor.text("the new secret")
    known.add("new secret")

    assert before == "[redacted], new secret"
    assert harmless == "the new secret"
    assert redactor.text("old secret, new secret") == "[redacted], [redacted]"
    assert redactor.text("the new secret") == "the [redacted]"


def test_withheld_texts() -> None:
    """Texts and numbers are replaced, a PIN is one; names of fields, truth and nothing stay."""
    # RK-12
    content = to_json({"password": "x", "list": ["y", 1, True, None, 2.5], "": {"z": "w"}})

    assert from_json(withhold_values(content)) == {
        "password": WITHHELD,
        "list": [WITHHELD, WITHHELD, True, None, WITHHELD],
        "": {"z": WITHHELD},
    }


def steps(work: Callable[[], object]) -> int:
    """Count the lines of Python that some work takes."""
    count = 0

    def step(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "unit",
    ["\\n", "&lt;", "%41 ", "://a:b@", base64.b64encode(b"\\a" * 60).decode() + " "],
    ids=["escapes", "entities", "letters", "passwords", "base64 of escapes"],
)
def test_no_text_has_more_pieces_than_are_looked_at(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So neither the time nor the memory for a value grows with what its author escapes."""
    monkeypatch.setattr(views, "MAX_PIECES", 1_000)
    redactor = knowing("open sesame")
    few, many = unit * 7, unit * 1_001

    assert REDACTED not in redactor.text(few)
    assert redactor.text(many) == WITHHELD
    with pytest.raises(ValueError, match="more pieces"):
        redactor.json(to_json([f"{place}{many[: len(many) // 2]}" for place in range(3)]))


SECRET_NAMES = [sha256(bytes(number)).hexdigest()[:20] for number in range(300)]
FIELDS: dict[str, Callable[[int], str]] = {
    "like keys": lambda number: f"sk-{LETTERS}{number}",
    "secrets": lambda number: SECRET_NAMES[number],
    "marks": lambda number: f"[redacted] {number}" if number else "open sesame",
}


@pytest.mark.parametrize("name", FIELDS.values(), ids=FIELDS)
@pytest.mark.slow
def test_many_fields_take_as_long_each_as_a_few(name: Callable[[int], str]) -> None:
    """Twice as many fields take twice as many steps, whatever they are called."""

    def content(count: int) -> bytes:
        return to_json(dict.fromkeys(map(name, range(count)), "x"))

    def take(count: int) -> int:
        redactor = knowing("open sesame", *SECRET_NAMES)  # a fresh one has read none of them
        redactor.learn()
        return steps(lambda: redactor.json(content(count)))

    assert take(300) < 2.5 * take(150)


HOSTILE = {
    "one letter": "a",
    "white space": " ",
    "beginnings of keys": "sk-",
    "beginnings of tokens": "eyJ",
    "halves of tokens": "eyJaaaaaaaa.",
    "addresses": "://a:b",
    "ends of addresses": "://a:@@@@",
    "beginnings of key files": "-----BEGIN " + "PRIVATE KEY-----",
    "ends of key files": "-----BEGIN " + "PRIVATE KEY-----\n-----END ",
    "headers": "authorization: bearer ",
    "user and password": "basic AAAAAAAA",
    "lines of base64": "QUJD" * 10 + "\n",
    "beginnings of the secret": LETTERS[:12],
    "quotes": '"\\',
    "escaped letters": "%41 ",
    "entities": "&amp;",
    "bytes in a list": "0x41, 0x42\n",
    "hex": "de:ad:be:ef ",
    "hex without an end": "6164",
    "hex of escapes": "255c",
    "base64 of escapes": "JTQxXHUwMDQxJiM0MTsg",
    "pieces of the secret": LETTERS[:11] + ".",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.slow
def test_hostile_text_takes_no_longer(unit: str) -> None:
    """Eight times as much takes eight times as long, whatever it says."""
    redactor = knowing(LETTERS, "open sesame", PASSWORD)

    def spent(characters: int) -> float:
        text = unit * (characters // len(unit))
        content = to_json(text)
        began = time.thread_time()
        redactor.text(text)
        redactor.json(content)
        return time.thread_time() - began

    few = min(spent(25_000) for _ in range(2))
    # Quadratic, each time it would be 64 times as long.
    assert any(spent(200_000) < 30 * max(few, 0.005) for _ in range(3))
