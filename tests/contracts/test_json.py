"""Canonical JSON and its digest: equal values, equal bytes."""

import hashlib
import json
import math

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.contracts.base import canonical_json, digest
from tests.counting import count_calls

LARGEST = 2**53 - 1

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def values_of(numbers: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.recursive(
        st.none() | st.booleans() | TEXT | numbers,
        lambda values: st.lists(values, max_size=4) | st.dictionaries(TEXT, values, max_size=4),
    )


JSON = values_of(st.integers(-LARGEST, LARGEST) | st.floats(allow_nan=False, allow_infinity=False))

ANY_JSON = values_of(st.integers(-(2**70), 2**70) | st.floats())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": 2}, b'{"a":2,"b":1}', id="keys in order"),
        pytest.param(
            {"x": [{"d": 1, "c": 2}], "a": {"f": 1, "e": 2}},
            b'{"a":{"e":2,"f":1},"x":[{"c":2,"d":1}]}',
            id="nested keys in order",
        ),
        pytest.param([3, 1, 2], b"[3,1,2]", id="a list keeps its order"),
        pytest.param(1.0, b"1", id="1.0 is 1"),
        pytest.param(29.90, b"29.9", id="no trailing zero"),
        pytest.param(-0.0, b"0", id="no negative zero"),
        pytest.param(1e21, b"1e+21", id="large float"),
        pytest.param(True, b"true", id="true is no 1"),
        pytest.param(None, b"null", id="null"),
        pytest.param("é€😀", '"é€😀"'.encode(), id="unicode as it is"),
        pytest.param('a"\\\n\x01', b'"a\\"\\\\\\n\\u0001"', id="escapes"),
        pytest.param(
            {"\u20ac": 1, "\r": 2, "1": 3}, b'{"\\r":2,"1":3,"\xe2\x82\xac":1}', id="RFC"
        ),
        pytest.param({}, b"{}", id="empty"),
    ],
)
def test_canonical_json(value: JsonValue, text: bytes) -> None:
    """JSON is written as RFC 8785 says."""
    assert canonical_json(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(LARGEST, b"9007199254740991", id="largest exact"),
        pytest.param(-LARGEST, b"-9007199254740991", id="smallest exact"),
        pytest.param(LARGEST + 1, b'"9007199254740992"', id="one more"),
        pytest.param(-LARGEST - 1, b'"-9007199254740992"', id="one less"),
        pytest.param({"n": [10**30]}, b'{"n":["1%s"]}' % (b"0" * 30), id="nested"),
        pytest.param(float("nan"), b'"nan"', id="NaN"),
        pytest.param([float("inf"), -float("inf")], b'["inf","-inf"]', id="infinities"),
        pytest.param(
            {"n": 10**20, "t": True}, b'{"n":"100000000000000000000","t":true}', id="bool"
        ),
    ],
)
def test_what_rfc_8785_cant_carry_is_a_string(value: JsonValue, text: bytes) -> None:
    """Numbers without an exact canonical form are written as strings, wherever they stand."""
    assert canonical_json(value) == text


def test_digest_is_sha_256_of_the_canonical_form() -> None:
    """The digest can be checked with any SHA-256 at hand."""
    assert digest({"text": "hi"}) == hashlib.sha256(b'{"text":"hi"}').hexdigest()
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"a": 1}, {"a": 2}, id="value"),
        pytest.param({"a": 1}, {"b": 1}, id="key"),
        pytest.param({"a": 1}, {"a": "1"}, id="type"),
        pytest.param({"a": 1}, {"a": True}, id="bool"),
        pytest.param({"a": None}, {}, id="null or absent"),
        pytest.param([1, 2], [2, 1], id="order of a list"),
        pytest.param({"n": 10**20}, {"n": 10**20 + 1}, id="beyond the exact integers"),
        pytest.param("é", "e\u0301", id="composed or not"),
    ],
)
def test_different_values_have_different_digests(one: JsonValue, other: JsonValue) -> None:
    """Nothing that differs as JSON shares a digest."""
    assert digest(one) != digest(other)


@given(JSON)
def test_canonical_json_is_json(value: JsonValue) -> None:
    """The canonical form reads back as the value that it was made of."""
    # ECMAScript writes a large float like an integer; as a float it is the same number.
    assert json.loads(canonical_json(value), parse_int=float) == value


def write_by_library(value: JsonValue) -> bytes:
    """Write it as RFC 8785 has it, and what it hasn't as texts."""
    return rfc8785.dumps(spell_inexact(value))


def spell_inexact(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {name: spell_inexact(entry) for name, entry in value.items()}
        case list():
            return [spell_inexact(entry) for entry in value]
        case int() if abs(value) > LARGEST:
            return str(value)
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


@given(ANY_JSON)
def test_all_is_written_as_the_library_does(value: JsonValue) -> None:
    """It is written without the library of RFC 8785, and byte for byte as that writes it."""
    assert canonical_json(value) == write_by_library(value)


@given(
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**22), 10**22).map(float)
)
@example(1e-4)
@example(9.999e-5)
@example(-1e-7)
@example(5e-324)
@example(2.0**53)
@example(2.0**52 + 0.5)
@example(1e16)
@example(1e21)
@example(-0.0)
def test_every_fraction_is_written_alike(number: float) -> None:
    """So is each number with a point, be it whole, tiny or large, alone and among others."""
    assert canonical_json(number) == rfc8785.dumps(number)
    assert canonical_json({"b": [number], "a": 1}) == rfc8785.dumps({"b": [number], "a": 1})


ODD_NUMBERS: tuple[JsonValue, ...] = (LARGEST + 1, 1e300, 1e20, 1e-5, 1e-9, float("nan"))


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_no_number_makes_the_others_slow(odd: JsonValue) -> None:
    """One that RFC 8785 writes otherwise than Python costs what another one costs."""
    plain: list[JsonValue] = [{"a": 1, "b": [2.5, "c"]}] * 100

    with_odd = count_calls(lambda: canonical_json([*plain, odd]))

    assert with_odd <= count_calls(lambda: canonical_json([*plain, 1.5])) + 10


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(["\ud800"], id="a half"),
        pytest.param(["\ud800", 1e-7], id="beside a tiny number"),
        pytest.param(["\ud8001e-7\ud800", 1e-7], id="around what seems to be a tiny number"),
        pytest.param({"\ud800": 1e-7}, id="as a name"),
        pytest.param({"\ud800": 1, "b": 1e-7}, id="among names"),
    ],
)
def test_half_a_character_has_no_canonical_form(value: JsonValue) -> None:
    """What can't be written as bytes is refused, and passes for no number."""
    with pytest.raises(UnicodeEncodeError):
        canonical_json(value)


def test_every_character_is_written_alike() -> None:
    """So is each character, in a text and as a key."""
    planes = (range(start, start + 0x800) for start in range(0, 0x110000, 0x800))
    for plane in (part for part in planes if part.start != 0xD800):
        text = "".join(map(chr, plane))
        assert canonical_json([text]) == rfc8785.dumps([text])
        assert canonical_json({text: 1}) == rfc8785.dumps({text: 1})
    keys: dict[str, JsonValue] = {"\ufb33": 1, "\U0001f600": 2}
    assert canonical_json(keys) == rfc8785.dumps(keys)  # in UTF-16 the second comes first


@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_order_of_keys_makes_no_difference(value: dict[str, JsonValue]) -> None:
    """Two objects with the same entries have the same digest, in whatever order they came."""
    # HG-09
    assert digest(dict(reversed(value.items()))) == digest(value)
