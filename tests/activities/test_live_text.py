"""Words of a model are told while they come, in heartbeats: to whom that is allowed."""

import asyncio
from collections.abc import Callable

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError

from holdfast import Agent, App
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_LIVE_TEXT_BYTES, size
from holdfast.contracts.model import Stream
from holdfast.contracts.texts import select_end
from holdfast.contracts.usage import Attempts
from holdfast.guardrails import Guardrail
from holdfast.guardrails.builtin import review_approval, secret_detection
from tests.adapters.provider_server import Break, ProviderServer
from tests.attacks.watchers import seen
from tests.builders import a_state
from tests.histories import names
from tests.running import Run, Runs
from tests.workflows.provider_words import CLAUDE, anthropic, text, thinking

WORKFLOW_TASKS = {
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
}

WORDS = " ".join(f"word{number}" for number in range(400))
SECRET = "correct-horse-battery-staple"


def app(*guardrails: Guardrail, stream: Stream = True) -> App:
    agent = Agent(
        name="it", instructions="Talk.", models=[CLAUDE], stream=stream, guardrails=guardrails
    )
    return App(agents=[agent])


async def heard(
    runs: Runs, run: Run, until: Callable[[Attempts, int], object] = lambda told, _: told.live
) -> Attempts:
    """Return what the heartbeats of a run tell, as soon as that is what is waited for."""
    while True:
        described = await run.handle.describe()
        for one in described.raw_description.pending_activities:
            details = await runs.client.data_converter.decode(one.heartbeat_details.payloads)
            if until(told := Attempts.from_details(details), one.attempt):
                return told
        await asyncio.sleep(0.05)


async def test_words_come_before_the_reply(runs: Runs, provider: ProviderServer) -> None:
    """The heartbeat has the end of what was said so far; thoughts are no words."""
    # T-32
    said = anthropic("end_turn", thinking("Hidden thoughts."), text(WORDS))
    provider.answer(said, breaks=Break("pause", after=200))
    async with runs.working(app()):
        run = await runs.start("it")
        told = (await heard(runs, run)).live
        provider.going_on.set()
        result = await run.result()

    assert told is not None
    assert (told.turn, told.attempt, told.offset) == (1, 1, 0)
    assert len(told.text) > 500
    assert WORDS.startswith(told.text)
    assert result.answer == WORDS


async def test_history_is_the_same_as_without(runs: Runs, provider: ProviderServer) -> None:
    """A heartbeat is no event, and leaves nothing in one."""
    # T-32
    provider.going_on.set()
    kinds: list[list[EventType.ValueType]] = []
    sizes: list[int] = []
    for stream in (False, True):
        provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=200))
        async with runs.working(app(stream=stream)):
            run = await runs.start("it")
            await run.result()
            history = await run.handle.fetch_history()
        assert names(history) == ["open_run", "call_model"]
        # What a workflow task leaves depends on the machine: how many there are, and where.
        events = [one for one in history.events if one.event_type not in WORKFLOW_TASKS]
        kinds.append([one.event_type for one in events])
        sizes.append(sum(len(one.SerializeToString()) for one in events))

    setting = len(',"stream":true')
    assert kinds[0] == kinds[1]
    assert abs(sizes[1] - sizes[0] - 2 * setting) < 60  # times and ids differ by a few bytes


async def test_a_failed_attempt_takes_its_words_along(
    runs: Runs, provider: ProviderServer
) -> None:
    """What the next one inherits is what was used, and that one failed."""
    # T-32
    whole = anthropic("end_turn", text(WORDS))
    provider.answer(whole, breaks=Break("cut", after=200))
    provider.answer(whole, breaks=Break("pause", after=100))
    async with runs.working(app()):
        run = await runs.start("it")
        failed = await heard(runs, run, lambda told, _: told.failed)
        told = (await heard(runs, run, lambda told, attempt: told.live and attempt == 2)).live
        provider.going_on.set()
        result = await run.result()

    assert (failed.live and failed.live.attempt) in (None, 2)
    assert told is not None
    assert (told.attempt, told.offset) == (2, 0)
    assert WORDS.startswith(told.text)
    assert result.answer == WORDS


async def test_what_fails_for_good_tells_no_words(runs: Runs, provider: ProviderServer) -> None:
    """The failure stands in history, and has what was used alone."""
    # T-32
    for _ in range(2):
        provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("cut", after=200))
    async with runs.working(app()):
        run = await runs.start("it", budget={"max_model_retries": 1})
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.status != "completed"
    assert b"word1" not in b"".join(event.SerializeToString() for event in history.events)


async def test_secrets_are_no_words(
    runs: Runs, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words come five characters at a time, and the secret in none of them."""
    monkeypatch.setenv("HOLDFAST_SECRET_DOOR", SECRET)
    said = f"The door opens with {SECRET}, they say. {WORDS}"
    provider.answer(anthropic("end_turn", text(said)), breaks=Break("pause", after=200))
    async with runs.working(app()):
        run = await runs.start("it")
        told = (await heard(runs, run)).live
        provider.going_on.set()
        await run.result()

    assert told is not None
    assert told.text.startswith("The door opens with [redacted], they say. word0 word1")


@pytest.mark.parametrize(
    ("stream", "start", "guardrails", "tells"),
    [
        pytest.param(False, None, (), False, id="nobody asked"),
        pytest.param(True, None, (), True, id="the agent asks"),
        pytest.param(False, True, (), True, id="the start asks"),
        pytest.param(True, False, (), False, id="the start doesn't want it"),
        pytest.param(False, True, ("output",), False, id="no start lets out what is looked at"),
        pytest.param(False, True, ("post_action",), False, id="nor what is looked at last"),
        pytest.param(False, True, ("review",), False, id="nor what people look at"),
        pytest.param(False, True, ("input",), True, id="what is looked at before is no answer"),
        pytest.param("before_checks", None, ("output",), True, id="the agent says so"),
        pytest.param("before_checks", False, ("output",), False, id="and the start doesn't want"),
        pytest.param("before_checks", None, (), True, id="where nobody looks"),
    ],
)
def test_who_lets_words_out(
    stream: Stream, start: bool | None, guardrails: tuple[str, ...], *, tells: bool
) -> None:
    """A start can ask for words, and never for those that are looked at before they are out."""
    # SM-05
    specs: list[JsonObject] = [
        {"name": f"g{number}", "layer": "output", "on_trip": "block", "review": {}}
        if layer == "review"
        else {"name": f"g{number}", "layer": layer, "on_trip": "block"}
        for number, layer in enumerate(guardrails)
    ]
    run = {} if start is None else {"stream": start}

    assert a_state(run=run, stream=stream, guardrails=specs).streams_text is tells
    assert not a_state(run={**run, "withheld": True}, stream=stream).streams_text


@pytest.mark.parametrize("look", [secret_detection(), review_approval()])
async def test_no_heartbeat_tells_what_is_looked_at(
    runs: Runs, provider: ProviderServer, look: Guardrail
) -> None:
    """Whatever the start says: no channel has a word before the guardrails have let it out."""
    # SM-05 T-32
    said = anthropic("end_turn", text(WORDS))
    provider.answer(said, breaks=Break("pause", after=200))
    async with runs.working(app(look, stream=False)):
        run = await runs.start("it", stream=True)
        await asyncio.to_thread(provider.silent.wait)
        for _ in range(20):
            silent = await heard(runs, run, lambda told, attempt: attempt)
            told = await seen(runs, run.handle.id)
            assert silent.live is None
            assert "word1" not in told
        await run.handle.cancel()


def test_the_end_of_a_text_has_its_bound() -> None:
    """In bytes of JSON, whatever characters it is made of."""
    for said in ("a" * 50_000, "\0" * 50_000, "\U0001f9d0" * 50_000, 'é"' * 9_000, "short"):
        end = select_end(said, MAX_LIVE_TEXT_BYTES)

        assert said.endswith(end)
        assert size(end) <= MAX_LIVE_TEXT_BYTES
        assert end == said or size(end) > MAX_LIVE_TEXT_BYTES / 2


async def test_a_start_that_says_something_else_is_refused(runs: Runs) -> None:
    """A word is no answer to a question of yes or no."""
    async with runs.working(app()):
        run = await runs.start("it", stream="yes")
        with pytest.raises(WorkflowFailureError) as refused:
            await run.result()

    assert "stream: " in str(refused.value.cause)
    assert len(str(refused.value.cause).splitlines()) == 1
