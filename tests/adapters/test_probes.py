"""What an endpoint can do is tried on it, through the adapter that runs would ask."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pytest

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import ChatServer
from holdfast.contracts.base import JsonObject
from holdfast.probes.report import Finding, ProbeReport, probe
from holdfast.probes.tries import Verdict
from tests.adapters.dialects import DIALECTS, Dialect
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.chat import BASE, ChatRules
from tests.adapters.samples import anthropic, openai, openai_chat
from tests.holdfast.commands import holdfast

CLAIM: JsonObject = {
    "order_id": 2**53 + 1,
    "reason": "broken",
    "items": [{"sku": "A-1", "quantity": 2}, {"sku": 'Ü "9"', "quantity": 1}],
    "remark": None,
}
ROUNDED: JsonObject = CLAIM | {"order_id": 2**53}
RESULTS = "Order 1: heron-41. Order 2: kestrel-86."
DAYS = "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"


class Tongue(NamedTuple):
    """How a provider says words, and how it asks for calls of a tool, after a thought or not."""

    words: Callable[[str], JsonObject]
    calls: Callable[..., JsonObject]


def claude_calls(name: str, *arguments: JsonObject, thought: bool = False) -> JsonObject:
    asked = [
        anthropic.call(f"call_{n}", given) | {"name": name} for n, given in enumerate(arguments)
    ]
    return anthropic.message(*[anthropic.THINKING] * thought, *asked, stop="tool_use")


def responses_calls(name: str, *arguments: JsonObject, thought: bool = False) -> JsonObject:
    asked = [
        openai.call(n, json.dumps(given)) | {"name": name} for n, given in enumerate(arguments)
    ]
    return openai.response(*[openai.THOUGHT] * thought, *asked)


def chat_calls(name: str, *arguments: JsonObject, thought: bool = False) -> JsonObject:
    asked: list[JsonObject] = [
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for n, given in enumerate(arguments)
    ]
    return openai_chat.asking(*asked)


def claude_words(said: str) -> JsonObject:
    return anthropic.message(anthropic.text(said))


def responses_words(said: str) -> JsonObject:
    return openai.response(openai.said(openai.text(said)))


def chat_words(said: str) -> JsonObject:
    return openai_chat.completion(openai_chat.said(said))


TONGUES = {
    "anthropic": Tongue(claude_words, claude_calls),
    "openai": Tongue(responses_words, responses_calls),
    "openai-chat": Tongue(chat_words, chat_calls),
}
Saying: TypeAlias = Callable[[Tongue], JsonObject]


def verdicts(report: ProbeReport) -> dict[str, Verdict]:
    return {one.probe: one.verdict for one in report.findings}


def find(report: ProbeReport, name: str) -> Finding:
    return next(one for one in report.findings if one.probe == name)


def words(said: str) -> Saying:
    return lambda tongue: tongue.words(said)


def calls(name: str, *arguments: JsonObject) -> Saying:
    return lambda tongue: tongue.calls(name, *arguments)


def well_said(tongue: Tongue) -> list[JsonObject]:
    """What an endpoint says that does all that it is asked for."""
    both: tuple[JsonObject, JsonObject] = ({"order_id": 1}, {"order_id": 2})
    return [
        tongue.words(DAYS),
        tongue.calls("file_claim", CLAIM),
        tongue.calls("find_order", *both),
        tongue.words(RESULTS),
        tongue.calls("find_order", both[0]),
        tongue.words(json.dumps(CLAIM)),
        tongue.calls("find_order", *both, thought=True),
        *map(tongue.words, (RESULTS, "yes", "heron-41", "yes", "yes", "yes")),
    ]


def window_of(dialect: Dialect) -> str:
    """What a provider tells of its models' windows."""
    tells = dialect.name == "anthropic"
    return "200000 tokens, says its provider; " if tells else "its provider doesn't tell it; "


async def test_an_endpoint_that_does_it_all(provider: ProviderServer, dialect: Dialect) -> None:
    """Each thing is asked for in the provider's own words, and found to be as it has to be."""
    # BY-32
    tongue = TONGUES[dialect.name]
    for reply in well_said(tongue):
        provider.answer(reply)

    report = await probe(dialect.adapter(), dialect.samples.REASONER)

    assert report.is_fit
    assert report.requests == sum(one.method == "POST" for one in provider.requests)
    assert find(report, "context window").detail.startswith(window_of(dialect))
    found = verdicts(report)
    for name in ("words", "stream", "schema", "strict mode", "parallel calls", "results"):
        assert found.pop(name) == "ok"
    for name in ("one call at a time", "answer's shape", "usage", "context window"):
        assert found.pop(name) == "ok"
    assert (
        found
        == {
            "anthropic": {
                "reasoning items": "ok",
                "storage": "unknown",
                "hosted web_search": "ok",
                "hosted web_fetch": "ok",
                "hosted code_execution": "ok",
            },
            "openai": {
                "reasoning items": "ok",
                "storage": "ok",
                "kept conversation": "ok",
                "hosted web_search": "ok",
                "hosted file_search": "lacking",
                "hosted code_execution": "ok",
                "hosted image_generation": "ok",
            },
            "openai-chat": {
                "reasoning items": "lacking",
                "storage": "unknown",
                "hosted tools": "lacking",
            },
        }[dialect.name]
    )


WHOLE = {"x-unstreamed": "1"}


async def test_a_server_that_gets_things_wrong(provider: ProviderServer) -> None:
    """What it does otherwise is said of each thing, and what it never was asked for is told."""
    # BY-32
    tongue = TONGUES["openai-chat"]
    provider.rules["/chat/completions"] = ChatRules(takes=BASE)
    provider.answer(tongue.words(DAYS) | {"usage": None}, headers=WHOLE)
    provider.answer(tongue.calls("file_claim", ROUNDED))
    provider.answer(tongue.calls("find_order", {"order_id": 1}, {"order_id": 2}))
    provider.answer(tongue.words("There are two orders."))
    provider.answer(tongue.calls("find_order", {"order_id": 1}, {"order_id": 2}))
    provider.answer(tongue.words(json.dumps(CLAIM | {"reason": "eaten"})))
    provider.answer({"error": {"message": "no thinking here"}}, status=400)
    server = ChatServer(base_url=f"{provider.address}/v1", key_variable="K", supports=frozenset())

    report = await probe(
        OpenAIChatAdapter({"local": server}, lambda _: "a-key-of-mine"), "local/m"
    )

    assert not report.is_fit
    assert report.requests == 7
    assert {one.probe: (one.verdict, one.detail) for one in report.findings} == {
        "words": ("ok", "an answer of 62 characters"),
        "stream": ("lacking", "the words come in one piece"),
        "usage": ("lacking", "it doesn't say what a call used: no budget of tokens holds"),
        "schema": ("wrong", "order_id isn't what it was told"),
        "strict mode": ("lacking", "it isn't asked for: arguments are checked by us alone"),
        "parallel calls": ("ok", "2 calls at once"),
        "results": ("wrong", "its answer knows nothing of heron-41, kestrel-86"),
        "one call at a time": ("lacking", "it can't be kept from calling several at once"),
        "answer's shape": ("wrong", find(report, "answer's shape").detail),
        "reasoning items": ("refused", find(report, "reasoning items").detail),
        "storage": ("unknown", "requests say nothing of it: its provider's word counts"),
        "hosted tools": ("lacking", "the adapter knows of none"),
        "context window": ("unknown", "its provider doesn't tell it; no price list has it"),
    }
    assert "eaten" in find(report, "answer's shape").detail
    assert "no thinking here" in find(report, "reasoning items").detail
    assert any("strict" in note for note in find(report, "schema").notes)


@pytest.mark.parametrize(
    ("place", "said", "name", "verdict"),
    [
        pytest.param(0, words(""), "words", "wrong", id="no-words"),
        pytest.param(1, words("Filed."), "schema", "wrong", id="no-call"),
        pytest.param(1, calls("other_tool", CLAIM), "schema", "wrong", id="another-tool"),
        pytest.param(
            1, calls("file_claim", {"order_id": "1"}), "strict mode", "wrong", id="loose"
        ),
        pytest.param(2, words("Both?"), "parallel calls", "wrong", id="no-calls"),
        pytest.param(
            4,
            calls("find_order", {"order_id": 1}, {"order_id": 2}),
            "one call at a time",
            "wrong",
            id="two-where-one-may-be",
        ),
        pytest.param(5, words("It is broken."), "answer's shape", "wrong", id="no-json"),
        pytest.param(9, words("Which one?"), "kept conversation", "wrong", id="forgetful"),
    ],
)
async def test_each_thing_that_an_endpoint_gets_wrong_is_found(
    provider: ProviderServer, place: int, said: Saying, name: str, verdict: Verdict
) -> None:
    """One reply of an endpoint that is good otherwise is as it mustn't be."""
    # BY-32
    tongue = TONGUES["openai"]
    replies = well_said(tongue)
    replies[place] = said(tongue)
    for reply in replies:
        provider.answer(reply)

    report = await probe(DIALECTS["openai"].adapter(), "gpt-5.2")

    assert find(report, name).verdict == verdict
    assert not report.is_fit


async def test_where_no_words_come_nothing_else_is_asked(provider: ProviderServer) -> None:
    """A wrong key is one refused request, which says so, without the key."""
    # BY-32, PP-04
    page = openai.WRONG_KEY
    provider.answer(page.body, page.status)

    report = await probe(DIALECTS["openai"].adapter(), "gpt-5.2")

    assert verdicts(report) == {"words": "refused", "context window": "ok"}
    assert report.requests == len(provider.requests) == 1
    assert DIALECTS["openai"].key not in report.model_dump_json()


async def test_no_server_has_its_key_reported(provider: ProviderServer) -> None:
    """A log keeps the report: of what a server says nothing secret is in it, nor much of it."""
    # PP-04
    dialect = DIALECTS["openai"]
    quoted = b64encode(dialect.key.encode()).decode().rstrip("=")
    refused: JsonObject = {
        "error": {"message": f"of {quoted} in its address", "type": "invalid_request_error"}
    }
    provider.answer(TONGUES["openai"].words(DAYS))
    provider.answer(TONGUES["openai"].calls(f"{quoted} {'x' * 5_000}", CLAIM))
    for _ in range(20):
        provider.answer(refused, 400)

    report = await probe(dialect.adapter(), "gpt-5.2", frozenset({"in its address"}))

    assert quoted not in report.model_dump_json()
    assert find(report, "schema").detail.startswith("the call of '[redacted] xxx")
    assert "of [redacted] [redacted]" in find(report, "parallel calls").detail
    assert max(len(one.detail) for one in report.findings) <= 501


async def test_the_command_reports_an_endpoint(provider: ProviderServer) -> None:
    """People get a table and what it cost, programs JSON; a flaw is exit code 1."""
    # BY-32
    for reply in well_said(TONGUES["openai"]) * 2:
        provider.answer(reply)
    provider.answer(openai.WRONG_KEY.body, openai.WRONG_KEY.status)

    table = await holdfast("probe", "openai:gpt-5.2")
    data = await holdfast("probe", "openai:gpt-5.2", "--json")
    refused = await holdfast("probe", "openai:gpt-5.2", "--json")
    nobody = await holdfast("probe", "scripted:it")

    assert (table.code, data.code, refused.code, nobody.code) == (0, 0, 1, 1)
    assert re.search(r"^schema +ok +arguments fit, to the last digit$", table.out, re.MULTILINE)
    last = table.out.splitlines()[-1]
    assert re.fullmatch(r"openai:gpt-5\.2: 14 requests, 14300 tokens, \$\d\.\d{4}", last)
    report = ProbeReport.model_validate(data.json)
    assert (report.answered_by, report.is_fit) == ("openai:gpt-5.2-2025-12-11", True)
    assert refused.json["answered_by"] is None
    assert nobody.err == (
        "holdfast: no endpoint for 'scripted:it': name a model as PROVIDER:NAME "
        "(anthropic, openai, openai-chat)\n"
    )
