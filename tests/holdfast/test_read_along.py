"""Words of a model on a terminal, while they come."""

import re

import pytest
from temporalio.client import Client

from holdfast import Agent, App, worker
from tests.adapters.provider_server import Break, ProviderServer
from tests.holdfast.commands import terminal
from tests.workflows.provider_words import CLAUDE, anthropic, text

pytestmark = pytest.mark.usefixtures("command_line")

WORDS = " ".join(f"word{number}." for number in range(200))
APP = App(agents=[Agent(name="talker", instructions="Talk.", models=[CLAUDE])])


def read(shown: str) -> str:
    """What a model said on a terminal: rows with a mark before them, and no colours."""
    rows = re.sub("\x1b[^m]*m", "", shown).replace("\r", "").split("\n")
    return "".join(row.removeprefix("| ") for row in rows if row.startswith("| "))


async def test_who_comes_back_reads_on(
    client: Client, name: str, provider: ProviderServer
) -> None:
    """`run` shows words before the reply is whole, and so does `watch`, after a Ctrl-C."""
    # T-32
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=120))
    async with worker.run_worker(client, APP):
        async with terminal("run", "talker", "go", "--id", name) as left:
            await left.says("word1.")
            left.interrupts()
            code = await left.code()
        async with terminal("watch", name) as back:
            await back.says("word1.")
            provider.going_on.set()
            over = await back.code()

    assert (code, over) == (130, 0)
    assert WORDS.startswith(read(left.shown))
    assert len(read(left.shown)) < len(WORDS)
    assert read(back.shown).startswith(WORDS[:400])


async def test_who_talks_reads_along(client: Client, name: str, provider: ProviderServer) -> None:
    """`chat` shows words before the reply is whole, and the answer is not told once more."""
    # T-32
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=120))
    async with (
        worker.run_worker(client, APP),
        terminal("chat", "talker", "--session", name) as talk,
    ):
        await talk.says("> ")
        talk.types("go")
        await talk.says("word1.")
        early = read(talk.shown)
        provider.going_on.set()
        await talk.says("> ")
        talk.types("\x04")
        code = await talk.code()

    assert code == 0
    assert len(early) < len(WORDS)
    assert read(talk.shown) == WORDS
