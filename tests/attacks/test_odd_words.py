"""Odd signals and updates to a session that waits for an approval: none of them moves it."""

import asyncio
from itertools import product
from pathlib import Path

from pydantic import JsonValue
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowUpdateFailedError
from temporalio.common import RawValue

from holdfast.contracts.run import StatusReport
from holdfast.testing import call
from tests.running import Runs
from tests.sample import lines, scripted, told
from tests.sessions.talking import Talk, Talks

SIGNALS = (
    *("message", "close", "approval", "answer", "resolution", "steer", "suspend", "resume"),
    *("stop", "held", "requests", "forwarded", "verdict", "send", "decide", "\x1b[2J", "a b"),
)
FIELDS: dict[str, JsonValue] = {
    "message_id": {},
    "request_id": 7,
    "decision": "APPROVE",
    "text": ["x"],
    "reason": {"a": 1},
    "by": [],
    "run_id": None,
    "forward_id": "f",
    "tenant": "evil",
}
"""No signal can be read from these."""

RAW = (
    b"null" * 2,
    b"NaN",
    b'{"reason": NaN}',
    b'{"reason": 1e999999}',
    b'{"token": ' + b"9" * 5_000 + b"}",
    b"[" * 50_000 + b"]" * 50_000,
    b'{"by": ' + b'{"a": ' * 5_000 + b"1" + b"}" * 5_001,
    b'{"reason": "\\ud800"}',
    b'\xff\xfe{"a": 1}',
    b'{"by": "' + b"x" * 160_000 + b'"}',
    b'"close"',
    b"7",
)
"""What is no JSON, or none that anybody reads."""

ENCODINGS = (b"json/plain", b"binary/null", b"binary/encrypted", b"")
UPDATES = ("decide", "send")
AT_ONCE = 8
"""Updates under way: a server takes ten of one workflow."""


def odd_arguments() -> list[object]:
    """Objects that are no message, and payloads that nobody here would write."""
    raw = [
        RawValue(Payload(metadata={"encoding": ENCODINGS[place % len(ENCODINGS)]}, data=data))
        for place, data in enumerate(RAW)
    ]
    return [*({name: value} for name, value in FIELDS.items()), *raw]


async def update(talk: Talk, name: str, argument: object) -> str:
    """Say what an update comes to: what it answers, or why it isn't taken."""
    try:
        answer: JsonValue = await talk.handle.execute_update(name, argument)  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
    except WorkflowUpdateFailedError as error:
        return f"failed: {error.cause}"
    return str(answer)


async def test_nothing_odd_moves_a_session(runs: Runs, tmp_path: Path) -> None:
    """Every name with every value, by signal and by update: an approval still counts."""
    # T-16 SE-01
    log = tmp_path / "log"
    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    async with talks.working(scripted([call("send", log=str(log), text="hi"), told])):
        talk = talks.talk()
        await talk.say("m-1", "send it")
        request = await talk.asked()
        said = odd_arguments()
        for name in SIGNALS:
            await asyncio.gather(*(talk.handle.signal(name, one) for one in said))
        for name in ("message", "close", "approval"):
            await talk.signal(name, {}, {})
        answers = list[str]()
        odd = list(product(UPDATES, said))
        for begin in range(0, len(odd), AT_ONCE):
            some = odd[begin : begin + AT_ONCE]
            answers += await asyncio.gather(*(update(talk, *one) for one in some))
        status = StatusReport.model_validate(await talk.ask("status"))
        written = lines(log)
        outcome = await talk.decide(str(request["request_id"]), "dana")
        await talk.answer("m-1")
        executions = await talk.replayed()

    assert (status.status, written) == ("waiting", [])
    assert status.refused_total == len(SIGNALS) * len(said) + 3 + len(answers)
    assert {"\n" in answer or len(answer) > 1_500 for answer in answers} == {False}
    assert (outcome, len(lines(log))) == ("accepted", 1)
    assert executions >= 1
