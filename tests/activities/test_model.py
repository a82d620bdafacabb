"""What `call_model` makes of a call: which part is shown, words alone, and how long it waits."""

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from threading import get_ident
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from holdfast.activities import reply_limits, structured_output
from holdfast.activities.model import ModelActivities
from holdfast.activities.transcripts import Transcripts
from holdfast.adapters.base import ModelAdapter
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.adapters.scripted import Reply, ScriptedAdapter, ScriptTurn, call, fail, say, using
from holdfast.contracts.bounds import MAX_REPLY_BYTES
from holdfast.contracts.calls import DEFAULT_TENANT
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import ModelCall, ModelReply, ModelRequest, Prefix
from holdfast.contracts.transcript import (
    ItemRange,
    Part,
    TranscriptDigest,
    TranscriptItem,
    TranscriptPage,
    TranscriptView,
    UserTurn,
)
from holdfast.contracts.usage import UNKNOWN_USAGE, Attempts, CallUsage
from holdfast.run import context, turns
from holdfast.tools.fair_threads import TENANT
from holdfast.tools.redaction import Redactor
from tests.adapters import conversations as told
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai import WORDS
from tests.asking import in_run
from tests.builders import a_state, a_transcript

GPT = "openai:gpt-5.2"
SHAPED = Prefix(instructions="Be brief.", tools=(), output_schema=told.ORDER_SCHEMA)


class Reader:
    """A run that has these items and this prefix."""

    def __init__(self, items: tuple[TranscriptItem, ...] = (), prefix: Prefix = SHAPED) -> None:
        self._items = items
        self._prefix = prefix

    async def prefix(self) -> Prefix:
        return self._prefix

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        page = self._items[offset : offset + limit]
        return TranscriptPage(items=page, total=len(self._items), next_offset=None)


def a_model_call(
    items: tuple[TranscriptItem, ...] = (told.GOAL,),
    *,
    base: int = 0,
    seen: TranscriptView | None = None,
    model: str = "scripted:it",
    **more: object,
) -> ModelCall:
    """A call whose transcript is *items*, seen like this."""
    begun = TranscriptDigest().extend(items[:base])
    fields: dict[str, object] = {
        "run_id": "run-1",
        "turn": 3,
        "model": model,
        "prefix": SHAPED.digest,
        "origin": "",
        "base": begun,
        "items": items[base:],
        "head": begun.extend(items[base:]),
        "max_context_bytes": 100_000,
        **(seen or TranscriptView()).model_dump(),
        **more,
    }
    return ModelCall.model_validate(fields)


async def asked(adapter: ModelAdapter, wanted: ModelCall) -> ModelReply:
    activities = ModelActivities(
        {adapter.provider: adapter}, Transcripts(Reader()), {}, Redactor(frozenset[str])
    )
    return await in_run("run-1").run(activities.call_model, wanted)


async def failed(adapter: ModelAdapter, wanted: ModelCall) -> ApplicationError:
    with pytest.raises(ApplicationError) as raised:
        await asked(adapter, wanted)
    return raised.value


def scripted(answer: Callable[[ScriptTurn], Reply]) -> ScriptedAdapter:
    return ScriptedAdapter({"it": answer})


async def test_what_a_view_leaves_out_is_not_shown() -> None:
    """Hidden parts and what was summarised never reach the model; the goal always does."""
    # HG-18 PI-05 BY-51
    items = a_transcript([10, 20, 30, 40])
    seen = TranscriptView(
        summary="One is done.", summarised_before=3, hidden=(ItemRange(begin=5, end=7),)
    )
    heard: list[ScriptTurn] = []

    await asked(
        scripted(lambda turn: heard.append(turn) or say("ok")), a_model_call(items, seen=seen)
    )

    assert heard[0].transcript == context.apply_view(items, seen, 100_000)
    assert heard[0].transcript[0] == items[0]
    assert items[1] not in heard[0].transcript
    assert items[5] not in heard[0].transcript


async def test_a_view_that_changes_is_shown_anew() -> None:
    """What is remembered of one view is never shown in another one of the same transcript."""
    items = a_transcript([10, 20, 30, 40])
    held = Transcripts(Reader(items))
    changes = (
        TranscriptView(pruned_before=3),
        TranscriptView(pruned_before=3, hidden=(ItemRange(begin=5, end=7),)),
        TranscriptView(pruned_before=3, summary="One.", summarised_before=3),
        TranscriptView(pruned_before=3, summary="Other.", summarised_before=3),
    )

    for seen in changes:
        shown = await held.view(a_model_call(items, base=len(items), seen=seen), "e1")
        assert shown == context.apply_view(items, seen, 100_000)


async def test_what_is_settled_is_remembered() -> None:
    """While the view stays, the old part isn't rendered again: the very same stubs are shown."""
    items = a_transcript([200, 200, 30, 40])
    seen = TranscriptView(
        pruned_before=3, summary="One.", summarised_before=1, hidden=(ItemRange(begin=5, end=7),)
    )
    held = Transcripts(Reader(items))

    first = await held.view(a_model_call(items[:7], seen=seen), "e1")
    second = await held.view(a_model_call(items, base=7, seen=seen), "e1")

    assert len(second) == len(first) + 2
    assert all(one is other for one, other in zip(first, second, strict=False))


async def test_a_model_that_calls_all_the_same_is_not_heeded() -> None:
    """Asked for words alone, a model gets its calls left out: nothing can come of them."""
    # PS-12 BY-22
    spoken = Reply(
        text="So far so good.",
        calls=(("send", {"text": "hi"}), ("look", {})),
        parts=(
            Part(kind="text", text="So far so good."),
            Part(kind="call", native={"id": "a"}),
            Part(kind="call"),
        ),
        provider_state={"container_id": "x"},
        notes=("slow today",),
    )

    reply = await asked(scripted(lambda _: spoken), a_model_call(purpose="summary"))

    assert (reply.text, reply.calls, reply.stop) == ("So far so good.", (), "end_turn")
    assert [part.kind for part in reply.parts] == ["text"]
    assert reply.notes == (
        "slow today",
        "2 calls left out: the model was asked for words alone",
    )
    assert reply.provider_state == {"container_id": "x"}


async def test_a_reply_beyond_all_is_counted_and_not_gone_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To write it, to mend its text or to read it as data would hold up every other run."""
    gone_through: list[object] = []
    monkeypatch.setattr(reply_limits, "repair_unicode", gone_through.append)
    text = "\ud800" * (MAX_REPLY_BYTES + 1)

    error = await failed(scripted(lambda _: say(text)), a_model_call())

    assert "bytes, and history holds 600,000" in str(error)
    assert gone_through == []


@pytest.mark.parametrize(
    ("reply", "beside"),
    [
        pytest.param(say("x" * 10), False, id="short"),
        pytest.param(say("x" * 200_000), True, id="long"),
        pytest.param(Reply("x", notes=("y" * 20,) * 1_000), True, id="long notes"),
    ],
)
async def test_a_long_answer_is_looked_through_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, beside: bool
) -> None:
    """Heartbeats are sent while its schema is checked, and while it is written."""
    threads: list[int] = []
    validate = structured_output.validate

    def watched(*arguments: Any) -> ModelReply:  # noqa: ANN401 -- as it comes
        threads.append(get_ident())
        return validate(*arguments)

    monkeypatch.setattr(structured_output, "validate", watched)
    await asked(scripted(lambda _: reply), a_model_call())

    (thread,) = threads
    assert (thread != get_ident()) is beside


async def test_a_summary_needs_no_shape() -> None:
    """The shape of an answer is for answers: nothing is objected to in words alone."""
    reply = await asked(scripted(lambda _: say("All done.")), a_model_call(purpose="summary"))
    answer = await asked(scripted(lambda _: say("All done.")), a_model_call())

    assert (reply.text, reply.objections, reply.output) == ("All done.", (), None)
    assert answer.objections == ("it is no JSON",)


async def test_a_script_hears_that_words_alone_are_wanted() -> None:
    """A scripted model can tell a summary from a turn."""

    def script(turn: ScriptTurn) -> Reply:
        return say("a summary") if turn.without_tools else call("look")

    reply = await asked(scripted(script), a_model_call(purpose="summary"))

    assert reply.text == "a summary"


@pytest.mark.parametrize(
    ("patience", "for_good"),
    [
        pytest.param(5, True, id="too long"),
        pytest.param(6.9, True, id="a little too long"),
        pytest.param(7, False, id="just bearable"),
        pytest.param(10, False, id="bearable"),
    ],
)
async def test_a_long_wait_is_for_another_model(
    provider: ProviderServer, patience: float, *, for_good: bool
) -> None:
    """One request, then the next model, where this one asks for more time than there is."""
    # FB-05 FB-06 T-02
    provider.answer({"error": {"message": "busy"}}, 429, {"retry-after": "7"})

    error = await failed(OpenAIAdapter(), a_model_call(model=GPT, patience=patience))

    assert (error.type, error.non_retryable) == ("rate_limited", for_good)
    assert error.next_retry_delay == timedelta(seconds=7)
    assert ("it asks to wait 7 s; nobody waits" in error.message) is for_good
    assert len(provider.requests) == 1


async def test_without_a_wait_patience_says_nothing(provider: ProviderServer) -> None:
    """Where a provider doesn't say how long, the next attempt comes soon enough."""
    # FB-06
    provider.answer({"error": {"message": "down"}}, 500)

    error = await failed(OpenAIAdapter(), a_model_call(model=GPT, patience=0.5))

    assert (error.type, error.non_retryable) == ("unavailable", False)
    assert "nobody waits" not in error.message


class Endless(ScriptedAdapter):
    """A model whose server goes on sending what is no part of a reply."""

    async def respond(self, request: ModelRequest) -> ModelReply:
        await asyncio.Event().wait()
        raise NotImplementedError


@pytest.mark.parametrize(("failed", "for_good"), [(0, False), (1, True)])
async def test_who_takes_all_of_the_time_again_leaves_it_to_the_next_model(
    failed: int, *, for_good: bool
) -> None:
    """An attempt has its time, whatever keeps it alive; a second one that runs out is the last."""
    adapter = Endless({})
    activities = ModelActivities(
        {adapter.provider: adapter}, Transcripts(Reader()), {}, Redactor(frozenset[str])
    )
    environment = in_run("run-1")
    environment.info = dataclasses.replace(
        environment.info,
        attempt=failed + 1,
        start_to_close_timeout=timedelta(milliseconds=1_010),
        heartbeat_timeout=timedelta(seconds=1),
        heartbeat_details=[Attempts(failed=failed).model_dump(mode="json")],
    )
    with pytest.raises(ApplicationError) as raised:
        await environment.run(activities.call_model, a_model_call())

    assert (raised.value.type, raised.value.non_retryable) == ("timeout", for_good)


async def test_what_an_impatient_call_used_is_told() -> None:
    """An attempt that isn't repeated is billed all the same."""
    # T-24
    spent = CallUsage(input_tokens=7, estimated_cost=Decimal(1))
    busy = ModelUnavailable("busy", 60, kind="overloaded", usage=spent)

    error = await failed(scripted(lambda _: fail(busy)), a_model_call(patience=5))

    assert error.non_retryable
    assert error.details == (Attempts(usage=spent),)


def forgets(_: ScriptTurn) -> Reply:
    raise KeyError("sk-its-own")


LIMITED = a_model_call(left={"max_tokens": 100}, reserved={"input_tokens": 40})


@pytest.mark.parametrize(
    ("wanted", "used"),
    [
        pytest.param(a_model_call(), UNKNOWN_USAGE, id="no limit"),
        pytest.param(LIMITED, CallUsage(input_tokens=40), id="a limit"),
    ],
)
async def test_a_fault_of_an_adapter_counts_as_a_call(wanted: ModelCall, used: CallUsage) -> None:
    """
    Nobody knows whether the model had replied: what is reserved for a call counts, or unknown.

    The failure says whose fault it is and of which class; its words only the worker's log has.
    """
    # T-24 PP-04 BY-70
    error = await failed(scripted(forgets), wanted)

    assert (error.type, error.non_retryable) == ("unreadable", False)
    assert error.message.startswith("the adapter of scripted:it raised KeyError, ")
    assert error.details == (Attempts(usage=used),)
    assert "its-own" not in error.message
    assert isinstance(error.__cause__, KeyError)  # for the log


async def test_faults_of_an_adapter_end_where_the_budget_does() -> None:
    """One that loses each reply, which its provider bills, isn't asked beyond the budget."""
    # BY-70
    last = a_model_call(left={"max_tokens": 40}, reserved={"input_tokens": 40})
    error = await failed(scripted(forgets), last)

    assert error.non_retryable


async def test_less_shown_breaks_a_chain(provider: ProviderServer) -> None:
    """A conversation that the provider keeps is begun anew when turns were given up."""
    # SS-02
    chained = partial(a_model_call, model=GPT, strategy="previous_response_id")
    for _ in range(3):
        provider.answer(WORDS)
    notice = UserTurn(text="Go on.", origin="notice")
    first = await asked(OpenAIAdapter(), chained((told.GOAL, notice)))
    state = {"openai": first.provider_state}
    items = (told.GOAL, notice, told.turn(GPT, first), told.STEERED)

    await asked(OpenAIAdapter(), chained(items, provider_state=state))
    hidden = TranscriptView(hidden=(ItemRange(begin=1, end=2),))
    await asked(OpenAIAdapter(), chained(items, provider_state=state, seen=hidden))

    _, whole, less = (received.body for received in provider.requests)
    assert "previous_response_id" in whole
    assert "previous_response_id" not in less


async def test_a_summary_is_billed_like_any_call() -> None:
    """Words alone cost what they cost."""
    answer = using(say("All done."), CallUsage(input_tokens=9))

    reply = await asked(scripted(lambda _: answer), a_model_call(purpose="summary"))

    assert reply.usage.input_tokens == 9


@pytest.mark.parametrize("tenant", ["acme", DEFAULT_TENANT])
async def test_what_takes_long_has_its_turn_with_other_tenants(tenant: str) -> None:
    """Whoever has a hundred runs, whose models say what takes long, has one turn as others."""
    asking = turns.build_model_call(a_state(run={"tenant": tenant}), "scripted:it")
    adapter = ScriptedAdapter({"it": lambda _: say(TENANT.get())})

    assert (await asked(adapter, a_model_call(tenant=asking.tenant))).text == tenant
