"""Random talks on a real server: what holds for every session holds here."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import JsonValue
from temporalio.client import Client, WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.service import RPCError

from holdfast import App
from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.chaos.servers import half_a_dozen
from tests.running import Runs, growing_pauses
from tests.sample import lines, scripted
from tests.sessions.talking import Talk, Talks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ANN, DANA = "ann", "dana"
"""Who speaks, and who approves; ann may not approve what is done for her."""

EVENTS = 40
"""A session goes on in a new execution after a message or two."""

SAID = "again approve own reject steer stop close suspend resume restart"


class Move(NamedTuple):
    """
    Something that somebody does, and whether all comes to rest before.

    A message `says` what is to be done for it, in this order.
    """

    what: str
    rests: bool
    says: tuple[str, ...] = ()


def moves() -> st.SearchStrategy[Move]:
    """Return what may happen: mostly messages, and approvals of what they ask for."""
    work = st.lists(st.sampled_from(["add", "write", "send", "send"]), max_size=3).map(tuple)
    others = [*SAID.split(), "approve", "approve"]
    return st.one_of(
        st.builds(Move, st.just("message"), st.booleans(), work),
        st.builds(Move, st.sampled_from(others), st.booleans()),
    )


@dataclass
class Told:
    """What was said to a session, and what people decided."""

    plans: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    approved: int = 0
    broken: bool = False
    """Whether anything was said for which work may end before it is done."""


class Stage:
    """Where talks are played, one after the other."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self._talks = Talks(runs, f"file:{folder / 'archive'}")
        self._folder = folder
        self._worker = AsyncExitStack()

    async def open(self) -> None:
        await self._worker.enter_async_context(self._talks.working(self._app()))

    async def close(self) -> None:
        await self._worker.aclose()

    async def play(self, script: list[Move]) -> None:
        """Play a talk to its end; whatever holds for every session must hold for it."""
        talk, told = self._talks.talk(actor=ANN), Told()
        log = self._folder / talk.id
        for move in script:
            if move.rests:
                await _rest(talk, told)
            with suppress(RPCError, WorkflowUpdateFailedError):  # it is closed
                await self._do(talk, told, move, log)
        await _end(talk, told)
        event(f"{len(told.plans)} messages, broken off: {told.broken}")
        assert await complaints(talk, told, lines(log)) == []
        await talk.close()

    async def _do(self, talk: Talk, told: Told, move: Move, log: Path) -> None:
        told.broken |= move.what in ("reject", "stop", "close")
        match move.what:
            case "message":
                name = f"m-{len(told.plans) + 1}"
                plan = [[what, f"{name}-{place}"] for place, what in enumerate(move.says)]
                told.plans[name] = move.says
                await talk.say(name, json.dumps({"log": str(log), "plan": plan}))
            case "again":
                forged = json.dumps({"log": str(log), "plan": [["write", "forged"]]})
                for name in list(told.plans)[-1:]:
                    await talk.say(name, forged, actor="mallory")
            case "approve" | "own" | "reject":
                await _decide(talk, told, move.what)
            case "restart":
                await self.close()
                await self.open()
            case "steer":
                await talk.signal("steer", {"text": "quickly"})
            case "stop":
                await talk.signal("stop", {"reason": "enough", "by": DANA})
            case "close":
                await talk.signal("close", {"by": DANA})
            case "suspend":
                await talk.signal("suspend", {})
            case _:
                await talk.signal("resume", {})

    def _app(self) -> App:
        return scripted(_work, max_history_events=EVENTS)


def _work(turn: ScriptTurn) -> Reply:
    """Do what the latest message says, one call in each turn, and answer."""
    place, words = [
        (place, one.text)
        for place, one in enumerate(turn.transcript)
        if one.kind == "user" and one.origin == "message"
    ][-1]
    done = sum(1 for one in turn.transcript[place:] if one.kind == "tool")
    given = json.loads(words)
    if done >= len(given["plan"]):
        return say("done")
    what, token = given["plan"][done]
    if what == "add":
        return call("add", a=place, b=done)
    return call(what, log=given["log"], text=token)


async def _pending(talk: Talk) -> list[JsonObject]:
    return await talk.handle.query("pending", result_type=list)


async def _decide(talk: Talk, told: Told, how: str) -> None:
    """Decide what waits, if anything does; nobody approves what is done for them."""
    for request in (await _pending(talk))[:1]:
        said = {
            "request_id": request["request_id"],
            "decision": "reject" if how == "reject" else "approve",
            "approver": ANN if how == "own" else DANA,
        }
        answer: JsonObject = await talk.handle.execute_update("decide", said, result_type=dict)  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
        assert how != "own" or not answer["accepted"]
        told.approved += how == "approve" and answer["accepted"] is True


async def _rests(talk: Talk, told: Told) -> bool:
    """Whether nothing moves unless somebody says something."""
    if not told.plans:
        return True
    try:
        if await _pending(talk) or (await talk.ask("status"))["status"] == "suspended":
            return True
        last: JsonObject = {"message_id": [*told.plans][-1]}
        return (await talk.ask("outcome", last))["state"] == "done"
    except (RPCError, WorkflowQueryFailedError):
        return False  # it opens


async def _rest(talk: Talk, told: Told) -> None:
    pauses = growing_pauses()
    while not await _rests(talk, told):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(next(pauses))


async def _end(talk: Talk, told: Told) -> None:
    """Let all of it be done, and have one more message answered."""
    told.plans["last"] = ()
    await talk.say("last", json.dumps({"log": "", "plan": []}))
    state = ""
    while state != "done":
        with suppress(RPCError, WorkflowUpdateFailedError, WorkflowQueryFailedError):
            if (await talk.ask("status"))["status"] == "suspended":
                await talk.signal("resume", {})
            await _rest(talk, told)
            await _decide(talk, told, "approve")
            state = str((await talk.ask("outcome", {"message_id": "last"}))["state"])


async def complaints(talk: Talk, told: Told, effects: list[str]) -> list[str]:
    """Everything that doesn't hold for this session."""
    items = (await talk.conversation()).items
    found = list[str]()
    for who in ("user", "assistant"):
        order = [one.message_id for one in items if one.role == who]
        if order != [*told.plans]:
            found.append(f"the words of {who} are about {order}")
    states = [(await talk.ask("outcome", {"message_id": name}))["state"] for name in told.plans]
    if set(states) != {"done"}:
        found.append(f"in the end they are {states}")
    if (await talk.session()).messages != len(told.plans):
        found.append(f"of {len(told.plans)} messages it has {(await talk.session()).messages}")
    ended = {one.message_id: one.metadata["status"] for one in items if one.role == "assistant"}
    if not told.broken and set(ended.values()) != {"completed"}:
        found.append(f"nobody broke anything off, and they are {ended}")
    return [*found, *_complain_of_effects(told, effects, ended)]


def _complain_of_effects(
    told: Told, effects: list[str], ended: Mapping[str, JsonValue]
) -> list[str]:
    written = Counter(line.split()[1] for line in effects if line.startswith("begin "))
    sent = Counter(line.split()[1] for line in effects if not line.startswith(("begin ", "end ")))
    tokens = {
        f"{name}-{place}": (what, ended[name] == "completed")
        for name, plan in told.plans.items()
        for place, what in enumerate(plan)
    }
    found = [
        f"{token} happened {count} times" for token, count in (written + sent).items() if count > 1
    ]
    found += [f"{token} was never asked for" for token in written + sent if token not in tokens]
    found += [
        f"{token} was to be written, and wasn't"
        for token, (what, completed) in tokens.items()
        if what == "write" and completed and not written[token]
    ]
    if sent.total() > told.approved:
        found.append(f"{sent.total()} were sent, and {told.approved} approved")
    return found


@pytest.fixture
async def stage(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Stage]:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    stage = Stage(Runs(client), tmp_path)
    await stage.open()
    yield stage
    await stage.close()


@half_a_dozen
@given(script=st.lists(moves(), min_size=3, max_size=12))
async def test_whatever_is_said_in_a_session(stage: Stage, script: list[Move]) -> None:
    """Messages twice, approvals, stops, closing, new executions and workers: all is answered."""
    # SE-01 SE-06 T-43
    await stage.play(script)
