"""A model that says what its script says."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.adapters.scripted import (
    Reply,
    Script,
    ScriptedAdapter,
    ScriptTurn,
    call,
    calls,
    fail,
    say,
    using,
)
from holdfast.contracts.calls import MalformedCall, ToolCall
from holdfast.contracts.errors import ModelNotHere, ModelRejected, ModelUnavailable
from holdfast.contracts.model import ModelReply, ModelRequest, Prefix, StopCause
from holdfast.contracts.transcript import ToolTurn, TranscriptItem, UserTurn
from holdfast.contracts.usage import CallUsage
from tests.builders import a_call, a_failure, a_success, a_transcript
from tests.histories import noted
from tests.memory.runs import MemoryRuns
from tests.sample import scripted

GOAL = (UserTurn(text="reach the goal"),)


def asked(
    turn: int = 1,
    attempt: int = 1,
    *,
    model: str = "it",
    transcript: tuple[TranscriptItem, ...] = GOAL,
) -> ModelRequest:
    return ModelRequest(
        run_id="run-1",
        turn=turn,
        attempt=attempt,
        model=model,
        prefix=Prefix(instructions="", tools=()),
        transcript=transcript,
        provider_state={},
    )


async def spoken(script: Script, request: ModelRequest | None = None) -> ModelReply:
    return await ScriptedAdapter({"it": script}).respond(request or asked())


def seen(*transcript: TranscriptItem) -> ScriptTurn:
    return ScriptTurn(run_id="run-1", number=2, attempt=1, transcript=transcript)


async def test_words_are_an_answer() -> None:
    """What is said ends the turn."""
    assert await spoken([say("done")]) == ModelReply(text="done", stop="end_turn", model="it")


async def test_a_call_has_an_id_of_its_turn_and_place() -> None:
    """Calls come in order, with ids that no other call of the run has."""
    script = [say("x"), calls(call("look", place="attic"), call("look", place="x"), text="hm")]

    assert await spoken(script, asked(2)) == ModelReply(
        text="hm",
        calls=(
            ToolCall(call_id="call_2_1", name="look", arguments={"place": "attic"}),
            ToolCall(call_id="call_2_2", name="look", arguments={"place": "x"}),
        ),
        stop="tool_use",
        model="it",
    )


def count(turn: ScriptTurn) -> Reply:
    return call("look", n=turn.number)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([call("look", n=1), call("look", n=2), say("done")], id="list"),
        pytest.param(count, id="function"),
        pytest.param([say("x"), count, count], id="functions in a list"),
    ],
)
async def test_the_same_turn_has_the_same_reply_however_often_it_is_asked(script: Script) -> None:
    """Replies belong to run and turn, so a repeated attempt changes nothing."""  # TS-02 T-45
    adapter = ScriptedAdapter({"it": script})
    order = [1, 2, 2, 1, 3, 2, 3, 1]

    replies = await asyncio.gather(*(adapter.respond(asked(turn)) for turn in order))

    for turn, reply in zip(order, replies, strict=True):
        assert reply == replies[order.index(turn)]
    assert replies[0] != replies[1]


async def test_a_scripted_run_is_the_same_each_time(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Played three times, a run does the same for the same reasons, and ends the same."""
    # TS-02
    turns = [
        calls(call("add", a=2, b=3), call("find", name="x")),
        call("send", log=str(tmp_path / "log"), text="hi"),
    ]
    plays: list[object] = []
    async with memory_runs.working(scripted([*turns, say("done")])):
        for _ in range(3):
            run = await memory_runs.start("it")
            await run.approve((await run.asked_for_approval()).request_id)
            result = await run.result()
            page = await run.transcript()
            plays.append((noted(await run.story()), page.items, result.usage, result.answer))

    assert plays[0] == plays[1] == plays[2]


def test_no_test_reaches_another_machine() -> None:
    """A test that needed the network would fail everywhere, and not only where there is none."""
    # TS-02
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError, match="no network"):
        probe.connect(("192.0.2.1", 80))


async def test_a_script_knows_the_attempt() -> None:
    """A script may fail once and then speak."""

    def flaky(turn: ScriptTurn) -> Reply:
        return fail(ModelUnavailable("busy")) if turn.attempt == 1 else say("done")

    with pytest.raises(ModelUnavailable, match="busy"):
        await spoken(flaky, asked(attempt=1))
    assert (await spoken(flaky, asked(attempt=2))).text == "done"


async def test_a_script_that_is_too_short_says_so() -> None:
    """A turn without a reply is an error that no repetition mends."""
    with pytest.raises(ModelRejected, match=r"^the script has 1 replies, turn 2 has none$"):
        await spoken([say("x")], asked(2))


@pytest.mark.parametrize(
    ("scripts", "known"),
    [({}, "none"), ({"b": [say("x")], "a": [say("y")]}, "a, b")],
)
async def test_a_model_without_a_script_says_which_there_are(
    scripts: dict[str, Script], known: str
) -> None:
    """A name that has no script is told the names that have one."""
    with pytest.raises(ModelNotHere) as raised:
        await ScriptedAdapter(scripts).respond(asked())

    assert str(raised.value) == f"no script 'it' in this app (known: {known})"


async def test_a_scripted_error_is_raised() -> None:
    """A script can fail as a provider does, with the time to wait."""
    with pytest.raises(ModelUnavailable) as raised:
        await spoken([fail(ModelUnavailable("overloaded", retry_after=3))])

    assert raised.value.retry_after == 3


async def test_a_malformed_call_stays_as_it_came() -> None:
    """Arguments that are no object reach the loop as the text that they were."""  # HG-16
    reply = await spoken([Reply(calls=(("look", "[1, 2"), ("look", {"place": "attic"})))])

    assert reply.calls == (
        MalformedCall(call_id="call_1_1", name="look", raw_arguments="[1, 2"),
        ToolCall(call_id="call_1_2", name="look", arguments={"place": "attic"}),
    )


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "end_turn"])
async def test_a_script_may_say_why_a_turn_ended(stop: StopCause) -> None:
    """A given cause is kept, also beside calls."""
    reply = await spoken([Reply(text="x", calls=call("look").calls, stop=stop)])

    assert (reply.stop, len(reply.calls)) == (stop, 1)


async def test_a_reply_may_cost_something_and_keep_something() -> None:
    """Usage and the provider's state are part of the script."""
    spent = CallUsage(input_tokens=7, output_tokens=3)
    reply = await spoken([using(Reply(text="x", provider_state={"thread_id": "t"}), spent)])

    assert (reply.usage, reply.provider_state) == (spent, {"thread_id": "t"})
    assert (await spoken([say("x")])).provider_state is None


def test_a_script_sees_the_goal() -> None:
    """The goal is the first that a person said, whatever stands behind it."""
    assert seen(*GOAL, UserTurn(text="be brief", origin="steer")).goal == "reach the goal"


def test_a_script_sees_the_latest_results() -> None:
    """The results of the turn before are there in call order; before the first there are none."""
    first, second = a_call(call_id="c1"), a_call("send", call_id="c2")
    turns = (
        ToolTurn(results=(a_success(first, "old"),)),
        ToolTurn(results=(a_success(first, "new"), a_failure(second))),
    )

    assert [result.status for result in seen(*GOAL, *turns).results] == ["ok", "error"]
    assert seen(*GOAL).results == ()


@pytest.mark.parametrize(
    ("tool", "data"),
    [
        pytest.param("look", "new", id="latest"),
        pytest.param("send", None, id="only failed"),
        pytest.param("nope", None, id="never called"),
    ],
)
def test_a_script_sees_what_a_tool_returned_last(tool: str, data: JsonValue) -> None:
    """`last` is the data of a tool's latest success, in whatever turn that was."""
    look, send = a_call(call_id="c1"), a_call("send", call_id="c2")
    turn = seen(
        *GOAL,
        ToolTurn(results=(a_success(look, "old"), a_success(look, "new"))),
        ToolTurn(results=(a_failure(look), a_failure(send))),
    )

    assert turn.last(tool) == data


async def test_a_script_is_given_the_whole_transcript() -> None:
    """What the adapter is asked with is what the script sees."""
    transcript = a_transcript([3, None, 5])
    heard: list[ScriptTurn] = []

    def listen(turn: ScriptTurn) -> Reply:
        heard.append(turn)
        return say("done")

    await spoken(listen, asked(3, 2, transcript=transcript))

    assert heard == [ScriptTurn(run_id="run-1", number=3, attempt=2, transcript=transcript)]


@pytest.mark.parametrize("without", [True, False])
async def test_a_script_is_told_when_words_alone_are_wanted(*, without: bool) -> None:
    """A script can tell a summary from a turn; what it calls all the same is not its business."""

    def script(turn: ScriptTurn) -> Reply:
        return say("a summary") if turn.without_tools else call("look")

    reply = await spoken(script, replace(asked(), without_tools=without))

    assert reply.text == ("a summary" if without else "")
    assert len(reply.calls) == (0 if without else 1)
