"""Somebody outside learns that a run waits: once for each request, and never too late."""

import asyncio
import json
from collections.abc import Callable, Generator

import pytest

from holdfast import Agent, App, Triggers, Webhook
from holdfast.activities.webhooks import sign
from holdfast.testing import Script, call, say
from tests.activities.test_notifications import KEY, SECRET, Listener, listening
from tests.control.controlled import asked, asked_to_resolve, recorded, replayed, resolve
from tests.control.test_time_trigger import slow_model
from tests.histories import names
from tests.running import Runs
from tests.sample import TOOLS, told


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Generator[Listener]:
    monkeypatch.setenv("HOLDFAST_SECRET_HOOK", SECRET)
    with listening() as found:
        yield found


def an_app(listener: Listener | None, script: Script, **agent: object) -> App:
    """An app that tells the listener, or nobody."""
    settings: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": ["scripted:it"],
        "tools": TOOLS,
        **agent,
    }
    return App(
        agents=[Agent(**settings)],  # pyright: ignore[reportArgumentType] -- whatever a test overrides
        scripts={"it": script},
        notify=Webhook(url=listener.address, secret="hook") if listener else None,
    )


def of(listener: Listener) -> list[str]:
    """What the listener heard of, in order."""
    return [json.loads(got.body)["data"]["request_id"] for got in listener.got]


async def until(true: Callable[[], bool]) -> None:
    """Wait for what happens elsewhere."""
    while not true():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


SENDING: Script = [call("send", log="/dev/null", text="s3cr3t"), told]


async def test_each_request_is_told_once_and_signed(runs: Runs, listener: Listener) -> None:
    """One notice for each request, with what a person needs to find it, and no arguments."""
    script = [
        call("send", log="/dev/null", text="s3cr3t"),
        call("ask_user", question="Which one?"),
        say("done"),
    ]
    app = an_app(listener, script, triggers=Triggers(), max_history_events=1)
    async with runs.working(app):
        run = await runs.start("it", tenant="acme")
        (approval,) = await run.asked()
        await until(lambda: len(listener.got) == 1)
    async with runs.working(app):
        await run.approve(approval.request_id)
        await until(lambda: len(listener.got) == 2)
        (question,) = await run.pending()
        await run.signal("answer", {"request_id": question.request_id, "text": "the blue one"})
        result = await run.result()
        histories = await replayed(runs, run)

    assert (result.answer, of(listener)) == ("done", ["req-1", "req-2"])
    assert [name for one in histories for name in names(one)].count("notify") == 2
    first = json.loads(listener.got[0].body)["data"]
    assert (first["run_id"], first["tenant"], first["kind"]) == (
        run.handle.id,
        "acme",
        "approval",
    )
    for got in listener.got:
        assert b"s3cr3t" not in got.body
        message, at = got.headers["webhook-id"], int(got.headers["webhook-timestamp"])
        assert sign(message, at, got.body, KEY).items() <= got.headers.items()


async def test_a_receiver_that_fails_is_told_again(runs: Runs, listener: Listener) -> None:
    """After a 500 the same message comes once more; the run doesn't wait for that."""
    listener.status = 500
    async with runs.working(an_app(listener, SENDING)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await until(lambda: len(listener.got) == 1)
        listener.status = 204
        await until(lambda: len(listener.got) == 2)
        await run.approve(request.request_id)
        result = await run.result()
        await replayed(runs, run)

    assert (result.answer, of(listener)) == ("send ok", ["req-1", "req-1"])
    first, second = listener.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


async def test_nobody_is_told_of_what_is_decided(runs: Runs, listener: Listener) -> None:
    """What was decided while the receiver was down isn't told; what waits then is."""
    script = [call("send", log="/dev/null", text=text) for text in ("one", "two")]
    listener.status = 500
    async with runs.working(an_app(listener, [*script, say("done")])):
        run = await runs.start("it")
        first = await run.asked_for_approval()
        await until(lambda: len(listener.got) == 1)
        await run.approve(first.request_id)
        await asked(run, first)
        listener.status = 204
        await until(lambda: "req-2" in of(listener))
        (second,) = await run.pending()
        await run.approve(second.request_id)
        result = await run.result()
        await replayed(runs, run)

    told = of(listener)
    assert (result.answer, told, set(told)) == ("done", sorted(told), {"req-1", "req-2"})


@pytest.mark.parametrize("status", [400, 410])
async def test_a_receiver_that_refuses_is_on_record(
    runs: Runs, listener: Listener, status: int
) -> None:
    """Where nobody will ever be told, history says so, and the run waits all the same."""
    listener.status = status
    async with runs.working(an_app(listener, SENDING)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        while len(recorded(await run.handle.fetch_history())) < 2:  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        await run.approve(request.request_id)
        result = await run.result()
        (history,) = await replayed(runs, run)

    assert (result.answer, len(listener.got)) == ("send ok", 1)
    assert recorded(history)[1:] == [
        "nobody was told: req-1 · send: approval_required (write_internal)"
    ]


async def test_a_run_ends_while_its_receiver_is_away(runs: Runs, listener: Listener) -> None:
    """A notice that is under way holds nothing up, and ends with its run."""
    listener.go_on.clear()
    async with runs.working(an_app(listener, SENDING)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await until(lambda: len(listener.got) == 1)
        await run.approve(request.request_id)
        result = await run.result()
        await replayed(runs, run)
        listener.go_on.set()

    assert result.answer == "send ok"


async def test_without_a_receiver_a_run_asks_all_the_same(runs: Runs) -> None:
    """Nothing is told where nobody is named: the request waits in the run."""
    async with runs.working(an_app(None, SENDING)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        result = await run.result()
        (history,) = await replayed(runs, run)

    assert (result.answer, "notify" in names(history)) == ("send ok", False)


async def test_a_pause_in_the_middle_is_told(skipping_runs: Runs, listener: Listener) -> None:
    """Who is asked because a run takes too long learns of it while it still works."""
    # ES-12
    app = an_app(listener, slow_model(31), triggers=Triggers(expected_time=10), escalates=True)
    async with skipping_runs.working(app):
        run = await skipping_runs.start("it")
        await skipping_runs.pass_time(30.5)
        await asked_to_resolve(run)
        await until(lambda: len(listener.got) == 1)
        await resolve(run)
        await run.result()

    assert json.loads(listener.got[0].body)["data"]["kind"] == "escalation"
