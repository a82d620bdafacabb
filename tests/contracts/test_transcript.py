"""The rolling digest names one transcript and no other."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.transcript import (
    AssistantTurn,
    Part,
    ToolTurn,
    TranscriptDigest,
    TranscriptItem,
    UserTurn,
)
from tests.builders import a_call, a_failure, a_success

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
RESULTS = st.builds(a_success, st.builds(a_call, call_id=TEXTS), TEXTS)
ITEMS: st.SearchStrategy[TranscriptItem] = st.one_of(
    st.builds(UserTurn, text=TEXTS, origin=st.sampled_from(["goal", "steer", "guidance"])),
    st.builds(
        AssistantTurn,
        model=TEXTS,
        text=TEXTS,
        calls=st.lists(st.builds(a_call, TEXTS, place=TEXTS), max_size=2).map(tuple),
    ),
    st.builds(ToolTurn, results=st.lists(RESULTS, max_size=2).map(tuple)),
)
TRANSCRIPTS = st.lists(ITEMS, max_size=6).map(tuple)

GOAL = UserTurn(text="reach the goal")
ASKED = AssistantTurn(model="scripted:it", calls=(a_call(place="attic"),))
TOLD = ToolTurn(results=(a_success(a_call()),))
THOUGHT = Part(kind="reasoning", text="Hm.")


def said(text: str, *, continues: bool = False) -> Part:
    return Part(kind="text", text=text, continues=continues)


def test_the_empty_transcript_has_no_digest() -> None:
    """Before the first item the digest is the empty string, and no items change nothing."""
    assert TranscriptDigest() == TranscriptDigest(length=0, digest="")
    assert TranscriptDigest(length=2, digest="d").extend(()) == TranscriptDigest(
        length=2, digest="d"
    )


def test_an_item_hashes_the_digest_before_it_and_its_own_json() -> None:
    """Anybody can compute the digest: SHA-256 of the digest so far and the canonical JSON."""
    first = hashlib.sha256(b'{"kind":"user","origin":"goal","text":"go"}').hexdigest()
    second = hashlib.sha256(
        first.encode() + b'{"kind":"user","origin":"steer","text":"on"}'
    ).hexdigest()

    mark = TranscriptDigest().extend((UserTurn(text="go"), UserTurn(text="on", origin="steer")))

    assert mark == TranscriptDigest(length=2, digest=second)


@given(TRANSCRIPTS, TRANSCRIPTS)
def test_a_mark_doesnt_care_where_the_transcript_was_split(
    first: tuple[TranscriptItem, ...], second: tuple[TranscriptItem, ...]
) -> None:
    """Items at once and items one after the other lead to the same place."""
    assert TranscriptDigest().extend(first).extend(second) == TranscriptDigest().extend(
        first + second
    )


@given(TRANSCRIPTS, TRANSCRIPTS)
def test_only_the_same_transcript_has_the_same_mark(
    one: tuple[TranscriptItem, ...], other: tuple[TranscriptItem, ...]
) -> None:
    """Two transcripts have one mark exactly when they are equal."""
    assert (TranscriptDigest().extend(one) == TranscriptDigest().extend(other)) == (one == other)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param((GOAL, ASKED), id="end cut off"),
        pytest.param((ASKED, TOLD), id="beginning cut off"),
        pytest.param((GOAL, TOLD, ASKED), id="other order"),
        pytest.param((GOAL, ASKED, TOLD, TOLD), id="one item twice"),
        pytest.param((UserTurn(text="reach another goal"), ASKED, TOLD), id="goal"),
        pytest.param((UserTurn(text=GOAL.text, origin="steer"), ASKED, TOLD), id="origin"),
        pytest.param(
            (GOAL, AssistantTurn(model="scripted:it", calls=(a_call(place="Attic"),)), TOLD),
            id="argument of a call",
        ),
        pytest.param((GOAL, ASKED, ToolTurn(results=(a_success(a_call(), "x"),))), id="result"),
    ],
)
def test_any_change_changes_the_digest(changed: tuple[TranscriptItem, ...]) -> None:
    """Nothing can be left out, put in, moved or rewritten without another digest."""
    assert (
        TranscriptDigest().extend(changed).digest
        != TranscriptDigest().extend((GOAL, ASKED, TOLD)).digest
    )


def test_the_digest_goes_on_from_an_origin() -> None:
    """A transcript that continues another has another digest than one that begins with nothing."""
    assert (
        TranscriptDigest(digest="o" * 64).extend((GOAL,)).digest
        != TranscriptDigest().extend((GOAL,)).digest
    )


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        pytest.param((), "It is 9.", id="no pieces"),
        pytest.param((said("It is 9."), THOUGHT), "It is 9.", id="a thought is no word"),
        pytest.param((said("It is "), said("9.", continues=True)), "It is 9.", id="one sentence"),
        pytest.param((said("I add."), said("It is 9.")), "I add.\n\nIt is 9.", id="two messages"),
        pytest.param((THOUGHT, said("9.", continues=True)), "9.", id="nothing to go on with"),
        pytest.param((said(""), said("9.")), "9.", id="an empty piece"),
    ],
)
def test_the_words_of_a_turn_are_all_that_was_said(parts: tuple[Part, ...], words: str) -> None:
    """Pieces are paragraphs, unless one goes on in the sentence of the one before."""
    assert AssistantTurn(model="m", text="It is 9.", parts=parts).words == words


def test_a_turn_without_pieces_reads_as_it_always_did() -> None:
    """What an earlier release wrote, and hashed, is what this one writes."""
    # AD-20
    assert AssistantTurn(model="m", text="9").model_dump(mode="json") == {
        "kind": "assistant",
        "model": "m",
        "text": "9",
        "calls": [],
    }


def test_a_result_is_written_as_it_always_was() -> None:
    """Whoever reads a history finds these fields in a result, and where nothing was, none more."""
    # AD-17 AD-20
    call = a_call(call_id="c1")

    assert a_success(call).model_dump(mode="json") == {
        "status": "ok",
        "call_id": "c1",
        "name": "look",
        "summary": "a lamp",
        "data": "a lamp",
    }
    assert a_failure(call).model_dump(mode="json") == {
        "status": "error",
        "call_id": "c1",
        "name": "look",
        "type": "not_found",
        "reason": "no such place",
        "next_valid_actions": [],
    }
