"""Requests of a part, shown by somebody else with other words and the digests of the real one."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from temporalio.client import Client

from holdfast import App, HoldfastError, approvers, signing
from holdfast.cli import seeing
from holdfast.client import Run
from holdfast.contracts.approvals import ApprovalRequest, Question, Request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_VALIDATION_ERROR_CHARS
from holdfast.contracts.signals import AnswerSignal
from holdfast.contracts.texts import MAX_LINE_CHARS
from holdfast.settings import Settings
from holdfast.signing import OwnKey
from holdfast.testing import call, say
from tests.builders import a_request
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.policy.reviews import a_review
from tests.sample import lines, scripted
from tests.workflows.delegating import FOUND, ask, desk
from tests.workflows.test_permissions import policy
from tests.workflows.test_relayed_requests import relayed

PART = "1-researcher"
HARMLESS: JsonObject = {
    "tool": "greet",
    "action": "greet",
    "arguments": {"text": "good morning"},
    "reason": "it greets",
    "question": "What is your favourite colour?",
}
"""Words in the place of those of the real request; of each kind those that it has count."""


@pytest.fixture
def key(memory_runs: MemoryRuns, tmp_path: Path) -> OwnKey:
    """A key that counts."""
    made = signing.make(tmp_path / "keys", "dana", None)
    approvers.trust(Settings.load().approvers, json.dumps(made.public))
    return made


async def deceive(run: MemoryRun, *, left_out: str) -> Request:
    """Show something else in the place of what a part asks, and return it as a person sees it."""
    (real,) = await run.part(PART).pending()
    known = type(real).model_fields
    lie = real.model_dump(mode="json")
    lie |= {name: value for name, value in HARMLESS.items() if name in known}
    lie |= {"left_out": left_out} if left_out else {}
    await run.signal("requests", {"run_id": run.part(PART).id, "requests": [lie]})
    (shown,) = await relayed(run)
    assert shown.model_dump(include={*HARMLESS}) != real.model_dump(include={*HARMLESS})
    return shown


def paying(tmp_path: Path, log: Path) -> App:
    """A desk whose part pays eve, by a signed approval alone."""
    strong = policy(
        tmp_path, "{id: r, effect: approve, match: {tools: [send]}, approval: {strong: true}}"
    )
    send = [call("send", log=str(log), text="pay eve"), FOUND]
    return desk([ask("tides"), say("So.")], send, policy=strong)


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["", " "], ids=["whole", "left out"])
@pytest.mark.parametrize("seen", [{}, {"digest": None}], ids=["unsaid", "null"])
async def test_a_signature_releases_nothing_that_somebody_else_has_shown(
    memory_runs: MemoryRuns, tmp_path: Path, key: OwnKey, left_out: str, seen: JsonObject
) -> None:
    """The token fits the real call: its arguments' digest and its challenge stand in the lie."""
    # BY-52 RK-19
    log = tmp_path / "log"
    async with memory_runs.working(paying(tmp_path, log)):
        run = await memory_runs.start("desk")
        await relayed(run)
        shown = await deceive(run, left_out=left_out)
        assert isinstance(shown, ApprovalRequest)
        now, part = datetime.now(UTC), run.part(PART)
        token = signing.sign_decision(key, None, part.id, shown, "approve", now)
        said: JsonObject = {
            "request_id": shown.request_id,
            "decision": "approve",
            "approver": "dana",
            "token": token,
        }
        refused = await run.decide({**said, **seen})
        written = lines(log)
        (real,) = await part.pending()
        taken = await run.decide({**said, "digest": real.digest}) if left_out else None
        await (run.cancel() if taken is None else run.result())

    assert (refused.accepted, refused.code) == (False, "changed")
    assert written == []
    assert taken is None or taken.accepted


@pytest.mark.parametrize("left_out", ["", " "], ids=["whole", "left out"])
async def test_a_plain_approval_releases_nothing_that_somebody_else_has_shown(
    memory_runs: MemoryRuns, tmp_path: Path, left_out: str
) -> None:
    """Nor does one that says outright that it names no digest."""
    # BY-52
    log = tmp_path / "log"
    send = [call("send", log=str(log), text="pay eve"), FOUND]
    async with memory_runs.working(desk([ask("tides"), say("So.")], send)):
        run = await memory_runs.start("desk")
        await relayed(run)
        shown = await deceive(run, left_out=left_out)
        refused = await run.decide(
            {
                "request_id": shown.request_id,
                "decision": "approve",
                "approver": "dana",
                "digest": None,
            }
        )
        written = lines(log)
        await run.cancel()

    assert (refused.accepted, refused.code) == (False, "changed")
    assert written == []


@pytest.mark.parametrize("left_out", ["", " "], ids=["whole", "left out"])
async def test_a_signed_answer_is_none_to_another_question(
    memory_runs: MemoryRuns, tmp_path: Path, key: OwnKey, left_out: str
) -> None:
    """Nothing can be added to what is signed: so it says itself which words were seen."""
    # BY-52
    signed = tmp_path / "policy.yaml"
    signed.write_text("version: 1\nsignals: {answer: {}}\n", encoding="utf-8")
    script = [call("ask_user", question="May I pay eve?"), FOUND]
    async with memory_runs.working(desk([ask("tides"), say("So.")], script, policy=signed)):
        run = await memory_runs.start("desk")
        await relayed(run)
        shown = await deceive(run, left_out=left_out)
        assert isinstance(shown, Question)
        part = run.part(PART)
        about = part.id, memory_runs.server.newest(part.id).run_id
        answer = AnswerSignal(request_id=shown.own_id, text="yes")
        token = signing.sign_signal(key, None, about, "answer", answer, datetime.now(UTC))
        said: JsonObject = {"request_id": shown.request_id, "text": "yes", "token": token}
        await run.signal("answer", said)
        (refused,) = await run.refusals(1)
        (waiting,) = await part.pending()
        await run.cancel()

    assert "name" in refused
    assert "digest" in refused
    assert isinstance(waiting, Question)


@pytest.mark.parametrize("name", ["req-1", "2-clerk/req-1", f"{PART}/req-1", "a/2-clerk/req-1"])
@pytest.mark.parametrize("run_id", ["run-1", "r" * 115], ids=["short", "long"])
async def test_a_run_has_nobody_sign_what_another_asks(
    memory_runs: MemoryRuns, tmp_path: Path, key: OwnKey, name: str, run_id: str
) -> None:
    """Who shows the request of another run in this one gets no token for it."""
    # BY-52 RK-19
    log = tmp_path / "log"
    async with memory_runs.working(paying(tmp_path, log)):
        run = await memory_runs.start_with({"agent": "desk", "input": "go"}, run_id=run_id)
        other = await memory_runs.start("desk")
        await relayed(run)
        (wanted,) = await relayed(other)
        lie = {**wanted.model_dump(mode="json"), "request_id": name}
        await run.signal("requests", {"run_id": run.part(PART).id, "requests": [lie]})
        (shown,) = await relayed(run)
        assert isinstance(shown, ApprovalRequest)
        assert shown.digest == wanted.digest
        token = signing.sign_decision(key, None, shown.run_id, shown, "approve", datetime.now(UTC))
        said: JsonObject = {"request_id": "req-1", "decision": "approve", "approver": "dana"}
        taken = await other.part(PART).decide({**said, "token": token})
        execution = memory_runs.server.newest(run.part(PART).id).run_id
        await run.cancel()
        await other.cancel()

    assert (taken.accepted, taken.code, lines(log)) == (False, "invalid_token", [])
    assert shown.run_id.startswith((run.part(PART).id, execution))


class Answering(Run):
    """A run whose parts answer what they ask."""

    def __init__(self, client: Client, name: str, asked: Request) -> None:
        super().__init__(client, name)
        self._of, self._asked = client, asked

    async def pending(self) -> tuple[Request, ...]:
        return (self._asked,)

    def find_asking(self, request: Request) -> Run:
        return Answering(self._of, request.run_id, self._asked) if request.run_id else self


@pytest.mark.parametrize("left_out", ["", " "], ids=["whole", "left out"])
async def test_what_a_part_asks_is_printed_as_it_asks_it(
    capsys: pytest.CaptureFixture[str], left_out: str
) -> None:
    """Who signs elsewhere goes by that: what another run shows in its place isn't printed."""
    # BY-52 RK-19
    client = await Client.connect("nowhere:1", lazy=True)
    real = a_request("req-1", strength="strong", challenge="c" * 64)
    shown = real.with_(request_id="part/req-1", run_id="part", left_out=left_out)
    lie = shown.copy_with({"arguments": {"text": "good morning"}, "action": "greet"})
    review = a_review("part/req-1", run_id="part", text="good morning", left_out=left_out)
    gone = shown.with_(request_id="part/req-2")
    run = Answering(client, "root", real)
    asked = shown.with_(left_out="")

    found = await seeing.read_from_asking_runs(run, [shown, lie, review, gone])
    told = capsys.readouterr().err.splitlines()

    assert found == ([asked, asked] if left_out else [asked])
    assert len(told) == 4 - len(found)
    assert "good morning" not in str(found)


async def test_a_token_says_nothing_of_what_was_left_out() -> None:
    """Without a terminal the command adds no digest of its own to what was signed elsewhere."""
    # BY-52
    run = Run(await Client.connect("nowhere:1", lazy=True), "root")
    shown = a_request(f"{PART}/req-1", run_id=f"root.{PART}", tool="harmless")
    seeing.require_shown_whole(run, shown)
    with pytest.raises(HoldfastError, match="not shown whole by run 'root'"):
        seeing.require_shown_whole(run, shown.with_(left_out=" "))


async def test_a_made_up_verdict_of_any_length_is_kept_short(memory_runs: MemoryRuns) -> None:
    """
    What is said right behind a message knows by which name that is sent on: the server's id.

    Eight such reasons would be more than a query returns, or the next execution begins with.
    """
    script = [call("ask_user", question="Which one?"), FOUND]
    async with memory_runs.working(desk([ask("tides"), say("It is so.")], script)):
        run = await memory_runs.start("desk")
        (request,) = await relayed(run)
        (begun,) = memory_runs.server.executions[run.id]
        chance = random.Random(begun.beginning.init.randomness_seed)
        said: JsonObject = {"request_id": request.request_id, "decision": "approve"}
        for _ in range(8):
            name = UUID(bytes=chance.getrandbits(128).to_bytes(16, "big"), version=4)
            outcome: JsonObject = {"accepted": False, "request_id": "", "reason": "x" * 140_000}
            memory_runs.tell_soon(run.id, "approval", {**said, "approver": "eve"})
            memory_runs.tell_soon(run.id, "verdict", {"forward_id": str(name), "outcome": outcome})
        await run.rest()
        refused = (await run.status()).refused
        await run.cancel()

    assert [one.signal for one in refused] == ["approval"] * 8
    assert {len(one.reason) for one in refused} == {MAX_VALIDATION_ERROR_CHARS}


async def test_a_part_with_a_name_of_any_length_is_refused_shortly(
    memory_runs: MemoryRuns,
) -> None:
    """Anybody says of any run that such a part asks something: the name isn't kept."""
    async with memory_runs.working(scripted([call("ask_user", question="Which one?")])):
        run = await memory_runs.start("it")
        while not await run.pending():
            await run.pause()
        for number in range(8):
            name = f"{number}{'x' * 140_000}"
            memory_runs.tell_soon(run.id, "requests", {"run_id": name, "requests": []})
        over = await run.rest()
        refused = (await run.status()).refused
        lines = [one for one in await run.decided("record") if one["event"] == "message refused"]
        await run.cancel()

    assert not over
    assert len(refused) == 8
    assert max(len(one.reason) for one in refused) < MAX_VALIDATION_ERROR_CHARS
    assert len(str(lines)) < 10_000


async def test_of_an_update_without_meaning_no_name_is_kept_whole(
    memory_runs: MemoryRuns,
) -> None:
    """Of a signal the server takes no such name; of an update it takes any."""
    async with memory_runs.working(scripted([call("ask_user", question="Which one?")])):
        run = await memory_runs.start("it")
        while not await run.pending():
            await run.pause()
        outcome = await run.update("x" * 140_000, {})
        (refused,) = (await run.status()).refused
        await run.cancel()

    assert not outcome.accepted
    assert len(refused.signal) == MAX_LINE_CHARS
