"""A fork: a run that is over goes on otherwise from one of its turns, in a new run."""

from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import RecordedResult, ToolFailure, ToolSuccess
from holdfast.contracts.control import RetryOf
from holdfast.contracts.effects import Effect
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.guardrails import GuardrailSpec
from holdfast.contracts.run import AgentSnapshot, RunInput
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn
from holdfast.run import parts, replies, turns
from holdfast.run.earlier import recorded_results, retries
from holdfast.run.limits import closing
from holdfast.run.transcript import cut_before_turn
from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.workflows import tool_call
from tests.builders import (
    EXECUTION,
    NOW,
    a_call,
    a_reply,
    a_state,
    a_success,
    an_agent,
    asked_for,
)
from tests.counting import count_calls
from tests.running import Runs
from tests.sample import lines, scripted, told
from tests.workflows.test_retries import first_then, refusal, replays


def after_two_turns() -> RunState:
    """A run that looked, and sent something."""
    look, send = a_call("look", "c1", place="here"), a_call("send", "c2", text="x")
    state = asked_for(look)
    state = turns.after_tools(state, (a_success(look),), NOW, state.calls)
    state = replies.after_model(state, a_reply(send), NOW)
    return turns.after_tools(state, (a_success(send),), NOW, state.calls)


@pytest.mark.parametrize(
    ("turn", "kinds"),
    [
        pytest.param(1, ["user"], id="first"),
        pytest.param(2, ["user", "assistant", "tool"], id="second"),
    ],
)
def test_what_was_said_before_the_turn_is_left(turn: int, kinds: list[str]) -> None:
    """The turn itself, its calls and all that came behind it are not."""
    left = parts.build_carryover(after_two_turns(), (), {}, NOW, turn)

    assert [item.kind for item in left.items] == kinds


def test_what_was_done_behind_the_turn_stands() -> None:
    """It is known to the fork, which does it no second time."""
    # NR-06
    done = Effect(summary="send(text='x')", tool="send", digest="d" * 64)
    state = after_two_turns().with_effects(done=(done,))
    left = parts.build_carryover(state, (), {}, NOW, 1)
    asked = RunInput.model_validate(
        {"agent": "it", "retry_of": {"run_id": "run-1", "turn": 1}, "actor": "dana"}
    )
    begun = turns.start_run(
        retries.take_over_limits(asked, left), an_agent(), NOW, **ids("run-1-fork-1")
    )
    forked = retries.go_on_behind(begun, left)

    assert left.known == parts.build_known_effects(state) != ()
    assert forked.effects.known == left.known
    assert [item.kind for item in forked.conversation.items] == ["user", "user"]
    notice = forked.conversation.items[-1]
    assert isinstance(notice, UserTurn)
    assert notice.text.startswith(
        "Run run-1 went on from here, and this run takes its turn 1 anew"
    )
    assert "send(" in notice.text
    assert forked.brief.retry_of is not None
    assert forked.brief.retry_of.turn == 1


def ids(run_id: str) -> dict[str, str]:
    return {"run_id": run_id, "first_execution_run_id": "fork", "execution": EXECUTION}


def test_a_summary_of_what_came_later_is_left_out() -> None:
    """It would tell the fork of what is not said yet."""
    state = after_two_turns().with_conversation(summary="all of it", summarised_before=5)

    assert cut_before_turn(state, 1).conversation.summary == ""
    assert (
        cut_before_turn(state.with_conversation(summarised_before=1), 2).conversation.summary
        == "all of it"
    )


@pytest.mark.parametrize(
    ("turn", "lacks", "why"),
    [
        pytest.param(3, 0, "it has no turn 3: its models took 2", id="none"),
        pytest.param(1, 3, "its transcript doesn't have all its turns any more", id="lost"),
    ],
)
def test_there_has_to_be_such_a_turn(turn: int, lacks: int, why: str) -> None:
    """A turn that nobody can find any more is no place to go on from."""
    state = after_two_turns()
    with pytest.raises(InvalidInput, match=why):
        cut_before_turn(state.with_conversation(items=state.conversation.items[lacks:]), turn)


def test_last_words_at_a_limit_are_no_turn() -> None:
    """A run that summed up goes on from the turn that is named, and not from the one behind it."""
    # BY-46
    state = after_two_turns()
    limits = state.agent.budget.with_changes(Budget(max_steps=2))
    state = closing.request_closing(state.with_(agent=state.agent.with_(budget=limits)))
    state = closing.after_closing(state, a_reply(text="Two of five are done."), NOW)

    assert [item.kind for item in cut_before_turn(state, 1).conversation.items] == ["user"]
    assert len(cut_before_turn(state, 2).conversation.items) == 3


def test_the_first_item_of_a_transcript_may_be_a_turn() -> None:
    """Whatever stands at its other end: what a model is asked to sum up with."""
    # BY-46
    state = closing.request_closing(after_two_turns())
    state = state.with_conversation(items=state.conversation.items[1:])

    assert cut_before_turn(state, 1).conversation.items == ()


otherwise = partial(first_then, notice="went on from here")
"""A script that goes otherwise in a fork."""


async def test_a_run_with_its_answer_is_forked(runs: Runs, tmp_path: Path) -> None:
    """With a new id and the words before the turn; nothing is approved, or done a second time."""
    log = str(tmp_path / "log")
    send = call("send", log=log, text="x")
    app = scripted(
        otherwise([call("add", a=1, b=2), send, say("sent")], [send, told]),
    )
    async with runs.working(app):
        run = await runs.start("it", "go", actor="ann")
        await run.approve((await run.asked_for_approval()).request_id)
        before = await run.result()
        of: JsonObject = {"run_id": run.handle.id, "turn": 2}
        fork = await runs.start_with({"agent": "it", "retry_of": of, "actor": "dana"})
        result = await fork.result()
        page, status = await fork.transcript(), await fork.status()
        late = await refusal(await runs.start_with({"agent": "it", "retry_of": {**of, "turn": 4}}))
        await replays(fork)

    assert (before.answer, result.answer) == ("sent", "send denied")
    assert len(lines(Path(log))) == 1
    kinds = [item.kind for item in page.items]
    assert kinds == ["user", "assistant", "tool", "user", "assistant", "tool", "assistant"]
    assert isinstance(page.items[1], AssistantTurn)
    refused = page.items[5]
    assert isinstance(refused, ToolTurn)
    assert isinstance(refused.results[0], ToolFailure)
    assert refused.results[0].type == "non_idempotent_retry_blocked"
    assert status.retry_of is not None
    assert (status.retry_of.run_id, status.retry_of.turn) == (run.handle.id, 2)
    assert fork.handle.id != run.handle.id
    assert "it has no turn 4: its models took 3" in late


async def test_a_dry_fork_is_told_what_was_recorded(runs: Runs, tmp_path: Path) -> None:
    """Calls get what came of the same ones; of others it is said that nothing is recorded."""
    # NR-06
    log = str(tmp_path / "log")
    send, other = call("send", log=log, text="x"), call("send", log=log, text="y")
    app = scripted(
        otherwise(
            [call("add", a=1, b=2), send, say("sent")],
            [calls(call("add", b=2, a=1), send, other), told],
        ),
    )
    async with runs.working(app):
        run = await runs.start("it", "go", actor="ann")
        await run.approve((await run.asked_for_approval()).request_id)
        await run.result()
        of: JsonObject = {"run_id": run.handle.id, "turn": 1, "dry": True}
        fork = await runs.start_with({"agent": "it", "retry_of": of, "actor": "dana"})
        result = await fork.result()
        page, events = await fork.transcript(), await fork.handle.fetch_history()
        trace = read_trace([events])
        refused = await refusal(await runs.start_with({"agent": "it", "retry_of": fork.handle.id}))
        await replays(fork)

    assert result.status == "completed"
    assert len(lines(Path(log))) == 1
    answered = page.items[3]
    assert isinstance(answered, ToolTurn)
    added, sent, unknown = answered.results
    assert (added.status, sent.status) == ("ok", "ok")
    assert isinstance(unknown, ToolFailure)
    assert (unknown.status, unknown.type) == ("denied", "not_found")
    assert f"run {run.handle.id} recorded no call with these arguments" in unknown.reason
    assert result.effects == ()
    ran = {
        event.activity_task_scheduled_event_attributes.activity_type.name
        for event in events.events
        if event.HasField("activity_task_scheduled_event_attributes")
    }
    assert ran == {"call_model"}
    assert [one.result for turn in trace.turns for one in turn.calls] == list(answered.results)
    assert "is dry, and nothing of it happened" in refused


def test_what_a_dry_run_asks_of_a_worker_says_so() -> None:
    """So the worker refuses by itself what slips by the run."""
    dry = RetryOf(run_id="run-1", turn=1, dry=True)
    state = a_state()
    brief = state.brief.model_copy(update={"retry_of": dry})

    assert tool_call.build_invocation(state.with_(brief=brief), a_call("look")).dry
    assert not tool_call.build_invocation(state, a_call("look")).dry


def test_only_a_fork_is_dry() -> None:
    """A run that is tried again as a whole does what is left to do."""
    with pytest.raises(ValidationError, match="only a fork is dry: name its turn"):
        RunInput.model_validate({"agent": "it", "retry_of": {"run_id": "run-1", "dry": True}})


def test_what_came_of_a_call_comes_in_order_and_the_last_stays() -> None:
    """A call that is made more often than it was gets what came of it last."""
    # NR-06
    look = a_call("look", "c1", place="here")
    items = (
        AssistantTurn(model="m", calls=(look,)),
        ToolTurn(results=(a_success(look).with_(summary="first"),)),
        AssistantTurn(model="m", calls=(look.with_(call_id="c2"),)),
        ToolTurn(results=(a_success(look).with_(call_id="c2", summary="second"),)),
    )
    left, seen = recorded_results.collect(items), list[str]()
    for number in range(3):
        asked = CallState(call=look.with_(call_id=f"d{number}"))
        (answered,), left = recorded_results.answer_calls((asked,), left, "run-1")
        assert isinstance(answered.result, ToolSuccess)
        assert answered.result.call_id == f"d{number}"
        seen.append(answered.result.summary)

    assert seen == ["first", "second", "second"]


def test_what_came_of_a_call_is_found_however_much_was_recorded() -> None:
    """A model may write half a megabyte of arguments, and thousands of results may be recorded."""
    # NR-06
    done = RecordedResult(digests=("d",), result=a_success(a_call()))
    place: list[JsonValue] = [{"a": 1} for _ in range(1_000)]
    asked = CallState(call=a_call("look", "d1", place=place))

    def find(recorded: int) -> int:
        every = (done,) * recorded
        return count_calls(lambda: recorded_results.answer_calls((asked,), every, "run-1"))

    assert find(20) < 2 * find(1)


def test_of_very_much_the_latest_results_are_left() -> None:
    """What a dry fork begins with has to fit; what is left out is refused when it is asked for."""
    # NR-06
    large = "x" * (recorded_results.MAX_RECORDED_BYTES // 2)
    items: list[TranscriptItem] = []
    for number in range(3):
        asked = a_call("look", f"c{number}", place=str(number))
        items += [
            AssistantTurn(model="m", calls=(asked,)),
            ToolTurn(results=(a_success(asked).with_(summary=large),)),
        ]

    assert [one.result.call_id for one in recorded_results.collect(items)] == ["c2"]


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        pytest.param(
            an_agent().copy_with({"hosted": (HostedTool(name="web_search"),)}),
            "hosted tool 'web_search'",
            id="hosted",
        ),
        pytest.param(
            an_agent().copy_with(
                {
                    "acceptance": (
                        GuardrailSpec(
                            name="tests", layer="output", on_trip="retry", command=("pytest",)
                        ),
                    )
                }
            ),
            "guardrail 'tests'",
            id="command",
        ),
    ],
)
def test_what_would_run_beside_tools_has_no_dry_fork(agent: AgentSnapshot, why: str) -> None:
    """Nobody recorded what a provider or a command said, and neither is to run."""
    # NR-06
    with pytest.raises(InvalidInput, match=why):
        recorded_results.require_dry(agent)
