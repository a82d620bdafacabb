"""A session from outside: messages in their order, their outcomes, what was said, its end."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.worker import Worker

from holdfast import worker
from holdfast.cli.standing import read_view
from holdfast.contracts.sessions.messages import ConversationTurn
from holdfast.histories import fetch
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.transcript import lines
from holdfast.workflows.execution.search_attributes import SESSION
from tests.control.controlled import chained
from tests.control.test_steers_now import busy_once
from tests.sample import scripted, told
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks


def require_each_turn(turns: tuple[ConversationTurn, ...]) -> None:
    """Each has its role, its content, what belongs to it, and its time."""
    assert [(one.role, one.content, one.message_id, one.agent) for one in turns] == [
        ("user", "one", "m-1", "it"),
        ("assistant", "one", "m-1", "it"),
        ("user", "two", "m-2", "it"),
        ("assistant", "one + two", "m-2", "it"),
    ]
    assert [one.metadata for one in turns[:2]] == [{"page": "shop"}, {"status": "completed"}]
    asked, told, asked_again, told_again = (one.timestamp for one in turns)
    assert asked <= told < asked_again <= told_again


async def test_a_message_is_answered_with_all_that_was_said_before(
    talks: Talks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signal-with-start opens a session; the next message goes on where the first one ended."""
    # SE-01 SE-03 SE-05 TR-08
    monkeypatch.setattr(worker, "Worker", partial(Worker, max_cached_workflows=0))
    async with talks.working(scripted(echo)):
        talk = talks.talk(context={"plan": "gold"})
        assert await talk.exchange("m-1", "one", metadata={"page": "shop"}) == "one"
        first = await talk.session()
        assert await talk.exchange("m-2", "two") == "one + two"
        then = await talk.session()
        turns = (await talk.conversation()).items
        again = (await talk.conversation()).items
        assert await talk.replayed() == 1
        shown = (await talk.handle.describe()).typed_search_attributes
        trace = read_trace(await fetch(talks.runs.client, talk.id))

    assert shown[SESSION] == talk.id
    assert (span_tree(trace).group_id, span_tree(trace).workflow_name) == (talk.id, "AgentSession")
    grouped = [(line.label, line.text) for line in lines(trace)]
    begun = [text for label, text in grouped if label in {"message", "outcome"} and "·" in text]
    assert begun == [
        "m-1 · the message no. 1, of anonymous",
        "m-1 · completed",
        "m-2 · the message no. 2, of anonymous",
        "m-2 · completed",
    ]
    view = read_view(trace)
    assert view.status == "idle"
    assert [(one.message_id, one.position, one.actor, one.state) for one in view.messages] == [
        ("m-1", 1, "anonymous", "completed"),
        ("m-2", 2, "anonymous", "completed"),
    ]
    assert (then.session_id, then.agent, then.context) == (talk.id, "it", {"plan": "gold"})
    assert (then.messages, then.waiting, then.working_on) == (2, 0, None)
    assert then.last_updated > first.last_updated
    require_each_turn(turns)
    assert again == turns  # though a worker that keeps no session has read the history once more


async def test_the_update_answers_at_once(talks: Talks) -> None:
    """`send` says the place of a message and where it stands; the same id changes nothing."""
    # BY-42
    async with talks.working(scripted(echo)):
        talk = talks.talk()
        taken = await talk.send("m-1", "one")
        await talk.outcome("m-1")
        again = await talk.send("m-1", "other words")
        await talk.say("m-1", "other words")
        second = await talk.send("m-2", "two")
        assert await talk.answer("m-2") == "one + two"
        unknown = await talk.ask("outcome", {"message_id": "m-3"})

    assert taken == {"message_id": "m-1", "position": 1, "state": "queued"}
    assert again == taken  # the server itself knows an update by its id
    assert (second["position"], unknown) == (2, {"state": "unknown", "result": None})


async def test_send_answers_what_nobody_can_read_as_it_answers_any_refusal(talks: Talks) -> None:
    """Who asks for `state` finds it there, and why, whatever was sent."""
    # BY-42
    async with talks.working(scripted(echo)):
        talk = talks.talk(tenant="acme")
        await talk.exchange("m-1", "one")
        refused = [
            await talk.send("m-2", ""),
            await talk.send("m-3", "three", unknown=1),
            await talk.send("m-4", "four", tenant="other"),
        ]
        again = await talk.send("m-2", "two")  # which has the id of the update before
        heard = await talk.exchange("m-2", "two")

    assert [(one["state"], one["position"], one["code"]) for one in refused] == [
        ("refused", 0, "unreadable")
    ] * 3
    assert [one["message_id"] for one in refused] == ["", "", "m-4"]
    assert (again, heard) == (refused[0], "one + two")
    assert "text: String should have at least 1" in str(refused[0]["reason"])


async def test_close_archives_and_completes_with_totals(talks: Talks) -> None:
    """A closed session has no open workflow; its result says what it used in all."""
    async with talks.working(scripted([say("a"), say("b")])):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        await talk.exchange("m-2", "two")
        totals = await talk.close(reason="done", by="dana")

    assert (totals["messages"], totals["steps"], totals["archived"]) == (2, 2, True)
    assert totals["reason"] == "closed by dana: done"


async def test_the_next_message_opens_it_again(talks: Talks) -> None:
    """A new worker goes on with history and context; the start's own context isn't taken."""
    # SE-04
    app = scripted(echo)
    async with talks.working(app):
        talk = talks.talk(context={"plan": "gold"})
        await talk.exchange("m-1", "one")
        await talk.close()
    async with talks.working(app):
        talk.brief["context"] = {"plan": "forged"}
        assert await talk.send("m-1", "again") == {
            "message_id": "m-1",
            "position": 1,
            "state": "done",
        }
        assert await talk.exchange("m-2", "two") == "one + two"
        session, said = await talk.session(), await talk.said()

    assert (session.context, session.messages) == ({"plan": "gold"}, 2)
    assert said == [
        ("user", "one"),
        ("assistant", "one"),
        ("user", "two"),
        ("assistant", "one + two"),
    ]


async def test_one_that_was_terminated_is_read_from_its_old_execution(talks: Talks) -> None:
    """Nothing archived it, and the next message goes on all the same."""
    async with talks.working(scripted(echo)):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        await talk.handle.terminate("a test")
        assert await talk.exchange("m-2", "two") == "one + two"


async def test_without_an_archive_the_old_execution_knows(talks: Talks) -> None:
    """As long as the server keeps it."""
    talks.archive = None
    async with talks.working(scripted(echo)):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        assert (await talk.close())["archived"] is False
        assert await talk.exchange("m-2", "two") == "one + two"


async def test_an_idle_session_closes_itself(talks: Talks) -> None:
    """Then it holds no workflow and no timer."""
    async with talks.working(scripted(echo)):
        talk = talks.talk(idle_timeout=0.2)
        await talk.say("m-1", "one")
        assert await talk.closed() is WorkflowExecutionStatus.COMPLETED
        assert await talk.exchange("m-2", "two") == "one + two"


async def test_messages_during_work_wait_in_their_order(talks: Talks, tmp_path: Path) -> None:
    """They are worked on one after the other, whatever comes meanwhile."""
    log = f"{tmp_path}/log"
    app = scripted(lambda turn: call("hold", log=log) if len(turn.transcript) == 1 else echo(turn))
    async with talks.working(app):
        talk = talks.talk()
        await talk.say("m-1", "one")
        await talk.outcome("m-1", "working")
        states = [(await talk.send(f"m-{n}", str(n)))["state"] for n in (2, 3, 4)]
        queued = await talk.ask("outcome", {"message_id": "m-3"})
        await talk.signal("steer", {"text": "quickly"})
        Path(f"{log}.go").touch()
        assert await talk.answer("m-4") == "one + quickly + 2 + 3 + 4"
        order = [one.message_id for one in (await talk.conversation()).items if one.role != "user"]
        assert await talk.replayed() == 1

    assert states == ["queued", "queued", "queued"]
    assert queued["state"] == "queued"
    assert order == ["m-1", "m-2", "m-3", "m-4"]


async def test_stop_ends_the_work_on_a_message_and_the_session_goes_on(talks: Talks) -> None:
    """Its outcome says so, and the next message is answered."""
    app = scripted([call("refund", amount=3), say("fine")])
    async with talks.working(app):
        talk = talks.talk()
        await talk.say("m-1", "refund it")
        await talk.asked()
        assert (await talk.ask("outcome", {"message_id": "m-1"}))["state"] == "waiting"
        await talk.signal("stop", {"reason": "enough", "by": "dana"})
        stopped = await talk.result("m-1")
        assert await talk.exchange("m-2", "hello") == "fine"
        await talk.signal("stop", {"reason": "nothing"})
        status = await talk.ask("status")

    assert (stopped["status"], stopped["answer"]) == ("stopped", None)
    assert status["status"] == "idle"
    refused = status["refused"]
    assert isinstance(refused, list)
    assert isinstance(refused[-1], dict)
    assert refused[-1]["reason"] == "no message is worked on now: the next one begins work"


async def test_a_session_that_is_closed_waits_for_nobody(talks: Talks) -> None:
    """What waits for a person ends without an answer; what was said before is still answered."""
    app = scripted([call("refund", amount=3), say("fine")])
    async with talks.working(app):
        talk = talks.talk()
        await talk.say("m-1", "refund it")
        await talk.asked()
        await talk.say("m-2", "hello")
        totals = await talk.close()
        said = await talk.conversation()

    assert totals["messages"] == 2
    assert [(one.content, one.metadata) for one in said.items if one.role == "assistant"] == [
        ("", {"status": "stopped", "reason": "the session was closed"}),
        ("fine", {"status": "completed"}),
    ]


async def test_another_tenants_session_never_opens(talks: Talks) -> None:
    """Nor one of another agent: it is refused in words."""
    # SE-02
    async with talks.working(scripted(echo)):
        talk = talks.talk(tenant="acme")
        await talk.exchange("m-1", "secret")
        await talk.close()
        talk.brief["tenant"] = "evil"
        await talk.say("m-2", "what did I say?")
        with pytest.raises(WorkflowFailureError) as refused:
            await talk.handle.result()

    assert "there is no session" in str(refused.value.cause)


@pytest.mark.parametrize("name", ["../x", "a b", ".hidden", "x" * 129, "é"])
async def test_an_id_that_no_session_can_have(talks: Talks, name: str) -> None:
    """It is refused before anything is looked up."""
    # SE-02 T-43
    async with talks.working(scripted(echo)):
        talk = talks.talk(name)
        await talk.say("m-1", "one")
        with pytest.raises(WorkflowFailureError) as refused:
            await talk.handle.result()

    assert "begins with a letter or a digit" in str(refused.value.cause)


async def test_who_approves_has_said_nothing_since_the_last_outcome(talks: Talks) -> None:
    """Neither who sent the message that is worked on, nor who sent one that waits."""
    app = scripted([call("send", log="/dev/null", text="hello"), told, say("bye")])
    async with talks.working(app):
        talk = talks.talk(actor="web")
        await talk.say("m-1", "send it", actor="alice")
        request = str((await talk.asked())["request_id"])
        await talk.say("m-2", "and quickly", actor="bob")
        answers = [await talk.decide(request, who) for who in ("alice", "bob", "carol")]
        assert str(await talk.answer("m-1")).startswith("send ")

    assert answers == ["self_approval", "self_approval", "accepted"]


async def test_words_that_cant_wait_break_off_a_model_in_a_session(talks: Talks) -> None:
    """The message that is worked on is answered with them in mind, and the session goes on."""
    # BY-44
    async with talks.working(chained(busy_once())):
        talk = talks.talk()
        await talk.say("m-1", "which one?")
        while "model scripted:1" not in (await talk.ask("status"))["in_flight"]:  # pyright: ignore[reportOperatorIssue] -- a list  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await talk.signal("steer", {"text": "the other one", "now": True})
        assert await talk.answer("m-1") == "done"
        assert await talk.exchange("m-2", "and now?") == "done"
        assert await talk.replayed() == 1
