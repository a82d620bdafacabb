"""Words that are told while they come are cleared of secrets once, and on nobody's time."""

import asyncio
import dataclasses
from collections.abc import Sequence
from threading import get_ident

from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import PayloadCodec
from temporalio.testing import ActivityEnvironment

from holdfast.activities.heartbeats import Heartbeater
from holdfast.contracts.usage import Attempts, LiveText
from holdfast.tools.redaction import GrowingText, Redactor
from holdfast.workflows.payloads import data_converter
from tests.asking import in_run
from tests.leaving import leaving


class Keyless(PayloadCodec):
    """Has no keys for a moment; says when it was asked for one."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.asked.set()
        raise LookupError("no key")

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        raise LookupError("no key")


class Noting(Redactor):
    """Notes what it is given."""

    def __init__(self) -> None:
        super().__init__(frozenset[str])
        self.given: list[bytes] = []

    def json(self, content: bytes, *, lookalikes: bool = True) -> bytes:
        self.given.append(content)
        return super().json(content, lookalikes=lookalikes)


def note(threads: list[int]) -> frozenset[str]:
    """Note who looks for secrets; there are none."""
    threads.append(get_ident())
    return frozenset()


async def surroundings(codec: PayloadCodec) -> ActivityEnvironment:
    """Surroundings of an activity whose heartbeats come no further than a codec."""
    own = dataclasses.replace(data_converter, payload_codec=codec)
    environment = ActivityEnvironment(
        await Client.connect("nowhere:1", lazy=True, data_converter=own)
    )
    environment.info = in_run("run-1").info
    return environment


async def test_words_are_looked_through_beside_the_loop() -> None:
    """Some take twenty milliseconds each time: with many who talk nobody else had a turn."""
    codec, threads = Keyless(), list[int]()
    redactor = Redactor(lambda: note(threads))

    async def talk() -> None:
        async with (
            Heartbeater() as heartbeater,
            heartbeater.tell_live(GrowingText(redactor), turn=1) as add,
        ):
            add("\\n" * 4_000)
            await codec.asked.wait()

    await (await surroundings(codec)).run(talk)

    assert threads
    assert get_ident() not in threads


async def test_a_codec_without_keys_loses_no_reply() -> None:
    """Whoever reads along misses words; what the model has said is there."""
    codec = Keyless()

    async def talk() -> str:
        async with (
            Heartbeater() as heartbeater,
            heartbeater.tell_live(GrowingText(Redactor(frozenset[str])), turn=1) as add,
        ):
            add("word " * 100)
            await codec.asked.wait()
        return "all of it"

    assert await (await surroundings(codec)).run(talk) == "all of it"


async def test_what_was_told_is_not_cleared_again() -> None:
    """Each second a heartbeat tells it once more; what else that carries is looked through."""
    environment, told, redactor = in_run("run-1"), list[object](), Noting()
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def report() -> None:
        async with Heartbeater() as heartbeater:
            live = LiveText(turn=1, attempt=1, seq=1, offset=0, text="words")
            heartbeater.attempts = Attempts(failed=1, live=live)
            heartbeater.report(lambda: "sk-abcdefghijklmnopqrst1")

    await leaving(environment, redactor, report)

    live = {"turn": 1, "attempt": 1, "seq": 1, "offset": 0, "text": "words"}
    assert told == [{"failed": 1, "progress": "[redacted: api key]", "live": live}]
    assert not any(b"words" in content for content in redactor.given)


async def test_what_says_the_same_again_is_not_cleared_again() -> None:
    """A tool may report ten kilobytes, and work for an hour, in which each second tells them."""
    environment, told, redactor = in_run("run-1"), list[object](), Noting()
    environment.on_heartbeat = lambda *details: told.extend(details)

    async def beat() -> None:
        for report in ("half", "half", "half", "all"):
            activity.heartbeat({"progress": report})

    await leaving(environment, redactor, beat)

    half, whole = {"progress": "half"}, {"progress": "all"}
    assert told == [half, half, half, whole]
    assert redactor.given == [b'{"progress":"half"}', b'{"progress":"all"}']
