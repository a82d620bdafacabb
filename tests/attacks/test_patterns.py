"""Attack: text that a backtracking pattern would read for minutes or days."""

from collections.abc import Callable
from itertools import pairwise
from threading import Event, Thread, get_ident
from time import process_time
from unicodedata import normalize

import pytest

from holdfast import App, ChatServer
from holdfast.contracts.errors import AppError
from holdfast.contracts.texts import to_nfkc
from holdfast.guardrails.builtin import injection_detection, shape, spec_compliance, texts
from holdfast.guardrails.detectors.code_blocks import Block, find_blocks
from holdfast.guardrails.detectors.destruction import is_destructive
from holdfast.guardrails.detectors.injection import find_injection
from holdfast.guardrails.detectors.personal import find_pii
from holdfast.guardrails.detectors.scope import find_paths
from holdfast.guardrails.detectors.secrets import find_assigned_secrets
from holdfast.policy.project_sections import parse_sections
from holdfast.policy.trust import normalize_name
from holdfast.tools.egress.allowlists import parse_origin
from holdfast.tools.schema import SchemaCheck
from tests.activities.looking import answer, goal, looked

READERS: dict[str, Callable[[str], object]] = {
    "paths": lambda text: list(find_paths(text)),
    "injection": find_injection,
    "secrets": lambda text: list(find_assigned_secrets(text)),
    "sections": parse_sections,
    "personal data": lambda text: list(find_pii(text)),
    "destruction": is_destructive,
    "addresses": lambda text: parse_origin(f"http://{text}"),
    "people": normalize_name,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("@" * 300_000 + "/", id="signs"),
        pytest.param("</a" * 50_000, id="ends of elements"),
        pytest.param("\"'`" * 50_000, id="quotes"),
        pytest.param("\\u0041" * 50_000, id="escapes"),
        pytest.param("# Test\n\n- a" + "\u00a0" * 50_000 + "x`b`", id="blanks"),
        pytest.param("\u0301\u0316" * 50_000, id="marks"),
        pytest.param("\uff9e\u0301" * 50_000, id="marks of their own"),
    ],
)
@pytest.mark.slow
def test_a_text_is_read_in_time(reader: str, text: str) -> None:
    """Whatever is repeated in it, it takes seconds at most."""
    began = process_time()
    READERS[reader](text)

    assert process_time() - began < 10  # backtracking, signs alone take minutes, and so do marks


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["\u0301\u0316" * 40_000, "\ufdfa" * 40_000], ids=["marks", "words"]
)
def test_nobody_waits_while_a_text_is_normalized(text: str) -> None:
    """Python does it in one go, in which no other thread of the process has its turn."""
    done, turns = Event(), [process_time()]

    def wait() -> None:
        while not done.wait(0.01):
            turns.append(process_time())

    other = Thread(target=wait)
    other.start()
    to_nfkc(text)
    done.set()
    other.join()

    # Of the processor's time: in one go marks alone take seconds of it.
    assert max(later - one for one, later in pairwise((*turns, process_time()))) < 1


@pytest.mark.parametrize(
    "text", ["\u0301\u0316", "e\u0301", "\u1100\u1161\u11a8", "ｶﾞ", "ﬁ①", "á\u0316 "]
)
def test_a_text_is_normalized_as_if_in_one_go(text: str) -> None:
    """It is cut between letters: what is put together stays so."""
    for begin in range(10):
        said = "x" * begin + f"{text}, " * 500
        assert to_nfkc(said) == normalize("NFKC", said)


@pytest.mark.slow
def test_blocks_of_code_are_found_in_time() -> None:
    """What is no block of code, such as links that never end, isn't looked into."""
    began = process_time()
    found = list(find_blocks("[a](" * 150_000))

    assert found == []
    assert process_time() - began < 3  # links alone took ten


@pytest.mark.parametrize(("letters", "beside"), [(5_000, False), (5_001, True)])
async def test_a_long_text_is_looked_at_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, letters: int, *, beside: bool
) -> None:
    """One letter may become eighteen: a hundred thousand of them take a second."""
    threads: list[int] = []

    def find(_: str) -> None:
        threads.append(get_ident())

    monkeypatch.setattr(texts, "find_injection", find)
    await looked(injection_detection(), goal("\ufdfa" * letters))

    assert [one != get_ident() for one in threads] == [beside]


@pytest.mark.parametrize(("text", "looks"), [("1) a\n", 0), ("```\n{}\n```\n", 1)])
async def test_an_answer_is_no_markdown_on_the_loop(
    monkeypatch: pytest.MonkeyPatch, text: str, looks: int
) -> None:
    """A shape is looked for in Markdown only where one begins, and beside the worker's loop."""
    threads: list[int] = []

    def find(text: str) -> list[Block]:
        threads.append(get_ident())
        return list(find_blocks(text))

    monkeypatch.setattr(shape, "find_blocks", find)
    await looked(spec_compliance(schema={}), answer(text))

    assert len(threads) == looks
    assert get_ident() not in threads


@pytest.mark.parametrize("pattern", ["^(?=(a+)+$)b", r"(a)\1", "("])
def test_a_schema_s_pattern_can_t_backtrack(pattern: str) -> None:
    """What a model writes is held against patterns of one engine alone, which is linear."""
    with pytest.raises(AppError, match=r"^tool 'it': its schema can't be used: .*regex"):
        SchemaCheck({"type": "string", "pattern": pattern}, "tool 'it'")


def test_a_server_s_pattern_can_t_backtrack() -> None:
    """Ids that a model's server makes up are held against RE2's patterns alone."""
    server = ChatServer(base_url="https://x.org", call_ids="(?=a)b")
    with pytest.raises(AppError, match="chat server 'it': its call_ids must be a pattern of RE2"):
        App(agents=[], chat_servers={"it": server})
